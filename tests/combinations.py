"""Long lists of cases: some in the quick tests, the others in the slow."""
from itertools import product

import pytest


def rotating(names, *lists):
    """Every combination of the lists. The quick tests go once through the
    longest list with the others in rotation, out of step with one another.
    """
    longest = max(map(len, lists))
    quick = {tuple((k + j*(k//len(values))) % len(values)
                   for j, values in enumerate(lists)) for k in range(longest)}
    return pytest.mark.parametrize(names, [
        pytest.param(*(values[i] for values, i in zip(lists, places)),
                     marks=[] if places in quick else pytest.mark.slow)
        for places in product(*(range(len(values)) for values in lists))])


def every_third(values, first=0):
    """Every third value in the quick tests, the others in the slow: for cases
    of one kind, each of which is in other quick tests, too.
    """
    return [pytest.param(
        *(value if isinstance(value, tuple) else [value]),
        marks=[] if k % 3 == first else pytest.mark.slow)
        for k, value in enumerate(values)]
