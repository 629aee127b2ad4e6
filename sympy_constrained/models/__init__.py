"""Ready models with known answers, used by documentation, tests, benchmarks
and the demo.

A model is a :class:`Model`: the arguments of an upstream call or a SymPy
``System``, with numbers and a start. :data:`MODELS` maps names to functions,
each of which builds a fresh model; :func:`model` looks one up by name.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from inspect import signature
from types import MappingProxyType

from . import (
    bicycle as _bicycle, linkages, particles, pendulums, rolling, tops)
from ._model import Model

__all__ = ['MODELS', 'Model', 'model']

#: Name -> function that builds the model, in reading order.
MODELS: Mapping[str, Callable[..., Model]] = MappingProxyType({
    function.__name__: function for function in (
        linkages.four_bar, linkages.slider_crank, linkages.closed_chain,
        linkages.closed_chain_absolute, linkages.closed_chain_3d,
        linkages.parallel_cranks, linkages.coupler_on_cranks,
        linkages.andrews_squeezer, linkages.n_four_bar,
        rolling.rolling_disc, rolling.rolling_disc_minimal,
        rolling.rolling_disc_contact, rolling.rolling_disc_dependent,
        rolling.rolling_disc_lagrange, rolling.disc_on_incline,
        rolling.two_wheeled_cart, rolling.knife_edge,
        rolling.chaplygin_sleigh, rolling.upright_disc, rolling.snakeboard,
        _bicycle.bicycle, _bicycle.bicycle_whole,
        pendulums.cartesian_pendulum, pendulums.nonminimal_pendulum,
        pendulums.driven_pendulum, pendulums.atwood_machine,
        pendulums.n_link_pendulum_on_cart, pendulums.multidof_holonomic,
        pendulums.cart_pendulum, pendulums.cart_bead,
        pendulums.spring_mass_damper, pendulums.duffing_pendulum,
        pendulums.double_pendulum_lagrange, pendulums.damped_double_pendulum,
        pendulums.furuta_pendulum, pendulums.muscle_on_sphere,
        tops.heavy_top, tops.heavy_top_quaternion,
        tops.quaternion_top_lagrange, tops.pinned_top,
        particles.bead_on_circle, particles.constant_speed_particle,
        particles.appell_hamel, particles.acceleration_level,
        particles.duplicated_rows, particles.massless_coordinate)})


def model(name: str, **options) -> Model:
    """Build the ready model of a name.

    Examples
    ========

    >>> from sympy_constrained.models import model
    >>> model('four_bar').title
    'A crank-rocker four-bar linkage under gravity'
    >>> len(model('closed_chain', n=6).coordinates)
    6

    Parameters
    ==========

    name : str
        A key of :data:`MODELS`.
    **options
        Arguments of the model function, such as the number of links.

    Returns
    =======

    Model

    Raises
    ======

    ValueError
        If there is no model of this name.

    """
    try:
        build = MODELS[name]
    except (KeyError, TypeError):
        close = get_close_matches(str(name), MODELS, n=1)
        hint = f'Did you mean {close[0]!r}? ' if close else ''
        raise ValueError(
            f'`name` is {name!r}, which is no ready model. {hint}Pass one of '
            f'{", ".join(sorted(MODELS))}.') from None
    try:
        signature(build).bind(**options)
    except TypeError as error:
        known = ', '.join(signature(build).parameters) or 'none'
        raise TypeError(
            f'The ready model {name!r} cannot be built: {error}. Its options '
            f'are: {known}.') from None
    return build(**options)
