"""Two bodies that touch at a point, slide, roll or roll without pivoting."""
from __future__ import annotations

from functools import cached_property

from sympy import Dummy, Expr, Function, Matrix, sqrt, sympify
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import (
    Force, Point, ReferenceFrame, System, dynamicsymbols)
from sympy.physics.vector import Vector, cross, dot

from ..errors import (
    ConstraintError, KinematicsError, MissingIngredientError,
    UnsupportedFeatureError)
from ..model.call_signatures import as_list, with_known_keywords
from .bodies import (
    centre_velocity, check_attached, check_connected, check_pair)
from .closest_points import ContactFinder, check_regular, row_spaces
from .geometry import vanishes, vector
from .pairs import ChartPair, combined, eliminated_pair
from .reactions import ContactEvent, find_row, multipliers_of, pressed, rows_of

__all__ = ['PointContact']

FORMULATIONS = ('auto', 'explicit', 'augmented', 'kinematic')
MODES = ('sliding', 'rolling', 'no_pivoting')


class PointContact:
    r"""The contact of two bodies at one point.

    Explanation
    ===========

    Body 1 is the ``child`` with the surface :math:`x(\xi)`, body 2 the
    ``parent`` with :math:`y(\zeta)`. They touch where [1]_

    .. math::

       x - y = 0 \quad\text{(C1)}, \qquad
       x_{\xi_i} \cdot n = 0 \quad\text{(C2)}, \qquad n = n_2 = -n_1,

    with unit normals :math:`n_1, n_2` out of the material. The relative
    velocity of the material there is

    .. math::

       v_r = (v_{O_1} + \omega_1\times p_1) - (v_{O_2} + \omega_2\times p_2)

    Its normal part is the rate of the gap and never a row beside it. In the
    mode ``'sliding'`` the contact is kept, in ``'rolling'`` the tangential
    part of :math:`v_r` vanishes, in ``'no_pivoting'`` also
    :math:`(\omega_1 - \omega_2) \cdot n`.

    The contact point is found in one of three ways. ``'explicit'`` eliminates
    it: one holonomic row, the gap. ``'augmented'`` keeps its parameters as
    coordinates without mass: C1 and C2 are five holonomic rows. In
    ``'kinematic'`` the equations of contact are kinematic differential
    equations of the parameters and the start must satisfy C1 and C2. All
    give the same motion.

    Examples
    ========

    A ball rolls on a horizontal table, pushed at its centre:

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import (
    ...     Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)
    >>> from sympy_constrained import (
    ...     PlaneSurface, PointContact, SphereSurface, UdwadiaKalabaMethod)
    >>> x, y, z, wx, wy, wz = dynamicsymbols('x y z omega_x:z')
    >>> vx, vy, vz = dynamicsymbols('v_x:z')
    >>> R, m, g, F = symbols('R m g F')
    >>> N, B = ReferenceFrame('N'), ReferenceFrame('B')
    >>> O, C = Point('O'), Point('C')
    >>> O.set_vel(N, 0)
    >>> C.set_pos(O, x*N.x + y*N.y + z*N.z)
    >>> C.set_vel(N, vx*N.x + vy*N.y + vz*N.z)
    >>> a = dynamicsymbols('a1:4')
    >>> B.orient_body_fixed(N, a, 'zyz')
    >>> B.set_ang_vel(N, wx*N.x + wy*N.y + wz*N.z)
    >>> ball = RigidBody('ball', C, B, m, (inertia(B, *3*[2*m*R**2/5]), C))
    >>> table = RigidBody('table', O, N)
    >>> contact = PointContact(
    ...     'contact', table, ball, PlaneSurface(N, O, N.z),
    ...     SphereSurface(B, C, R))
    >>> contact.holonomic_constraints
    [-R + z(t)]
    >>> contact.nonholonomic_constraints
    [-R*omega_y(t) + v_x(t), R*omega_x(t) + v_y(t)]

    Parameters
    ==========

    name : str
    parent, child : RigidBody
    parent_geometry, child_geometry : ContactGeometryBase
        Fixed in the bodies. The parent has a surface, unless two edges
        cross; then the normal is the derivative of the child's position
        times that of the parent's, and must be made to point to the child.
    frame : ReferenceFrame, optional
        The inertial frame in which velocities are known; by default the
        frame of the parent, which then is the ground. A point of the ground
        has the velocity zero there, as for every method of SymPy.
    formulation : {'auto', 'explicit', 'augmented', 'kinematic'}
        ``'auto'`` is explicit where a closed form is known, else augmented.
    mode : {'rolling', 'sliding', 'no_pivoting'}
    contact_coordinates, contact_speeds : iterable, optional
        Functions of time to use as parameters, those of the child first, and
        as their speeds in the augmented formulation.

    References
    ==========

    .. [1] Z. Zhao, C. Liu and J. Lu, "On nonholonomic constraints about the
       pure rolling of point contact", Acta Sci. Nat. Univ. Pekin. 52 (2016)
       713-716.

    """

    @with_known_keywords
    def __init__(self, name, parent, child, parent_geometry, child_geometry,
                 frame=None, formulation='auto', mode='rolling',
                 contact_coordinates=None, contact_speeds=None):
        if not isinstance(name, str):
            raise TypeError(f"`name` is {name!r}. Give a text, with which "
                            "the contact's own symbols begin.")
        for argument, value, allowed in (
                ('formulation', formulation, FORMULATIONS),
                ('mode', mode, MODES)):
            if value not in allowed:
                raise ValueError(f"`{argument}` is {value!r}. Choose one of "
                                 f"{', '.join(map(repr, allowed))}.")
        check_attached('parent', parent, parent_geometry)
        check_attached('child', child, child_geometry)
        check_pair(parent_geometry, child_geometry)
        self.name, self.mode = name, mode
        self.parent, self.child = parent, child
        self.frame = parent.frame if frame is None else frame
        if not isinstance(self.frame, ReferenceFrame):
            raise TypeError(f"`frame` is {frame!r}. Give the inertial "
                            "ReferenceFrame.")
        check_regular(parent_geometry, child_geometry)
        check_connected(parent_geometry, child_geometry)
        self._pair, self._finders = None, {}
        if formulation in ('auto', 'explicit'):
            try:
                self._pair = eliminated_pair(parent_geometry, child_geometry)
            except UnsupportedFeatureError:
                if formulation == 'explicit':
                    raise
        self.formulation = formulation if formulation != 'auto' else (
            'augmented' if self._pair is None else 'explicit')
        self._name_parameters(parent_geometry, child_geometry,
                              contact_coordinates, contact_speeds)

    def _name_parameters(self, parent, child, coordinates, speeds):
        """The contact's own coordinates, one set for each contact."""
        labels = () if self._pair else (
            *(f'xi{k + 1}' for k in range(child.dimension)),
            *(f'zeta{k + 1}' for k in range(parent.dimension)))
        self.coordinates = own_symbols(
            coordinates, 'contact_coordinates',
            [f'{self.name}_{x}' for x in labels])
        self.speeds = own_symbols(
            speeds, 'contact_speeds', [f'{self.name}_u_{x}' for x in labels]
            if self.formulation == 'augmented' else [])
        if self._pair is None:
            self._split = child.dimension
            self._pair = ChartPair(
                parent.with_parameters(*self.coordinates[self._split:]),
                child.with_parameters(*self.coordinates[:self._split]))

    def __repr__(self):
        return (f'<PointContact {self.name}: {self.child.name} on '
                f'{self.parent.name}, {self.formulation}, {self.mode}>')

    # -- geometry --------------------------------------------------------

    @property
    def parent_geometry(self):
        """The parent's geometry, with the coordinates of the contact."""
        return self._pair.parent

    @property
    def child_geometry(self):
        """The child's geometry, with the coordinates of the contact."""
        return self._pair.child

    @property
    def normal(self) -> Vector:
        """Unit normal out of the parent into the child."""
        return self._pair.normal

    @cached_property
    def tangents(self) -> tuple[Vector, Vector]:
        """Unit tangents; the second is the normal times the first."""
        return self._pair.tangents

    @cached_property
    def contact_frame(self) -> ReferenceFrame:
        """A frame with the tangents and the normal as axes."""
        frame = ReferenceFrame(f'{self.name}_frame')
        base = self.parent_geometry.frame
        frame.orient_explicit(base, Matrix.hstack(*(
            x.to_matrix(base) for x in (*self.tangents, self.normal))))
        return frame

    @property
    def gap(self) -> Expr | None:
        """Distance of the bodies, negative if they penetrate.

        None where the contact point is not eliminated; see
        :meth:`solve_contact`.
        """
        return self._pair.gap

    def relative_curvature(self) -> Matrix:
        """``K1 + K2`` in the tangents, shape (2, 2).

        It must be regular for the contact point to be determined, and
        positive definite for bodies that do not penetrate. For an edge on a
        surface it is the one number ``t.(K1 + K2).t`` along the edge; a
        vertex has none.
        """
        return self._pair.relative_curvature()

    # -- velocities ------------------------------------------------------

    @cached_property
    def relative_angular_velocity(self) -> Vector:
        """Angular velocity of the child minus that of the parent."""
        return self._turning(self.child) - self._turning(self.parent)

    def _turning(self, body):
        try:
            return body.frame.ang_vel_in(self.frame)
        except ValueError:
            raise KinematicsError(
                f"Frame {body.frame} of {body.name} has no angular velocity "
                f"in {self.frame}. Orient it, or pass the inertial frame of "
                f"the model as `frame` of {self.name}.") from None

    @cached_property
    def child_point(self) -> Point:
        """Contact point of the child, with the velocity of its material."""
        return self._material_point('child')

    @cached_property
    def parent_point(self) -> Point:
        """Contact point of the parent, with the velocity of its material."""
        return self._material_point('parent')

    def _material_point(self, side):
        """A point that does not have the velocity of its position.

        The derivative of its position would be the velocity of the contact,
        which travels along the body.
        """
        body = getattr(self, side)
        geometry = getattr(self._pair, side)
        velocity = centre_velocity(body, self.frame)
        place = geometry.point.pos_from(body.masscenter) + getattr(
            self._pair, f'{side}_position')
        point = body.masscenter.locatenew(f'{self.name}_{side}', place)
        point.set_vel(self.frame,
                      velocity + cross(self._turning(body), place))
        return point

    @cached_property
    def relative_velocity(self) -> Vector:
        """Material velocity of the child minus that of the parent, (16)."""
        return (self.child_point.vel(self.frame)
                - self.parent_point.vel(self.frame))

    @cached_property
    def normal_velocity(self) -> Expr:
        """Rate at which the bodies separate, (18)."""
        return dot(self.relative_velocity, self.normal)

    @cached_property
    def slip_velocity(self) -> tuple[Expr, Expr]:
        """Relative velocity along the two tangents, (17)."""
        return tuple(dot(self.relative_velocity, x) for x in self.tangents)

    @cached_property
    def pivot_speed(self) -> Expr:
        """Relative angular velocity about the normal."""
        return dot(self.relative_angular_velocity, self.normal)

    # -- constraints -----------------------------------------------------

    @cached_property
    def holonomic_constraints(self) -> list[Expr]:
        """The gap, or C1 and C2, or nothing in the kinematic formulation.

        A gap that vanishes wherever the body may be, because the body is
        located from its contact point, is left out.
        """
        if self.formulation == 'kinematic':
            return []
        if self.formulation == 'augmented':
            return self._pair.closure()
        return [] if vanishes(self.gap) else [self.gap]

    @cached_property
    def nonholonomic_constraints(self) -> list[Expr]:
        """The 0, 2 or 3 rows that the mode asks for beside contact."""
        rolling = list(self.slip_velocity) if self.mode != 'sliding' else []
        return rolling + ([self.pivot_speed] if self.mode == 'no_pivoting'
                          else [])

    @cached_property
    def velocity_constraints(self) -> list[Expr]:
        """Independent rows at velocity level, all there are.

        The rates of the holonomic rows in the speeds of the user, then the
        nonholonomic ones, as ``KanesMethod`` takes them.
        """
        if self.formulation == 'augmented':
            contact = self._closure_rates(self.speeds)
        elif self.formulation == 'kinematic':
            contact = [self.normal_velocity]
        else:
            contact = [self.normal_velocity]*len(self.holonomic_constraints)
        return contact + self.nonholonomic_constraints

    def _closure_rates(self, rates):
        lag = cross(self._turning(self.parent), self._pair.apart)
        return self._pair.closure_rates(
            self.relative_angular_velocity, self.relative_velocity - lag,
            rates[:self._split], rates[self._split:])

    @cached_property
    def kdes(self) -> list[Expr]:
        """Kinematic differential equations of the contact coordinates."""
        if self.formulation == 'augmented':
            return [x.diff() - u for x, u in zip(self.coordinates,
                                                 self.speeds)]
        return [rate - known for rate, known in
                self.contact_kinematics(self.mode == 'sliding').items()]

    # -- kinematics of the contact ---------------------------------------

    @cached_property
    def _slip(self):
        return combined(self.tangents, self.slip_velocity)

    def contact_kinematics(self, slipping=True) -> dict:
        """Rates of the contact coordinates by the motion of the bodies.

        Parameters
        ==========

        slipping : bool
            Whether to keep the slip velocity, which vanishes in rolling.

        Returns
        =======

        dict
            Derivative of a contact coordinate -> expression; empty in the
            explicit formulation, see :meth:`trace_velocities`.

        """
        if not self.coordinates:
            return {}
        slip = self._slip if slipping else Vector(0)
        child, parent = self._pair.rates(self.relative_angular_velocity, slip)
        return dict(zip((x.diff() for x in self.coordinates),
                        (*child, *parent)))

    def contact_angle_rate(self) -> Expr:
        """Rate of the angle about the normal between the first tangents.

        From that of the parent to that of the child; needs two surfaces and
        their parameters.
        """
        if not self.coordinates or self._pair.child.dimension != 2:
            raise UnsupportedFeatureError(
                f"{self.name} has no contact angle: that is the angle "
                "between the charts of two surfaces. Choose the formulation "
                "'augmented' or 'kinematic'.")
        child, parent = self._rates()
        # The forms are taken with the outward normals, n1 = -n and n2 = n.
        turned = (self.child_geometry.connection_form()*Matrix(child)
                  + self.parent_geometry.connection_form()*Matrix(parent))
        return self.pivot_speed - turned[0]

    def _rates(self):
        """Rates of the contact coordinates as the formulation has them."""
        if self.formulation == 'augmented':
            return (self.speeds[:self._split], self.speeds[self._split:])
        return self._pair.rates(self.relative_angular_velocity, self._slip)

    def trace_velocities(self) -> tuple[Vector, Vector]:
        """Velocities of the contact along the child and along the parent.
        """
        if self.coordinates:
            child, parent = self._rates()
            return (combined(self._pair.child_tangents, child),
                    combined(self._pair.parent_tangents, parent))
        first = self._pair.trace_velocity(
            self.relative_angular_velocity, self._slip)
        return first, first + self._slip

    def trace_speeds(self) -> tuple[Expr, Expr]:
        """Rates of the arc lengths of both traces; equal in rolling, (23).
        """
        return tuple(sqrt(dot(x, x)) for x in self.trace_velocities())

    def trace_tangents(self) -> tuple[Vector, Vector]:
        """Unit tangents of both traces; equal in rolling, (23)."""
        return tuple(x/s for x, s in zip(self.trace_velocities(),
                                         self.trace_speeds()))

    def geodesic_curvatures(self) -> tuple[Expr, Expr]:
        """Geodesic curvatures of both traces for the common normal.

        Their difference, that of the parent minus that of the child, is the
        pivot speed divided by the trace speed. They contain accelerations.
        """
        rates = self.contact_kinematics()
        result = []
        for w, geometry in zip(self.trace_velocities(),
                               (self.child_geometry, self.parent_geometry)):
            bend = dot(self.normal, cross(w, w.dt(geometry.frame)))
            if self.formulation == 'kinematic':
                bend = bend.subs(rates)
            elif self.speeds:
                bend = bend.subs({x.diff(): u for x, u in zip(
                    self.coordinates, self.speeds)})
            result.append(bend/sqrt(dot(w, w))**3)
        return tuple(result)

    # -- virtual displacements -------------------------------------------

    def virtual_displacement_matrix(self, q) -> Matrix:
        r"""``A`` of the virtual displacements ``A dq = 0``, (26).

        The derivative :math:`\partial(x - y)/\partial q` with both contact
        points frozen in their bodies, in the axes of the parent's geometry,
        shape (3, n).
        """
        frozen, place = self._pair.offset, {}
        for side, sign in ('child', 1), ('parent', -1):
            frame = getattr(self._pair, side).frame
            held = Matrix([Dummy(f'{side}{i}') for i in range(3)])
            place.update(zip(held, getattr(
                self._pair, f'{side}_position').to_matrix(frame)))
            frozen += sign*vector(frame, held)
        base = self.parent_geometry.frame
        columns = [frozen.diff(x, self.frame).to_matrix(base)
                   for x in as_list(q, 'q')]
        return Matrix.hstack(*columns).xreplace(place)

    def check_virtual_displacements(self, q, values, speeds=None):
        r"""Compare (26) with the condition of Appell and Chetaev.

        Explanation
        ===========

        The rows of (26) and those that contact and rolling give for
        :math:`\delta q`, :math:`\partial f/\partial\dot q`, must span the
        same space. In the augmented formulation the displacements of the
        parameters are eliminated from the rows first.

        Parameters
        ==========

        q : iterable
            Coordinates of the bodies.
        values : dict
            Numbers for coordinates and constants, at a closed contact.
        speeds : dict, optional
            The user's speeds in terms of the ``q'``, if there are any.

        Returns
        =======

        RowSpaces
            With the three ranks, and ``agree``.

        """
        q = as_list(q, 'q')
        if self.formulation == 'augmented':
            rows = self._closure_rates(self.speeds)
        else:
            rows = [self.normal_velocity]
        rows = [row.subs(speeds or {}) for row in
                (*rows, *self.slip_velocity)]
        return row_spaces(self.virtual_displacement_matrix(q), Matrix(
            [[row.diff(x.diff()) for x in q] for row in rows]),
            Matrix(len(rows), len(self.speeds),
                   lambda i, j: rows[i].diff(self.speeds[j])), values)

    # -- numbers ---------------------------------------------------------

    def solve_contact(self, values, guess) -> dict:
        r"""Contact coordinates, or a coordinate that closes the contact.

        Explanation
        ===========

        Newton's method with 30 digits for

        .. math::

           x - y = g\,n_2, \qquad x_{\xi_i} \cdot n_2 = 0, \qquad
           n_1 \cdot n_2 = -1

        The unknowns are the contact coordinates and either one coordinate of
        the bodies, with :math:`g = 0`, or the gap. Where there are several
        solutions the guess chooses. Those on the wrong side, where the
        bodies penetrate, or where they are not nearest, are not accepted:
        ``1 + g K2`` and ``K1 + K2 (1 + g K2)^-1`` must be positive.

        Parameters
        ==========

        values : dict
            Numbers for all that is known: constants and coordinates.
        guess : dict
            A number for each contact coordinate, and for the one coordinate
            to be found, if any.

        Returns
        =======

        dict
            The unknowns; under ``'gap'`` the distance of the bodies, if no
            coordinate was to be found.

        Raises
        ======

        ConstraintError
            If no contact on the right side is found, if a normal vanishes,
            or if the contact is no point: a line or a face.

        """
        missing = [str(x) for x in self.coordinates if x not in guess]
        if missing:
            raise MissingIngredientError(
                f"`guess` has no number for {', '.join(missing)}. The "
                "contact coordinates are found from a place near the "
                "contact; add them.")
        free = tuple(x for x in guess if x not in self.coordinates)
        if len(free) > 1:
            raise ValueError(
                f"`guess` has {len(free)} coordinates beside those of the "
                f"contact: {', '.join(map(str, free))}. One closes the "
                "contact; put the others into `values`.")
        if free not in self._finders:
            self._finders[free] = ContactFinder(
                self._pair, self.coordinates, free)
        return self._finders[free].find(values, guess)

    def reaction_loads(self, normal, first=0, second=0) -> list[Force]:
        """Forces of the contact on child and parent.

        Parameters
        ==========

        normal, first, second : Expr
            Components along the normal and the two tangents of the force on
            the child.

        """
        force = normal*self.normal + first*self.tangents[0] + (
            second*self.tangents[1])
        return [Force(self.child_point, force),
                Force(self.parent_point, -force)]

    def normal_reaction(self, method) -> Expr:
        """Normal force on the child, positive while the bodies press.

        Parameters
        ==========

        method : a method of this package, or LagrangesMethod
            That was given the rows of this contact. For ``LagrangesMethod``
            the result is in its ``lam_vec`` with the sign they have in
            ``rhs()``; its ``eom`` and ``solve_multipliers()`` have the other.

        Raises
        ======

        ConstraintError
            If the method does not have the rows of this contact.
        UnsupportedFeatureError
            If its multipliers are no reactions: ``KanesMethod`` has none,
            those of ``VaccoMethod`` are impulses.

        """
        multipliers = multipliers_of(method)
        return sum(weight*multipliers[k]
                   for k, weight in self._normal_weights(method))

    def _normal_weights(self, method):
        """Positions of multipliers in the normal force, with weights."""
        rows = rows_of(method)
        if self.formulation == 'augmented':
            own = self._pair.closure()[:3]
            weights = self.normal.to_matrix(self.parent_geometry.frame)
        elif self.formulation == 'kinematic':
            own, weights = [self.normal_velocity], [1]
        else:
            own, weights = self.holonomic_constraints, [1]
        if not own:
            raise ConstraintError(
                f"{self.child.name} is located from its contact, so no row "
                f"of {self.name} holds it there and none has the normal "
                "force. Give its mass centre a coordinate along the normal.")
        return [(find_row(rows, row, self.name), weight)
                for row, weight in zip(own, weights)]

    def _friction_rows(self, method):
        """Positions of the multipliers of the rolling rows."""
        rows = rows_of(method)
        return [find_row(rows, row, self.name)
                for row in self.nonholonomic_constraints[:2]]

    def lift_off_event(self, method, compiled, terminal=True):
        """Event for ``simulate``: the normal force vanishes.

        Parameters
        ==========

        method : a method of this package
        compiled : CompiledEquations
            Made from it.
        terminal : bool or int

        """
        weights = self._weights(method, compiled)
        return ContactEvent(
            lambda t, x: pressed(compiled, weights, t, x), -1, terminal,
            f"The normal force of {self.name} pulls, so the bodies separate "
            "at once: simulate without the contact")

    def slip_event(self, method, compiled, friction, terminal=True):
        """Event for ``simulate``: friction exceeds ``friction*N``."""
        weights = self._weights(method, compiled)
        rows = self._friction_rows(method)
        if not rows:
            raise ConstraintError(
                f"{self.name} slides, so it cannot begin to slip. Choose the "
                "mode 'rolling'.")

        def excess(t, x):
            force = compiled.multipliers(t, x)[rows]
            return (force @ force)**0.5 - friction*pressed(
                compiled, weights, t, x)

        return ContactEvent(
            excess, 1, terminal,
            f"Rolling of {self.name} needs more friction than there is: "
            "begin with sliding")

    def _weights(self, method, compiled):
        if not hasattr(compiled, 'expression'):
            raise TypeError(
                f"`compiled` is {compiled!r}. Give what `compile_equations` "
                "makes of the method.")
        return [(k, compiled.expression(weight) if weight != 1 else None)
                for k, weight in self._normal_weights(method)]

    def touch_down_event(self, compiled, guess=None, terminal=True,
                         constants=None):
        """Event for ``simulate``: the gap of separated bodies closes.

        Parameters
        ==========

        compiled : CompiledEquations
            Of the motion without the contact.
        guess : dict, optional
            Where the bodies are nearest at the start, if the contact is not
            eliminated; from there the nearest points are followed.
        terminal : bool or int
        constants : dict, optional
            Numbers for constants of the surfaces that the motion without
            contact does not have.

        """
        passed = f"The bodies of {self.name} penetrate, so the gap is negative"
        own = {x: sympify(v, strict=True) for x, v in (constants or {}).items()
               if x not in compiled.constants}
        if self.gap is not None:
            return ContactEvent(compiled.expression(self.gap.xreplace(own)),
                                -1, terminal, passed)
        near = dict(guess or {})
        constants = {**own, **dict(zip(compiled.constants, map(
            float, compiled.parameters())))}

        def distance(t, x):
            values = {**constants, dynamicsymbols._t: t,
                      **dict(zip(compiled.states, map(float, x)))}
            for known in near:
                values.pop(known, None)
            found = self.solve_contact(values, near)
            gap = found.pop('gap')
            near.update(found)
            return float(gap)

        return ContactEvent(distance, -1, terminal, passed)

    # -- System ----------------------------------------------------------

    def add_to_system(self, system):
        """Add coordinates, speeds and constraints to a SymPy ``System``.

        The contact coordinates and speeds are added as dependent ones. As
        many others as there are rows left must be made dependent by the
        user, because which they are is a choice.
        """
        if not isinstance(system, System):
            raise TypeError(f"`system` is {system!r}. Give a System of "
                            "sympy.physics.mechanics.")
        if self.coordinates:
            system.add_coordinates(*self.coordinates, independent=[
                False]*len(self.coordinates))
            system.add_kdes(*self.kdes)
        if self.speeds:
            system.add_speeds(*self.speeds, independent=[
                False]*len(self.speeds))
        system.add_holonomic_constraints(*self.holonomic_constraints)
        rows = (self.velocity_constraints if self.formulation == 'kinematic'
                else self.nonholonomic_constraints)
        system.add_nonholonomic_constraints(*rows)


def own_symbols(given, argument, names):
    """The functions of time that were given, or of these names."""
    time = dynamicsymbols._t
    if given is None:                   # a name may contain anything
        return tuple(Function(name)(time) for name in names)
    given = tuple(as_list(given, argument))
    if len(given) != len(names):
        raise ValueError(
            f"`{argument}` has {len(given)} entries, and this contact needs "
            f"{len(names)}: {', '.join(names) or 'it has none'}. Give one "
            "for each.")
    for x in given:
        if not isinstance(x, AppliedUndef) or x.args != (time,):
            raise ValueError(
                f"`{argument}` contains {x!r}, which is not a function of "
                "time. Give dynamicsymbols.")
    return given
