"""Options of a method class, and its signature for users."""
from collections.abc import Mapping
from functools import lru_cache
from inspect import Parameter, Signature, signature

from sympy import Matrix, flatten

from ..errors import UnsupportedFeatureError
from ..model.call_signatures import SHAPES


@lru_cache(maxsize=128)
def options_of(cls):
    parameters = [
        parameter for base in cls.__mro__ if '__init__' in vars(base)
        for parameter in signature(base.__init__).parameters.values()
        if parameter.kind == Parameter.KEYWORD_ONLY]
    parameters += [keyword(name) for name in (
        *cls._accepts, *['q_dependent']*cls._takes_partition)]
    return {parameter.name: parameter for parameter in parameters}


def call_signature(cls):
    """The arguments of both shapes, as keywords, and the options."""
    given = {name: keyword(name, parameter.default)
             for shape in SHAPES.values()
             for name, parameter in signature(shape).parameters.items()}
    return Signature([Parameter('args', Parameter.VAR_POSITIONAL),
                      *{**given, **options_of(cls)}.values()])


def keyword(name, default=Parameter.empty):
    """A keyword; one that is needed in its shape only may be left out."""
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None
                     if default is Parameter.empty else default)


def with_inherited(cls, method, options):
    """Options for ``cls``, completed by those of another method."""
    if not hasattr(method, '_special'):     # a model of SymPy
        return options
    special = [name for name, is_given in method._special.items() if is_given]
    if special and cls._special is not type(method)._special:
        raise UnsupportedFeatureError(
            f"The model has {', '.join(special)}, which only "
            f"{type(method).__name__} takes: without it the motion would be "
            "another one. If that is meant, make the other method from the "
            "model itself, with `momentum_loads` for variable masses.")
    kept = {name: value for name, value in method._options.items()
            if name in cls._accepts}
    if method._sample is not None:
        kept['sample'] = method._sample
    if isinstance(method, cls):
        kept |= method._own
    found = {**kept, **options}
    if 'stabilization' not in cls._accepts and isinstance(
            found.get('sample'), Mapping):  # without its gains
        gains = flatten([method._options.get('stabilization') or 0])
        symbols = Matrix([x or 0 for x in gains]).free_symbols
        found['sample'] = {x: value for x, value in found['sample'].items()
                           if x not in symbols}
    return found
