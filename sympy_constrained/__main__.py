"""The command line: ``python -m sympy_constrained compare MODEL``."""
from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path

from sympy import Symbol
from sympy.physics.mechanics import KanesMethod, LagrangesMethod, System

from .arguments import arguments_of
from .errors import ConstrainedDynamicsError, MissingIngredientError
from .methods.base import ConstrainedMethod
from .models import MODELS, Model, model

DESCRIPTION = """\
Derive a model with every formulation that applies, compare them, say what
SymPy's own method does with it, simulate it, and write pictures.

MODEL is the name of a ready model (see 'list'), or a Python file that makes a
SymPy System, KanesMethod or LagrangesMethod object. Such a file also names

  parameters = {symbol: number, ...}   every constant of the model
  start = {coordinate or speed: number, ...}
  fixed = (...)                        optional: states kept as they are when
                                       the start is moved onto the constraints
  t_end = 10.0                         optional: length of the simulation
  inputs = {function: expression}      optional: specified functions of time
  potential_energy = 'include'         optional: count that of the bodies, or
                                       'ignore' it

FILE.py:NAME picks one object of several.
"""


def main(arguments=None):
    """Run a command; return the exit status."""
    parser = argparse.ArgumentParser(
        prog='python -m sympy_constrained', description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest='command', required=True)
    compare = commands.add_parser('compare', help='compare formulations')
    compare.add_argument('models', nargs='+', metavar='MODEL')
    compare.add_argument('--t-end', type=float, help='end of the simulation')
    compare.add_argument('--save', type=Path, metavar='DIR',
                         help='write pictures to this folder')
    compare.add_argument(
        '--upstream-limit', type=float, default=60., metavar='SECONDS',
        help="time for SymPy's own method, 0 to leave it out (default 60)")
    commands.add_parser('list', help='names of the ready models')
    given = parser.parse_args(arguments)
    if given.command == 'list':
        for name in MODELS:
            print(f'{name:28} {model(name).title}')
        return 0
    return compare_models(given)


def compare_models(given):
    """The ``compare`` command."""
    try:
        from .comparison import compare
        if given.save:
            import matplotlib
            matplotlib.use('Agg')
            given.save.mkdir(parents=True, exist_ok=True)
    except ImportError as error:
        print(f"{error}. Comparing needs NumPy and SciPy, pictures need "
              "matplotlib: pip install 'sympy_constrained[numeric,plot]'.",
              file=sys.stderr)
        return 2
    except OSError as error:
        print(f"The folder {given.save} cannot be written: {error}. Choose "
              "another with --save.", file=sys.stderr)
        return 2
    agreed = True
    for name in given.models:
        try:
            result = compare(find_model(name), given.t_end,
                             given.upstream_limit)
        except (ConstrainedDynamicsError, ValueError) as error:
            print(f'{name}: {error}', file=sys.stderr)
            return 1
        print(result)
        agreed = agreed and result.agrees
        if given.save:
            for path in result.save(given.save):
                print(f'  wrote {path}')
        print()
    return 0 if agreed else 1


def find_model(name):
    """A ready model, or the one that a file of the user's makes."""
    path, _, wanted = name.partition('.py')
    if not wanted and not name.endswith('.py'):
        return model(name)
    file = Path(path + '.py')
    if not file.is_file():
        raise ValueError(
            f"There is no file {file}. Give the path of a Python file, or "
            "the name of a ready model.")
    return model_of_file(file, runpy.run_path(str(file)), wanted.lstrip(':'))


def model_of_file(file, names, wanted=''):
    """The model among the names that a file defines."""
    kinds = (Model, System, KanesMethod, LagrangesMethod, ConstrainedMethod)
    found = {name: value for name, value in names.items()
             if isinstance(value, kinds)}
    if wanted:
        if wanted not in found:
            raise ValueError(
                f"{file} has no model object `{wanted}`; it has "
                f"{', '.join(found) or 'none'}.")
        found = {wanted: found[wanted]}
    systems = {k: v for k, v in found.items() if isinstance(v, System)}
    if len(systems) == 1:
        found = systems
    if len(found) != 1:
        raise MissingIngredientError(
            f"{file} makes {len(found)} model objects"
            f"{': ' + ', '.join(found) if found else ''}. It must make one "
            "System, KanesMethod or LagrangesMethod object, or you name one: "
            f"{file}:NAME.")
    value, = found.values()
    if isinstance(value, Model):
        return value
    shape, arguments = arguments_of(value)
    given = {}
    for name, kind, default in (
            ('parameters', Mapping, {}), ('start', Mapping, {}),
            ('inputs', Mapping, {}), ('fixed', (tuple, list), ()),
            ('t_end', (int, float), 10.)):
        given[name] = names.get(name, default)
        if not isinstance(given[name], kind):
            raise MissingIngredientError(
                f"`{name}` in {file} is {given[name]!r}. See `python -m "
                "sympy_constrained compare --help` for what it must be.")
    return Model(
        name=file.stem, title=f'the model of {file.name}',
        reference=str(file), shape=shape, arguments=arguments,
        parameters={k: v for k, v in given['parameters'].items()
                    if isinstance(k, Symbol)},
        start=given['start'], fixed=given['fixed'],
        t_end=float(given['t_end']),
        # SymPy has a function of this name, which a star import brings in
        extra={name: names[name] for name in ('potential_energy',)
               if isinstance(names.get(name), str)},
        system=value if isinstance(value, System) else None,
        inputs=given['inputs'])


if __name__ == '__main__':
    sys.exit(main())
