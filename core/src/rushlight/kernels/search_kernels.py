"""Places in sorted sequences by halving. Import at first need: it imports the compiler."""

from __future__ import annotations

from rushlight.backends.kernel_language import (
    Parameter,
    array,
    f32,
    f64,
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
    """Whether an element of the sequence lies before the place of a value; NaN is the largest."""
    if right == 1:
        if element is f32 or element is f64:
            return (x <= value) | (value != value)
        return x <= value
    if element is f32 or element is f64:
        return (x < value) | ((value != value) & (x == x))
    return x < value


@range_kernel(wide=True)
def search(args, lo, hi, tid):
    """A number, PLACES, SEQUENCE, VALUES; elements of a sequence, values of one (all values of the
    only one). Items are blocks of AT_ONCE values of one sequence, the last of each shorter."""
    g = array(i64, args)
    n, each = g[4], g[5]
    blocks = (each + AT_ONCE - 1) // AT_ONCE
    memory, wanted = stack(AT_ONCE), stack(AT_ONCE)
    base, value = array(i64, memory), array(element, wanted)
    for item in range(lo, hi):
        row, first = item // blocks, item % blocks * AT_ONCE
        x = array(element, g[2] + width * row * n)
        place, v = row * each + first, array(element, g[3] + width * (row * each + first))
        count, rest = min(i64(AT_ONCE), each - first), n
        for i in range(AT_ONCE):
            base[i] = 0
            value[i] = v[min(i, count - 1)]
        while rest > 1:
            half = rest // 2
            for i in independent(AT_ONCE):
                base[i] += half if goes_before(x[base[i] + half - 1], value[i]) else 0
            rest -= half
        out = array(i64, g[1] + 8 * place)
        for i in range(count):
            out[i] = base[i] + (1 if goes_before(x[base[i]], value[i]) else 0)
