"""SymPy objects in a fixed order, found by themselves or by their name.

The numeric layer works on arrays, users think in symbols. This file is the
only place where one becomes the other, so that every function of the layer
accepts the same keys and reports the same mistakes.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set
from difflib import get_close_matches
from inspect import signature

import numpy as np
from sympy import Derivative
from sympy.core.function import AppliedUndef

__all__ = ['Names', 'array', 'by_label', 'call_fault', 'label', 'number',
           'read_only', 'sentence']


def label(item) -> str:
    """Short name of a symbol, of a function of time or of a derivative.

    Examples
    ========

    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained.numeric.names import label
    >>> q1 = dynamicsymbols('q1')
    >>> label(q1), label(q1.diff())
    ('q1', "q1'")

    """
    if isinstance(item, Derivative):
        return label(item.expr) + "'"*item.derivative_count
    if isinstance(item, AppliedUndef):
        return item.func.__name__
    return str(item)


def number(value) -> float:
    """A finite real number as a float; ``ValueError`` for anything else."""
    try:
        if isinstance(value, str) or np.iscomplexobj(value):
            raise TypeError
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{value!r} is not a real number; give a finite one") from None
    if not math.isfinite(result):
        raise ValueError(f"{result} is not finite; give a finite number")
    return result


def array(values, argument: str) -> np.ndarray:
    """Real numbers as an array of floats."""
    try:
        if np.iscomplexobj(values) or np.ma.is_masked(values):
            raise TypeError
        raw = np.asarray(values)
        if raw.dtype.kind in 'SU' or raw.dtype.kind == 'O' and any(
                x is None or isinstance(x, (str, bytes)) for x in raw.flat):
            raise TypeError             # which NumPy reads as numbers
        return np.asarray(raw, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(
            f"`{argument}` is {values!r}, which is no array of real numbers. "
            "Give the numbers in order.") from None


def read_only(values, count=None) -> np.ndarray:
    """The first ``count`` entries, for functions that must not change them.
    """
    view = values[:count]
    view.setflags(write=False)
    return view


def call_fault(function) -> str:
    """Why a function cannot be called with ``(t, x)``, '' if it can.

    Functions without a signature, such as some of C, pass.
    """
    try:
        signature(function).bind(0., ())
    except TypeError as error:
        return str(error)
    except ValueError:
        pass
    return ''


def by_label(values):
    """A mapping of what has labels, such as a table of pandas.

    Anything else as it is.
    """
    if isinstance(values, Mapping) or not (
            hasattr(values, 'keys') and hasattr(values, '__getitem__')):
        return values
    found = {key: values[key] for key in values.keys()}
    if list(found) == list(range(len(found))):      # places, not labels
        return list(found.values())
    return found


def sentence(problems) -> str:
    """Several problems as one; a question keeps its own mark."""
    text = '; '.join(problems)
    return text if text.endswith('?') else f'{text}.'


class Names:
    """A tuple of SymPy objects that is also searched by name.

    Examples
    ========

    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained.numeric.names import Names
    >>> q1, u1 = dynamicsymbols('q1 u1')
    >>> states = Names((q1, u1), 'state')
    >>> states.index(u1), states.index('u1')
    (1, 1)
    >>> states.vector({'q1': 2, u1: 0.5}, 'start')
    array([2. , 0.5])

    Parameters
    ==========

    objects : iterable of SymPy objects
    kind : str
        What they are, in the singular, for messages: ``'state'``.
    hint : str
        What to say beside that values are missing.

    """

    def __init__(self, objects, kind: str, hint: str = ''):
        self.objects = tuple(objects)
        self.kind = kind
        self.hint = hint
        self.labels = tuple(map(label, self.objects))
        self._positions = {item: i for i, item in enumerate(self.objects)
                           if self.objects.count(item) == 1}

    def __iter__(self) -> Iterator:
        return iter(self.objects)

    def __len__(self) -> int:
        return len(self.objects)

    def __repr__(self) -> str:
        return f"Names({', '.join(self.labels)})"

    def index(self, key) -> int:
        """Position of a SymPy object or of a name.

        Raises
        ======

        KeyError
            If there is no such object, or several have this name.

        """
        position = self._positions.get(key)
        if position is not None:
            return position
        text = key.strip() if isinstance(key, str) else str(key)
        if isinstance(key, str):
            found = [i for i, item in enumerate(self.objects)
                     if not {key, text}.isdisjoint((self.labels[i],
                                                    str(item)))]
            if len(found) == 1:
                return found[0]
            if found:
                raise KeyError(
                    f"{text!r} names {len(found)} objects; use the SymPy "
                    "object itself, or the position where there are names "
                    "only")
        if text in map(str, self.objects):
            raise KeyError(
                f"{text!r} has the name of a {self.kind} and is another "
                "symbol (perhaps with other assumptions); use the one of the "
                "model, or its name as a string")
        near = get_close_matches(text, self.labels, 2)
        if self.kind == 'state' and getattr(key, 'expr', None) in self:
            raise KeyError(
                f"{text!r} is no state here, it follows from "
                f"{', '.join(self.labels)}; leave it out")
        hint = f"did you mean {' or '.join(near)}?" if near else (
            f"known: {', '.join(self.labels)}" if self.labels else
            "the model has none, leave it out")
        raise KeyError(f"{text!r} is no {self.kind}; {hint}")

    def indices(self, keys, argument: str) -> list[int]:
        """Positions of several objects or names, all mistakes at once."""
        if isinstance(keys, str) or hasattr(keys, 'free_symbols'):
            keys = (keys,)
        found, problems = [], []
        for key in keys:
            try:
                found.append(self.index(key))
            except KeyError as error:
                problems.append(error.args[0])
        if problems:
            raise ValueError(f"`{argument}`: {sentence(problems)}")
        return found

    def vector(self, values, argument: str, default=None) -> np.ndarray:
        """One float for each object.

        Parameters
        ==========

        values : mapping or sequence
            A mapping from SymPy objects or names to numbers, or all the
            numbers in order. What has ``keys`` is taken by them.
        argument : str
            Name of the user's argument, for messages.
        default : sequence of float, optional
            Values of what a mapping leaves out. Without it an incomplete
            mapping is an error.

        Raises
        ======

        ValueError
            With everything that is wrong with ``values``.

        """
        size, values = len(self), by_label(values)
        if not isinstance(values, Mapping):
            return self._sequence(values, argument)
        problems = []
        result = [None]*size if default is None else list(default)
        seen = set()
        for key, value in values.items():
            try:
                i = self.index(key)
            except KeyError as error:
                problems.append(error.args[0])
                continue
            if i in seen:
                problems.append(f"{self.labels[i]} is given twice")
            seen.add(i)
            try:
                result[i] = number(value)
            except ValueError as error:
                problems.append(f"{self.labels[i]}: {error}")
        missing = [self.labels[i] for i in range(size)
                   if result[i] is None and i not in seen]
        if missing:
            problems.append(f"no value for {', '.join(missing)}")
        if problems:
            remedy = missing and self.hint or (
                f"Each {self.kind} takes one finite real number.")
            raise ValueError(f"`{argument}`: {sentence(problems)} {remedy}")
        return np.array(result, dtype=float)

    def _sequence(self, values, argument):
        try:
            if isinstance(values, (str, Set)):      # without an order
                raise TypeError
            result = np.array([number(v) for v in values], dtype=float)
        except TypeError:
            raise TypeError(
                f"`{argument}` must be a mapping from {self.kind}s to "
                f"numbers or a sequence of {len(self)} numbers, not "
                f"{type(values).__name__}.") from None
        except ValueError as error:
            raise ValueError(f"`{argument}`: {error}.") from None
        if result.shape != (len(self),):
            raise ValueError(
                f"`{argument}` has {result.size} values for {len(self)} "
                f"{self.kind}s ({', '.join(self.labels)}). Give one for each."
                + (f' {self.hint}' if self.hint else ''))
        return result
