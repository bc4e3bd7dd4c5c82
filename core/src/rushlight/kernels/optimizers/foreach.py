"""Optimizer steps, norms and scaling over lists of arrays: one launch for all of them.

The addresses of all arrays are gathered into a table by the native call (5 ns an array); items
are blocks of 4096 elements across the whole list. Formulas are those of PyTorch's single-tensor
optimizers. Arrays are updated in place; float16 and bfloat16 are computed in float32 and rounded as
they are written; strided arrays go through dense copies.
"""

from __future__ import annotations

import math

from rushlight.kernels.launch.execution import (
    FLOAT32,
    floating_types,
    is_floating,
    is_low_precision,
    referenced_by,
)
from rushlight.kernels.launch.prepared import Remembered
from rushlight.machine import np, threads
from rushlight.machine.language.functions import (
    Parameter,
    absolute,
    array,
    f64,
    function,
    i64,
    maximum,
    range_kernel,
    real,
    square_root,
    stored,
)
from rushlight.machine.worker_pool import TABLE_BLOCK, load

__all__ = ["adam", "scale_", "sgd", "total_norm"]

# Argument words: the table and numbers, then the length of the list and of its rows.
TABLE, COUNT = 0, 1
FIRST_NUMBER = 2
GRAIN = 16  # blocks of a chunk, about: 65536 elements

momentum_used = Parameter("momentum_used")
largest_kept = Parameter("largest_kept")
norm_kind = Parameter("norm_kind")


# ---- walking the table ---------------------------------------------------------------------------


@function
def find_row(table, count, width, block):
    """The array that a block belongs to: the last row that starts at or before it."""
    low, high = i64(0), count
    while high - low > 1:
        middle = (low + high) // 2
        if load(table + 8 * width * middle) <= block:
            low = middle
        else:
            high = middle
    # empty arrays start where their successor starts; the last of equal starts is the right one
    return table + 8 * width * low


@function
def number(args, index):
    """A floating argument."""
    return array(f64, args)[FIRST_NUMBER + index]


@range_kernel
def sgd_blocks(args, lo, hi, tid):
    """Items are blocks. Lists: parameters, gradients, momentum buffers (if momentum_used)."""
    g = array(i64, args)
    width = 5 if momentum_used == 1 else 4
    size = stored.bits // 8
    rate, momentum = real(number(args, 0)), real(number(args, 1))
    kept, decay = real(number(args, 2)), real(number(args, 3))  # 1 - dampening, weight decay
    sign = real(number(args, 4))
    nesterov, first = number(args, 5) != 0, number(args, 6) != 0
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], width, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        p, d = (
            array(stored, load(row + 16) + size * start),
            array(stored, load(row + 24) + size * start),
        )
        if momentum_used == 1:
            m = array(stored, load(row + 32) + size * start)
            if first:
                for i in range(n):
                    m[i] = sign * d[i] + decay * p[i]
            else:
                for i in range(n):
                    m[i] = momentum * m[i] + kept * (sign * d[i] + decay * p[i])
            if nesterov:
                for i in range(n):
                    p[i] = p[i] - rate * (sign * d[i] + decay * p[i] + momentum * m[i])
            else:
                for i in range(n):
                    p[i] = p[i] - rate * m[i]
        else:
            for i in range(n):
                p[i] = p[i] - rate * (sign * d[i] + decay * p[i])


@range_kernel
def adam_blocks(args, lo, hi, tid):
    """Items are blocks. Lists: parameters, gradients, means, mean squares (and their maxima)."""
    g = array(i64, args)
    width = 7 if largest_kept == 1 else 6
    size = stored.bits // 8
    step, one_less_1 = real(number(args, 0)), real(number(args, 1))  # lr / bias correction 1
    beta2, one_less_2 = real(number(args, 2)), real(number(args, 3))
    root, eps = real(number(args, 4)), real(number(args, 5))  # sqrt(bias correction 2)
    decay, shrink, sign = real(number(args, 6)), real(number(args, 7)), real(number(args, 8))
    inverse = real(1) / root
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], width, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        p, d = (
            array(stored, load(row + 16) + size * start),
            array(stored, load(row + 24) + size * start),
        )
        m, v = (
            array(stored, load(row + 32) + size * start),
            array(stored, load(row + 40) + size * start),
        )
        for i in range(n):
            grad = sign * d[i] + decay * p[i]
            mean = m[i] + (grad - m[i]) * one_less_1
            square = beta2 * v[i] + one_less_2 * grad * grad
            m[i] = mean
            v[i] = square
            if largest_kept == 1:
                w = array(stored, load(row + 48) + size * start)
                square = maximum(w[i], square)
                w[i] = square
            p[i] = p[i] * shrink - step * (mean / (square_root(square) * inverse + eps))


@range_kernel(reassociate=True)
def norm_blocks(args, lo, hi, tid):
    """One partial result per block, in float64, at the address that is the first number."""
    g = array(i64, args)
    size = stored.bits // 8
    partial = array(f64, g[FIRST_NUMBER])
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], 3, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        x = array(stored, load(row + 16) + size * start)
        if norm_kind == 2:
            total = f64(0)
            for i in range(n):
                total += f64(x[i]) * f64(x[i])
            partial[block] = total
        elif norm_kind == 1:
            total = f64(0)
            for i in range(n):
                total += f64(absolute(x[i]))
            partial[block] = total
        else:
            best = real(0)
            for i in range(n):
                best = maximum(best, absolute(x[i]))
            partial[block] = f64(best)


@range_kernel
def scale_blocks(args, lo, hi, tid):
    """Multiply in place."""
    g = array(i64, args)
    size = stored.bits // 8
    factor = real(number(args, 0))
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], 3, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        x = array(stored, load(row + 16) + size * start)
        for i in range(n):
            x[i] = x[i] * factor


# ---- running over lists --------------------------------------------------------------------------

_plans = Remembered()


def _grain(blocks):
    """Blocks of a chunk. Few large chunks, two at least and an even number: equal work for two
    threads, each of which finds its part of the parameters in its own cache again."""
    chunks = 2 * max(1, round(blocks / (2 * GRAIN)))
    return -(-blocks // chunks)


def _plan(kernel, parameters, dtype, blocks):
    key = (kernel, parameters, dtype, blocks)
    plan = _plans.get(key)
    if plan is None:
        code = kernel.address(**floating_types(dtype), **dict(parameters))
        plan = _plans.keep(key, threads.plan(code, blocks, _grain(blocks), [0] * 12))
    return plan


def run(kernel, parameters, lists, numbers):
    """One launch over lists of arrays; one for each dtype and memory order where they differ.

    Arrays may have any strides and dtype: what is not dense is copied, updated and written back, in
    float32 where the kernels know no arrays of its dtype. The second list (gradients) is read only.
    """
    if not len(lists[0]):
        return
    lists = [values if type(values) is list else list(values) for values in lists]
    if not _launch(kernel, parameters, lists, numbers):
        _run_apart(kernel, parameters, lists, numbers)


def _launch(kernel, parameters, lists, numbers):
    """Run over uniform lists; False where they are not uniform and nothing was done."""
    dtype, count = lists[0][0].dtype, len(lists[0])
    if not is_floating(dtype):
        return False
    table = np.empty(count * (len(lists) + 2), np.int64)
    blocks = threads.gather(table, *lists)
    if blocks > 0:
        threads.run(_plan(kernel, parameters, dtype, blocks), table, count, *numbers)
    return blocks >= 0


def _run_apart(kernel, parameters, lists, numbers):
    """Sort the rows of lists by dtype, dense ones in their order of memory (channels last)."""
    kinds, rest = {}, []
    for arrays in zip(*lists, strict=True):
        check_shapes(arrays)
        arrays = _in_memory_order(arrays)
        dtype = arrays[0].dtype
        if all(a.dtype == dtype and a.flags.c_contiguous for a in arrays):
            kinds.setdefault(dtype, []).append(arrays)
        else:
            rest.append(arrays)
    for rows in kinds.values():
        if not _launch(kernel, parameters, [list(c) for c in zip(*rows, strict=True)], numbers):
            rest += rows
    for arrays in rest:
        _run_one(kernel, parameters, arrays, numbers)


def _in_memory_order(arrays):
    """Arrays with equal strides as views whose last dimension is nearest in memory."""
    strides = arrays[0].strides
    if any(a.strides != strides for a in arrays):
        return arrays
    order = sorted(range(len(strides)), key=lambda i: -strides[i])
    return [a.transpose(order) for a in arrays]


def _run_one(kernel, parameters, arrays, numbers):
    dtype = arrays[0].dtype
    if not is_floating(dtype) or (
        is_low_precision(dtype) and any(a.dtype != dtype for a in arrays)
    ):
        dtype = FLOAT32
    dense = [np.asarray(a, dtype, order="C") for a in arrays]
    if not _launch(kernel, parameters, [[a] for a in dense], numbers):
        raise TypeError(f"expected arrays of numbers, got {[type(a).__name__ for a in arrays]}")
    for i, (original, copy) in enumerate(zip(arrays, dense, strict=True)):
        if i != 1 and copy is not original:
            original[...] = copy


def check_shapes(arrays):
    """Raise ValueError for arrays of one parameter that differ in shape."""
    shapes = {a.shape for a in arrays}
    if len(shapes) != 1:
        raise ValueError(f"arrays that belong together differ in shape: {sorted(shapes)}")


def check_lists(op, **lists):
    """Raise ValueError for lists that differ in length; None stands for a list that is not used."""
    lengths = {name: len(values) for name, values in lists.items() if values is not None}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{op}: lists must have one length, got {lengths}")


# ---- reference -----------------------------------------------------------------------------------


def _sgd_reference(params, grads, momentum_buffers, lr, momentum, dampening, weight_decay,
                   nesterov, maximize, first_step):  # fmt: skip
    check_lists("sgd", params=params, grads=grads, momentum_buffers=momentum_buffers)
    for i, (p, g) in enumerate(zip(params, grads, strict=True)):
        check_shapes((p, g))
        wide = p.astype(np.float64)
        d = (-g if maximize else g).astype(np.float64) + weight_decay * wide
        if momentum_buffers is not None:
            buffer = momentum_buffers[i]
            held = d if first_step else momentum * buffer + (1 - dampening) * d
            buffer[...] = held
            d = d + momentum * held if nesterov else held
        p[...] = wide - lr * d


def _adam_reference(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps, lr, beta1, beta2,
                    eps, weight_decay, maximize, decoupled):  # fmt: skip
    check_lists("adam", params=params, grads=grads, exp_avgs=exp_avgs, exp_avg_sqs=exp_avg_sqs,
                 max_exp_avg_sqs=max_exp_avg_sqs, steps=steps)  # fmt: skip
    for i, (p, g) in enumerate(zip(params, grads, strict=True)):
        check_shapes((p, g))
        wide, d = p.astype(np.float64), (-g if maximize else g).astype(np.float64)
        if decoupled:
            wide = wide * (1 - lr * weight_decay)
        else:
            d = d + weight_decay * wide
        exp_avgs[i][...] = exp_avgs[i] + (d - exp_avgs[i]) * (1 - beta1)
        exp_avg_sqs[i][...] = square = beta2 * exp_avg_sqs[i] + (1 - beta2) * d * d
        if max_exp_avg_sqs is not None:
            max_exp_avg_sqs[i][...] = square = np.maximum(max_exp_avg_sqs[i], square)
        root = np.sqrt(square) / math.sqrt(1 - beta2 ** steps[i])
        p[...] = wide - lr / (1 - beta1 ** steps[i]) * exp_avgs[i] / (root + eps)


def _total_norm_reference(grads, norm_type):
    if not grads:
        return np.zeros((), np.float32)
    flat = np.concatenate([g.reshape(-1).astype(np.float64) for g in grads])
    value = np.linalg.norm(flat, norm_type) if flat.size else 0.0
    return np.asarray(value, np.result_type(*grads))


def _scale_reference(arrays, factor):
    for a in arrays:
        a[...] = a.astype(np.float64) * float(factor)


# ---- public --------------------------------------------------------------------------------------


@referenced_by(_sgd_reference)
def sgd(params, grads, momentum_buffers, lr, momentum, dampening, weight_decay, nesterov, maximize,
        first_step):  # fmt: skip
    """Stochastic gradient descent, in place on ``params`` and ``momentum_buffers`` (or None).

    g = grad + weight_decay * p; buffer = g at the ``first_step``, else momentum * buffer +
    (1 - dampening) * g; p -= lr * (g + momentum * buffer if nesterov else buffer).
    """
    if not params:
        return
    check_lists("sgd", params=params, grads=grads, momentum_buffers=momentum_buffers)
    numbers = (float(lr), float(momentum), 1.0 - dampening, float(weight_decay),
               -1.0 if maximize else 1.0, float(nesterov), float(first_step))  # fmt: skip
    if momentum_buffers is None:
        run(sgd_blocks, (("momentum_used", 0),), (params, grads), numbers)
    else:
        lists = (params, grads, momentum_buffers)
        run(sgd_blocks, (("momentum_used", 1),), lists, numbers)


@referenced_by(_adam_reference)
def adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps, lr, beta1, beta2, eps,
         weight_decay, maximize, decoupled):  # fmt: skip
    """Adam (Kingma and Ba, 2015), AMSGrad with ``max_exp_avg_sqs``, AdamW with ``decoupled``.

    In place on all lists but ``grads``. ``steps`` are the numbers of this step, from 1.
    """
    if not params:
        return
    lists = (params, grads, exp_avgs, exp_avg_sqs)
    if not len(params) == len(grads) == len(exp_avgs) == len(exp_avg_sqs) == len(steps) or (
        max_exp_avg_sqs is not None and len(max_exp_avg_sqs) != len(params)
    ):
        check_lists("adam", params=params, grads=grads, exp_avgs=exp_avgs, exp_avg_sqs=exp_avg_sqs,
                    max_exp_avg_sqs=max_exp_avg_sqs, steps=steps)  # fmt: skip
    kind = (("largest_kept", int(max_exp_avg_sqs is not None)),)
    if max_exp_avg_sqs is not None:
        lists = (*lists, max_exp_avg_sqs)
    if steps.count(steps[0]) != len(steps):
        for step in sorted(set(steps)):
            chosen = [i for i, s in enumerate(steps) if s == step]
            part = [[values[i] for i in chosen] for values in lists]
            run(adam_blocks, kind, part, _adam_numbers(step, lr, beta1, beta2, eps, weight_decay,
                                                        maximize, decoupled))  # fmt: skip
        return
    run(adam_blocks, kind, lists, _adam_numbers(steps[0], lr, beta1, beta2, eps, weight_decay,
                                                 maximize, decoupled))  # fmt: skip


def _adam_numbers(step, lr, beta1, beta2, eps, weight_decay, maximize, decoupled):
    return (
        float(lr / (1 - beta1**step)),
        float(1 - beta1),
        float(beta2),
        float(1 - beta2),
        math.sqrt(1 - beta2**step),
        float(eps),
        0.0 if decoupled else float(weight_decay),
        float(1 - lr * weight_decay) if decoupled else 1.0,
        -1.0 if maximize else 1.0,
    )


@referenced_by(_total_norm_reference)
def total_norm(grads, norm_type):
    """The norm of all elements together, as a 0-dim array of the arrays' dtype.

    Partial sums are float64, one per block, added in order: the bits do not depend on threads.
    """
    if not grads:
        return np.zeros((), FLOAT32)
    result = np.result_type(*grads)
    if norm_type not in (1, 2, math.inf):
        values = [np.abs(g.astype(np.float64)) ** norm_type for g in grads]
        return np.asarray(sum(v.sum() for v in values) ** (1 / norm_type), result)
    total = sum(-(-g.size // TABLE_BLOCK) for g in grads)
    if total == 0:
        return np.zeros((), result)
    wide = result if is_floating(result) else FLOAT32
    dense = [g if g.dtype == wide and g.flags.c_contiguous else np.array(g, wide, order="C")
             for g in grads]  # fmt: skip
    table, partial = np.empty(3 * len(dense), np.int64), np.empty(total, np.float64)
    if threads.gather(table, dense) != total:
        raise TypeError(f"total_norm expects arrays, got {[type(g).__name__ for g in grads]}")
    kind = (("norm_kind", 0 if norm_type == math.inf else int(norm_type)),)
    threads.run(_plan(norm_blocks, kind, wide, total), table, len(dense), partial)
    if norm_type == math.inf:
        return np.asarray(partial.max(), result)
    return np.asarray(math.sqrt(partial.sum()) if norm_type == 2 else partial.sum(), result)


@referenced_by(_scale_reference)
def scale_(arrays, factor):
    """Multiply every array in place by a number."""
    if arrays:
        run(scale_blocks, (), (arrays,), (float(factor),))
