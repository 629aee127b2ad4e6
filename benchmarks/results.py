"""The results of a run, by job, as numbers with units."""
from dataclasses import dataclass

NAMES = {'closed_chain': 'chain', 'closed_chain_absolute': 'absolute',
         'closed_chain_3d': '3-D closed', 'bicycle': 'bicycle 4',
         'bicycle_whole': 'bicycle 8', 'rolling_disc': 'rolling disc',
         'rolling_disc_minimal': 'rolling disc, minimal',
         'four_bar': 'four-bar', 'andrews_squeezer': 'Andrews'}
PEERS = {'kane': 'KanesMethod', 'lagrange': 'LagrangesMethod',
         'pinocchio': 'Pinocchio', 'drake': 'Drake', 'exudyn': 'Exudyn',
         'mujoco': 'MuJoCo'}
#: Key of a number -> its unit, if that is not the second.
UNITS = {'peak': 'MB', 'imports': 'MB', **dict.fromkeys((
    'operations', 'nodes', 'residual', 'drift', 'speed_up',
    'wall_speed_up'), '')}


def named(spec):
    name, _, size = spec.partition(':')
    return f'{NAMES.get(name, name.replace("_", " "))} {size}'.strip()


# -- values ------------------------------------------------------------------

@dataclass(frozen=True)
class Value:
    """A number with its unit, or the reason why it is missing."""

    number: float | None = None
    unit: str = ''
    text: str = ''
    least: bool = False                 # it is a lower bound

    def __str__(self):
        if self.number is None:
            return self.text
        if self.unit == 's':
            shown = seconds(self.number)
        elif self.unit == 'MB':
            shown = f'{self.number:.0f} MB'
        else:
            shown = f'{self.number:.4g}' + (f' {self.unit}' if self.unit
                                            else '')
        return f'> {shown}' if self.least else shown


def seconds(number):
    for unit, size in (('s', 1.), ('ms', 1e-3), ('µs', 1e-6), ('ns', 1e-9)):
        if number >= size or unit == 'ns':
            shown = number/size
            return f'{shown:.0f} {unit}' if shown >= 100 else (
                f'{shown:.3g} {unit}')


class Results:
    """Results by job."""

    def __init__(self, record):
        self.record = record
        self.results = record['results']

    def has(self, job):
        return job in self.results

    def value(self, job, key='seconds'):
        result = self.results.get(job, {'failed': 'not run'})
        unit = UNITS.get(key, 's')
        if key == 'net' and 'call' in result:   # less calls on nothing
            return Value(result['call'] - result['idle'], unit)
        if key in result:
            return Value(result[key], unit)
        if 'over' in result:
            return Value(result['over'], unit, least=True)
        if 'missing' in result:
            return Value(text=f'missing: {result["missing"]}')
        return Value(text=result.get('failed') or result.get(
            'native_failed') or '–')

    def error(self, job, key='error'):
        error = self.results.get(job, {}).get(key)
        return '' if error is None else f'{error:.0e}'

    def specs(self, job, last=None):
        """Models of a job, in the order of the run."""
        found = [key.split() for key in self.results]
        return list(dict.fromkeys(
            words[1] for words in found if words[0] == job and (
                not last or words[2:] == last.split())))


def ratio(theirs, ours):
    """Theirs by ours, a :class:`Value`."""
    if theirs.number is None or not ours.number:
        return Value(text='')
    return Value(theirs.number/ours.number, least=theirs.least)
