"""Recipes: how each formulation is derived and evaluated."""
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.linalg import qr

from ..errors import ConstraintError, MissingIngredientError
from ..graph import Graph, GraphMatrix, derivative, jacobian, substitute
from ..methods import (
    GibbsAppellMethod, HamelEmbedding, LinearMappingMethod, RouthMethod,
    UdwadiaKalabaMethod, VaccoMethod)
from ..methods.gibbs_appell.classical_forms import FORMS
from ..methods.references import flat, frozen, units
from ..numeric import CompiledEquations
from ..numeric.names import label


FORM_NAMES = {'macmillan': 'MacMillan', 'nielsen-10': 'Nielsen (10)'}
BUILT_IN = (UdwadiaKalabaMethod, RouthMethod, HamelEmbedding, VaccoMethod,
            LinearMappingMethod, GibbsAppellMethod)
# Least relative singular value of the rows of dependent velocities.
POOR = 1e-6


class NotTried(Exception):
    """A formulation that does not apply; the message says why."""


@dataclass(frozen=True, eq=False)
class Derived:
    """Result of a recipe at the states of the reference."""

    accelerations: list     # rates of the reference's speeds, for each state
    forces: list | None = None          # constraint forces on these
    compiled: CompiledEquations | None = None       # to be timed
    states: list | None = None          # of the compiled equations
    operations: int | None = None       # if not those of the equations
    #: whether the values agree -> reason, and whether they must differ
    explain: Callable = lambda agrees: ('', False)


@dataclass(frozen=True)
class Recipe:
    """``finish`` takes the reference and what ``derive`` makes of it.

    Only the latter counts as derivation.
    """

    name: str
    derive: Callable
    finish: Callable
    is_ours: bool = True


# -- making methods ------------------------------------------------------

def made(reference, cls, **options):
    given = reference.model.method
    return cls.from_method(given if type(given) is cls else reference.method,
                           sample=reference.sample, **options)


def own_options(method):
    """Names of given options that SymPy's classes do not take."""
    found = [name for name, is_given in method._special.items() if is_given]
    found += [name for name, value in method._options.items()
              if value is not None and name in method._accepts and name not in
              (*found, 'potential_energy', 'stabilization')]
    if method._shape == 'kane' and method._potential != 0:
        found.append('potential_energy')
    return found


def formed(method):
    """A method that has derived its equations."""
    method.equations_of_motion
    return method


def formed_by(cls):
    return lambda reference: formed(made(reference, cls))


# -- from equations to values --------------------------------------------

def evaluated(reference, equations, more=None, **fields):
    compiled = reference.with_numbers(equations)
    states = reference.mapped(equations, more or {})
    rates = [reference.lifted(equations, k, state, compiled.rhs(
        state.t, state.x)[compiled.u_index]) for k, state in enumerate(states)]
    return Derived(rates, compiled=compiled, states=states, **fields)


def from_method(reference, method, with_forces=True, **fields):
    """Accelerations, and forces ``A^T*lam`` of the multipliers."""
    system = method.system
    found = evaluated(reference, method.equations_of_motion, **fields)
    if not with_forces or not found.compiled.multiplier_names:
        return found
    forces = []
    for k, (state, values) in enumerate(zip(found.states, reference.values)):
        A = reference.numbers(system.graph, ('A',), {
            **values, **dict(zip(found.compiled.states, state.x))})['A']
        forces.append(reference.pulled_back(
            k, system, A.T@found.compiled.multipliers(state.t, state.x)))
    return replace(found, forces=forces)


# -- the formulations ----------------------------------------------------

def fifty_digits(reference, _):
    """The multiplier system, solved by mpmath."""
    method = reference.method
    own = {'weight', "inconsistent='least-squares'"}.intersection(
        own_options(method))
    if own:
        raise NotTried(f'not with `{own.pop()}`')
    if method.system.higher_rows or (
            getattr(method, '_reaction_matrix', None) is not None):
        raise NotTried('the reactions are not those of linear rows')
    rates, forces = zip(*map(reference.at_50_digits,
                             range(len(reference.states))))
    return Derived(
        rates, forces if method.system.counts[2] else None,
        operations=method.system.graph.operation_count(('M', 'Q', 'A', 'b')))


def closed_form(reference):
    """The solved accelerations as one expression, ``u' = ...``."""
    return made(reference, UdwadiaKalabaMethod).closed_form


def from_closed_form(reference, solved):
    """Evaluate it as equations of motion whose ``W`` is the identity."""
    equations, compiled = reference.equations, reference.compiled
    g, out = equations.graph.load()
    _, more = solved.load(g, ('acceleration',))
    o = len(equations.u)
    explicit = replace(
        equations, multipliers=(), unknowns=equations.unknowns[:o],
        graph=equations.graph.updated(
            g, out, W=(units(o), o), r=(more['acceleration'], 1)))
    forces = compiled.output(solved, 'constraint_forces')
    return evaluated(
        reference, explicit,
        operations=solved.operation_count(('acceleration',)),
        forces=[np.ravel(forces(*state)) for state in reference.states]
        if compiled.has('A') else None)


def embedding(reference):
    """The embedding with the user's dependent coordinates, or, if there are
    none or their rows are singular at a state, with others.
    """
    if type(reference.model.method) is HamelEmbedding:
        return made(reference, HamelEmbedding)
    try:
        method = made(reference, HamelEmbedding)
        dependent = method._dependent
    except (MissingIngredientError, ConstraintError):
        method = made(reference, RouthMethod)   # in the same velocities
        dependent = method._pivots
    system = method.system
    chosen = best_columns(reference.rows(system), dependent)
    if chosen == dependent and isinstance(method, HamelEmbedding):
        return method
    return made(reference, HamelEmbedding,
                q_dependent=[system.q[i] for i in chosen])


def best_columns(matrices, preferred):
    """Columns that are independent at all states, preferably the preferred."""
    def quality(columns):
        return min((sigma[-1]/norm for sigma, norm in (
            (np.linalg.svd(A[:, list(columns)], compute_uv=False),
             np.linalg.norm(A)) for A in matrices)), default=0.)

    count = len(preferred)
    if not count or quality(preferred) > POOR:
        return preferred
    found = [preferred, *(tuple(sorted(map(int, qr(
        A, mode='r', pivoting=True)[1][:count]))) for A in matrices)]
    return max(dict.fromkeys(found), key=quality)


def from_corrected(reference, method):
    return from_method(reference, method,
                       explain=lambda agrees: (eliminated(method), False))


def from_embedded(reference, method):
    """Hamel's equations, with their validity."""
    def explain(agrees):
        validity = method.validity
        if not agrees:
            return str(validity), validity.holds is False
        if validity.holds is False:
            return f'at these states only; {validity}', False
        return eliminated(method), False

    return from_method(reference, method, False, explain=explain)


def eliminated(method):
    names = ', '.join(label(x) for x in method._qdep)
    return f'{names} dependent' if names else ''


def mapped(reference):
    """A mapping by the partition of the class, or by a regular one."""
    method = made(reference, LinearMappingMethod)
    system = method.system
    if type(reference.model.method) is not LinearMappingMethod and (
            system.counts[2] == len(method._dependent)):
        chosen = best_columns(reference.rows(system), method._dependent)
        if chosen != method._dependent:
            method = made(reference, LinearMappingMethod, mapping=[
                x for i, x in enumerate(system.u) if i not in chosen])
    return formed(method)


def from_gibbs_appell(reference, method):
    """It follows another law of variable mass."""
    def explain(agrees):
        moving = [] if method._call[0] != 'kane' else [
            body.name for body in method.system.bodies
            if not body.mass.diff(method.system.t).is_zero]
        return ('' if agrees or not moving else
                f'the mass of {", ".join(moving)} changes; here what leaves '
                'has the velocity of the body, and else the rate of momentum '
                'is taken', bool(moving))

    return from_method(reference, method, explain=explain)


def from_vacco(reference, method):
    """Vakonomic accelerations, at multipliers of the size of the reactions."""
    names = list(method.mu_vec)
    sizes = np.abs(reference.multipliers)
    sizes = sizes.max(axis=0) if sizes.shape[1] == len(names) else (
        np.full(len(names), sizes.max(initial=0)))
    more = {x: float(f'{size:.2g}') or 1. for x, size in zip(names, sizes)}

    def explain(agrees):
        if not more:
            return '', False
        stated = f'mu = ({", ".join(f"{x:g}" for x in more.values())})'
        if not agrees:
            return ('the rows are not integrable, so multipliers, which are '
                    f'states, change the motion; here {stated}',
                    method.always_coincides is False)
        return {True: f'for all multipliers; here {stated}',
                None: f'for {stated}',
                False: f'at these states only, for {stated}'
                }[method.always_coincides], False

    return from_method(reference, method, False, more=more, explain=explain)


# -- classical forms -----------------------------------------------------

def form_recipes(reference):
    """Recipes of the classical forms of one method."""
    shared = cache(lambda: made(reference, GibbsAppellMethod))

    def derived_by(form):
        return lambda _: (shared(), Graph.of(
            {'form': shared().classical_equations(form)}, shared().system.t))

    return [Recipe(f'GibbsAppell, {FORM_NAMES.get(form, form.title())}',
                   derived_by(form), from_form) for form in FORMS]


def from_form(reference, made):
    """``R(u') = 0`` together with ``A*u' = b``, solved for ``u'``."""
    method, graph = made
    system = method.system
    g, out = graph.load()
    moving = [g.input(derivative(x, system.t), dynamic=True) for x in system.u]
    rows = flat(out['form'])
    linear = frozen(
        g, R=GraphMatrix(g, jacobian(g, rows, moving), len(moving)),
        r=substitute(g, rows, dict.fromkeys(moving, 0)))
    rates = []
    for state in reference.values:
        form = reference.numbers(linear, ('R', 'r'), state)
        both = reference.numbers(system.graph, ('A', 'b'), state)
        left = np.concatenate([form['R'], both['A']])
        right = np.concatenate([-form['r'], both['b']])[:, 0]
        found, _, rank, _ = np.linalg.lstsq(left, right, rcond=None)
        if rank < len(moving):
            raise ArithmeticError('it does not determine the accelerations')
        rates.append(found)
    return Derived(rates, operations=graph.operation_count())


# -- all -----------------------------------------------------------------

#: Name -> the functions of a :class:`Recipe`, in the order of the table.
OURS = {
    'UdwadiaKalabaMethod': (formed_by(UdwadiaKalabaMethod), from_method),
    'block system, 50 digits': (lambda reference: None, fifty_digits),
    'UdwadiaKalabaMethod, closed form': (closed_form, from_closed_form),
    'RouthMethod': (formed_by(RouthMethod), from_method),
    'HamelEmbedding, corrected': (
        lambda reference: formed(embedding(reference).corrected),
        from_corrected),
    'HamelEmbedding': (lambda reference: formed(embedding(reference)),
                       from_embedded),
    'LinearMappingMethod': (mapped, from_method),
    'GibbsAppellMethod': (formed_by(GibbsAppellMethod), from_gibbs_appell),
    'VaccoMethod': (formed_by(VaccoMethod), from_vacco)}


def recipes(reference, forms=False):
    """The formulations of this package other than the reference."""
    names, own = list(OURS), reference.model.method
    if isinstance(reference.method, UdwadiaKalabaMethod):
        names.remove('UdwadiaKalabaMethod')
    else:
        names = [name for name in names if not name.endswith('closed form')
                 and not name.startswith(type(reference.method).__name__)]
    found = [Recipe(name, *OURS[name]) for name in names]
    if own is not None and type(own) not in BUILT_IN:
        found.insert(0, Recipe(type(own).__name__, lambda _: formed(own),
                               from_method))
    if forms:
        found[-1:-1] = form_recipes(reference)
    return found
