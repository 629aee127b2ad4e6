"""The equations as functions of JAX."""
from importlib import import_module

import numpy as np

from ..errors import MissingIngredientError
from ..numeric.codegen.walk import functions_of, library
from .exported import SOLVED, Exported


def to_jax(model, name='rhs', t=0., x=None, *, constants=None, inputs=None):
    """Return the equations as a function of JAX.

    ``f(t, x, p=None, r=None)`` for ``'rhs'``, ``'multipliers'`` and every
    output of the graph, ``f(t, x, z, p=None, r=None)`` for ``'residual'``,
    with the results in the table of :func:`to_casadi`. It is compiled by
    ``jax.jit``, takes one state and makes no checks. JAX must calculate with
    64 bits.

    Examples
    ========

    ::

        jax.config.update('jax_enable_x64', True)
        f = to_jax(compiled)
        slope = jax.jacfwd(f, 1)(0., x)
        many = jax.vmap(f, (None, 0))(0., states)

    Parameters
    ==========

    model, name, t, x, constants, inputs
        As for :func:`to_casadi`. ``constants`` are the default of ``p``.

    Raises
    ======

    MissingIngredientError
        If JAX is not installed, or calculates with 32 bits.
    UnsupportedFeatureError
        See :func:`to_casadi`.

    """
    e = Exported.of(model, t, x, constants, inputs, name in SOLVED)
    jax = library('jax', 'JAX')
    j = import_module('jax.numpy')
    if j.zeros(1, dtype=float).dtype != np.float64:
        raise MissingIngredientError(
            "JAX calculates with 32 bits, too few for equations of motion. "
            "Call `jax.config.update('jax_enable_x64', True)` before anything "
            "else is done with JAX.")
    computed, shapes = e.outputs(name)
    table = functions(j, import_module('jax.scipy.special'))
    use, places = (np.array(k, dtype=int) for k in (e.use, e.rows))
    rows, columns = e.scales or (np.ones(len(use)),)*2

    def outputs(t, x, p, r):
        values = computed(table, {
            't': [j.asarray(t, dtype=float)],
            'x': vector(j, x, 'x', e.equations.states),
            'p': vector(j, e.p if p is None else p, 'p',
                        e.equations.constants),
            'r': vector(j, r, 'r', e.free)})
        found = {key: j.asarray(values[key], dtype=float).reshape(shape)
                 for key, shape in shapes.items()}
        if name in SOLVED:
            found['W'] = found['W'][use[:, None], use]
            found['r'] = found['r'][use, 0]
        return found

    def output(t, x, p=None, r=None):
        return outputs(t, x, p, r)[name]

    def solution(t, x, p=None, r=None):
        found = outputs(t, x, p, r)
        z = columns*j.linalg.solve(
            found['W']*np.outer(rows, columns), rows*found['r'])
        if name == 'rhs':
            return j.concatenate([found['rates'][:, 0], z[:e.motion]])
        return j.zeros(len(e.equations.multipliers)).at[places].set(
            z[e.motion:])

    def residual(t, x, z, p=None, r=None):
        found, z = outputs(t, x, p, r), j.asarray(z, dtype=float)
        rates, *levels = (found[name][:, 0] for name in (
            'rates', 'holonomic', 'velocity'))
        return (j.concatenate([rates, z[:e.motion]]),
                found['W']@z - found['r'], j.concatenate(levels))

    function = residual if name == 'residual' else (
        solution if name in SOLVED else output)
    function.__name__ = name
    return jax.jit(function)


def functions(j, special):
    """Operation -> function of ``jax.numpy`` or ``jax.scipy.special``."""
    return {
        **functions_of(j), 'library': 'JAX', 'select': j.where,
        'and': j.logical_and, 'or': j.logical_or, 'not': j.logical_not,
        'true': lambda: True, 'false': lambda: False, 'pow': j.power,
        'asin': j.arcsin, 'acos': j.arccos, 'atan': j.arctan,
        'atan2': j.arctan2, 'asinh': j.arcsinh, 'acosh': j.arccosh,
        'atanh': j.arctanh, 'erf': special.erf, 'erfc': special.erfc}


def vector(j, values, what, items):
    if values is None and items:
        raise MissingIngredientError(
            f"No values for `{what}` ({', '.join(map(str, items))}). Pass "
            "them to the function"
            f"{', or `constants` to `to_jax`' if what == 'p' else ''}.")
    values = j.asarray(() if values is None else values, dtype=float)
    if values.shape != (len(items),):
        raise ValueError(
            f"`{what}` has shape {values.shape}; it must be ({len(items)},). "
            "Use `jax.vmap` for a batch.")
    return values
