"""Shuffling by swaps: each position with one of those that are not fixed yet (Fisher and Yates)."""

from __future__ import annotations

from rushlight.kernels.launch.execution import referenced_by
from rushlight.machine import np, threads
from rushlight.machine.language.functions import array, i64, range_kernel

__all__ = ["permutation"]

COMPILED_FROM = 1 << 15  # fewer swaps are done before a kernel is loaded for the first time

# Argument words.
ORDER, STEPS, COUNT = range(3)


@range_kernel
def swap_places(args, lo, hi, tid):
    """One item: for each i in turn, ORDER[i] and ORDER[i + STEPS[i]] change places."""
    g = array(i64, args)
    order, steps = array(i64, g[ORDER]), array(i64, g[STEPS])
    for i in range(g[COUNT]):
        j = i + steps[i]
        value = order[i]
        order[i] = order[j]
        order[j] = value


def _reference(steps):
    order = list(range(len(steps) + 1))
    for i, step in enumerate(steps.tolist()):
        j = i + step
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


@referenced_by(_reference)
def permutation(steps):
    """The order that the numbers 0 .. len(steps) come to by swapping position i with i +
    steps[i]."""
    count = len(steps)
    if count < COMPILED_FROM:
        return _reference(steps)
    order = np.arange(count + 1, dtype=np.int64)
    plan = threads.plan(swap_places.address(), 1, 1, [0, 0, count])
    threads.run(plan, order, steps.astype(np.int64, copy=False))
    return order
