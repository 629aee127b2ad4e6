"""Positions and orientations along a trajectory."""
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
from scipy.interpolate import CubicSpline
from sympy import Function, MatrixBase, Symbol
from sympy.physics.vector import Point, ReferenceFrame, Vector

from .. import _compat
from ..errors import KinematicsError, MissingIngredientError, check_kind
from ..graph import Graph, GraphBuilder, read
from ..model.build import kinematics_of, system_of
from ..model.call_signatures import as_dictionary
from ..model.kinematics import Kinematics
from ..numeric.codegen.native import with_given
from ..numeric.codegen.python_code import Generated
from ..numeric.inputs import Inputs
from ..numeric.names import Names, label, number
from .wireframes import unknown


FINER = 4           # times for each one of a picture, to integrate a velocity


def finer(times, count):
    """Times with ``count`` equal steps in place of each."""
    return np.interp(np.arange((len(times) - 1)*count + 1)/count,
                     np.arange(len(times)), times)


@dataclass(eq=False)
class Quantity:
    """A position ``(N, 3)`` or rotation ``(N, 3, 3)``, evaluated together."""

    refs: list
    values: np.ndarray | None = None
    is_free: bool = False       # a vector, not a position


class Positions:
    """Positions and orientations of bodies, points and frames.

    :meth:`position` and :meth:`rotation` register a :class:`Quantity`;
    :meth:`evaluate` fills in the values of all. Positions are measured from
    ``origin``, by default a point at rest. A point may be at rest for an
    instant only, like that of a wheel on the road: then the velocity of a
    mass centre is not the rate of its position from there, and the
    difference is integrated. ``seeds`` are Points that must have a position,
    the most important first; ``numbers`` maps constants to values, ``points``
    Points to references. ``drift`` is the difference, if any.
    """

    def __init__(self, trajectory, model=None, seeds=(), origin=None,
                 frame=None, constants=None, inputs=None, named=()):
        for name, x, kind in (('origin', origin, Point),
                              ('frame', frame, ReferenceFrame)):
            check_kind(name, x, (kind, type(None)), f'Give a {kind.__name__}.')
        self.system = system = model and system_of(model)
        self.trajectory, self.inputs = trajectory, inputs
        self.given = {name: place for name, place in dict(named).items()
                      if not isinstance(place, str)}
        self.numbers = {**trajectory.constants, **{
            key: number(value) for key, value in as_dictionary(
                constants, 'constants').items()}}
        self._quantities, self.points, self.drift = [], {}, None
        self.bodies, self._speeds = (), ()
        self.frame, self.origin = frame, None
        if system is None:
            self._kinematics = Kinematics(GraphBuilder(
                _compat.time_symbol()), frame, (), (), [])
        else:
            self.bodies, self._speeds = system.bodies, system.u
            self.frame = frame or system.frame
            self._kinematics = kinematics_of(system, method=model)
            self._kinematics.frame = self.frame
        self._builder = self._kinematics.builder
        if self.frame is not None:
            self._locate(seeds, origin)

    # -- what is wanted --------------------------------------------------

    def place(self, name):
        """The place of a name: given by the user, a body or a point."""
        if not isinstance(name, str):
            return name
        known = {**{point.name: point for point in self.points},
                 **{body.name: body.masscenter for body in self.bodies},
                 **self.given}
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"Did you mean {near[0]!r}? " if near else ''
            raise ValueError(
                f"The place {name!r} is not the name of a body or point"
                f"{' (' + ', '.join(known) + ')' if known else ''}. {hint}"
                "Give a name, a Point, a Vector, or a pair or triple of "
                "expressions.")
        return known[name]

    def position(self, place):
        place = self.place(place)
        if isinstance(place, Point):
            refs = self._point(place)
        elif isinstance(place, Vector):
            self._need_frame(place)
            refs = self._kinematics.measure(place, self.frame)
        else:
            refs = self._expressions(place)
        return self._wanted([[ref] for ref in refs])

    def vector(self, given):
        """A Vector, or a triple of expressions, in the inertial axes."""
        wanted = self.position(given)
        wanted.is_free = True
        return wanted

    def rotation(self, frame):
        self._need_frame(frame)
        return self._wanted(self._kinematics.rotation(self.frame, frame))

    def is_oriented(self, frame):
        return self.frame is not None and (
            frame in self._kinematics.oriented)

    def _wanted(self, rows):
        self._quantities.append(Quantity([list(row) for row in rows]))
        return self._quantities[-1]

    def _need_frame(self, item):
        if self.frame is None:
            raise MissingIngredientError(
                f"The place of {item} is unknown, because the model has no "
                "inertial frame: it was built from a Lagrangian alone. Pass "
                "`frame=`, or give the place as expressions (x, y, z).")

    def _point(self, point):
        self._need_frame(point)
        if point not in self.points:
            raise KinematicsError(f"Point {point} has no position" + (
                f": no point that it is connected to is at rest in "
                f"{self.frame}. Set the velocity of the fixed point to zero, "
                "or pass the point to look from as `origin`."
                if self.origin is None else
                f" relative to {self.origin}, the origin of the picture. Set "
                "it with `set_pos`, pass another `origin`, or leave the "
                "point out."), point=point)
        return self.points[point]

    def _expressions(self, place):
        if not isinstance(place, (tuple, list, MatrixBase)) or (
                len(place) not in (2, 3)):
            raise TypeError(
                f"The place {place!r} is of type {type(place).__name__}. Give "
                "a Point, a Vector, or a pair or triple of expressions.")
        return [*(read(self._builder, self._entry(e)) for e in place), 0][:3]

    def _entry(self, entry):
        """An expression, or the state or constant of a name."""
        if not isinstance(entry, str):
            return entry
        states = self.trajectory.states
        names = Names([*states, *self.numbers], 'state or constant')
        k, = names.indices([entry], 'place')
        found = names.objects[k]
        if not isinstance(found, str):
            return found
        return Symbol(found) if k >= len(states) else (
            Function(found)(_compat.time_symbol()))

    # -- origin ----------------------------------------------------------

    def _locate(self, seeds, origin):
        """Choose the origin and locate all points connected to it."""
        centres = [body.masscenter for body in self.bodies]
        if origin is not None:
            self.origin, self.points = self._kinematics.positions(
                [origin], origin)
            return
        for point in [*centres, *seeds]:
            if point in self.points:
                continue
            start, found = self._kinematics.positions([point])
            at_rest = _compat.velocity(start, self.frame) == 0
            if at_rest or not self.points:
                self.origin, self.points = start, found
            if at_rest:
                break
        if self.origin is not None:
            self.drift = self._drift_of(
                [p for p in centres if p in self.points])

    def _drift_of(self, centres):
        """Velocity of the origin, if it is at rest for an instant only."""
        for centre in centres:
            try:
                velocity = self._kinematics.velocity(centre, self.frame)
            except KinematicsError:
                continue
            rate = map(self._kinematics.bias, self.points[centre])
            refs = list(map(self._builder.sub, velocity, rate))
            return [[ref] for ref in refs] if any(refs) else None
        if _compat.velocity(self.origin, self.frame) != 0:
            self.origin, self.points = None, {}
        return None

    # -- numbers ---------------------------------------------------------

    def evaluate(self, times):
        times = np.asarray(times, float)
        path = np.zeros((len(times), 3))
        if self.drift is not None and len(times) > 1:
            dense = finer(times, FINER)
            rates, = self._values([self.drift], dense)
            sign = np.sign(dense[-1] - dense[0])
            path = CubicSpline(sign*dense, sign*rates[:, :, 0]
                               ).antiderivative()(sign*times)
        for wanted, values in zip(self._quantities, self._values(
                [wanted.refs for wanted in self._quantities], times)):
            wanted.values = values if values.shape[2] == 3 else (
                values[:, :, 0] + (0. if wanted.is_free else path))

    def _values(self, blocks, times):
        """Arrays ``(len(times), rows, columns)`` of blocks of references."""
        if not blocks:
            return []
        rows = {str(i): (block, len(block[0]))
                for i, block in enumerate(blocks)}
        graph = Graph.freeze(self._builder, rows)
        x = self.trajectory.at(times)
        inputs = self._inputs(self._known(graph, times, x)[1])
        if inputs.given:
            graph = with_given(graph, rows, inputs.given)
        known, _ = self._known(graph, times, x)
        called = [inputs.values(t, state) for t, state in zip(times, x)]
        known.update(zip(inputs.called, np.transpose(called)))
        arguments = {item: Symbol(f'x{i}') for i, item in enumerate(known)}
        found = Generated(graph, rows, arguments, {}).batch(
            len(times), *known.values())
        return [found[name] for name in rows]

    def _known(self, graph, times, x):
        """Symbol -> values, and the inputs without values."""
        run, order = self.trajectory, np.argsort(self.trajectory.t)
        values = {
            label(name): np.interp(times, run.t[order], column[order])
            for name, column in zip(run.multiplier_names, run.multipliers.T)}
        # In a trajectory from a file, states and constants are names.
        values |= {**self.numbers, **dict(zip(run.states, x.T)),
                   graph.time: times}
        known = {item: values.get(item, values.get(label(item)))
                 for item in graph.symbols()}
        others = [item for item, value in known.items() if value is None]
        self._check(others)
        return known, others

    def _check(self, others):
        missing = [str(item) for item in others if isinstance(item, Symbol)]
        if missing:
            raise unknown(missing, 'a place in the picture')
        moving = [item for item in others if item in self._speeds]
        if moving:
            raise MissingIngredientError(
                "No point of the model stays at rest, so the velocity of "
                f"{self.origin} is integrated. It contains the speed "
                f"{label(moving[0])}, not a state of the trajectory. "
                f"Pass `origin={self.origin}` to look from there.")

    def _inputs(self, others):
        names = Names(dict.fromkeys(
            x for item in others for x in (item, getattr(item, 'expr', item))
        ), 'specified function')
        used = {}
        for key, value in as_dictionary(self.inputs, 'inputs').items():
            try:
                names.index(key)
            except (KeyError, ValueError):
                continue
            used[key] = value
        return Inputs.match(others, used, _compat.time_symbol())
