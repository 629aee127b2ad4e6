"""A one-line progress bar for runs that last."""
from __future__ import annotations

import sys
from time import perf_counter

__all__ = ['Progress']

PATIENCE, INTERVAL, WIDTH = 1.0, 0.2, 30


class Progress:
    """Draws on standard error once a run lasts longer than a second.

    Parameters
    ==========

    start, end : float
    wanted : bool or None
        None draws only where somebody can see it, in a terminal.
    name : str
        What goes from start to end.

    """

    def __init__(self, start, end, wanted=None, name='t'):
        self.start, self.end, self.name = start, end, name
        self.stream = sys.stderr
        if wanted is None:
            wanted = bool(getattr(self.stream, 'isatty', bool)())
        self.wanted = wanted
        self.begun = perf_counter()
        self._next = self.begun + PATIENCE
        self._drawn = False

    @property
    def seconds(self) -> float:
        return perf_counter() - self.begun

    def update(self, t):
        """Show that the run has come to ``t``."""
        now = perf_counter()
        if not self.wanted or now < self._next:
            return
        self._next = now + INTERVAL
        part = (t - self.start)/(self.end - self.start)
        spent = now - self.begun
        left = f'{spent/part - spent:.0f} s left' if part > 0 else ''
        bar = '#'*round(WIDTH*part)
        self.stream.write(
            f'\r[{bar:<{WIDTH}}] {part:4.0%}  {self.name} = {t:.4g}  '
            f'{spent:.0f} s, {left}   ')
        self.stream.flush()
        self._drawn = True

    def close(self):
        """End the line, if one was begun."""
        if self._drawn:
            self.stream.write('\n')
            self.stream.flush()
