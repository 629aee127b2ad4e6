"""Methods by laws by models, with the number of checks or a reason."""
import csv
import re
from pathlib import Path

from laws.laws import LARGE, LAWS, Case, NotConcerned, checks, forget
from laws.models import NAMES
from laws.ways import WAYS, Refused

FOLDER = Path(__file__).resolve().parents[2] / 'doc' / 'trust'
# Why a method does not take a model, or does not take it with other rows.
REASONS = {
    'redundant': ('follows? from the other|redundant rows',
                  'rows that follow from others'),
    'nonlinear': ('[nN]ot linear', 'rows that are not linear in the '
                  'velocities, or cannot be solved for one'),
    'accelerations': ('constraints at acceleration level',
                      'rows of accelerations'),
    'principle': ('another principle', 'vakonomic motion is another motion '
                  'where rows do not integrate'),
    'speeds': ('coordinates and \\d+ speeds',
               'fewer or more speeds than coordinates'),
    'Lagrangian': ("not Lagrange's equations",
                   'bodies in coordinates that have no Lagrangian'),
    'nonideal': ("keyword argument 'nonideal_forces'",
                 'forces of the constraints that do work')}


def outcome(law, case):
    """The number of checks, a reason, or nothing if there is nothing to
    say."""
    try:
        return str(checks(law, case))
    except NotConcerned:
        return ''
    except Refused as error:
        return reason(str(error))


def reason(text):
    """The name of a refusal."""
    found = [name for name, (pattern, _) in REASONS.items()
             if re.search(pattern, text)]
    assert found, f'a refusal that nobody has heard of: {text}'
    return found[0]


def case(model, way):
    return Case(WAYS[way], model, (1,) if model in LARGE else (1, 2))


def row(model, way, laws=LAWS):
    """Law -> outcome."""
    return {name: outcome(LAWS[name], case(model, way)) for name in laws}


def rows(model):
    """``(model, way)`` -> row, of one model."""
    found = {(model, way): row(model, way) for way in WAYS}
    forget()
    return found


def recorded():
    """The table as it was last written."""
    if not (FOLDER / 'laws.csv').exists():
        return {}
    with (FOLDER / 'laws.csv').open(newline='') as file:
        return {(line.pop('model'), line.pop('method')): line
                for line in csv.DictReader(file)}


def write(table):
    """All of it, by methods and laws, and by methods and models."""
    FOLDER.mkdir(exist_ok=True)
    save('laws.csv', ['model', 'method', *LAWS], [
        [model, way, *(table[model, way][name] for name in LAWS)]
        for model in NAMES for way in WAYS])
    save('by_law.csv', ['', *LAWS, 'all'], [
        [way, *(tally(table[model, way][name] for model in NAMES)
                for name in LAWS),
         tally(x for model in NAMES for x in table[model, way].values())]
        for way in WAYS])
    save('by_model.csv', ['', *WAYS], [
        [model, *(tally(table[model, way].values()) for way in WAYS)]
        for model in NAMES])


def save(name, head, lines):
    with (FOLDER / name).open('w', newline='') as file:
        csv.writer(file, lineterminator='\n').writerows([head, *lines])


def tally(cells):
    """Checks, and refusals behind a stroke."""
    cells = list(cells)
    refused = sum(cell in REASONS for cell in cells)
    total = sum(int(cell) for cell in cells if cell.isdigit())
    return f'{total} / {refused}' if refused else str(total)
