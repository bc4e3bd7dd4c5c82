"""Cross-entropy of class indices, fused with log-softmax: per-sample losses and the gradient.

loss[n] = (1 - s) w[t] (L - x[t]) + s / C * sum over c of w[c] (L - x[c]), where L is the logarithm
of the sum of exp(x), s the label smoothing and w the class weights (1 without). The forward pass
keeps L; the backward pass needs no probabilities in memory.
"""

from __future__ import annotations

import ctypes
import math

from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.copying.conversion import cast
from rushlight.kernels.indexing import indices as places
from rushlight.kernels.launch.execution import (
    COMPILED_DTYPES,
    REFERENCE,
    chunk,
    compute_array,
    compute_dtype,
    language_type,
    referenced_by,
)
from rushlight.kernels.launch.exponential import exponential_below, logarithm
from rushlight.kernels.launch.prepared import Remembered, prepared
from rushlight.kernels.losses import planes as plane_losses
from rushlight.kernels.reduction.softmax import row_maximum, total_of_exponentials
from rushlight.machine import np, threads
from rushlight.machine.language.functions import (
    array,
    atomic_add,
    f32,
    f64,
    i64,
    independent,
    range_kernel,
    real,
)
from rushlight.machine.memory import empty

__all__ = ["cross_entropy_backward", "cross_entropy_forward"]

# Argument words.
X, TARGET, WEIGHT, LOSS, SUMS, FAILED, SMOOTHING, IGNORED, GRAD, OUT, C = range(11)


@range_kernel(reassociate=True, wide=True)
def forward_rows(args, lo, hi, tid):
    """Items are samples."""
    g = array(i64, args)
    classes, size, ignored = g[C], 4 if real is f32 else 8, g[IGNORED]
    target, weight = array(i64, g[TARGET]), array(real, g[WEIGHT])
    loss, sums = array(real, g[LOSS]), array(real, g[SUMS])
    smoothing, weighted = real(array(f64, args)[SMOOTHING]), g[WEIGHT] != 0
    for row in range(lo, hi):
        x = array(real, g[X] + size * row * classes)
        best = row_maximum(g[X] + size * row * classes, classes)
        logsum = best + logarithm(total_of_exponentials(x, classes, best))
        sums[row] = logsum
        t = target[row]
        loss[row] = 0
        if t == ignored:
            atomic_add(g[FAILED] + 16, 1)
            continue
        if t < 0 or t >= classes:
            array(i64, g[FAILED])[0] = 1
            array(i64, g[FAILED])[1] = t
            continue
        value = logsum - x[t]
        if weighted:
            value = value * weight[t]
        if smoothing > 0:
            spread = real(0)
            if weighted:
                for i in range(classes):
                    spread += weight[i] * (logsum - x[i])
            else:
                for i in range(classes):
                    spread += logsum - x[i]
            value = (1 - smoothing) * value + smoothing / real(classes) * spread
        loss[row] = value


@range_kernel(reassociate=True, wide=True)
def mean_loss(args, lo, hi, tid):
    """The one item: the mean of all losses, without weights or smoothing, and what a backward pass
    needs. Words: a number, mean, SUMS, targets that count, X, TARGET; then samples, classes, the
    ignored target, where targets out of range are counted."""
    g = array(i64, args)
    rows, classes, ignored, size = g[6], g[7], g[8], 4 if real is f32 else 8
    sums, target = array(real, g[2]), array(i64, g[5])
    whole, kept, failed = f64(0), i64(0), i64(0)
    for row in range(rows):
        x = array(real, g[4] + size * row * classes)
        best = row_maximum(g[4] + size * row * classes, classes)
        logsum = best + logarithm(total_of_exponentials(x, classes, best))
        sums[row] = logsum
        t = target[row]
        if t != ignored:
            if t < 0 or t >= classes:
                failed += 1
            else:
                whole += f64(logsum - x[t])
                kept += 1
    array(real, g[1])[0] = real(whole / f64(kept))
    array(f64, g[3])[0] = f64(kept)
    if failed > 0:
        atomic_add(g[9], failed)


def prepare_mean(input, target, ignore_index):
    """``f(input, target)``: mean, log-sum-exps and count of a small dense (N, C, ...) and (N, ...);
    None where :func:`cross_entropy_forward` and a sum are the way."""
    fits = input.ndim > 1 and target.shape == (len(input), *input.shape[2:])
    dense = input.flags.c_contiguous and target.flags.c_contiguous
    if REFERENCE or not (fits and dense) or input.dtype not in COMPILED_DTYPES:
        return None
    if not 0 < input.size <= 1 << 16 or target.dtype != _INT64 or type(ignore_index) is not int:
        return None
    if input.ndim > 2:
        fits = input.size <= 1 << 15  # one item is one thread
        return plane_losses.prepare_mean(input, target, ignore_index) if fits else None
    code, dtype = mean_loss.address(real=language_type(input.dtype)), input.dtype
    words = [*input.shape, ignore_index, ctypes.addressof(places.failures)]
    outputs = [((), dtype), (target.shape, dtype), ((), np.dtype(np.float64))]
    return prepared(code, 1, 1, [input, target], outputs, words)


@range_kernel(reassociate=True)
def mean_picked(args, lo, hi, tid):
    """The one item: the mean of minus the elements of rows of X at TARGET. Words: a number, mean,
    X, TARGET; then rows, classes, the ignored target, where targets out of range are counted."""
    g = array(i64, args)
    rows, classes, ignored = g[4], g[5], g[6]
    x, target = array(real, g[2]), array(i64, g[3])
    whole, kept, failed = f64(0), i64(0), i64(0)
    for row in range(rows):
        t = target[row]
        if t != ignored:
            if t < 0 or t >= classes:
                failed += 1
            else:
                whole -= f64(x[row * classes + t])
                kept += 1
    array(real, g[1])[0] = real(whole / f64(kept))
    if failed > 0:
        atomic_add(g[7], failed)


def prepare_nll(input, target, ignore_index):
    """``f(input, target)``: the mean of minus the log-probabilities of dense (N, C) at the targets
    (N,); None where that is left to NumPy."""
    fits = input.ndim == 2 and target.ndim == 1 and len(target) == len(input)
    dense = input.flags.c_contiguous and target.flags.c_contiguous
    if REFERENCE or not (fits and dense) or input.dtype not in COMPILED_DTYPES:
        return None
    if not input.size or target.dtype != _INT64 or type(ignore_index) is not int:
        return None
    code = mean_picked.address(real=language_type(input.dtype))
    words = [*input.shape, ignore_index, ctypes.addressof(places.failures)]
    return prepared(code, 1, 1, [input, target], [((), input.dtype)], words)


small_mean = places.checked(prepare_mean, lambda *arguments: None)


def with_mean(general):
    """The kernel of the op: the mean of a small batch by one call, others the `general` way."""

    def call(input, target, weight, reduction, ignore_index, label_smoothing):
        if weight is None and reduction == "mean" and not label_smoothing:
            found = small_mean(input, target, ignore_index)
            if found is not None:
                return found
        return general(input, target, weight, reduction, ignore_index, label_smoothing)

    call.general = general
    return call


@range_kernel(wide=True)
def mean_loss_backward(args, lo, hi, tid):
    """Items are samples: the gradient of :func:`mean_loss`. Words: a number, OUT, the gradient of
    the mean, X, TARGET, SUMS, targets that count; then classes, the ignored target."""
    g = array(i64, args)
    classes, ignored, size = g[7], g[8], 4 if real is f32 else 8
    target, sums = array(i64, g[4]), array(real, g[5])
    scale = real(f64(array(real, g[2])[0]) / array(f64, g[6])[0])
    for row in range(lo, hi):
        x, out = array(real, g[3] + size * row * classes), array(real, g[1] + size * row * classes)
        t, logsum = target[row], sums[row]
        if t == ignored or t < 0 or t >= classes:
            for i in independent(classes):
                out[i] = 0
        else:
            for i in independent(classes):
                out[i] = scale * exponential_below(x[i] - logsum)
            out[t] -= scale


_mean_backwards = Remembered()


def mean_backward(grad, input, target, sums, kept, ignore_index):
    """The gradient of the mean of a batch (N, C, ...) and (N, ...), unweighted and unsmoothed, by
    one call; None where :func:`cross_entropy_backward` is the way."""
    key = input.shape, input.dtype, ignore_index
    call = _mean_backwards.get(key, False)
    if call is False:
        call = _mean_backwards.keep(key, _prepare_mean_backward(grad, input, target, sums, kept,
                                                                ignore_index))  # fmt: skip
    dense = input.flags.c_contiguous and target.flags.c_contiguous and sums.flags.c_contiguous
    if call is None or not dense or target.shape != sums.shape or grad.ndim:
        return None
    found = call(grad, input, target, sums, kept)
    return None if found is NotImplemented else found


def _prepare_mean_backward(grad, input, target, sums, kept, ignore_index):
    if REFERENCE or input.ndim < 2 or input.dtype not in COMPILED_DTYPES:
        return None
    if not input.size or target.dtype != _INT64 or type(ignore_index) is not int:
        return None
    if target.shape != (len(input), *input.shape[2:]):
        return None
    if input.ndim > 2:
        return plane_losses.prepare_mean_backward(input, target, ignore_index)
    code, (rows, classes) = mean_loss_backward.address(real=language_type(input.dtype)), input.shape
    arrays = [np.empty((), input.dtype), input, target, np.empty(rows, input.dtype),
              np.empty((), np.float64)]  # fmt: skip
    outputs = [(input.shape, input.dtype)]
    return prepared(code, rows, chunk(rows, classes, 8192), arrays, outputs,
                    [classes, ignore_index])  # fmt: skip


@range_kernel(reassociate=True, wide=True)
def backward_rows(args, lo, hi, tid):
    """Items are samples."""
    g = array(i64, args)
    classes, size, ignored = g[C], 4 if real is f32 else 8, g[IGNORED]
    target, weight = array(i64, g[TARGET]), array(real, g[WEIGHT])
    grad, sums = array(real, g[GRAD]), array(real, g[SUMS])
    smoothing, weighted = real(array(f64, args)[SMOOTHING]), g[WEIGHT] != 0
    share = smoothing / real(classes)
    whole = real(classes)
    if weighted:
        whole = real(0)
        for i in range(classes):
            whole += weight[i]
    for row in range(lo, hi):
        x = array(real, g[X] + size * row * classes)
        out = array(real, g[OUT] + size * row * classes)
        t = target[row]
        if t == ignored or t < 0 or t >= classes:
            for i in range(classes):
                out[i] = 0
            continue
        logsum, scale = sums[row], grad[row]
        direct = scale * (1 - smoothing)
        if weighted:
            direct = direct * weight[t]
        factor = direct + scale * share * whole
        for i in independent(classes):
            out[i] = factor * exponential_below(x[i] - logsum)
        out[t] -= direct
        if smoothing > 0:
            part = scale * share
            if weighted:
                for i in range(classes):
                    out[i] -= part * weight[i]
            else:
                for i in range(classes):
                    out[i] -= part


def _rows(input):
    """(N, C, d1, ...) as dense (N * d1 * ..., C), in the dtype of the kernels."""
    if input.ndim == 1:
        return compute_array(input[None])
    if input.ndim > 2:
        input = np.moveaxis(input, 1, -1)
        input = input.reshape(-1, input.shape[-1])
    return compute_array(input)


def _check(op, input, target, weight):
    classes = input.shape[0] if input.ndim == 1 else input.shape[1] if input.ndim else 0
    samples = () if input.ndim == 1 else (input.shape[0], *input.shape[2:])
    if input.ndim == 0 or target.shape != samples:
        raise ValueError(
            f"{op}: input {input.shape} expects target of shape {samples}, got {target.shape}"
        )
    if weight is not None and weight.shape != (classes,):
        raise ValueError(
            f"{op}: weight must have one value for each of {classes} classes, got {weight.shape}"
        )
    return samples, classes


_plans = Remembered()
_INT64 = np.dtype(np.int64)


def _plan(kernel, rows, classes, dtype, inner=0):
    key = (kernel, rows, classes, dtype, inner)
    plan = _plans.get(key)
    if plan is None:
        code = kernel.address(real=language_type(dtype))
        items, work, words = rows, classes, [0] * C + [classes]
        if inner:  # rows are samples of an image there, which are side by side
            blocks = -(-inner // plane_losses.COLUMNS)
            items, work = rows // inner * blocks, classes * min(inner, plane_losses.COLUMNS)
            words += [inner, blocks]
        plan = _plans.keep(key, threads.plan(code, items, chunk(items, work, 8192), words))
    return plan


def _jobs(input, kernels):
    """Scores as a kernel reads them, the plan of that kernel, and how many samples there are:
    `kernels` are for rows and for planes."""
    classes = input.shape[0] if input.ndim == 1 else input.shape[1]
    if input.ndim > 2 and input.size and not np.moveaxis(input, 1, -1).flags.c_contiguous:
        x, inner = compute_array(input), math.prod(input.shape[2:])
        return x, _plan(kernels[1], len(x) * inner, classes, x.dtype, inner), len(x) * inner
    x = _rows(input)
    return x, _plan(kernels[0], len(x), classes, x.dtype) if len(x) else None, len(x)


def _dense(array, dtype):
    if array is None or array.dtype is dtype and array.flags.c_contiguous:
        return array
    return np.ascontiguousarray(array, dtype)


def _one_hot(rows, target, ignored):
    valid = target.reshape(-1) != ignored
    outside = valid & ((target.reshape(-1) < 0) | (target.reshape(-1) >= rows.shape[1]))
    if outside.any():
        raise IndexError(f"Target {target.reshape(-1)[outside][0]} is out of bounds.")
    hot = np.zeros(rows.shape)
    hot[np.nonzero(valid)[0], target.reshape(-1)[valid]] = 1
    return hot, valid


def _reference_rows(input):
    rows = input[None] if input.ndim == 1 else np.moveaxis(input, 1, -1)
    return rows.reshape(-1, rows.shape[-1]).astype(np.float64)


def _forward_reference(input, target, weight, ignore_index, label_smoothing):
    samples, classes = _check("cross_entropy", input, target, weight)
    rows = _reference_rows(input)
    hot, valid = _one_hot(rows, target, ignore_index)
    w = np.ones(classes) if weight is None else weight.astype(np.float64)
    best = rows.max(axis=1, keepdims=True, initial=-np.inf)
    sums = np.log(np.exp(rows - best).sum(axis=1)) + best[:, 0]
    gap = (sums[:, None] - rows) * w
    mixed = (1 - label_smoothing) * np.where(hot > 0, gap, 0).sum(1)
    if label_smoothing:
        mixed = mixed + label_smoothing / classes * gap.sum(axis=1)
    losses = np.where(valid, mixed, 0)
    sums = sums.astype(compute_dtype(input.dtype))
    kept = np.asarray((hot * w).sum())
    return losses.astype(input.dtype).reshape(samples), sums.reshape(samples), kept


def _backward_reference(
    grad_losses, input, target, weight, ignore_index, label_smoothing, log_sum_exp
):
    _, classes = _check("cross_entropy", input, target, weight)
    rows = _reference_rows(input)
    hot, valid = _one_hot(rows, target, ignore_index)
    w = np.ones(classes) if weight is None else weight.astype(np.float64)
    p = np.exp(rows - log_sum_exp.astype(np.float64).reshape(-1, 1))
    coefficients = ((1 - label_smoothing) * hot + label_smoothing / classes) * w
    total = p * coefficients.sum(axis=1, keepdims=True) - coefficients
    total *= np.where(valid, grad_losses.astype(np.float64).reshape(-1), 0)[:, None]
    return _like_input(total, input)


def _like_input(rows, input):
    if rows.shape == input.shape and rows.dtype is input.dtype:
        return rows
    if input.ndim > 2 and rows.shape != input.shape:
        rows = rows.reshape(input.shape[0], *input.shape[2:], input.shape[1])
        rows = by_rows(np.moveaxis(rows, -1, 1))
    return cast(rows.reshape(input.shape), input.dtype)


@referenced_by(_forward_reference)
def cross_entropy_forward(input, target, weight, ignore_index, label_smoothing):
    """Unreduced losses, logarithms of the sums of exponentials, and what a mean divides by.

    ``input``: (N, C), (N, C, d1, ...) or (C,); ``target``: int64 of the same shape without C;
    ``weight``: (C,) or None. Losses have the input's dtype and are 0 where the target equals
    ``ignore_index``. A mean divides by the number, or the weights, of the other targets: a 0-dim
    float64 array. Raises IndexError for other targets outside 0..C-1, ValueError for shapes.
    """
    samples, _ = _check("cross_entropy", input, target, weight)
    x, plan, count = _jobs(input, (forward_rows, plane_losses.forward_planes))
    losses, sums = np.empty(count, x.dtype), np.empty(count, x.dtype)
    failed = np.zeros(3, np.int64)
    if count:
        threads.run(plan, x, _dense(target, _INT64),
                    _dense(weight, x.dtype), losses, sums, failed, float(label_smoothing),
                    int(ignore_index))  # fmt: skip
        if failed[0]:
            raise IndexError(f"Target {failed[1]} is out of bounds.")
    kept = np.empty((), np.float64)
    if weight is None:
        kept.fill(target.size - failed[2])
    else:
        kept.fill(weight.astype(np.float64)[target[target != ignore_index]].sum())
    if losses.dtype is not input.dtype:
        losses = losses.astype(input.dtype)
    if len(samples) == 1:
        return losses, sums, kept
    return losses.reshape(samples), sums.reshape(samples), kept


@referenced_by(_backward_reference)
def cross_entropy_backward(
    grad_losses, input, target, weight, ignore_index, label_smoothing, log_sum_exp
):
    """Gradient of the losses with respect to ``input``, given ``grad_losses`` per sample.

    ``log_sum_exp`` is the second result of :func:`cross_entropy_forward`.
    """
    samples, _ = _check("cross_entropy", input, target, weight)
    if grad_losses.shape != samples or log_sum_exp.shape != samples:
        raise ValueError(
            f"cross_entropy: grad_losses {grad_losses.shape} and log_sum_exp "
            f"{log_sum_exp.shape} must both have shape {samples}"
        )
    x, plan, count = _jobs(input, (backward_rows, plane_losses.backward_planes))
    out = empty(x.shape, x.dtype)
    if count and x.size:
        threads.run(plan, x, _dense(target, _INT64),
                    _dense(weight, x.dtype), None, _dense(log_sum_exp, x.dtype), None,
                    float(label_smoothing), int(ignore_index), _dense(grad_losses, x.dtype),
                    out)  # fmt: skip
    return _like_input(out, input)
