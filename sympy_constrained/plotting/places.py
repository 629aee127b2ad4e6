"""Where bodies, points and frames are along a trajectory."""
from __future__ import annotations

import warnings
from difflib import get_close_matches

import numpy as np
from scipy.interpolate import CubicSpline
from sympy import Function, MatrixBase, Symbol
from sympy.physics.vector import Point, Vector

from .. import _compat
from ..errors import KinematicsError, MissingIngredientError
from ..graph import Graph, GraphBuilder, read
from ..model.build import build_system, kinematics_of
from ..model.call_signatures import arguments_of, as_list, bind_arguments
from ..model.kinematics import Kinematics
from ..model.system import ConstrainedSystem
from ..numeric.codegen.native import with_given
from ..numeric.codegen.python_code import Generated
from ..numeric.inputs import Inputs
from ..numeric.names import Names, label, number

__all__ = ['Places', 'system_of']

FINER = 4           # times for each one of a picture, to integrate a velocity


def system_of(model):
    """The constrained system of a method, a ready model, ... or None."""
    if model is None or isinstance(model, ConstrainedSystem):
        return model
    system = getattr(model, 'system', None)
    if isinstance(system, ConstrainedSystem):
        return system
    if hasattr(model, 'shape') and hasattr(model, 'arguments'):
        shape, arguments = model.shape, model.arguments     # a ready model
    else:
        shape, arguments = arguments_of(model)
    with warnings.catch_warnings():     # of what is no matter of pictures
        warnings.simplefilter('ignore')
        return build_system(
            *bind_arguments('animate', (), dict(arguments)),
            **{'potential_energy': 'ignore'} if shape == 'kane' else {})


class Places:
    """Positions and orientations on one graph, then as arrays.

    Explanation
    ===========

    What is wanted is asked for by :meth:`position` and :meth:`rotation`,
    which return names; :meth:`evaluate` gives the arrays of all names.

    Positions are measured from ``origin``, by default a point at rest. A
    point may be at rest for a moment only, as that of a wheel on the road:
    then the velocity of the mass centre is not the rate of its position from
    there, and the difference is integrated.

    Parameters
    ==========

    trajectory : Trajectory
    model : a method, a ready model or a SymPy object, or None
    seeds : iterable of Point
        Points that must have a position, the most important first.
    origin : Point, optional
    frame : ReferenceFrame, optional
        The inertial frame, by default that of the model.
    constants : mapping, optional
        Numbers beside those of the trajectory.
    inputs : mapping, optional
        Specified functions, as for :func:`.simulate`.
    named : mapping, optional
        Name -> place, beside the names of bodies and points.

    Attributes
    ==========

    bodies : tuple
    frame : ReferenceFrame or None
    origin : Point or None
    numbers : dict
        Symbol or name -> value of every constant.

    """

    def __init__(self, trajectory, model=None, seeds=(), origin=None,
                 frame=None, constants=None, inputs=None, named=()):
        system = system_of(model)
        self.trajectory, self.inputs = trajectory, inputs
        self.given = {name: place for name, place in dict(named).items()
                      if not isinstance(place, str)}
        self.bodies = system.bodies if system else ()
        self._states = Names(trajectory.states, 'state')
        strange = [label(x) for x in (system.q if system else ())
                   if self._state(x) is None]
        if strange:
            raise ValueError(
                f"`model` has the coordinate{'s'*(len(strange) > 1)} "
                f"{', '.join(strange)}, which the trajectory does not have: "
                "it is of another model. Pass the model that was simulated.")
        self.frame = frame or (system and system.frame)
        self._kinematics = kinematics_of(system) if system else Kinematics(
            GraphBuilder(_compat.time_symbol()), frame, (), (), [])
        self._kinematics.frame = self.frame
        self._builder = self._kinematics.builder
        self._bind_speeds(system, model)
        self.numbers = dict(trajectory.constants)
        for key, value in (constants or {}).items():
            self.numbers[key] = number(value)
        self._speeds = system.u if system else ()
        self._rows, self._of_point, self._drift = {}, {}, None
        if self.frame is not None:
            points = [b.masscenter for b in self.bodies]
            self.origin, self._of_point = self._located(
                [*points, *seeds], origin)
            if origin is None and self.origin is not None:
                self._drift = self._drift_of(
                    [p for p in points if p in self._of_point])

    def _bind_speeds(self, system, model):
        """The user's speeds, where the system is stated in the ``q'``."""
        shape, arguments = getattr(model, 'call', ('', {}))
        if shape != 'kane' or 'speeds' not in system.graph.outputs:
            return
        _, rows = system.graph.load(self._builder, ('speeds',))
        speeds = [x for name in ('u_ind', 'u_dependent')
                  for x in as_list(arguments[name], name)]
        for x, (ref,) in zip(speeds, rows['speeds']):
            if x not in system.u:
                self._builder.bound[x] = ref

    def _number(self, item):
        """Value of a constant, by symbol or by name, None for others."""
        return self.numbers.get(item, self.numbers.get(str(item)))

    def _state(self, item):
        """Position of a state, None for others.

        A trajectory from a file knows its states by name.
        """
        if item in self._states.objects:
            return self._states.objects.index(item)
        text = label(item)
        return self._states.objects.index(text) if (
            text in self._states.objects) else None

    # -- what is asked for -----------------------------------------------

    @property
    def drifts(self):
        """Whether the origin is at rest for a moment only."""
        return self._drift is not None

    def has(self, point):
        """Whether a point has a position from the origin."""
        return point in self._of_point

    def place(self, name):
        """The place of a name: one that was given, a body or a point."""
        if not isinstance(name, str):
            return name
        known = {**{point.name: point for point in self._of_point},
                 **{body.name: body.masscenter for body in self.bodies},
                 **self.given}
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"Did you mean {near[0]!r}? " if near else ''
            raise ValueError(
                f"The place {name!r} is the name of no body and no point"
                f"{' (' + ', '.join(known) + ')' if known else ''}. {hint}"
                "Give a name, a Point, a Vector, or a pair or triple of "
                "expressions.")
        return known[name]

    def position(self, place):
        """Name of the position of a Point, a Vector, expressions, ..."""
        place = self.place(place)
        if isinstance(place, Point):
            refs = self._point(place)
        elif isinstance(place, Vector):
            self._need_frame(place)
            refs = self._kinematics.measure(place, self.frame)
        else:
            refs = self._expressions(place)
        return self._named([[ref] for ref in refs])

    def rotation(self, frame):
        """Name of the matrix whose columns are the axes of a frame."""
        self._need_frame(frame)
        return self._named(self._kinematics.rotation(self.frame, frame))

    def is_oriented(self, frame):
        """Whether a frame has an orientation in the inertial one."""
        return self.frame is not None and (
            frame in self._kinematics.oriented)

    def _named(self, rows):
        name = f'{len(self._rows)}'
        self._rows[name] = [list(row) for row in rows], len(rows[0])
        return name

    def _need_frame(self, item):
        if self.frame is None:
            raise MissingIngredientError(
                f"The place of {item} is not known, because the model has no "
                "inertial frame: it was built from a Lagrangian alone. Pass "
                "`frame=`, or give the place as expressions (x, y, z).")

    def _point(self, point):
        self._need_frame(point)
        if point not in self._of_point:
            if self.origin is None:
                raise KinematicsError(
                    f"Point {point} has no position: no point that it is "
                    f"connected to is at rest in {self.frame}. Set the "
                    "velocity of the fixed point to zero, or pass the point "
                    "to look from as `origin`.", point=point)
            raise KinematicsError(
                f"Point {point} has no position relative to {self.origin}, "
                "the origin of the picture. Set it with `set_pos`, pass "
                "another `origin`, or leave the point out.", point=point)
        return self._of_point[point]

    def _expressions(self, place):
        entries = list(place) if isinstance(
            place, (tuple, list, MatrixBase)) else []
        if len(entries) not in (2, 3):
            raise TypeError(
                f"The place {place!r} is no Point, no Vector and no pair or "
                "triple of expressions. Give one of these.")
        return [*(read(self._builder, self._entry(e)) for e in entries),
                0][:3]

    def _entry(self, entry):
        """An expression; the name of a state or constant stands for it."""
        if not isinstance(entry, str):
            return entry
        names = Names([*self._states, *self.numbers], 'state or constant')
        k, = names.indices([entry], 'place')
        found = names.objects[k]
        if not isinstance(found, str):
            return found
        return Symbol(found) if k >= len(self._states) else (
            Function(found)(_compat.time_symbol()))

    # -- origin ----------------------------------------------------------

    def _located(self, points, origin):
        """The origin, and the positions of all points connected to it."""
        if origin is not None:
            return self._kinematics.positions([origin], origin)
        best = None, {}
        for point in points:
            if point in best[1]:
                continue
            start, found = self._kinematics.positions([point])
            if _compat.velocity(start, self.frame) == 0:
                return start, found
            best = best if best[1] else (start, found)
        return best

    def _drift_of(self, centres):
        """Velocity of the origin, where it is not really at rest."""
        for centre in centres:
            try:
                velocity = self._kinematics.velocity(centre, self.frame)
            except KinematicsError:
                continue
            rate = map(self._kinematics.bias, self._of_point[centre])
            refs = list(map(self._builder.sub, velocity, rate))
            return [[ref] for ref in refs] if any(refs) else None
        if _compat.velocity(self.origin, self.frame) != 0:
            self.origin, self._of_point = None, {}
        return None

    # -- numbers ---------------------------------------------------------

    def evaluate(self, times):
        """Arrays of all names at times, and the path of the origin.

        Returns
        =======

        dict
            Name -> array ``(len(times), rows, columns)``.
        ndarray, shape (len(times), 3)

        """
        path = np.zeros((len(times), 3))
        if self._drift is not None and len(times) > 1:
            finer = np.interp(np.arange((len(times) - 1)*FINER + 1)/FINER,
                              np.arange(len(times)), times)
            rates = self._values({'drift': (self._drift, 1)}, finer)
            values = rates['drift'][:, :, 0]
            sign = np.sign(finer[-1] - finer[0])
            path = CubicSpline(sign*finer, sign*values).antiderivative()(
                sign*np.asarray(times))
        return self._values(self._rows, times), path

    def _values(self, rows, times):
        if not rows:
            return {}
        graph = Graph.freeze(self._builder, rows)
        x = self.trajectory.at(times)
        known, others = self._known(graph, times, x)
        self._check(others)
        inputs = self._inputs(others)
        if inputs.given:
            graph = with_given(graph, rows, inputs.given)
            known, _ = self._known(graph, times, x)
        for k, item in enumerate(inputs.called):
            known[item] = np.array([inputs.values(t, state)[k]
                                    for t, state in zip(times, x)])
        arguments = {item: Symbol(f'x{i}') for i, item in enumerate(known)}
        return Generated(graph, rows, arguments, {}).batch(
            len(times), *known.values())

    def _known(self, graph, times, x):
        """Symbol -> its values, and the symbols that have none."""
        known, others = {}, []
        for item in graph.symbols():
            k, value = self._state(item), self._number(item)
            if item == graph.time:
                known[item] = np.asarray(times, float)
            elif k is not None:
                known[item] = x[:, k]
            elif value is not None:
                known[item] = value
            else:
                others.append(item)
        return known, others

    def _check(self, others):
        """Raise for symbols that are no inputs."""
        missing = [str(item) for item in others if isinstance(item, Symbol)]
        if missing:
            raise MissingIngredientError(
                f"No value is known for {', '.join(missing)}: a place in the "
                "picture contains it, and the equations of motion do not. "
                f"Pass `constants={{{missing[0]}: ...}}`.",
                symbols=tuple(missing))
        moving = [item for item in others if item in self._speeds]
        if moving:
            raise MissingIngredientError(
                "No point of the model stays at rest, so the velocity of "
                f"{self.origin} is integrated. It contains the speed "
                f"{label(moving[0])}, which is no state of the trajectory. "
                f"Pass `origin={self.origin}` to look from there.")

    def _inputs(self, others):
        """The specified functions that a picture needs."""
        names = Names(dict.fromkeys(
            x for item in others for x in (item, getattr(item, 'expr', item))
        ), 'specified function')
        used, symbols = {}, set()
        for key, value in (self.inputs or {}).items():
            try:
                names.index(key)
            except (KeyError, ValueError):
                continue
            used[key] = value
            symbols |= getattr(value, 'free_symbols', set())
        return Inputs.match(others, used, _compat.time_symbol(), [
            x for x in symbols if self._number(x) is not None])
