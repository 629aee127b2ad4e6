"""Ready models with known answers, for documentation, tests and benchmarks."""
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from types import MappingProxyType

from . import (  # noqa: F401 - they enter their models
    bicycles, chains, discs, linkages, particles, pendulums, tops, vehicles)
from ._model import READY, Model

__all__ = ['MODELS', 'Model', 'model']

#: Name -> function that builds the model.
MODELS: Mapping[str, Callable[..., Model]] = MappingProxyType(READY)


def model(name: str, **options) -> Model:
    """Build the ready model of a name.

    Examples
    ========

    >>> from sympy_constrained.models import model
    >>> model('four_bar').title
    'A crank-rocker four-bar linkage under gravity'

    Parameters
    ==========

    name : str
        A key of :data:`MODELS`; a ValueError is raised for others.
    **options
        Arguments of the model function, such as the number of links.

    """
    try:
        build = MODELS[name]
    except (KeyError, TypeError):
        close = get_close_matches(str(name), MODELS, n=1)
        hint = f'Did you mean {close[0]!r}? ' if close else ''
        raise ValueError(
            f'`name` is {name!r}, not a ready model. {hint}Pass one of '
            f'{", ".join(sorted(MODELS))}.') from None
    return build(**options)
