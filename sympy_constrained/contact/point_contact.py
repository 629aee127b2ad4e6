"""Two bodies that touch at a point, slide, roll or roll without pivoting."""
from functools import cached_property

from sympy import Dummy, Expr, Function, Matrix
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import dynamicsymbols
from sympy.physics.vector import Vector, cross

from ..errors import MissingIngredientError, UnsupportedFeatureError
from ..model.call_signatures import (
    as_dictionary, as_list, check_choice, check_frame)
from .bodies import check_attached, check_connected, check_pair
from .closest_points import ContactFinder, check_regular, row_spaces
from .geometry import vanishes, vector
from .kinematics import ContactKinematics
from .pairs import ChartPair, eliminated_pair
from .reactions import ContactReactions


FORMULATIONS = ('auto', 'explicit', 'augmented', 'kinematic')
MODES = ('sliding', 'rolling', 'no_pivoting')


class PointContact(ContactKinematics, ContactReactions):
    r"""The contact of two bodies at one point.

    The ``child`` (1) with the surface :math:`x(\xi)` and the ``parent`` (2)
    with :math:`y(\zeta)` touch where [1]_

    .. math::

       x - y = 0 \quad\text{(C1)}, \qquad
       x_{\xi_i} \cdot n = 0 \quad\text{(C2)}, \qquad n = n_2 = -n_1,

    with unit normals :math:`n_1, n_2` out of the material. The mode
    ``'sliding'`` keeps the contact, in ``'rolling'`` the relative tangential
    velocity of the material vanishes, in ``'no_pivoting'`` also
    :math:`(\omega_1 - \omega_2) \cdot n`.

    Three formulations give the same motion. ``'explicit'`` eliminates the
    contact point: one holonomic row, the gap. ``'augmented'`` keeps its
    parameters as coordinates without mass: C1 and C2 are five holonomic rows.
    In ``'kinematic'`` the equations of contact are kinematic differential
    equations of the parameters, and the start must satisfy C1 and C2.

    Examples
    ========

    A ball rolls on a horizontal table:

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import (
    ...     Point, ReferenceFrame, RigidBody, dynamicsymbols)
    >>> from sympy_constrained import (
    ...     PlaneSurface, PointContact, SphereSurface)
    >>> x, y, z, wx, wy, wz = dynamicsymbols('x y z omega_x:z')
    >>> vx, vy, vz = dynamicsymbols('v_x:z')
    >>> R, N, B = symbols('R'), ReferenceFrame('N'), ReferenceFrame('B')
    >>> O, C = Point('O'), Point('C')
    >>> O.set_vel(N, 0)
    >>> C.set_pos(O, x*N.x + y*N.y + z*N.z)
    >>> C.set_vel(N, vx*N.x + vy*N.y + vz*N.z)
    >>> B.orient_body_fixed(N, dynamicsymbols('a1:4'), 'zyz')
    >>> B.set_ang_vel(N, wx*N.x + wy*N.y + wz*N.z)
    >>> contact = PointContact(
    ...     'contact', RigidBody('table', O, N), RigidBody('ball', C, B),
    ...     PlaneSurface(N, O, N.z), SphereSurface(B, C, R))
    >>> contact.holonomic_constraints
    [-R + z(t)]
    >>> contact.nonholonomic_constraints
    [-R*omega_y(t) + v_x(t), R*omega_x(t) + v_y(t)]

    Parameters
    ==========

    name : str
        Prefix of the names of its coordinates; unique in a model.
    parent, child : RigidBody
    parent_geometry, child_geometry : ContactGeometryBase
        Fixed in the bodies. The parent has a surface, unless two edges
        cross; then the normal is the cross product of the derivatives of the
        child's and the parent's position, and must point to the child.
    frame : ReferenceFrame, optional
        The inertial frame; by default that of the parent.
    formulation : {'auto', 'explicit', 'augmented', 'kinematic'}
        ``'auto'`` is explicit where a closed form is known, else augmented.
    mode : {'rolling', 'sliding', 'no_pivoting'}
    contact_coordinates, contact_speeds : iterable, optional
        Functions of time, those of the child first.

    References
    ==========

    .. [1] Z. Zhao, C. Liu and J. Lu, "On nonholonomic constraints about the
       pure rolling of point contact", Acta Sci. Nat. Univ. Pekin. 52 (2016)
       713-716.

    """

    def __init__(self, name, parent, child, parent_geometry, child_geometry,
                 frame=None, formulation='auto', mode='rolling',
                 contact_coordinates=None, contact_speeds=None):
        check_choice('formulation', formulation, FORMULATIONS)
        check_choice('mode', mode, MODES)
        check_attached('parent', parent, parent_geometry)
        check_attached('child', child, child_geometry)
        check_pair(parent_geometry, child_geometry)
        self.name, self.mode = name, mode
        self.parent, self.child = parent, child
        self.frame = parent.frame if frame is None else frame
        check_frame(self.frame)
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

    @property
    def gap(self) -> Expr | None:
        """Distance of the bodies, negative if they penetrate.

        None unless the contact point is eliminated; see :meth:`solve_contact`.
        """
        return self._pair.gap

    def relative_curvature(self) -> Matrix:
        """``K1 + K2`` in the tangents, shape (2, 2), positive definite where
        the bodies do not penetrate; along an edge a number.
        """
        return self._pair.relative_curvature()

    # -- constraints -----------------------------------------------------

    @cached_property
    def holonomic_constraints(self) -> list[Expr]:
        """The gap, unless it vanishes identically, or C1 and C2, or nothing in
        the kinematic formulation.
        """
        if self.formulation == 'kinematic':
            return []
        if self.formulation == 'augmented':
            return self._pair.closure()
        # dimensions without bodies (a ball larger than its bowl) do not count
        return [] if vanishes(self.gap, any, 8) else [self.gap]

    @cached_property
    def nonholonomic_constraints(self) -> list[Expr]:
        """The 0, 2 or 3 rows of the mode, fewer where bodies move in a plane
        and some are zero.
        """
        rows = list(self.slip_velocity) if self.mode != 'sliding' else []
        if self.mode == 'no_pivoting':
            rows.append(self.pivot_speed)
        return [row for row in rows if row != 0]

    @cached_property
    def velocity_constraints(self) -> list[Expr]:
        """All independent rows at velocity level, as for ``KanesMethod``."""
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

    # -- virtual displacements -------------------------------------------

    def virtual_displacement_matrix(self, q) -> Matrix:
        r"""``A`` of the virtual displacements ``A dq = 0``, (26).

        :math:`\partial(x - y)/\partial q`, shape (3, n), with both contact
        points frozen in their bodies, in the axes of the parent's geometry.
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

        The rows of (26) and the :math:`\partial f/\partial\dot q` of the rows
        of contact and rolling must span the same space. ``values`` are numbers
        for the coordinates ``q`` of the bodies and constants, at a closed
        contact; ``speeds`` are the user's speeds in terms of the ``q'``. The
        result has the three ranks, and ``agree``.
        """
        q = as_list(q, 'q')
        rows = (self._closure_rates(self.speeds) if self.speeds
                else [self.normal_velocity])
        rows = Matrix([row.subs(speeds or {}) for row in
                       (*rows, *self.slip_velocity)])
        return row_spaces(
            self.virtual_displacement_matrix(q),
            rows.jacobian([x.diff() for x in q]),
            Matrix(len(rows), len(self.speeds),
                   lambda i, j: rows[i].diff(self.speeds[j])), values)

    # -- numbers ---------------------------------------------------------

    def solve_contact(self, values, guess) -> dict:
        r"""Contact coordinates, or a coordinate that closes the contact.

        Newton's method with 30 digits for

        .. math::

           x - y = g\,n_2, \qquad x_{\xi_i} \cdot n_2 = 0, \qquad
           n_1 \cdot n_2 = -1

        ``values`` has numbers for constants and known coordinates, ``guess``
        one for each contact coordinate. The unknowns are these and either one
        coordinate of the bodies that is in the guess, with :math:`g = 0`, or
        the distance ``'gap'``. The guess chooses among several solutions.
        A :exc:`.ConstraintError` is raised if all are on the wrong side, with
        penetration or not nearest, or if the contact is a line or a face.
        """
        values = as_dictionary(values, 'values')
        guess = as_dictionary(guess, 'guess')
        missing = [str(x) for x in self.coordinates if x not in guess]
        if missing:
            raise MissingIngredientError(
                f"`guess` has no number for {', '.join(missing)}. The "
                "contact coordinates are found from a place near the "
                "contact; add them.")
        free = tuple(x for x in guess if x not in self.coordinates)
        if len(free) > 1:
            raise ValueError(
                f"`guess` has {len(free)} coordinates in addition to those of "
                f"the contact: {', '.join(map(str, free))}. One closes the "
                "contact; put the others into `values`.")
        if free not in self._finders:
            self._finders[free] = ContactFinder(
                self._pair, self.coordinates, free)
        return self._finders[free].find(values, guess)

    # -- System ----------------------------------------------------------

    def add_to_system(self, system):
        """Add constraints, and coordinates and speeds as dependent ones, to a
        SymPy ``System``; choose other dependent ones as rows remain.
        """
        if not {*system.q}.isdisjoint(self.coordinates):
            raise ValueError(
                f"The system already has coordinates of a contact named "
                f"`{self.name}`. Add each contact once, and give contacts "
                "different names.")
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
    """The given functions of time, or new ones of these names."""
    time = dynamicsymbols._t
    if given is None:                   # a name may contain anything
        return tuple(Function(name)(time) for name in names)
    given = tuple(as_list(given, argument))
    if len(given) != len(names) or any(
            not isinstance(x, AppliedUndef) or x.args != (time,)
            for x in given):
        raise ValueError(
            f"`{argument}` is {list(given)}, and this contact needs "
            f"{len(names)}: {', '.join(names) or 'it has none'}. Give "
            "dynamicsymbols.")
    return given
