"""A model that can be stated again with other rows, orders and frames."""
from dataclasses import dataclass, field
from functools import cached_property

from mpmath import mp
from sympy import Derivative, Dummy, Matrix, Rational, symbols, sympify
from sympy.core.function import AppliedUndef

import ready
from kkt import Reference, at, number, t

g, m, length = symbols('g m l', positive=True)
NUMBERS = {g: Rational(981, 100), m: Rational(7, 5), length: Rational(13, 10)}


@dataclass(frozen=True)
class Mechanism:
    """The arguments of a method by name, and how to find a state."""

    q: tuple
    u: tuple
    L: object = None            # either a Lagrangian
    frame: object = None        # or bodies and loads
    bodies: tuple = ()
    loads: tuple = ()
    kd_eqs: tuple = ()
    hol: tuple = ()
    vel: tuple = ()
    acc: tuple = ()
    constants: dict = field(default_factory=dict)
    guess: dict = field(default_factory=dict)
    potential: tuple = ()       # the bodies' potential energy as loads
    options: dict = field(default_factory=dict)
    state: object = None        # seed -> state, where Newton has no chance
    singular: bool = False
    given: object = None        # the ready model it was made from
    inputs: dict = field(default_factory=dict)

    def form(self, method, order=None, **options):
        """``order`` are the new places of coordinates and of speeds."""
        q, u = self.q, self.u
        if order:
            q, u = ([x[i] for i in places] for x, places in zip((q, u), order))
        if self.L is not None:
            args = self.L, list(q)
            rows = {'hol_coneqs': self.hol, 'nonhol_coneqs': self.vel}
            if self.loads:
                options |= {'forcelist': list(self.loads), 'frame': self.frame}
        else:
            args = self.frame, list(q), list(u), list(self.kd_eqs)
            rows = {'configuration_constraints': self.hol,
                    'velocity_constraints': self.vel,
                    'bodies': self.bodies, 'forcelist': self.loads}
        options |= self.options
        if order and options.get('nonideal_forces'):
            options['nonideal_forces'] = [
                options['nonideal_forces'][i] for i in order[1]]
        rows['acceleration_constraints'] = self.acc
        rows = {name: list(value) for name, value in rows.items() if value}
        return method(*args, **rows, **options)

    @property
    def count(self):
        """Number of rows."""
        return len(self.hol + self.vel + self.acc)

    # -- plain SymPy -----------------------------------------------------

    @cached_property
    def reference(self):
        """The multiplier system."""
        rows = self.hol, self.vel, self.acc
        C = self.options.get('nonideal_forces')
        if self.L is None:
            return Reference.bodies(
                self.frame, self.bodies, self.loads + self.potential,
                self.q, self.u, self.kd_eqs, *rows, C)
        Q = ready.generalized(self.loads, self.frame, self.u)
        return Reference.lagrange(self.L, self.q, *rows, Q=Q if C is None
                                  else Q + Matrix(C))

    @cached_property
    def rows(self):
        """Constraints and kinematics alone."""
        rates = {}
        if self.kd_eqs:
            v, kd = Matrix(self.q).diff(t), Matrix(self.kd_eqs)
            rest = kd.xreplace(dict.fromkeys(v, sympify(0)))
            rates = dict(zip(v, kd.jacobian(v).LUsolve(-rest)))
        return Reference._finish(self.q, self.u, rates, None, None,
                                 self.hol, self.vel, self.acc)

    @cached_property
    def kinematics(self):
        """``q'`` in the speeds, its slopes and its derivative."""
        column = Matrix([self.rows.rates.get(x.diff(t), x.diff(t))
                         for x in self.q])
        return column, column.jacobian(self.u), column.diff(t)

    # -- states ----------------------------------------------------------

    def point(self, seed):
        """Numbers of all symbols, functions and rates at one state."""
        if self.given:
            values = ready.Admissible(self.given, self.rows)(seed)
        elif self.state:
            values = {t: 0, **NUMBERS, **self.constants, **self.state(seed)}
        else:
            values = self.reference.admissible(
                {**NUMBERS, **self.constants}, seed, self.guess)
        return self.completed({x: number(v) for x, v in values.items()})

    def clock(self, time):
        """Numbers of time and of the inputs, with their derivatives."""
        known = {t: number(time)}
        for f, expression in self.inputs.items():
            for k in range(4):
                known[f.diff(t, k) if k else f] = at(
                    sympify(expression).diff(t, k), known)[0]
        return known

    def completed(self, values):
        """With inputs at their time, and ``q'`` beside the speeds."""
        values = {**values, **self.clock(values[t])}
        return {**values, **dict(zip(
            Matrix(self.q).diff(t), at(self.kinematics[0], values)))}

    def second(self, values, acceleration):
        """``q''`` of an acceleration ``u'``."""
        return at(self.kinematics[2], {**values, **{
            u.diff(t): a for u, a in zip(self.u, acceleration)}})

    def in_speeds(self, values, second):
        """``u'`` from ``q''``, where there are as many."""
        rest = self.second(values, [mp.mpf(0)]*len(self.u))
        return mp.lu_solve(at(self.kinematics[1], values), second - rest)

    def moved(self, values, acceleration, step):
        """The state after a short time."""
        state = {**values, t: values[t] + step}
        for x, a in zip(self.q, self.second(values, acceleration)):
            state[x] += step*values[x.diff(t)] + step**2*a/2
        for x, a in zip(self.u, acceleration):
            state[x] = values[x] + step*a
        return self.completed(state)

    @property
    def reversible(self):
        """Whether it moves backwards as it does forwards."""
        back = {x: -x for x in (*self.u, *(x.diff(t) for x in self.q))}
        if self.inputs or self.options.get('nonideal_forces'):
            return False
        forces = [e for _, force in self.loads for e in parts(force)]
        even = [*([self.L] if self.L is not None else forces), *self.acc]
        if self.L is not None and self.loads:
            even += forces
        pairs = [(e, (1,)) for e in (*even, *self.hol)]
        pairs += [(e, (-1,)) for e in self.kd_eqs]
        pairs += [(e, (1, -1)) for e in self.vel]
        pairs += [(body.potential_energy, (1,)) for body in self.bodies]
        return all(is_steady(sympify(e)) and any(
            is_zero(sympify(e).doit().xreplace(back)
                    - sign*sympify(e).doit()) for sign in signs)
                   for e, signs in pairs)


def parts(vector):
    """Its measure numbers, each in the frame where it is written."""
    return [e for numbers, _ in vector.args for e in numbers]


def is_steady(e):
    """Whether time is only in the functions of it."""
    functions = e.atoms(Derivative) | e.atoms(AppliedUndef)
    return not e.xreplace({x: Dummy() for x in functions}).has(t)


def is_zero(e):
    """At one random state."""
    names = e.free_symbols | e.atoms(AppliedUndef, Derivative)
    return abs(at(e, {
        x: Rational(7 + 3*i, 11 + 2*i)
        for i, x in enumerate(sorted(names, key=str))})[0]) < 1e-50
