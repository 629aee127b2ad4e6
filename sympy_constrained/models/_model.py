"""The record of a ready model, and how model functions make it."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, wraps
from inspect import getdoc, signature
from numbers import Integral
from typing import Any

from sympy import Basic
from sympy.physics.mechanics import (
    KanesMethod, LagrangesMethod, Lagrangian, Particle, Point, ReferenceFrame,
    RigidBody, System, dot, dynamicsymbols, inertia)

from ..errors import check_kind
from ..model.call_signatures import arguments_of
from ..model.units import units_of


#: Name -> function that builds the model.
READY: dict[str, Callable[..., Model]] = {}
UPSTREAM = {'kane': KanesMethod, 'lagrange': LagrangesMethod}


@dataclass(frozen=True, repr=False)
class Model:
    """A mechanism ready to be formed by any method, with numbers.

    Every call of a model function builds new symbols. Units are SI.

    Examples
    ========

    >>> from sympy.physics.mechanics import LagrangesMethod
    >>> from sympy_constrained.models import model
    >>> pendulum = model('cartesian_pendulum')
    >>> pendulum.form(LagrangesMethod).q.T
    Matrix([[x(t), y(t)]])

    Attributes
    ==========

    name, title, reference : str
        Key in :data:`~sympy_constrained.models.MODELS`, one sentence, and the
        source of the problem.
    shape : str
        ``'kane'`` or ``'lagrange'``: the upstream call of ``arguments``.
    arguments : Mapping
        Keyword arguments of ``KanesMethod`` or ``LagrangesMethod``.
    parameters, start : Mapping
        Constant -> float, and state -> float, a guess for all of them.
    fixed : tuple
        States that keep their value when the start is made consistent.
    t_end : float
        Length of a simulation that shows what is interesting.
    system : System or None
        The SymPy ``System`` where the model is written as one; ``arguments``
        then are what ``System.form_eoms`` passes.
    extra : Mapping
        Keyword arguments that only the classes of this package take.
    inputs : Mapping
        Specified function of time -> expression in ``t``.
    accelerations : Mapping
        Derivative of a speed -> known closed form on admissible states.
    multipliers : tuple
        Known multipliers in the order of the constraint rows, with the sign
        of ``M u' = Q + A^T lam``; else empty.
    method : ConstrainedMethod or None
        The method of this package that the model was read from, if any.
    dimensions : Mapping
        Symbol -> exponents of kilogram, metre and second, where the equations
        leave them open.
    visual : Mapping
        Arguments of :func:`~sympy_constrained.plotting.plot_snapshots` that
        draw the bodies as what they are.

    """

    name: str
    title: str
    reference: str
    shape: str
    arguments: Mapping[str, Any]
    parameters: Mapping[Basic, float]
    start: Mapping[Basic, float]
    fixed: tuple[Basic, ...]
    t_end: float
    system: System | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[Basic, Any] = field(default_factory=dict)
    accelerations: Mapping[Basic, Basic] = field(default_factory=dict)
    multipliers: tuple[Basic, ...] = ()
    method: Any = None
    dimensions: Mapping[Basic, tuple] = field(default_factory=dict)
    visual: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given, **fields):
        """A model from a SymPy object or a method, with known ``fields``.

        A ``System`` without kinematic equations has Lagrange's shape. Without
        ``t_end`` nothing is simulated.
        """
        shape, arguments = arguments_of(given)
        if isinstance(given, System) and not given.kdes:    # for Lagrange
            shape, arguments = 'lagrange', system_arguments(given, 'lagrange')
        arguments = {name: value for name, value in arguments.items()
                     if value is not None}
        kind = type(given).__name__
        return cls(**{
            'name': 'model', 'title': f'the model of a {kind} object',
            'reference': '', 'shape': shape, 'arguments': arguments,
            'parameters': {}, 'start': {}, 'fixed': (), 't_end': 0.,
            'method': given if hasattr(given, '_call') else None, **fields})

    def __repr__(self):
        return f'<Model: {self.title}>'

    @property
    def coordinates(self) -> tuple[Basic, ...]:
        """Generalized coordinates, independent ones first."""
        a = self.arguments
        if self.shape == 'lagrange':
            return tuple(a['qs'])
        return (*a['q_ind'], *(a.get('q_dependent') or ()))

    @property
    def speeds(self) -> tuple[Basic, ...]:
        """Generalized speeds, independent ones first; ``q'`` in Lagrange's
        shape."""
        a = self.arguments
        if self.shape == 'lagrange':
            return tuple(q.diff() for q in a['qs'])
        return (*a['u_ind'], *(a.get('u_dependent') or ()))

    @cached_property
    def units(self) -> Mapping[Any, str]:
        """Symbol, row of constraints, ``'t'``, ... -> text of its SI unit, as
        it follows from the equations.

        Examples
        ========

        >>> from sympy_constrained.models import model
        >>> pendulum = model('cartesian_pendulum')
        >>> [pendulum.units[x] for x in pendulum.parameters]
        ['kg', 'm', 'm/s²']

        """
        return units_of({**self.arguments, **self.extra}, self.dimensions)

    def form(self, method, **kwargs):
        """The method object of a class, by ``System.form_eoms`` for a model
        written as a ``System``.

        Parameters
        ==========

        method : type
            ``KanesMethod``, ``LagrangesMethod`` or a method class of this
            package.
        **kwargs
            Further keyword arguments for the class.

        Raises
        ======

        ValueError
            If an upstream class is asked for a model of the other shape.

        """
        check_kind('method', method, type, "Give a class, such as "
                   "`UdwadiaKalabaMethod`.")
        upstream = next((shape for shape, cls in UPSTREAM.items()
                         if cls in method.__mro__), None)
        options = {**self.extra, **kwargs}
        if upstream:        # it counts no potential energy, and needs no state
            options.pop('potential_energy', None)
            options.pop('sample', None)
        # System passes Kane's arguments to every class but LagrangesMethod.
        if self.system is not None and self.shape == (upstream or 'kane'):
            self.system.form_eoms(eom_method=method, **options)
            return self.system.eom_method
        if upstream not in (None, self.shape):
            raise ValueError(
                f'`method` {method.__name__} cannot form {self.name!r}: its '
                f'arguments are those of {UPSTREAM[self.shape].__name__}. '
                f'Pass that class, or a class of this package, which takes '
                f'both.')
        formed = method(**self.arguments, **options)
        if upstream:
            formed._form_eoms()
        return formed


def system_arguments(system: System, shape: str) -> dict[str, Any]:
    """The keyword arguments that ``System.form_eoms`` passes on."""
    arguments = arguments_of(system)[1]
    arguments['forcelist'] = arguments['forcelist'] or None
    if shape == 'kane':
        return {**arguments, 'explicit_kinematics': False}
    return {
        'Lagrangian': Lagrangian(system.frame, *system.bodies),
        'qs': system.q, 'hol_coneqs': system.holonomic_constraints,
        'nonhol_coneqs': system.nonholonomic_constraints,
        **{name: arguments[name] for name in (
            'frame', 'forcelist', 'bodies')}}


# -- writing a model function -------------------------------------------

def ready(function):
    """Enter a model function under its name.

    The first paragraph of its docstring is the title, with the values of
    arguments for their names; what follows ``Source:`` is the reference.
    """
    paragraphs = [' '.join(text.split()) for text in
                  (getdoc(function) or '').split('\n\n')]
    source = next((text.removeprefix('Source: ') for text in paragraphs
                   if text.startswith('Source: ')), '')

    @wraps(function)
    def build(*args, **kwargs):
        bound = signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        title = paragraphs[0]
        for name, value in bound.arguments.items():
            title = title.replace(f'``{name}``', str(value))
        return replace(function(*args, **kwargs), name=function.__name__,
                       title=title.rstrip('.'), reference=source.rstrip('.'))

    READY[function.__name__] = build
    return build


def kane_model(N, q, u, kd_eqs, **given) -> Model:
    """A model in Kane's shape; ``given`` has arguments and fields."""
    return _model('kane', {'fixed': (*q, *u), **given}, frame=N, q_ind=q,
                  u_ind=u, kd_eqs=kd_eqs)


def lagrange_model(lagrangian, qs, **given) -> Model:
    states = *qs, *(q.diff() for q in qs)
    return _model('lagrange', {'fixed': states, **given},
                  Lagrangian=lagrangian, qs=qs)


def bodies_model(N, bodies, qs, **given) -> Model:
    """A model in Lagrange's shape with the Lagrangian of its bodies."""
    return lagrange_model(Lagrangian(N, *bodies), qs, bodies=bodies, frame=N,
                          **given)


def system_model(system: System, *, shape: str = 'kane', **fields) -> Model:
    return _model(shape, {'system': system, 'fixed': (
        *system.q_ind, *system.u_ind), **fields},
        **system_arguments(system, shape))


def _model(shape, given, **arguments):
    """A model without its name; names of fields are not arguments. A ``start``
    in numbers has all coordinates, then all speeds.
    """
    known = {f.name for f in fields(Model)}.intersection(given)
    arguments |= {k: x for k, x in given.items() if k not in known}
    arguments = {k: list(x) if isinstance(x, tuple) else x
                 for k, x in arguments.items()}
    made = Model('', '', '', shape, arguments, **{k: given[k] for k in known})
    return made if isinstance(made.start, Mapping) else replace(
        made, start=dict(zip((*made.coordinates, *made.speeds), made.start)))


def inertial():
    N, O = ReferenceFrame('N'), Point('O')
    O.set_vel(N, 0)
    return N, O


def kdes(q, u):
    return [x.diff() - v for x, v in zip(q, u)]


def spun(frame, N, axes, omega):
    """Set the angular velocity of a frame by components ``omega``.

    Returns the kinematic differential equations of its angles.
    """
    by_angles = frame.ang_vel_in(N)
    frame.set_ang_vel(N, sum((w*e for w, e in zip(omega, axes)), 0*N.x))
    return [dot(by_angles - frame.ang_vel_in(N), axis) for axis in axes]


def closed(gaps, N, q, u):
    """Rows that close gaps in a plane, and their rates, as arguments."""
    loops = [gap.dot(axis) for gap in gaps for axis in (N.x, N.y)]
    rates = {x.diff(): v for x, v in zip(q, u)}
    return {'configuration_constraints': loops, 'velocity_constraints': [
        row.diff(dynamicsymbols._t).xreplace(rates) for row in loops]}


def weights(bodies, acceleration):
    return [(body.masscenter, body.mass*acceleration) for body in bodies]


def particle_at(coordinates, mass, speeds=None, name='particle'):
    N, O = inertial()
    P = O.locatenew('P', sum((x*e for x, e in zip(coordinates, N)), 0*N.x))
    speeds = speeds or [x.diff() for x in coordinates]
    P.set_vel(N, sum((u*e for u, e in zip(speeds, N)), 0*N.x))
    return N, P, Particle(name, P, mass)


def rigid_body(name, center, frame, mass, *moments, axes=None):
    """A body with central moments of inertia in its own, or other, axes."""
    return RigidBody(name, center, frame, mass,
                     (inertia(axes or frame, *moments), center))


def friction(frame, first=1):
    """The force of the rows ``first`` and the next, along x and y."""
    lam = dynamicsymbols(f'lam{first} lam{first + 1}')
    return lam[0]*frame.x + lam[1]*frame.y


def check_count(n, least, reason):
    if not isinstance(n, Integral) or n < least:
        raise ValueError(
            f'`n` is {n!r}: {reason}. Pass a whole number, {least} or more.')
