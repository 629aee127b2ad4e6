"""What a page draws; places are functions of the state in JavaScript."""
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
from sympy import Dummy, Float
from sympy.physics.mechanics import RigidBody
from sympy.physics.vector import Point

from ..contact import (
    CircularRim, ConeSurface, CylinderSurface, EllipsoidSurface, PlaneSurface,
    SphereSurface, TorusSurface)
from ..errors import ConstrainedDynamicsError, KinematicsError, warn
from ..graph import Graph, read
from ..model.call_signatures import as_dictionary, as_list
from ..model.kinetics import axes_of_body, measure_dyadic
from ..model.loads import parse_loads
from ..numeric.codegen.native import with_given
from ..numeric.names import number
from ..scene.labels import checked_view
from ..scene.parts import Drawables
from ..scene.scene_items import flat_axis
from ..scene.wireframes import unknown


# Ranges of the parameters of surfaces: full turns, half turns, or the extent.
MESHES = {PlaneSurface: 'plane', SphereSurface: 'ball',
          EllipsoidSurface: 'ball', TorusSurface: 'torus',
          CylinderSurface: 'tube', ConeSurface: 'tube', CircularRim: 'rim'}
AXES = 'xyz'


class Scene:
    """The scene of a model; arguments are those of :func:`.report`."""

    def __init__(self, functions, model, view=None, up=None, constants=None,
                 **shown):
        compiled = functions.compiled
        numbers = {**dict(zip(compiled.constants, compiled.p)), **{
            x: Float(number(value), 17)
            for x, value in as_dictionary(constants, 'picture').items()}}
        self.shown = shown = Drawables(SimpleNamespace(
            states=compiled.states, constants=numbers), model, **shown)
        self.find = find = shown.find
        self.functions, self.g = functions, find._builder
        self.numbers = {x: value for x, value in numbers.items()
                        if x not in compiled.constants}
        self.refs, self.where, self.data = [], {}, {'parts': []}
        if shown.lost and not shown.points and not shown.lines:
            warn(f"Not all bodies are drawn: {shown.lost}.")
        self.moving = [find._builder.input(x, dynamic=True)
                       for x in (*compiled.states, compiled.equations.t)]
        for color, (body, place, axes) in enumerate(shown.bodies):
            self.add_body(color, body, place, axes)
        for kind, lines in ('line', shown.lines), ('spring', shown.springs):
            for name, places in lines:
                self.add(kind, name=name, at=[*map(self.place, places)])
        for color, (name, place) in enumerate(
                shown.points.items(), len(shown.bodies)):
            self.add('dot', at=self.place(place), name=name, color=color,
                     trail=True)
        for k, (surface, base, axes) in enumerate(shown.surfaces):
            self.add_surface(k, surface, base, axes)
        if self.unknown(self.refs):
            raise unknown(self.unknown(self.refs), 'a place in the picture')
        self.view(view, up)

    def add(self, kind, **values):
        self.data['parts'].append({'kind': kind, **values})

    def place(self, quantity):
        """Where the entries of a position or rotation begin."""
        refs = tuple(ref for row in quantity.refs for ref in row)
        if refs not in self.where:
            self.where[refs] = len(self.refs)
            self.refs += refs
        return self.where[refs]

    def moves(self, *quantities):
        return any(self.g.depends_on(ref, *self.moving)
                   for quantity in quantities if quantity
                   for row in quantity.refs for ref in row)

    def write(self):
        self.functions.write_refs('places', self.g, self.refs, (),
                                  self.numbers)
        self.data['drifts'] = self.find.drift is not None
        self.data['positions'] = [k for refs, k in self.where.items()
                                  if len(refs) == 3]

    # -- parts -----------------------------------------------------------

    def add_body(self, color, body, place, axes):
        """Links, the shape of the inertia, a dot; a block if it slides."""
        at, moves = self.place(place), self.moves(place, axes)
        rigid = isinstance(body, RigidBody)
        linked = self.add_links(color, body, moves)
        if not moves:
            return
        frame = self.inertia_frame(body) if rigid else None
        ratios = self.gyration(body, frame) if frame else None
        if ratios and frame not in self.shown.frames:
            self.add('shape', at=at, color=color, linked=linked,
                     axes=self.place(self.find.rotation(frame)),
                     ratios=len(self.refs))
            self.refs += ratios
        slides = rigid and axes and not (
            ratios or linked or frame in self.shown.frames
            or self.moves(axes))
        self.add('dot', at=at, name=body.name, color=color, trail=True,
                 small=rigid, **(
                     {'block': self.place(axes)} if slides else {}))

    def add_links(self, color, body, moves):
        """Links of a body that moves, or supports; whether it has any."""
        links = self.shown.links(body)
        for a, b in links.values():
            if moves:
                self.add('link', at=[self.place(a), self.place(b)],
                         color=color, rigid=isinstance(body, RigidBody),
                         fixed=[not self.moves(a), not self.moves(b)])
            else:
                self.add('support', at=self.place(b))
        return bool(links)

    def inertia_frame(self, body):
        """The frame of a body, or that of its inertia, if it is oriented."""
        if body.central_inertia == 0:
            return None
        frames = body.frame, axes_of_body(
            self.find._kinematics, body).inertia
        return next(filter(self.find.is_oriented, frames), None)

    def gyration(self, body, frame):
        """Central moments of inertia over the mass, None if unknown."""
        inertia = measure_dyadic(
            self.find._kinematics, body.central_inertia, frame)
        mass = read(self.g, body.mass)
        refs = [self.g.div(inertia[i][i], mass) for i in range(3)]
        return None if self.unknown(refs) else refs

    def unknown(self, refs):
        """Names of constants without a value, which the equations lack."""
        compiled = self.functions.compiled
        known = {compiled.equations.t, *compiled.states, *self.numbers,
                 *compiled.constants, *compiled.inputs.expressions,
                 *compiled.inputs.called}
        return [str(x) for x in self.g.symbols_of(*refs) if x not in known]

    def add_surface(self, k, surface, base, axes):
        kind = next((text for known, text in MESHES.items()
                     if isinstance(surface, known)), None)
        if not kind:
            return
        own = [Dummy() for _ in surface.parameters]
        numbers = surface.with_parameters(*own).position().to_matrix(
            surface.frame)
        self.functions.write_refs(
            f'surface{k}', self.g, [read(self.g, e) for e in numbers], own,
            self.numbers)
        self.add('surface', f=f'surface{k}', mesh=kind, at=self.place(base),
                 axes=self.place(axes), moves=self.moves(base, axes),
                 inside=bool(getattr(surface, 'interior', False)))

    # -- forces ----------------------------------------------------------

    def add_forces(self, method, forces=None, rows=()):
        """The given forces, else joint reactions, else ``m*J*z``."""
        equations = self.functions.compiled.equations
        forces = as_dictionary(forces, 'forces')
        if forces:
            self.add_given(forces, equations)
        elif not self.add_reactions(method, equations, rows) and (
                self.find.system is not None
                and equations.u == self.find.system.u
                and equations.multipliers):
            self.add_changes(self.find._kinematics)

    def add_given(self, forces, equations):
        refs = [ref for _, acts in forces.values()
                for ref, in self.find.vector(acts).refs]
        multipliers = equations.multipliers
        lost = set(self.unknown(refs)).difference(map(str, multipliers))
        if lost:
            raise unknown(sorted(lost), 'a force')
        self.write_forces('given', ', '.join(forces), self.g, refs,
                          multipliers, [place for place, _ in forces.values()])

    def add_reactions(self, method, equations, rows):
        """Write the forces of joints and rows; returns whether they exist."""
        if self.find.frame is None or not hasattr(method, 'joint_reactions'):
            return False
        try:
            found = method.joint_reactions(rows=rows, frame=self.find.frame)
        except ConstrainedDynamicsError:        # forces without a place
            if as_list(rows, 'rows'):
                raise
            return False
        where = {name: x.location for name, x in found.items()
                 if isinstance(x.location, Point)
                 and x.location in self.find.points}
        g, out = found.graph.load(None, tuple(where))
        refs = [ref for name in where for ref, in out[name][:3]]
        known = {equations.t, *equations.states, *equations.constants,
                 *equations.specifieds, *found.accelerations, *self.numbers,
                 *self.functions.compiled.inputs.feedback}
        if not refs or not known.issuperset(g.symbols_of(*refs)) or (
                found.accelerations != tuple(
                    x.diff(equations.t) for x in equations.u)):
            return False
        self.write_forces('reactions', 'reactions', g, refs,
                          found.accelerations, where.values())
        return True

    def add_changes(self, kinematics):
        g, symbols = self.g, [Dummy() for _ in kinematics.speeds]
        z = [g.input(x, dynamic=True) for x in symbols]
        refs, points = [], []
        for body in self.find.bodies:
            if body.masscenter not in self.find.points:
                continue
            with suppress(KinematicsError):
                velocity = kinematics.velocity(
                    body.masscenter, self.find.frame)
                mass, columns = read(g, body.mass), kinematics.columns(
                    velocity)
                if columns and not self.unknown([mass]):
                    refs += [g.mul(mass, g.sum(
                        g.mul(column[i], z[k])
                        for k, column in columns.items())) for i in range(3)]
                    points.append(body.masscenter)
        if points:
            self.write_forces('forces', 'added', g, refs, symbols, points)

    def write_forces(self, name, title, g, refs, symbols, places):
        """Write forces at places as a function of further ``symbols``."""
        self.functions.write_refs(name, g, refs, symbols, self.numbers)
        self.data |= {'forces': title, 'attack': [
            self.place(self.find.position(x)) for x in places]}

    # -- view ------------------------------------------------------------

    def view(self, view, up):
        if up is not None and up not in [*AXES, *(f'-{k}' for k in AXES)]:
            raise ValueError(
                f"`up` is {up!r}. Pass an axis, such as 'z' or '-z'.")
        found = self.samples()
        flat = self.flat_axis(found) if checked_view(view) is None else next(
            (k for k in range(3) if AXES[k] not in view and view != '3d'),
            None)
        default = 'y' if flat == 2 else 'z'
        up = up or self.against_weights(found[:, -3:], flat) or default
        self.data |= {'flat': flat, 'up': [
            (-1 if up.startswith('-') else 1)*(axis == up[-1])
            for axis in AXES]}

    def samples(self):
        """All places, then the loads on mass centres, at some states."""
        refs, g = self.refs, self.g
        weight, centres = (0, 0, 0), {
            body.masscenter for body in self.find.bodies}
        system = self.find.system
        loads = () if system is None else parse_loads(system.loads)
        for location, vector in loads:
            if location in centres and self.find.frame is not None:
                force = self.find._kinematics.measure(vector, self.find.frame)
                weight = weight if self.unknown(force) else g.added(
                    weight, force)
        graph = Graph.freeze(g, {'out': [*refs, *weight]})
        compiled, t, x = (self.functions.compiled, self.functions.t,
                          self.functions.x)
        given = {**compiled.inputs.feedback, **self.numbers}
        values = compiled.group(with_given(graph, ('out',), given), ('out',))
        found = []
        for k in range(4):
            state = x + 0.1*np.sin(k + 1.7*k*np.arange(len(x)))
            with suppress(ArithmeticError):     # outside the domain
                found.append(values(t, state)['out'][:, 0])
        return np.array(found)

    def flat_axis(self, found):
        """The axis that no place moves along and about which bodies turn."""
        parts = self.data['parts']
        places = [found[:, k:k + 3] for part in parts
                  for k in np.ravel(part['at'])]
        return flat_axis(
            np.concatenate(places or [np.zeros((1, 3))]),
            [found[:, k:k + 9].reshape(-1, 3, 3) for k in {
                part['axes'] for part in parts if 'axes' in part}])

    def against_weights(self, weights, flat):
        """The axis opposite to loads that are constant, None without any."""
        k = int(np.argmax(np.abs(weights[0])))
        if k == flat or not weights[0, k] or np.ptp(weights, axis=0).max() > (
                1e-9*abs(weights[0, k])):
            return None
        return ('-' if weights[0, k] > 0 else '') + AXES[k]
