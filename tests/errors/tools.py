"""Ready models, comparisons, pictures and the command line."""

from sympy.physics.mechanics import KanesMethod

from errors.parts import Case, flat, kane, rod
from sympy_constrained.__main__ import find_model, model_of_file
from sympy_constrained.errors import MissingIngredientError
from sympy_constrained.models import model
from sympy_constrained.numeric import simulate
from sympy_constrained.plotting import plot_snapshots

FLAT, HEAVY = flat(), kane()
MOTION = simulate(FLAT, 0.1, [0, 0, 1, 0], constants={'m': 1, 'g': 9.81},
                  t_eval=3)

CASES = (
    Case('a ready model that is not there', lambda: model('pendulum'),
         ValueError, "`name` is 'pendulum', which is no ready",
         "Did you mean 'cart_pendulum'?",
         'Pass one of acceleration_level, andrews_squeezer,'),
    Case('a misspelt ready model', lambda: model('four_bars'),
         ValueError, "`name` is 'four_bars', which is no ready",
         "Did you mean 'four_bar'?",
         'Pass one of acceleration_level, andrews_squeezer,'),
    Case('a chain of one bar', lambda: model('closed_chain', n=1), ValueError,
         '`n` is 1: 2 loop rows leave', 'a shorter chain no motion',
         'Pass a whole number, 3 or more'),
    Case('a number of links of a pendulum that is negative',
         lambda: model('n_link_pendulum_on_cart', n=-1), ValueError,
         '`n` is -1: a', 'pendulum needs at least one',
         'Pass a whole number, 1 or more'),
    Case('no window in a row of four-bar linkages',
         lambda: model('n_four_bar', n=0), ValueError, '`n` is 0: a',
         'row needs at least one window', 'Pass a whole number, 1 or more'),
    Case('a ready model formed by the method of another shape',
         lambda: model('cartesian_pendulum').form(KanesMethod),
         ValueError, '`method` KanesMethod cannot form',
         'its arguments are those of LagrangesMethod',
         'Pass that class, or a class of this package,'),
    Case('a line between places that have no names',
         lambda: plot_snapshots(MOTION, FLAT, lines={'rod': ['a', 'b']}),
         ValueError, "The place 'a' is the name of", 'no body and no point',
         'Give a name, a Point, a Vector, or a pair or triple'),
    Case('a line to a misspelt body',
         lambda: plot_snapshots(MOTION, HEAVY, lines=[('O', 'bobb')]),
         ValueError, "The place 'bobb' is the name of",
         'no body and no point (O, P,', "Did you mean 'bob'?"),
    Case('a place with a misspelt state',
         lambda: plot_snapshots(MOTION, points={'bob': ('xx', 'y')}),
         ValueError, "`place`: 'xx' is", 'no state or constant',
         'did you mean x?'),
    Case('a file in a folder that is not there',
         lambda: MOTION.save('no_such_folder/motion.csv'),
         FileNotFoundError, "'no_such_folder/motion.csv' cannot be written",
         'No such file or directory', 'Choose another `path`'),
    Case('a file with a name that is too long',
         lambda: MOTION.save(f'{"x"*300}.csv'), OSError,
         'x.csv\' cannot be written', 'File name too long',
         'Choose another `path`'),
    Case('a file of a model that is not there',
         lambda: find_model('no_such_model.py'), ValueError, 'There is',
         'no file no_such_model.py',
         'Give the path of a Python file, or the name of a'),
    Case('a file without a model', lambda: model_of_file('empty.py', {'a': 1}),
         MissingIngredientError, 'empty.py makes', '0 model objects',
         'It must make one System, KanesMethod or'),
    Case('a file with two models',
         lambda: model_of_file('two.py', {'a': flat(), 'b': rod()}),
         MissingIngredientError, 'two.py makes', '2 model objects',
         'It must make one System, KanesMethod or'),
    Case('the name of a model that the file does not have',
         lambda: model_of_file('one.py', {'a': flat()}, 'b'), ValueError,
         'one.py has no', 'model object `b`', 'it has a'),
)
