"""The command line: ``python -m sympy_constrained COMMAND MODEL``."""
import argparse
import os
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path

from sympy.physics.mechanics import KanesMethod, LagrangesMethod, System

from .errors import (
    ConstrainedDynamicsError, MissingIngredientError, raise_problems)
from .methods import UdwadiaKalabaMethod
from .methods.base import ConstrainedMethod
from .models import MODELS, Model, model

DESCRIPTION = """\
Derive a model with every formulation that applies, SymPy's own included,
compare them, simulate the model and write pictures; or write a page in which
the motion runs in a browser.

MODEL is the name of a ready model (see 'list'), or a Python file that makes a
SymPy System, KanesMethod or LagrangesMethod object, or a method of this
package. Such a file also defines

  parameters = {symbol: number, ...}   every constant of the model
  start = {coordinate or speed: number, ...}   for a simulation
  fixed = (...)                        optional: states that keep their value
                                       when the start is made consistent
  t_end = 10.0                         optional: length of the simulation; 0
                                       compares at random states instead
  inputs = {function: expression}      optional: specified functions of time
  potential_energy = 'include'         optional: count that of the bodies, or
                                       'ignore' it
  visual = {'lines': {'rod': [(0, 0), (x, y)]}}   optional: what to draw, the
                                       arguments of plotting.plot_snapshots

FILE.py:NAME picks one object of several. The status is 0 if all formulations
agree that must, 1 if not, or if a model cannot be read.
"""
# Further names that a file may define.
FIELDS = 'parameters', 'start', 'inputs', 'fixed', 't_end', 'visual'


def main(arguments=None):
    given = parser().parse_args(arguments)
    try:
        status = given.run(given)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print('interrupted', file=sys.stderr)
    except BrokenPipeError:             # as by `| head`: discard the rest
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


def parser():
    result = argparse.ArgumentParser(
        prog='python -m sympy_constrained', description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = result.add_subparsers(dest='command', required=True)
    compare = commands.add_parser('compare', help='compare formulations')
    compare.add_argument('models', nargs='+', metavar='MODEL')
    compare.add_argument('--t-end', type=float, metavar='T',
                         help='end of the simulation, 0 for none')
    compare.add_argument('--save', type=Path, metavar='DIR',
                         help='write pictures to this folder')
    compare.add_argument(
        '--limit', type=float, default=60., metavar='SECONDS',
        help='time that each formulation may take (default 60)')
    compare.add_argument(
        '--forms', action='store_true',
        help='add the classical forms of GibbsAppellMethod')
    compare.set_defaults(run=compare_models)
    page = commands.add_parser(
        'report', help='a page with a motion that runs in a browser')
    page.add_argument('models', nargs='+', metavar='MODEL')
    page.add_argument('--save', type=Path, metavar='DIR', default=Path(),
                      help='write the pages to this folder')
    page.set_defaults(run=write_pages)
    commands.add_parser(
        'list', help='names of the ready models').set_defaults(
            run=list_models)
    return result


def list_models(given):
    for name in MODELS:
        print(f'{name:28} {model(name).title}')
    return 0


def compare_models(given):
    try:
        from .comparison import compare
        if given.save:
            import matplotlib
            matplotlib.use('Agg')
            given.save.mkdir(parents=True, exist_ok=True)
    except (ImportError, OSError) as error:
        hint = ('' if isinstance(error, OSError) else
                ": pip install 'sympy_constrained[numeric,plot]'")
        print(f'{error}{hint}', file=sys.stderr)
        return 2

    def compared(found):
        working(found, 'deriving, comparing and simulating')
        result = compare(found, given.t_end, limit=given.limit,
                         forms=given.forms)
        print(result, flush=True)
        if given.save:
            working(found, 'drawing')
        for path in result.save(given.save) if given.save else ():
            print(f'  wrote {path}')
        print()
        if result.interrupted:
            raise KeyboardInterrupt
        return result.agrees

    return for_each(given, compared)


def working(found, task):
    """Show what takes the next seconds."""
    print(f'[{found.name}: {task} ...]', file=sys.stderr, flush=True)


def write_pages(given):
    from .report import report

    def written(found):
        path = given.save/f'{found.name}.html'
        report(found.form(UdwadiaKalabaMethod), found.start, found.parameters,
               found.inputs, fixed=found.fixed, title=found.title,
               speed=min(1, found.t_end or 1), **found.visual).save(path)
        print(f'wrote {path}')
        return True

    return for_each(given, written)


def for_each(given, run):
    """The exit status; models that cannot be read do not stop the others."""
    status = 0
    for name in given.models:
        try:
            if not run(find_model(name)):
                status = 1
        except BrokenPipeError:
            raise
        except (ConstrainedDynamicsError, ValueError, OSError) as error:
            print(f'{name}: {error}', file=sys.stderr)
            status = 1
    return status


def find_model(name):
    """A ready model, or the model of a file."""
    path, _, wanted = name.partition('.py')
    if not wanted and not name.endswith('.py'):
        return model(name)
    file = Path(path + '.py')
    if not file.is_file():
        raise ValueError(
            f"The file {file} does not exist. Give the path of a Python "
            "file, or the name of a ready model.")
    return model_of_file(file, runpy.run_path(str(file)), wanted.lstrip(':'))


def model_of_file(file, names, wanted=''):
    value = chosen(file, {
        name: value for name, value in names.items() if isinstance(value, (
            Model, System, KanesMethod, LagrangesMethod, ConstrainedMethod))
    }, wanted)
    if isinstance(value, Model):
        return value
    given = {name: names[name] for name in FIELDS
             if names.get(name) is not None}
    raise_problems((
        f"`{name}` of {file} is {given[name]!r}. Give a dictionary." for name
        in ('parameters', 'start', 'inputs', 'visual')
        if not isinstance(given.get(name, {}), Mapping)), ValueError)
    given.setdefault('parameters', {})
    given.setdefault('t_end', 10. if given.get('start') else 0.)
    # SymPy has a function of this name, which a star import brings in.
    option = names.get('potential_energy')
    return Model.of(
        value, name=file.stem, title=f'the model of {file.name}',
        reference=str(file), extra={
            'potential_energy': option} if isinstance(option, str) else {},
        **given)


def chosen(file, found, wanted):
    """The object of a name, or the only one, or the only System."""
    if wanted:
        if wanted not in found:
            raise ValueError(
                f"{file} has no model object `{wanted}`; it has "
                f"{', '.join(found) or 'none'}.")
        return found[wanted]
    systems = [x for x in found.values() if isinstance(x, System)]
    if len(systems) == 1:
        return systems[0]
    if len(found) != 1:
        raise MissingIngredientError(
            f"{file} makes {len(found)} model objects"
            f"{': ' + ', '.join(found) if found else ''}. It must make one "
            "System, KanesMethod or LagrangesMethod object, or you name one: "
            f"{file}:NAME.")
    return next(iter(found.values()))


if __name__ == '__main__':
    sys.exit(main())
