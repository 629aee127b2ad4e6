"""How a mechanism is written down in SymPy, as plain data.

A :class:`Writing` is a set of independent choices. Every combination
describes the same mechanism, so ``newton`` stays the reference for all of
them and all of them agree with each other. ``model`` follows the choices.
"""
from collections import Counter
from dataclasses import dataclass, fields, replace

from fuzz.mechanism import SPEEDS_OF_THEIR_OWN

# Choice -> alternatives to the default. Those of CYCLES are drawn three
# times; bodies, points, loads take them in turn.
ALTERNATIVES = {
    'shape': ['lagrange'],
    'interface': ['System'],
    'joints': ['Joint'],
    'points': ['shared', 'shared'],
    'frames': ['own', 'auxiliary'],
    'particles': ['RigidBody'],
    'inertia_about': ['joint'],
    'inertia_axes': ['turned', 'mixed', 'split', 'parent', 'inertial'],
    'places': ['detour', 'origin'],
    'velocities': ['theory', 'none'],
    'spins': ['speeds'],
    'kinematics': ['scaled'],
    'order': [1, 2, 3],
    'loads': ['object', 'halves', 'body', 'turned'],
    'weights': ['other'],
    'numbers': ['symbols', 'one symbol', 'float', 'residue',
                'residue symbol'],
    'factors': ['time']}
CYCLES = {'inertia_about', 'inertia_axes', 'places', 'velocities', 'loads'}
VARIED = 0.35                   # of all choices
ROUGH = {'float', 'residue', 'residue symbol'}


@dataclass(frozen=True)
class Writing:
    """Choices; the defaults are the plain writing.

    ``shape``: of the call, 'kane' or 'lagrange'.
    ``interface``: 'arguments', or SymPy's 'System'.
    ``joints``: pins, sliders and welds by 'frames' or by SymPy's 'Joint'.
    ``points``: 'own', or 'shared' where points of a body coincide.
    ``frames``: 'shared' where a body does not turn in its parent, else
    'own'; 'auxiliary': vectors are written in frames fixed in the bodies.
    ``particles``: 'Particle', or 'RigidBody' without inertia.
    ``inertia_about``: the mass 'centre' or the 'joint'.
    ``inertia_axes``: 'body'; 'turned' against it; 'mixed', each dyad in two
    frames; 'split', half in each; 'parent' and 'inertial', with measure
    numbers that depend on the coordinates.
    ``places``: along the 'link', by a 'detour', or from the 'origin'.
    ``velocities``: derivatives 'dt' of positions, from the one-point and
    two-point 'theory', or 'none', positions only.
    ``spins``: angular velocities by SymPy, 'rates', or set in 'speeds'.
    ``kinematics``: 'plain' equations, or 'scaled' ones.
    ``order``: seed of the order of bodies, rows, loads, coordinates and
    speeds; 0 for that of the mechanism.
    ``loads``: 'tuple', Force and Torque 'object', two 'halves', at the
    'body', with components in a 'turned' frame.
    ``weights``: 'usual', loads in Kane's shape and potential energy in
    Lagrange's, or the 'other' way.
    ``numbers``: 'rational'; masses and moments as 'symbols'; 'one symbol'
    for equal numbers; 'float'; 'residue' and 'residue symbol', with 6e-17 in
    place of zeros of rotations and directions.
    ``factors``: rows times 'time', t or sin t, or 'none'.
    """

    shape: str = 'kane'
    interface: str = 'arguments'
    joints: str = 'frames'
    points: str = 'own'
    frames: str = 'shared'
    particles: str = 'Particle'
    inertia_about: tuple = ('centre',)
    inertia_axes: tuple = ('body',)
    places: tuple = ('link',)
    velocities: tuple = ('dt',)
    spins: str = 'rates'
    kinematics: str = 'plain'
    order: int = 0
    loads: tuple = ('tuple',)
    weights: str = 'usual'
    numbers: str = 'rational'
    factors: str = 'none'

    @property
    def rough(self):
        """Whether numbers are those of floating point."""
        return self.numbers in ROUGH


PLAIN = Writing()


def writing(random, mechanism):
    """A random writing of a mechanism."""
    chosen = {}
    for name, values in ALTERNATIVES.items():
        usual = getattr(PLAIN, name)
        if random.random() < VARIED:
            chosen[name] = tuple(
                random.choice([*usual, *values]) for _ in range(3)
            ) if name in CYCLES else random.choice(values)
    return possible(Writing(**chosen), mechanism)


def possible(writing, mechanism):
    """The writing without choices that the mechanism does not allow."""
    if mechanism.mixing or any(body.joint in SPEEDS_OF_THEIR_OWN
                               for body in mechanism.bodies):
        writing = replace(writing, shape='kane')
    if writing.shape == 'lagrange' or mechanism.mixing:
        writing = replace(writing, joints='frames')
    if writing.shape == 'lagrange':     # its speeds are the rates
        writing = replace(writing, interface='arguments', spins='rates',
                          kinematics='plain')
    return writing


def counts(writings):
    """For each choice the number of writings that have a value in it."""
    table = {field.name: Counter() for field in fields(Writing)}
    for found in writings:
        for name, counter in table.items():
            value = getattr(found, name)
            counter.update({*value} if name in CYCLES else [value])
    return table
