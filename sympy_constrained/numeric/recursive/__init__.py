"""Recursive equations of systems with tree structure."""
from contextlib import suppress

from ...errors import (
    ConstrainedDynamicsError, MissingIngredientError, UnsupportedFeatureError)
from ...model.call_signatures import arguments_of
from ..codegen.native import chosen

__all__ = ['recursive_equations']

# The number of bodies from which the recursion is quicker than the ordinary
# form: open chains with pins in space take 6.5 and 4.8 us with 24 bodies, 6.7
# and 9.2 us with 32 (`benchmarks/many_bodies.py`).
CROSSOVER = 28


def recursive_equations(model, constants, inputs, backend, recursion, loops):
    """The :class:`.RecursiveEquations` of a model, or None for the ordinary
    form.
    """
    if recursion not in (True, 'auto'):
        raise ValueError(
            f"`recursion` is {recursion!r}; it must be True, False or 'auto'.")
    if recursion == 'auto':
        # a System without formed equations has no ordinary form
        is_choice = getattr(model, 'eom_method', model) is not None
        with suppress(UnsupportedFeatureError):
            bodies = arguments_of(model)[1].get('bodies') or ()
            if is_choice and len(bodies) < CROSSOVER:
                return None
        with suppress(ConstrainedDynamicsError):
            found = compiled(model, constants, inputs, backend, loops)
            return found if found.has_loops_only or not is_choice else None
        return None
    return compiled(model, constants, inputs, backend, loops)


def compiled(model, constants, inputs, backend, loops):
    if chosen(backend) != 'llvm':
        raise MissingIngredientError(
            "Recursive equations are compiled by llvmlite and numba (extra "
            "`fast`). Install them, or pass `recursion=False`.")
    from .equations import RecursiveEquations
    return RecursiveEquations(model, constants, inputs, loops)
