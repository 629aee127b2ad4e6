"""Damaged copies of a file, the same for the same seed."""
import random

__all__ = ['KINDS', 'damaged']


def flipped(data, chance):
    """Change some bits."""
    result = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        result[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(result)


def truncated(data, chance):
    """Keep the first part."""
    return data[:chance.randrange(len(data))]


def zeroed(data, chance):
    """Overwrite a section with zeros."""
    start, end = sorted(chance.sample(range(len(data) + 1), 2))
    return data[:start] + bytes(end - start) + data[end:]


def swapped(data, chance):
    """Exchange two neighbouring sections."""
    a, b, c = sorted(chance.sample(range(len(data) + 1), 3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


KINDS = {kind.__name__: kind for kind in (
    flipped, truncated, zeroed, swapped)}


def damaged(data, kind, count):
    """Yield ``count`` damaged copies, none equal to the original.

    The ends of an archive hold its structure, so that every second copy is
    damaged within the last kilobyte.
    """
    chance = random.Random(kind)
    for i in range(count):
        result, kept = data, data[:-1000] if i % 2 else b''
        while result == data:
            result = kept + KINDS[kind](data[len(kept):], chance)
        yield result
