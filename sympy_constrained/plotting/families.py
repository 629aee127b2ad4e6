"""Families of steady motions."""
import matplotlib.pyplot as plt
import numpy as np

from ..scene.labels import COLORS, tex


MARKERS = {'branch': 's', 'fold': '>', 'hopf': 'o', 'zero': 'D'}


def plot_family(family, over, show=None, axes=None):
    """States of steady motions, and their eigenvalues, over one of them.

    Stable and marginal motions are drawn solid, unstable ones dashed. Markers
    are critical motions. The lower picture has the real parts of the
    eigenvalues, and the imaginary parts in grey.

    Examples
    ========

    With the family in :func:`~sympy_constrained.numeric.steady.family.follow`:

    ::

        figure = plot_family(hanging, W, [q])

    Parameters
    ==========

    family : Family
    over : SymPy object or str
        State or constant on the horizontal axis.
    show : sequence of SymPy objects or names, optional
        What to draw; by default the coordinates that change.
    axes : pair of matplotlib axes, optional

    """
    if axes is None:
        _, axes = plt.subplots(2, 1, figsize=(6.4, 5.6), sharex=True,
                               layout='constrained')
    upper, lower = axes
    compiled = family.motions[0].compiled
    if show is None:
        show = [q for q in compiled.equations.q if q in compiled.states
                and np.ptp(family[q]) > 1e-9]
    x = family[over]
    is_unstable = family.growth > 0
    for i, key in enumerate(show):
        y, color = family[key], COLORS[i % len(COLORS)]
        upper.plot(x, cut(y, ~is_unstable), color=color, label=tex(key))
        upper.plot(x, cut(y, is_unstable), '--', color=color, linewidth=1)
        for item in family.critical:
            upper.plot(x[item.index], y[item.index], MARKERS[item.kind],
                       color=color)
    for value, motion in zip(x, family):
        found = motion.eigenvalues
        at = np.full(len(found), value)
        lower.plot(at, np.abs(found.imag), '.', color='0.75', markersize=2)
        lower.plot(at, found.real, '.', color=COLORS[0], markersize=2)
    for item in family.critical:
        lower.axvline(x[item.index], color='0.7', linewidth=0.8)
        lower.text(x[item.index], 0.98, f' {item.kind}', va='top',
                   transform=lower.get_xaxis_transform())
    lower.axhline(0, color='0.6', linewidth=0.8)
    upper.legend()
    upper.set_ylabel('steady motion')
    lower.set(xlabel=tex(over), ylabel='eigenvalues')
    return upper.figure


def cut(values, where):
    """The values there and next to there, so that lines are joined."""
    near = where | np.append(where[1:], False) | np.append(False, where[:-1])
    return np.where(near, values, np.nan)
