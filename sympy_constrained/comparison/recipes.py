"""Recipes: how each formulation is derived and evaluated.

A recipe takes a :class:`Case` and returns a :class:`Derived`, or raises.
Failures of one formulation do not affect the others.
"""
from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import qr
from sympy import Derivative

from ..errors import ConstraintError, MissingIngredientError
from ..graph import Graph, jacobian, substitute
from ..methods import (
    GibbsAppellMethod, HamelEmbedding, LinearMappingMethod, RouthMethod,
    UdwadiaKalabaMethod, VaccoMethod)
from ..methods.gibbs_appell.classical_forms import FORMS
from ..numeric import compile_equations
from ..numeric.names import label

__all__ = ['Case', 'Derived', 'NotTried', 'Recipe', 'evaluated',
           'function_of', 'operations_of', 'own_options', 'recipes', 'remade',
           'sizes_of']

FORM_NAMES = {'macmillan': 'MacMillan', 'nielsen-10': 'Nielsen (10)'}
BUILT_IN = (UdwadiaKalabaMethod, RouthMethod, HamelEmbedding, VaccoMethod,
            LinearMappingMethod, GibbsAppellMethod)
# Least relative singular value of the rows of dependent velocities.
POOR = 1e-6


class NotTried(Exception):
    """A formulation that does not apply; the message says why."""


@dataclass(frozen=True, eq=False)
class Case:
    """One model with numbers, and the reference made from it."""

    model: Any
    method: Any             # the reference
    report: Any             # its ConstraintReport
    reference: Any          # its ReferenceStates
    sample: dict            # numbers near which ranks are evaluated


@dataclass(frozen=True, eq=False)
class Derived:
    """Result of a recipe; functions of ``k`` take the number of a state."""

    operations: int
    values: Callable        # k -> rates of the reference's speeds
    forces: Callable | None = None      # k -> constraint forces on these
    call: Callable | None = None        # a function of (t, x), to be timed
    states: list | None = None          # where it is called
    sizes: dict = field(default_factory=dict)       # see sizes_of
    #: whether the values agree -> reason, and whether they must differ
    explain: Callable | None = None


@dataclass(frozen=True)
class Recipe:
    """``finish`` takes the case and what ``derive`` makes of it.

    Only the latter counts as derivation.
    """

    name: str
    derive: Callable
    finish: Callable
    is_ours: bool = True


def recipes(case, forms=False):
    """The formulations of this package, in the order of the table."""
    def formed_by(cls):
        return lambda case: formed(made(case, cls))

    found = [
        Recipe('block system, 50 digits', lambda case: None, fifty_digits),
        Recipe('UdwadiaKalabaMethod, closed form', closed_form,
               from_closed_form),
        Recipe('RouthMethod', formed_by(RouthMethod), from_method),
        Recipe('HamelEmbedding, corrected',
               lambda case: formed(embedding(case).corrected),
               from_corrected),
        Recipe('HamelEmbedding', lambda case: formed(embedding(case)),
               from_embedded),
        Recipe('LinearMappingMethod', mapped, from_method),
        Recipe('GibbsAppellMethod', formed_by(GibbsAppellMethod),
               from_gibbs_appell)]
    if not isinstance(case.method, UdwadiaKalabaMethod):
        found = [
            Recipe('UdwadiaKalabaMethod', formed_by(UdwadiaKalabaMethod),
                   from_method),
            *(recipe for recipe in found if not recipe.name.startswith(
                ('UdwadiaKalabaMethod', type(case.method).__name__)))]
    own = case.model.method
    if own is not None and type(own) not in BUILT_IN:
        found.insert(0, Recipe(type(own).__name__, lambda case: formed(own),
                               from_method))
    if forms:
        shared = cache(lambda: made(case, GibbsAppellMethod))
        found += [form_recipe(form, shared) for form in FORMS]
    return [*found, Recipe('VaccoMethod', formed_by(VaccoMethod),
                           from_vacco)]


# -- making methods ------------------------------------------------------

def remade(method, sample=None):
    """A copy of a method, built anew from the same call."""
    found = copy(method)
    if sample is not None:
        found._sample = sample
    found._build()
    return found


def made(case, cls, **options):
    """A new method object of a class for the model of a case."""
    if type(case.model.method) is cls:
        return remade(case.model.method, case.sample)
    return cls.from_method(case.method, sample=case.sample, **options)


def own_options(method):
    """Names of given options that SymPy's classes do not take."""
    given = {**method._options, 'weight': getattr(method, '_weight', None)}
    found = [name for name, value in given.items() if value is not None
             and name not in ('potential_energy', 'stabilization')]
    if getattr(method, '_inconsistent', 'error') != 'error':
        found.append('inconsistent')
    if method._shape == 'kane' and method._potential != 0:
        found.append('potential_energy')
    return found


def formed(method):
    """A method that has derived its equations."""
    method.equations_of_motion
    return method


# -- from equations to values --------------------------------------------

def evaluated(case, equations, more=None):
    """Compiled equations, their states, and values of the reference's rates.
    """
    reference = case.reference
    compiled = compile_equations(equations, *numbers_of(case, equations))
    states = reference.mapped(equations, more or {})

    def values(k):
        rates = compiled.rhs(states[k].t, states[k].x)[compiled.u_index]
        return reference.lifted(equations, k, states[k], rates)

    return compiled, states, values


def numbers_of(case, equations):
    """Values of the constants and the inputs that occur in equations.

    Some may drop out, as forces do that Hamel's equations neglect.
    """
    known = {**case.model.parameters, **case.reference.constants}
    functions = {function_of(x) for x in equations.specifieds}
    return ({x: known[x] for x in equations.constants if x in known},
            {x: value for x, value in case.reference.inputs.items()
             if function_of(x) in functions})


def function_of(item):
    """The function of time itself of a derivative of it."""
    return item.expr if isinstance(item, Derivative) else item


def sizes_of(equations):
    """Numbers of states, accelerations and multipliers, by name."""
    m = len(equations.multipliers)
    return {'states': len(equations.states), 'multipliers': m,
            'accelerations_count': len(equations.unknowns) - m}


def operations_of(equations):
    return equations.graph.operation_count(('rates', 'W', 'r'))


def from_method(case, method, explain=None, more=None, with_forces=True):
    """Accelerations, and forces of the multipliers."""
    equations = method.equations_of_motion
    compiled, states, values = evaluated(case, equations, more)
    return Derived(
        operations_of(equations), values,
        reactions(case, method, compiled, states) if (
            with_forces and len(equations.multipliers)) else None,
        compiled.rhs, states, sizes_of(equations), explain)


def reactions(case, method, compiled, states):
    """``A^T*lam`` with the multipliers of a method, on the reference's speeds.
    """
    reference, system = case.reference, method.system

    def forces(k):
        t, x = states[k].t, states[k].x
        values = {**reference.values[k], **dict(zip(compiled.states, x))}
        rows = reference.numbers(system.graph, ('A',), values)['A']
        return reference.pulled_back(
            k, system, rows.T@compiled.multipliers(t, x))

    return forces


# -- the formulations ----------------------------------------------------

def fifty_digits(case, _):
    """The multiplier system, solved by mpmath."""
    method = case.method
    own = {'weight', 'inconsistent'}.intersection(own_options(method))
    if own:
        raise NotTried(f'not with `{own.pop()}`')
    if method.system.higher_rows or (
            getattr(method, '_reaction', None) is not None):
        raise NotTried('the reactions are not those of linear rows')
    solved = [case.reference.at_50_digits(k, case.report.independent_rows)
              for k in range(len(case.reference.states))]
    return Derived(
        method.system.graph.operation_count(('M', 'Q', 'A', 'b')),
        lambda k: solved[k][0],
        (lambda k: solved[k][1]) if method.system.counts[2] else None)


def closed_form(case):
    """The solved accelerations as one expression, ``u' = ...``."""
    return made(case, UdwadiaKalabaMethod).closed_form


def from_closed_form(case, solved):
    """Evaluate it as equations of motion whose ``W`` is the identity."""
    reference, equations = case.reference, case.reference.equations
    g, out = equations.graph.load()
    _, more = solved.load(g, ('acceleration',))
    o = len(equations.u)
    columns = {name: size[1] for name, size in
               equations.graph.outputs.items()}
    explicit = replace(
        equations, multipliers=(), unknowns=equations.unknowns[:o],
        graph=Graph.freeze(g, {
            **{name: (rows, columns[name]) for name, rows in out.items()},
            'W': ([[int(i == j) for j in range(o)] for i in range(o)], o),
            'r': (more['acceleration'], 1)}))
    compiled, states, values = evaluated(case, explicit)
    force = reference.compiled.output(solved, 'constraint_forces')
    return Derived(
        solved.operation_count(('acceleration',)), values,
        (lambda k: np.ravel(force(*reference.states[k])))
        if reference.compiled.has('A') else None,
        compiled.rhs, states, sizes_of(explicit))


def embedding(case):
    """The embedding with the user's dependent coordinates.

    Others are chosen if none are named, or if their rows are singular at a
    compared state.
    """
    if type(case.model.method) is HamelEmbedding:
        return made(case, HamelEmbedding)
    try:
        method = made(case, HamelEmbedding)
        dependent = method._dependent
    except (MissingIngredientError, ConstraintError):
        method = made(case, RouthMethod)        # in the same velocities
        dependent = method._pivots
    system = method.system
    chosen = best_columns(case.reference.rows(system), dependent)
    if chosen == dependent and isinstance(method, HamelEmbedding):
        return method
    return made(case, HamelEmbedding,
                q_dependent=[system.q[i] for i in chosen])


def best_columns(matrices, preferred):
    """Columns that are independent at all states.

    The preferred ones if possible, else the best of those that pivoting
    chooses at each state.
    """
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


def from_corrected(case, method):
    """The equations of Voronets."""
    return from_method(
        case, method, lambda agrees: (eliminated(method), False))


def from_embedded(case, method):
    """Hamel's equations, with their validity."""
    def explain(agrees):
        validity = method.validity
        if not agrees:
            return str(validity), validity.holds is False
        if validity.holds is False:
            return f'at these states only; {validity}', False
        return eliminated(method), False

    return from_method(case, method, explain, with_forces=False)


def eliminated(method):
    names = ', '.join(label(x) for x in method._qdep)
    return f'{names} dependent' if names else ''


def mapped(case):
    """A mapping by the partition of the class, or by a regular one."""
    method = made(case, LinearMappingMethod)
    system = method.system
    if type(case.model.method) is not LinearMappingMethod and (
            system.counts[2] == len(method._dependent)):
        chosen = best_columns(case.reference.rows(system),
                              method._dependent)
        if chosen != method._dependent:
            method = made(case, LinearMappingMethod, mapping=[
                x for i, x in enumerate(system.u) if i not in chosen])
    return formed(method)


def from_gibbs_appell(case, method):
    """It follows another law of variable mass."""
    def explain(agrees):
        moving = [] if method._call[0] != 'kane' else [
            body.name for body in method.system.bodies
            if not body.mass.diff(method.system.t).is_zero]
        return ('' if agrees or not moving else
                f'the mass of {", ".join(moving)} changes; here what leaves '
                'has the velocity of the body, and else the rate of momentum '
                'is taken', bool(moving))

    return from_method(case, method, explain)


def from_vacco(case, method):
    """Vakonomic accelerations, at multipliers of the size of the reactions.
    """
    names = list(method.mu_vec)
    sizes = np.abs(case.reference.multipliers)
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

    return from_method(case, method, explain, more, with_forces=False)


# -- classical forms -----------------------------------------------------

def form_recipe(form, shared):
    """Recipe of a classical form of the method that ``shared`` returns."""
    def derive(case):
        method = shared()
        return method, Graph.of({'form': method.classical_equations(form)},
                                method.system.t)

    return Recipe(f'GibbsAppell, {FORM_NAMES.get(form, form.title())}',
                  derive, from_form)


def from_form(case, made):
    """``R(u') = 0`` together with ``A*u' = b``, solved for ``u'``."""
    method, graph = made
    reference, system = case.reference, method.system
    g, out = graph.load()
    moving = [g.input(x.diff(system.t), dynamic=True) for x in system.u]
    rows = [x for x, in out['form']]
    at_rest = dict.fromkeys(moving, 0)
    linear = Graph.freeze(g, {
        'R': (jacobian(g, rows, moving), len(moving)),
        'r': ([[x] for x in substitute(g, rows, at_rest)], 1)})

    def values(k):
        state = reference.values[k]
        form = reference.numbers(linear, ('R', 'r'), state)
        both = reference.numbers(system.graph, ('A', 'b'), state)
        left = np.concatenate([form['R'], both['A']])
        right = np.concatenate([-form['r'], both['b']])[:, 0]
        found, _, rank, _ = np.linalg.lstsq(left, right, rcond=None)
        if rank < len(moving):
            raise ArithmeticError('it does not determine the accelerations')
        return found

    return Derived(graph.operation_count(), values)
