"""The same model with many constants and from many starts."""
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import replace
from inspect import signature
from itertools import count

import numpy as np

from ...errors import warn
from ...model.call_signatures import own
from ..integrate.crossing import compiled_with
from ..integrate.simulate import simulate
from ..names import Names, by_label, label, read_only
from ..progress import Progress
from .jobs import Job, Task
from .result import SweepResult, SweepRun
from .workers import make_runs


def sweep(compiled, parameters=None, states=None, executor=None, *,
          t_span=None, run=simulate, quantity=None, on_result=None,
          chunk=None, progress=None, constants=None, inputs=None, **options
          ) -> SweepResult:
    r"""Simulate a model for many values of its constants, or many starts.

    Explanation
    ===========

    Failures are isolated: a run that fails is recorded with its error and
    its motion up to there, and the others continue. The equations are sent to
    each process once, as data, and compiled there.

    A keyboard interrupt ends the sweep and returns the runs that are done. If
    a process dies, its run is recorded as lost, and unfinished runs are
    repeated. If an executor that you pass breaks, all unfinished runs are
    lost.

    Examples
    ========

    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.models import model
    >>> from sympy_constrained.numeric import sweep
    >>> pendulum, lengths = model('cartesian_pendulum'), [1, 2, 0, 3]
    >>> found = sweep(
    ...     pendulum.form(UdwadiaKalabaMethod), {'L': lengths},
    ...     {'x': lengths, 'y': 0, "x'": 0, "y'": 0}, t_span=1,
    ...     constants=pendulum.parameters)
    >>> found
    <SweepResult of 4 runs, 1 failed>
    >>> found.values('y').round(3).tolist()
    [-0.165, -1.756, nan, -2.994]
    >>> found.failed[0].index, found.failed[0].reason
    (2, 'ERROR')

    Parameters
    ==========

    compiled : CompiledEquations, a method or EquationsOfMotion
        Or recursive equations, here or in threads (:doc:`/howto/large`).
    parameters : mapping or iterable of mappings, optional
        The constants that differ: a mapping from a constant to one value or
        to a value for each run, or one mapping for each run.
    states : mapping, sequence, iterable of those, or callable, optional
        The start of all runs, or one for each; values of a mapping may be
        arrays. A function is called with the compiled equations of each run.
    executor : int, concurrent.futures.Executor or dask.distributed.Client
        Number of processes, which needs loky, or an executor. By default
        runs are made here, one after the other.
    t_span : float or pair of float
        As for :func:`~sympy_constrained.numeric.simulate`.
    run : callable
        Function that makes a run. Its arguments are the compiled equations,
        ``t_span`` and the start, if they are given, and the ``options``.
    quantity : callable, optional
        Function of the compiled equations and of the result of ``run``. Its
        value is kept instead of the result.
    on_result : callable, optional
        Called with each :class:`.SweepRun` when it arrives, in any order. An
        error in it ends the sweep; its attribute ``result`` is a
        :class:`.SweepResult` with the runs that are done.
    chunk : int, optional
        Number of runs that are sent at once.
    progress : bool, optional
        Draw a progress bar once the sweep lasts a second; by default in a
        terminal.
    constants, inputs : mapping, optional
        As for :func:`~sympy_constrained.numeric.compile_equations`.
    **options
        For ``run``, such as ``rtol`` and ``t_eval``.

    Returns
    =======

    SweepResult

    Raises
    ======

    ValueError, TypeError
        If parameters or starts are unknown, unusable or differ in number, or
        if a function cannot be sent to other processes.

    """
    if isinstance(constants, (list, tuple)) and any(
            isinstance(x, Mapping) for x in constants):
        raise TypeError(
            "`constants` is a list of mappings; it must be one mapping for "
            "all runs. Pass the constants of each run as `parameters`.")
    options = {name: own(value) for name, value in options.items()}
    if isinstance(parameters, Iterator):
        parameters = list(parameters)
    compiled = compiled_with(options.get('events', ()), compiled, constants,
                             inputs, _varied(parameters))
    if run is simulate:
        options.setdefault('progress', False)
        _check_simulation(options, t_span=t_span, states=states)
    tasks, parameters = _tasks(compiled, parameters, states)
    job = Job(compiled, run, quantity, options, t_span,
              states if callable(states) else None)
    runs = [SweepRun(task.index, values, task.start, None, None,
                     "Not made: the sweep was interrupted.", 'CANCELLED')
            for task, values in zip(tasks, parameters)]
    names = tuple(compiled.names.labels)
    bar = Progress(0, len(tasks), progress, 'run')
    done = count(1)

    def receive(outcomes, quietly=False):
        for index, fields in outcomes:
            runs[index] = replace(runs[index], **fields)
        for index, _ in () if quietly else outcomes:
            bar.update(next(done))
            if on_result is not None:
                on_result(runs[index])

    try:
        with suppress(KeyboardInterrupt):
            make_runs(job, tasks, receive, executor, chunk)
        lost = [run for run in runs if run.reason == 'LOST']
        if lost:
            warn(f"{len(lost)} of {len(runs)} runs were lost "
                 f"({lost[0].error}). Their `reason` is 'LOST'.")
    except Exception as error:          # the runs that are done are not lost
        setattr(error, 'result', SweepResult(tuple(runs), names))
        raise
    finally:
        bar.close()
    return SweepResult(tuple(runs), names)


def _check_simulation(options, **needed):
    for name, value in needed.items():
        if value is None:
            raise ValueError(
                f"`{name}` is missing: a simulation needs the interval of "
                "time and a start. For another function pass `run`.")
    Names(signature(simulate).parameters, 'option of `simulate`').indices(
        options, 'options')


def _tasks(compiled, parameters, states):
    names = compiled.constant_names
    sets = _each('parameters', parameters, names)
    starts = _each('states', None if callable(states) else states,
                   compiled.names)
    count = max(len(sets), len(starts))
    if not {len(sets), len(starts)} <= {1, count}:
        raise ValueError(
            f"`parameters` are {len(sets)} sets and `states` {len(starts)} "
            "starts. Give as many of both, or one of them once.")
    tasks, parameters = [], []
    for i in range(count):
        values, start = sets[i % len(sets)], starts[i % len(starts)]
        try:
            p = read_only(names.vector(
                values, 'constants', compiled.p)) if values else None
            if i < len(starts):
                x = None if start is None else compiled.names.vector(
                    start, 'states')
        except (ValueError, TypeError) as error:
            raise type(error)(f"Run {i}: {error}") from None
        tasks.append(Task(i, p, x))
        parameters.append(compiled.p if p is None else p)
    varied = dict.fromkeys(k for values in sets for k in names.indices(
        values or (), 'parameters'))    # in some of the runs
    parameters = [{names.labels[k]: float(p[k]) for k in varied}
                  for p in parameters]
    return tasks, parameters


def _varied(parameters):
    given = by_label(parameters)
    sets = [given] if isinstance(given, Mapping) else map(by_label, given) if (
        isinstance(given, (list, tuple))) else ()
    sets = [set(map(label, x)) for x in sets if isinstance(x, Mapping)]
    return set.intersection(*sets) if sets else ()


def _each(argument, given, names):
    """One entry for each run, in whichever form they are given."""
    if given is None:
        return [None]
    given = by_label(given)
    if isinstance(given, Mapping):
        given = _unzipped(argument, given, names)
    elif isinstance(given, (str, Set)) or not isinstance(given, Iterable):
        raise TypeError(
            f"`{argument}` must be a mapping or a sequence, not "
            f"{type(given).__name__}.")
    given = list(map(by_label, given))
    if not given:
        raise ValueError(f"`{argument}` is empty: there is nothing to run.")
    if argument == 'states' and not any(
            isinstance(x, Mapping) or np.ndim(x) for x in given):
        return [given]                  # the numbers of one start
    for i, entry in enumerate(given):
        if argument == 'parameters' and not isinstance(entry, Mapping):
            raise TypeError(
                f"`parameters` must be mappings from constants to numbers; "
                f"that of run {i} is {type(entry).__name__}.")
    return given


def _unzipped(argument, given, names):
    """A mapping for each run, from one whose values may be sequences."""
    names.indices(given, argument)
    many = {name: list(value) for name, value in given.items()
            if np.ndim(value) > 0}
    counts = set(map(len, many.values())) or {1}
    if len(counts) > 1:
        raise ValueError(
            f"`{argument}` has different numbers of values "
            f"({', '.join(map(str, sorted(counts)))}). For combinations give "
            "a list with one mapping for each run.")
    return [{name: many[name][k] if name in many else value
             for name, value in given.items()} for k in range(*counts)]
