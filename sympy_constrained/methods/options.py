"""Options of a method class, and its signature for users."""
from __future__ import annotations

from functools import lru_cache
from inspect import Parameter, Signature, signature

from ..model.call_signatures import SHAPES

__all__ = ['call_signature', 'options_of']


@lru_cache(maxsize=128)
def options_of(cls):
    """Name -> parameter of the keywords beyond the arguments of a model."""
    found = [parameter for base in cls.__mro__ if '__init__' in vars(base)
             for parameter in signature(base.__init__).parameters.values()
             if parameter.kind == Parameter.KEYWORD_ONLY]
    found += [keyword(name) for name in (
        *cls._accepts, *['q_dependent']*cls._takes_partition)]
    return {parameter.name: parameter for parameter in found}


def call_signature(cls):
    """The arguments of both shapes, as keywords, and the options."""
    given = {name: keyword(name, parameter.default)
             for shape in SHAPES.values()
             for name, parameter in shape.parameters.items()}
    return Signature([Parameter('args', Parameter.VAR_POSITIONAL),
                      *{**given, **options_of(cls)}.values()])


def keyword(name, default=Parameter.empty):
    """A keyword; one that is needed in its shape only may be left out."""
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None
                     if default is Parameter.empty else default)
