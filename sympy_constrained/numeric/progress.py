"""A one-line progress bar for long runs."""
import sys
from time import perf_counter


PATIENCE, INTERVAL, WIDTH = 1.0, 0.2, 30


class Progress:
    """Draws on standard error once a run lasts longer than a second.

    ``name`` is the quantity that goes from ``start`` to ``end``; without an
    end it is shown alone. If ``wanted`` is None, the bar is drawn in a
    terminal only, and what :meth:`say` says everywhere.
    """

    def __init__(self, start, end, wanted=None, name='t'):
        self.start, self.end, self.name = start, end, name
        self.speaks = wanted is not False and sys.stderr is not None
        if wanted is None:              # some programs have no stderr
            wanted = getattr(sys.stderr, 'isatty', bool)()
        self.wanted = wanted
        self.begun = perf_counter()
        self._next = self.begun + PATIENCE
        self._line_end = ''

    @property
    def seconds(self) -> float:
        return perf_counter() - self.begun

    def update(self, t, note=''):
        """Show that the run has reached ``t``, and a note."""
        spent = self.seconds
        if not self.wanted or self.begun + spent < self._next:
            return
        self._next = self.begun + spent + INTERVAL
        bar = left = ''
        if self.end is not None:
            part = (t - self.start)/(self.end - self.start)
            bar = f'[{"#"*round(WIDTH*part):<{WIDTH}}] {part:4.0%}  '
            left = f', {spent/part - spent:.0f} s left' if part > 0 else ''
        print(f'\r{bar}{self.name} = {t:.4g}{note}  {spent:.0f} s{left}   ',
              end='', file=sys.stderr, flush=True)
        self._line_end = '\n'

    def say(self, text):
        if self.speaks:
            print(text, file=sys.stderr, flush=True)

    def close(self):
        if self._line_end:
            print(file=sys.stderr)
