"""Checks of the arguments of ``simulate``."""
from collections.abc import Mapping
from contextlib import suppress

import numpy as np
from scipy.integrate import BDF, DOP853, LSODA, RK23, RK45, Radau

from ..manifold.stabilization import is_gains
from ..names import Names, array, label, number, sentence
from .dae import IDA
from .rodas import Rodas5P
from .taylor import Taylor


ONE_STEP = {method.__name__: method for method in (
    RK23, RK45, DOP853, Radau, Rodas5P)}
MULTI_STEP = {'BDF': BDF, 'LSODA': LSODA}
METHODS = {**ONE_STEP, **MULTI_STEP, 'IDA': IDA, 'taylor': Taylor}
STABILIZATIONS = 'projection', 'baumgarte', 'braun-goldfarb'
OTHER_UNITS = {'t', 'energy', 'work', 'power', 'length', 'force', 'moment'}
# Arguments that may be infinite, which means no limit.
LIMITS = ('max_step', 'max_steps')


def checked_units(units, compiled):
    if units is None:
        return {}
    if not isinstance(units, Mapping):
        raise TypeError("`units` must be a mapping from names to text, not "
                        f"{type(units).__name__}.")
    names = Names((*compiled.states, *compiled.multiplier_names),
                  'state or multiplier')
    result, problems = {}, []
    for key, text in units.items():
        try:
            is_other = (' row ' in key or key in OTHER_UNITS
                        if isinstance(key, str) else key not in names)
            name = label(key) if is_other else names.labels[names.index(key)]
        except KeyError as error:
            problems.append(f'{error.args[0]}')
            continue
        if not isinstance(text, str):
            problems.append(f"{name}: {text!r} is no text")
        result[name] = text
    if problems:
        raise ValueError(
            f"`units`: {sentence(problems)} Give each as text, such as 'm'.")
    return result


def time_span(t_span):
    """Start and end of an interval, checked."""
    try:
        ends = [0., t_span] if np.ndim(t_span) == 0 else list(t_span)
        start, end = map(number, ends)
    except (TypeError, ValueError):
        raise ValueError(
            "`t_span` must be the end time or a pair of two finite times, "
            f"not {t_span!r}.") from None
    if start == end:
        raise ValueError(
            f"`t_span` starts and ends at {start:g}, which leaves no time for "
            "a motion. Give an end time other than 0, or a pair of two "
            "different times.")
    return start, end


def check_sizes(**values):
    """Raise unless these are positive numbers, limits perhaps infinite."""
    for name, value in values.items():
        is_limit = name in LIMITS
        with suppress(TypeError, ValueError):
            if np.ndim(value) == 0 and (
                    number(value) if value != np.inf else is_limit) > 0:
                continue
        raise ValueError(
            f"`{name}` is {value!r}, which is no positive number. Give one"
            + (', or leave it out for no limit.' if name == 'max_step' else
               ', or `inf` for no limit.' if is_limit else
               ', or leave it out.'))


def output_times(t_eval, span):
    """All output times; None for the steps of the integrator."""
    if t_eval is None:
        return None
    low, high = min(span), max(span)
    try:
        times = number(t_eval) if np.ndim(t_eval) == 0 else array(
            t_eval, 't_eval')
        if np.ndim(times) > 1 or not np.isfinite(times).all():
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(
            f"`t_eval` is {t_eval!r}, which is neither a number of output "
            "times nor a sequence of finite times. Give a whole number from "
            f"2, or times between {low:g} and {high:g}.") from None
    if np.ndim(times) == 0:
        times = _equally_spaced(times, span)
    steps = np.diff(times)*(span[1] - span[0])
    if not len(times) or (steps <= 0).any() or (
            times.min() < low or times.max() > high):
        raise ValueError(
            f"`t_eval` must be times between {low:g} and {high:g}, each "
            "further on than the one before.")
    return times


def _equally_spaced(count, span):
    if count != int(count) or count < 2:
        raise ValueError(
            f"`t_eval` is {count:g}; a number of output times must be a "
            "whole number from 2.")
    return np.linspace(*span, int(count))


def stabilization_kind(compiled, stabilization, method):
    """One of STABILIZATIONS or None, if they go together."""
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(
            f"`method` {method!r} is not known; choose one of "
            f"{', '.join(METHODS)}.")
    if stabilization is None:
        return None
    kind = 'baumgarte' if is_gains(stabilization) else stabilization
    if not isinstance(kind, str) or kind not in STABILIZATIONS:
        raise ValueError(
            f"`stabilization` is {stabilization!r}; it must be 'projection', "
            "'baumgarte', a pair (alpha, beta) of gains, none negative, "
            "'braun-goldfarb' or None.")
    if not compiled.residual_names:
        return None
    if method == 'taylor' and kind == 'braun-goldfarb':
        raise ValueError(
            "`method` 'taylor' needs rates as expressions, and "
            f"{stabilization!r} adds numbers to them. Use 'DOP853', or leave "
            "`stabilization` out.")
    if method == 'IDA' and kind != 'projection':
        raise ValueError(
            f"`method` {method!r} solves the equations together with the "
            f"constraints, and {stabilization!r} changes equations that do "
            "not contain them. Leave `stabilization` out.")
    if method in MULTI_STEP and kind != 'baumgarte':
        raise ValueError(
            f"`method` {method!r} extrapolates past states, so they cannot be "
            "projected, and the equations cannot change from step to step as "
            f"with {stabilization!r}. Use 'Rodas5P' for stiff models, or pass "
            "`stabilization='baumgarte'` or a pair of gains (alpha, beta).")
    return kind
