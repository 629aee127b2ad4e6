"""SymPy objects in a fixed order, found by themselves or by their name.

Only this file translates between symbols and arrays, so every function of the
numeric layer accepts the same keys and reports the same mistakes.
"""
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from difflib import get_close_matches
from inspect import signature

import numpy as np
from sympy import Derivative
from sympy.core.function import AppliedUndef


FLOAT = np.dtype(float)


def label(item) -> str:
    """Short name of a symbol, function of time or derivative: ``q1'``."""
    if isinstance(item, Derivative):
        return label(item.expr) + "'"*item.derivative_count
    if isinstance(item, AppliedUndef):
        return item.func.__name__
    return str(item)


def no_text(expr):
    """The expression; raise if it is a text."""
    if isinstance(expr, str):
        raise TypeError(
            f"An expression is the text {expr!r}, which is not evaluated. "
            "Give a SymPy expression or matrix.")
    return expr


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
    if type(values) is np.ndarray and values.dtype is FLOAT:
        return values
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
    """A read-only view of the first ``count`` entries."""
    view = values[:count]
    view.setflags(write=False)
    return view


def call_fault(function) -> str:
    """Why a function cannot be called with ``(t, x)``, '' if it can."""
    try:
        signature(function).bind(0., ())
    except TypeError as error:
        return str(error)
    except ValueError:                  # it has no signature
        pass
    return ''


def by_label(values):
    """Labelled values, such as those of pandas, as a mapping."""
    if isinstance(values, Mapping) or not (
            hasattr(values, 'keys') and hasattr(values, '__getitem__')):
        return values
    mapping = {key: values[key] for key in values.keys()}
    if list(mapping) == list(range(len(mapping))):  # places, not labels
        return list(mapping.values())
    return mapping


def sentence(problems) -> str:
    """Several problems as one sentence, which may end in a question."""
    text = '; '.join(problems)
    return text if text.endswith('?') else f'{text}.'


class Names:
    """A tuple of SymPy objects that is also searched by name.

    ``kind`` is a singular noun for messages, such as ``'state'``, and ``hint``
    the remedy in messages about missing values. Values of ``unused`` objects
    are accepted and left out.

    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained.numeric.names import Names
    >>> q1, u1 = dynamicsymbols('q1 u1')
    >>> Names((q1, u1), 'state').vector({'q1': 2, u1: 0.5}, 'start')
    array([2. , 0.5])
    """

    def __init__(self, objects, kind: str, hint: str = '', unused=()):
        self.objects = tuple(objects)
        self.kind = kind
        self.hint = hint
        self.labels = tuple(map(label, self.objects))
        self._texts = tuple(map(str, self.objects))
        self.unused = {name for x in unused if x not in self.objects
                       for name in (x, label(x))}
        counts = Counter(self.objects)
        self._positions = {item: i for i, item in enumerate(self.objects)
                           if counts[item] == 1}

    def __iter__(self) -> Iterator:
        return iter(self.objects)

    def __len__(self) -> int:
        return len(self.objects)

    def __repr__(self) -> str:
        return f"Names({', '.join(self.labels)})"

    def index(self, key) -> int:
        """Position of a SymPy object or a name; KeyError if not unique."""
        position = self._positions.get(key)
        if position is not None:
            return position
        text = key.strip() if isinstance(key, str) else str(key)
        if isinstance(key, str):
            places = [i for i, names in enumerate(zip(
                self.labels, self._texts)) if key in names or text in names]
            if len(places) == 1:
                return places[0]
            if places:
                raise KeyError(
                    f"{text!r} names {len(places)} objects; use the SymPy "
                    "object itself, or the position where there are names "
                    "only")
        raise KeyError(f"{text!r} {self._why_not(key, text)}")

    def _why_not(self, key, text):
        if text in self._texts:
            return (f"has the name of a {self.kind} and is another symbol "
                    "(perhaps with other assumptions); use the one of the "
                    "model, or its name as a string")
        if self.kind == 'state' and getattr(key, 'expr', None) in self:
            return (f"is no state here, it follows from "
                    f"{', '.join(self.labels)}; leave it out")
        dotted = text.replace('_ddot', "''").replace('_dot', "'")
        near = [dotted] if dotted in self.labels else (
            get_close_matches(text, self.labels, 2) if dotted == text else [])
        hint = f"did you mean {' or '.join(near)}?" if near else (
            f"known: {', '.join(self.labels)}" if self.labels else
            "the model has none, leave it out")
        return f"is no {self.kind}; {hint}"

    def indices(self, keys, argument: str) -> list[int]:
        """Positions of several objects or names, all mistakes at once."""
        if isinstance(keys, str) or not np.iterable(keys):
            keys = (keys,)
        places, problems = [], []
        for key in keys:
            try:
                places.append(self.index(key))
            except KeyError as error:
                problems.append(error.args[0])
        if problems:
            raise ValueError(f"`{argument}`: {sentence(problems)}")
        return places

    def vector(self, values, argument: str, default=None) -> np.ndarray:
        """One float for each object.

        ``values`` maps SymPy objects or names to numbers, or is all the
        numbers in order. ``default`` has the values of objects that a mapping
        omits; without it they are an error. A ValueError has all problems, and
        the name of the user's ``argument``.
        """
        size, values = len(self), by_label(values)
        if not isinstance(values, Mapping):
            return self._sequence(values, argument)
        result = [None]*size if default is None else list(default)
        problems = self._fill(result, values)
        missing = [name for name, value in zip(self.labels, result)
                   if value is None]
        if missing:
            problems.append(f"no value for {', '.join(missing)}")
        if problems:
            remedy = missing and self.hint or (
                f"Each {self.kind} takes one finite real number.")
            raise ValueError(f"`{argument}`: {sentence(problems)} {remedy}")
        return np.array(result, dtype=float)

    def _fill(self, result, values):
        """Put the numbers of a mapping in their places; returns problems."""
        problems, seen = [], set()
        for key, value in values.items():
            try:
                i = self.index(key)
            except KeyError as error:
                if key in self.unused:
                    continue
                problems.append(error.args[0])
                continue
            if i in seen:
                problems.append(f"{self.labels[i]} is given twice")
            seen.add(i)
            try:
                result[i] = number(value)
            except ValueError as error:
                problems.append(f"{self.labels[i]}: {error}")
                result[i] = np.nan
        return problems

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
