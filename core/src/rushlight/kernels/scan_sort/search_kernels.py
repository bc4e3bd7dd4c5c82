"""Positions in sorted sequences by halving. Import at first need: it imports the compiler."""

from __future__ import annotations

from rushlight.machine.language.functions import (
    Parameter,
    array,
    function,
    i64,
    independent,
    range_kernel,
    stack,
)

element = Parameter("element")
width = Parameter("width")  # bytes of an element
right = Parameter("right")  # 1: behind equal elements
AT_ONCE = 16  # searches that go on together, in vectors: no branch depends on what is found


@function
def goes_before(x, value):
    """Whether an element of the sequence is before the place of a value: all but those that are
    surely behind it, so that NaN does, and all do of NaN."""
    behind = x > value if right == 1 else x >= value
    return behind == 0


@range_kernel(wide=True)
def search(args, lo, hi, tid):
    """A number, PLACES, SEQUENCE, VALUES; elements of a sequence, values of one (all values of the
    only one). Items are blocks of AT_ONCE values of one sequence, the last of each shorter.

    What is left of the sequence is halved around its middle, which NaN in it makes matter.
    """
    g = array(i64, args)
    n, each = g[4], g[5]
    blocks = (each + AT_ONCE - 1) // AT_ONCE
    memory, left, wanted = stack(AT_ONCE), stack(AT_ONCE), stack(AT_ONCE)
    base, rest, value = array(i64, memory), array(i64, left), array(element, wanted)
    for item in range(lo, hi):
        row, first = item // blocks, item % blocks * AT_ONCE
        x = array(element, g[2] + width * row * n)
        place, v = row * each + first, array(element, g[3] + width * (row * each + first))
        count, most = min(i64(AT_ONCE), each - first), n
        for i in range(AT_ONCE):
            base[i], rest[i] = 0, n
            value[i] = v[min(i, count - 1)]
        while most > 0:
            for i in independent(AT_ONCE):
                half = rest[i] >> 1
                middle = base[i] + half
                goes = goes_before(x[min(middle, n - 1)], value[i]) & (rest[i] > 0)
                base[i] = middle + 1 if goes else base[i]
                rest[i] = rest[i] - half - 1 if goes else half
            most = most >> 1
        out = array(i64, g[1] + 8 * place)
        for i in range(count):
            out[i] = base[i]
