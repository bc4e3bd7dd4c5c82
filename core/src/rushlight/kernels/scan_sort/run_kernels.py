"""Runs of equal elements in one pass. Import at first need: it imports the compiler."""

from __future__ import annotations

from rushlight.machine.language.functions import Parameter, array, i64, range_kernel

element = Parameter("element")
width = Parameter("width")  # bytes of an element
numbered = Parameter("numbered")  # 1: the run of each element is written
measured = Parameter("measured")  # 1: the lengths of runs are written

COUNT, VALUES, NUMBERS, LENGTHS, X, N = range(6)


@range_kernel
def runs(args, lo, hi, tid):
    """The one item is the whole row of N elements, at least one: how many runs it has, the first
    element of each, the number of the run of each element, the lengths. Rooms are for N values; no
    branch depends on what is compared. Words: COUNT, VALUES, NUMBERS, LENGTHS, X, N."""
    g = array(i64, args)
    n = g[N]
    x, values = array(element, g[X]), array(element, g[VALUES])
    numbers, lengths, found = array(i64, g[NUMBERS]), array(i64, g[LENGTHS]), array(i64, g[COUNT])
    for item in range(lo, hi):
        k, first, begun = i64(item), x[0], i64(0)
        for i in range(n):
            fresh = x[i] != x[max(i - 1, 0)]
            fresh = fresh & (i > 0)
            k += i64(1) if fresh else i64(0)
            first = x[i] if fresh else first
            values[k] = first
            if numbered == 1:
                numbers[i] = k
            if measured == 1:
                begun = i64(i) if fresh else begun
                lengths[k] = i + 1 - begun
        found[0] = k + 1
