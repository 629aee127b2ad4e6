"""Ready models, comparisons, pictures and the command line."""
from errors.parts import Case, flat, kane
from sympy_constrained import MissingIngredientError, classify_constraints
from sympy_constrained.comparison import check_method, compare
from sympy_constrained.methods import hamiltonian_equations
from sympy_constrained.models import model
from sympy_constrained.numeric import (
    Crossing, simulate, singular_configurations)
from sympy_constrained.plotting import plot_fit, plot_snapshots

FLAT, HEAVY = flat(), kane()
MOTION = simulate(FLAT, 0.1, [0, 0, 1, 0], constants={'m': 1, 'g': 9.81},
                  t_eval=3)

CASES = (
    Case('a ready model that is not there', lambda: model('pendulum'),
         ValueError, "`name` is 'pendulum', not a ready model",
         "Did you mean 'cart_pendulum'?",
         'Pass one of acceleration_level, andrews_squeezer,'),
    *(Case(f'a text as `{name}`: {remedy}', call, TypeError,
           f'`{name}`', "'a'", remedy)
      for name, call, remedy in (
          ('joints', lambda: HEAVY.joint_reactions([(*'abcd',)]),
           'Give joints of SymPy, or'),
          ('expression', lambda: Crossing('a'), 'Give an expression in'),
          ('jump', lambda: Crossing(1, 'a'), 'Give {state: expression}'),
          ('terminal', lambda: Crossing(1, terminal='a'), 'Give True, or'),
          ('direction', lambda: Crossing(1, direction='a'),
           'Give a positive or a'),
          ('trajectory', lambda: singular_configurations('a'),
           'Pass the result of `simulate`'),
          ('result', lambda: plot_fit('a'), 'Pass the result of `identify`'),
          ('method', lambda: hamiltonian_equations('a'),
           'Give a VaccoMethod of the model'),
          ('method', lambda: model('rolling_disc').form('a'),
           'Give a class, such as'),
          ('cls', lambda: check_method('a'), 'Give a class of methods'),
          ('start', lambda: compare('four_bar', start='a'),
           'Give a dictionary of its symbols'),
          ('sample', lambda: classify_constraints(FLAT, 'a'),
           'Give a dictionary of symbols'),
          ('values', lambda: FLAT.closed_form.evaluate('a'),
           'Give a dictionary: input'))),
    Case('joint reactions without joints', HEAVY.joint_reactions,
         MissingIngredientError, 'The model has no joints', 'so no reaction',
         'Pass `joints=` with'),
    Case('a number as arrows', lambda: plot_snapshots(
        MOTION, HEAVY, forces=0), TypeError, '`forces`', 'is 0',
         'Give a dictionary'),
    Case('pictures at no number', lambda: plot_snapshots(
        MOTION, HEAVY, times=float('nan')), ValueError, '`times`', 'is nan',
         'Give a positive number of times, or'),
    Case('a line to a misspelt body',
         lambda: plot_snapshots(MOTION, HEAVY, lines=[('O', 'bobb')]),
         ValueError, "The place 'bobb' is not the name",
         'of a body or point (O, P,', "Did you mean 'bob'?"),
    Case('a file in a folder that is not there',
         lambda: MOTION.save('no_such_folder/motion.csv'),
         FileNotFoundError, "'no_such_folder/motion.csv' cannot be written",
         'No such file or directory', 'Choose another `path`'),
    Case('a file with a name that is too long',
         lambda: MOTION.save(f'{"x"*300}.csv'), OSError,
         'x.csv\' cannot be written', 'File name too long',
         'Choose another `path`'),)
