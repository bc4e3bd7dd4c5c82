"""Cross-entropy of class indices, fused with log-softmax; the number of targets stays on the
device."""

from __future__ import annotations

from rushlight.kernels.launch.cuda import address, empty, grid_of, launch, row_shape
from rushlight.machine import np
from rushlight.machine.cuda import sources

__all__ = ["cross_entropy_backward", "cross_entropy_forward"]

_INT64 = np.dtype(np.int64)
_FLOAT64 = np.dtype(np.float64)


def _sizes(input):
    """(outer, classes, inner) of (N, C), (N, C, d1, ...) or (C,), and the samples' shape."""
    if input.ndim == 1:
        return (1, input.shape[0], 1), ()
    samples = (input.shape[0], *input.shape[2:])
    outer, classes = input.shape[:2]
    inner = 1
    for n in input.shape[2:]:
        inner *= n
    return (outer, classes, inner), samples


def _run(rows, columns, x, sizes, before, numbers):
    outer, classes, inner = sizes
    if inner == 1:
        grid, block = row_shape(outer, classes, x.itemsize)
        kernel = sources.kernel("losses", rows, T=x.dtype)
        launch(kernel, grid, block, (*before, outer, classes, *numbers), x.device)
    else:
        kernel = sources.kernel("losses", columns, T=x.dtype)
        grid = grid_of(outer * inner, x.device)
        launch(kernel, grid, 256, (*before, *sizes, *numbers), x.device)


def _class_weights(weight, wide):
    return None if weight is None else weight.astype(wide, copy=False).contiguous()


def cross_entropy_forward(input, target, weight, ignore_index, label_smoothing):
    """Unreduced losses, logarithms of the sums of exponentials, and what a mean divides by.

    Shapes and results as in :func:`rushlight.kernels.losses.cross_entropy.cross_entropy_forward`;
    the last one is a 0-dim float64 device array. A target out of range makes the launch fail.
    """
    sizes, samples = _sizes(input)
    x, target = input.contiguous(), target.astype(_INT64, copy=False).contiguous()
    wide = sources.compute_dtype(x.dtype)
    weight = _class_weights(weight, wide)
    losses = empty(samples, x.dtype, x.device)
    sums, kept = empty(samples, wide, x.device), empty((), _FLOAT64, x.device)
    if losses.size:
        arrays = (x.address, target.address, address(weight), losses.address, sums.address)
        numbers = (int(ignore_index), np.float64(label_smoothing))
        _run("cross_entropy_rows", "cross_entropy_columns", x, sizes, arrays, numbers)
    arguments = (target.address, address(weight), kept.address, losses.size, sizes[1],
                 int(ignore_index))  # fmt: skip
    launch(sources.kernel("losses", "count_targets", T=x.dtype), 1, 1024, arguments, x.device)
    return losses, sums, kept


def cross_entropy_backward(
    grad_losses, input, target, weight, ignore_index, label_smoothing, log_sum_exp
):
    """Gradient of the losses with respect to ``input``, given ``grad_losses`` per sample."""
    sizes, _ = _sizes(input)
    x, target = input.contiguous(), target.astype(_INT64, copy=False).contiguous()
    wide = sources.compute_dtype(x.dtype)
    weight = _class_weights(weight, wide)
    grad = grad_losses.astype(x.dtype, copy=False).contiguous()
    sums = log_sum_exp.astype(wide, copy=False).contiguous()
    out = empty(x.shape, x.dtype, x.device)
    if out.size:
        arrays = (grad.address, x.address, target.address, address(weight), sums.address,
                  out.address)  # fmt: skip
        numbers = (int(ignore_index), np.float64(label_smoothing))
        _run("cross_entropy_rows_backward", "cross_entropy_columns_backward", x, sizes, arrays,
             numbers)  # fmt: skip
    return out
