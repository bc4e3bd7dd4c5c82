"""Products of matrices of up to a million multiply-adds and a half, each by one call.

The kernels are those of :mod:`rushlight.kernels.gemm.plans`; a range kernel puts the words of a
prepared call (:mod:`rushlight.kernels.launch.prepared`) where they look for them.
"""

from __future__ import annotations

from rushlight.kernels.gemm.blocked import blocked_kernel
from rushlight.kernels.gemm.panels import panel_kernel
from rushlight.kernels.gemm.plans import BLOCKED, SPLIT_WORK, WORDS, BatchProduct, Product
from rushlight.kernels.launch.execution import language_type
from rushlight.kernels.launch.prepared import prepared
from rushlight.machine.language.functions import array, call_address, i64, range_kernel, stack

# Multiply-adds at most: from SPLIT_WORK on there are matrix units, which may be switched; larger
# batches go other ways.
MOST, MOST_OF_BATCH = SPLIT_WORK - 1, 1 << 18
_HEAD = 4  # words of a prepared call before the constants: the kernel, the result, both matrices
_batches: list = []  # plans hold addresses of their tables


@range_kernel
def forwarded(args, lo, hi, tid):
    """The kernel whose address comes first, on OUT, A, B and its own words."""
    g, words = array(i64, args), stack(WORDS)
    p = array(i64, words)
    for i in range(WORDS - _HEAD):
        p[_HEAD + i] = g[_HEAD + i]
    p[0], p[1], p[2], p[3] = g[2], g[3], g[1], i64(0)
    call_address(g[0], words, lo, hi, tid)


def product(a, b):
    """``f(a, b)``: the product of two matrices of one dtype, float32 or float64; or None."""
    if not 0 < a.size * b.shape[1] <= MOST:
        return None
    plan = Product(a.shape, a.strides, b.shape, b.strides, a.dtype, False)
    if plan.split is not None or plan.copy_a or plan.copy_b:
        return None
    return _prepared(plan.words, a, b, (a.shape[0], b.shape[1]))


def batch(a, b):
    """``f(a, b)``: the products of two (B, M, K) and (B, K, N) batches of matrices; or None."""
    if not 0 < a.size * b.shape[2] <= MOST_OF_BATCH:
        return None
    plan = BatchProduct(a.shape, a.strides, b.shape, b.strides, a.dtype, a.shape[:1])
    if plan.copy_a or plan.copy_b:
        return None
    _batches.append(plan.keep)
    return _prepared(plan.words, a, b, (*a.shape[:2], b.shape[2]))


def _prepared(plan, a, b, shape):
    code, items, grain = (int(word) for word in plan[:3])
    own = [int(word) for word in plan[8 + _HEAD : 8 + WORDS]]
    kind = language_type(a.dtype)
    packs = code == panel_kernel.address(real=kind)
    if BLOCKED:
        packs |= code == blocked_kernel.address(real=kind)
    outputs = [(shape, a.dtype)]
    return prepared(
        forwarded.address(), items, grain, [a, b], outputs, own, head=code, scratch=packs
    )
