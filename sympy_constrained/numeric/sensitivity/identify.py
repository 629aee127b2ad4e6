"""Fit constants and initial values of a model to measurements."""
import numpy as np

from ...model.call_signatures import own
from ..integrate.crossing import compiled_with
from ..names import Names, array, label
from .fit import Fit
from .identification import Identification, Measurement
from .shooting import Record, Shooting


def identify(model, measured, unknown, *, bounds=None, deviations=None,
             fixed=(), segments=1, constants=None, inputs=None, rtol=1e-8,
             atol=1e-10, **options) -> Identification:
    """Fit constants and initial values to measured motions.

    Examples
    ========

    The gravity and the friction of a pendulum from its position:

    >>> import numpy as np
    >>> from sympy import cos, sin, symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.numeric import Measurement, identify, simulate
    >>> m, g, l, c = symbols('m g l c')
    >>> q = dynamicsymbols('q')
    >>> pendulum = UdwadiaKalabaMethod(
    ...     m*l**2*q.diff()**2/2 + m*g*l*cos(q), [q],
    ...     nonideal_forces=[-c*q.diff()])
    >>> motion = simulate(pendulum, 4, [0.6, 0], t_eval=101, constants={
    ...     m: 1, g: 9.81, l: 1, c: 0.1})
    >>> data = Measurement(motion.t, {sin(q): np.sin(motion[q])}, [0.6, 0])
    >>> found = identify(pendulum, data, [g, c],
    ...                  constants={m: 1, g: 9, l: 1, c: 0.3})
    >>> round(found[g], 6), round(found[c], 6)
    (9.81, 0.1)

    Parameters
    ==========

    model : CompiledEquations
        Or what :func:`~sympy_constrained.numeric.compile_equations` takes,
        with its ``constants`` (those that are unknown as guesses) and
        ``inputs``.
    measured : Measurement or sequence of them
        Several motions share the constants; unknown initial values are those
        of every motion.
    unknown : sequence
        Constants, and states for their initial values, by object or name.
    bounds : mapping, optional
        Unknown -> pair of bounds.
    deviations : mapping, optional
        Measured expression -> standard deviation. Without it that of all
        values is equal, and estimated.
    fixed : iterable of states, optional
        States whose initial values do not change with the unknowns; the
        constraints have to determine the others.
    segments : int, optional
        Number of segments of each motion, for long, unstable or chaotic
        records and poor guesses. A segment should have more values than
        unknown states, and last no longer than the motion can be predicted.
    rtol, atol, options
        As for :func:`~sympy_constrained.numeric.simulate`.

    Raises
    ======

    ValueError
        If measurements have wrong shapes or no values, or names are unknown.
    ConstrainedDynamicsError
        If at the guess a start violates the constraints and no unknown moves
        it, or a motion ends before its measurements.

    """
    events = own(options.pop('events', ()))
    compiled = compiled_with(events, model, constants, inputs)
    known = Names((*compiled.states, *compiled.constants),
                  'state or constant')
    places = known.indices(unknown, 'unknown')
    unknown = tuple(known.objects[k] for k in dict.fromkeys(places))
    several = [measured] if isinstance(measured, Measurement) else [*measured]
    if not all(isinstance(data, Measurement) for data in several):
        raise TypeError(
            "`measured` is no `Measurement`, nor a list of them. Pass "
            "`Measurement(times, {output: values}, start)`.")
    records = [checked(compiled, data) for data in several]
    outputs = Names(dict.fromkeys(
        item for record in records for item in record.outputs),
        'measured output')
    sizes = outputs.vector(deviations or {}, 'deviations', [1.]*len(outputs))
    if (sizes <= 0).any():
        raise ValueError("`deviations` must be positive.")
    records = [record._replace(weights=1/sizes[outputs.indices(
        record.outputs, 'values')]) for record in records]
    if not 1 <= segments <= min(len(record.t) for record in records)/2:
        raise ValueError(
            f"`segments` is {segments}; each needs two times at least. Give "
            "fewer segments.")
    low, high = limits(unknown, bounds or {})
    fit = Fit(Shooting(compiled, unknown, records, fixed, {
        'rtol': rtol, 'atol': atol, **options}, segments, events),
        low, high, deviations is None)
    return fit.result(*fit.search())


def checked(compiled, data):
    t, named = array(data.t, 't'), Names(
        (*compiled.states, *compiled.unknowns), 'state or acceleration')
    names = [key for key in data.values if isinstance(key, str)]
    try:
        places = dict(zip(names, named.indices(names, 'values')))
    except ValueError as error:
        raise ValueError(
            f"{error} Of a data frame give the measured columns only, such "
            f"as `frame[['{named.labels[0]}']]`.") from None
    outputs = tuple(
        named.objects[places[key]] if isinstance(key, str) else key
        for key in data.values)
    values = np.transpose([array(v, label(key))
                           for key, v in data.values.items()])
    if t.ndim != 1 or values.shape != (len(t), len(outputs)):
        raise ValueError(
            f"The measured values have shape {values.shape[:1]} for {t.size} "
            "times. Give one value for each time, nan where it is missing.")
    if not np.isfinite(values).any():
        raise ValueError("All measured values are missing (nan). Give some.")
    return Record(t, outputs, values, None, compiled.names.vector(
        data.start, 'start'))


def limits(unknown, bounds):
    low, high = np.full((2, len(unknown)), [[-np.inf], [np.inf]])
    for place, pair in zip(Names(unknown, 'unknown').indices(
            bounds, 'bounds'), bounds.values()):
        low[place], high[place] = pair
    if not (low < high).all():
        raise ValueError(
            "`bounds`: give pairs, the lower bound first and below the upper "
            "one.")
    return low, high
