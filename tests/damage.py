"""Damaged copies of a file, the same for the same seed."""
import random


# Bytes of the final record of an archive.
FINAL = 22


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


KINDS = {kind.__name__: kind for kind in (flipped, truncated, zeroed, swapped)}


def damaged(data, kind, count):
    """Yield ``count`` damaged copies, none equal to the original.

    The end of an archive holds its structure, so that two of three copies
    are damaged only there: within the directory, or in the final record.
    """
    chance = random.Random(kind)
    for i in range(count):
        part = (len(data), 1000, FINAL)[i % 3]
        result, kept = data, data[:-part]
        while result == data:
            result = kept + KINDS[kind](data[len(kept):], chance)
        yield result
