"""Measurements, the fitted motion, and what remains between them."""
import matplotlib.pyplot as plt
import numpy as np

from ..errors import check_kind
from ..numeric.sensitivity.identification import Identification
from ..scene.labels import COLORS, in_unit, tex


LONGEST = 30            # texts of outputs that are written to axes


def plot_fit(result, units=None):
    """Measured values, the fit, and its residuals below.

    A column for each output of each motion. Residuals are in standard
    deviations; 95 percent of them lie in the grey band if the model fits.
    ``units`` maps outputs and ``'t'`` to texts.
    """
    check_kind('result', result, Identification,
               "Pass the result of `identify`.")
    units = units or {}
    panels = [(record, motion, k) for record, motion in zip(
        result.measured, result.motions) for k in range(len(record.outputs))]
    figure, axes = plt.subplots(
        2, len(panels), figsize=(6.5, 4.4), sharex='col',
        squeeze=False, layout='constrained', height_ratios=[3, 1])
    rest, begin = np.full((2, 0), np.nan), 0
    for (record, motion, k), (upper, lower) in zip(panels, axes.T):
        if k == 0:                      # the residuals of this motion
            there = np.isfinite(record.values)
            rest = np.full(there.shape, np.nan)
            rest[there] = result.residuals[begin:begin + there.sum()]
            begin += there.sum()
        name = tex(record.outputs[k])
        name = name if len(name) <= LONGEST else f'output {k + 1}'
        upper.plot(record.t, record.values[:, k], '.', color='0.6',
                   markersize=4, label='measured')
        upper.plot(motion.t, motion.of(record.outputs)[0][:, k], label='fit',
                   color=COLORS[0])
        upper.set_ylabel(in_unit(name, units.get(record.outputs[k], '')))
        lower.axhspan(-1.96, 1.96, color='0.9')
        lower.plot(record.t, rest[:, k], '.', markersize=4,
                   color=COLORS[0])
        lower.set(xlabel=in_unit('$t$', units.get('t', '')),
                  ylabel='residual in\nstandard dev.')
        for ax in (upper, lower):
            ax.grid(alpha=0.3)
    axes[0, 0].legend(fontsize='small')
    return figure
