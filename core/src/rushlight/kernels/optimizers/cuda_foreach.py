"""Optimizer steps, norms and scaling over lists of device arrays: one launch for all of them.

Addresses are in a table in device memory, written by a kernel (so that it can be captured) and
kept while the addresses stay the same. Steps, learning rates, scales and found infinities may be
float32 scalars on the device. Low precision computes in float32.
"""

from __future__ import annotations

import ctypes
import math

from rushlight.kernels.launch.cuda import DeviceArray, constant, empty, launch
from rushlight.machine import np
from rushlight.machine.cuda import sources

__all__ = ["adam", "clip_", "scale_", "sgd", "total_norm", "unscale_", "update_scale_"]

BLOCK = 2048
_INT64 = np.dtype(np.int64)
_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)


class Settings(ctypes.Structure):
    """Scalars of one step, as the kernels take them by value."""

    _fields_ = tuple(
        [(name, ctypes.c_double) for name in "lr momentum kept decay beta1 beta2 eps step".split()]
        + [(name, ctypes.c_void_p) for name in "lr_at found_inf grad_scale".split()]
        + [
            (name, ctypes.c_longlong)
            for name in "nesterov first maximize decoupled largest momentum_used".split()
        ]
    )


def table_of(rows, device):
    """The table of rows (length, addresses) and the number of blocks; kept for the next step."""
    words, blocks = [], 0
    for length, *addresses in rows:
        words += (blocks, length, *addresses)
        blocks += -(-length // BLOCK)
    return constant(np.array(words, _INT64), device), blocks


def _is_dense(array):
    """Whether the elements fill a run of memory, in any order of dimensions."""
    step = array.itemsize
    for stride, n in sorted(zip(array.strides, array.shape, strict=True)):
        if n != 1 and stride != step:
            return False
        step *= n
    return True


class Lists:
    """Parallel lists with dense memory of equal order; others are copied, and written back."""

    def __init__(self, lists, written):
        self.back = []
        self.lists = [list(arrays) for arrays in lists]
        for row in range(len(self.lists[0])):
            first = self.lists[0][row]
            row_of = [arrays[row] for arrays in self.lists]
            if all(a.dtype == first.dtype and a.strides == first.strides for a in row_of):
                if _is_dense(first):
                    continue
            for number, arrays in enumerate(self.lists):
                dense = arrays[row].astype(first.dtype, copy=False).contiguous()
                if number in written and dense is not arrays[row]:
                    self.back.append((arrays[row], dense))
                arrays[row] = dense

    def groups(self):
        """Row numbers that share dtype and device."""
        found = {}
        for row, first in enumerate(self.lists[0]):
            if first.size:
                found.setdefault((first.dtype, first.device), []).append(row)
        return found.items()

    def write_back(self):
        """Copy what was computed aside into the arrays given."""
        for array, dense in self.back:
            array[...] = dense


def _pointer(value):
    """(number, address): a float32 device scalar is read by the kernel."""
    if isinstance(value, DeviceArray):
        if value.dtype != _FLOAT32 or value.size != 1:
            raise TypeError(
                f"foreach: a scalar on the device must be float32 with one element, not "
                f"{value.dtype} of shape {value.shape}"
            )
        return 0.0, value.address
    return float(0 if value is None else value), None


def _run(kernel, lists, settings, written, steps=None):
    prepared = Lists(lists, written)
    for (dtype, device), rows in prepared.groups():
        extra = () if steps is None else (steps,)
        table, blocks = table_of(
            [
                (
                    prepared.lists[0][row].size,
                    *[arrays[row].address for arrays in prepared.lists],
                    *[_pointer(column[row])[1] or 0 for column in extra],
                    *([0] if steps is None else []),
                )
                for row in rows
            ],
            device,
        )
        function = sources.kernel("foreach", kernel, T=dtype)
        launch(function, blocks, 256, (table.address, len(rows), *settings), device)
    prepared.write_back()


def sgd(params, grads, momentum_buffers, lr, momentum, dampening, weight_decay, nesterov, maximize,
        first_step, grad_scale=None, found_inf=None):  # fmt: skip
    """Stochastic gradient descent, in place; see :func:`rushlight.kernels.optimizers.foreach.sgd`.

    `lr`, `grad_scale` (gradients are divided by it) and `found_inf` (not 0: nothing happens) may
    be float32 scalars on the device.
    """
    if not params:
        return
    number, place = _pointer(lr)
    settings = Settings(
        lr=number, lr_at=place, momentum=momentum, kept=1.0 - dampening, decay=weight_decay,
        nesterov=nesterov, maximize=maximize, first=first_step,
        momentum_used=momentum_buffers is not None,
        grad_scale=_pointer(grad_scale)[1], found_inf=_pointer(found_inf)[1],
    )  # fmt: skip
    lists = (params, grads) if momentum_buffers is None else (params, grads, momentum_buffers)
    _run("sgd_step", lists, (settings,), (0, 2))


def adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps, lr, beta1, beta2, eps,
         weight_decay, maximize, decoupled, grad_scale=None, found_inf=None):  # fmt: skip
    """Adam, AMSGrad with ``max_exp_avg_sqs``, AdamW with ``decoupled``; in place.

    ``steps`` are the numbers of this step, from 1: ints, or float32 scalars on the device. `lr`,
    `grad_scale` and `found_inf` as in :func:`sgd`.
    """
    if not params:
        return
    number, place = _pointer(lr)
    lists = [params, grads, exp_avgs, exp_avg_sqs]
    lists += [] if max_exp_avg_sqs is None else [max_exp_avg_sqs]
    settings = Settings(
        lr=number, lr_at=place, beta1=beta1, beta2=beta2, eps=eps, decay=weight_decay,
        maximize=maximize, decoupled=decoupled, largest=max_exp_avg_sqs is not None,
        grad_scale=_pointer(grad_scale)[1], found_inf=_pointer(found_inf)[1],
    )  # fmt: skip
    if isinstance(steps[0], DeviceArray):
        _run("adam_step", lists, (settings,), (0, 2, 3, 4), steps)
        return
    for step in sorted(set(steps)):
        settings.step = step
        chosen = [row for row, value in enumerate(steps) if value == step]
        part = [[arrays[row] for row in chosen] for arrays in lists]
        _run("adam_step", part, (settings,), (0, 2, 3, 4))


def total_norm(grads, norm_type):
    """The norm of all elements together, as a 0-dim device array of the arrays' dtype.

    Partial sums are float64, one per block, added in order. All arrays on one device.
    """
    if not grads:
        raise ValueError("total_norm: the list of gradients is empty")
    norm_type, device = float(norm_type), grads[0].device
    kind = {math.inf: 0, 1.0: 1, 2.0: 2}.get(norm_type, 3)
    result = np.result_type(*[g.dtype for g in grads])
    dense = [g.astype(result, copy=False).contiguous() for g in grads]
    out = empty((), result, device)
    rows = [(g.size, g.address, 0) for g in dense if g.size]
    blocks, partial = 0, out
    numbers = (np.int32(kind), np.float64(norm_type))
    if rows:
        table, blocks = table_of(rows, device)
        partial = empty((blocks,), _FLOAT64, device)
        kernel = sources.kernel("foreach", "norm_parts", T=result)
        launch(kernel, blocks, 256, (table.address, len(rows), partial.address, *numbers), device)
    kernel = sources.kernel("foreach", "norm_finish", T=result)
    launch(kernel, 1, 1024, (partial.address, blocks, out.address, *numbers), device)
    return out


def scale_(arrays, factor):
    """Multiply every array in place by a number or a float32 scalar on the device."""
    if arrays:
        number, place = _pointer(factor)
        limits = (np.float64(number), place or 0, 0, np.float64(0))
        _run("scale_parts", (arrays,), limits, (0,))


def clip_(arrays, norm, limit):
    """Scale arrays in place by ``limit / (norm + 1e-6)`` where that is below 1; the norm is a
    scalar on the device and stays there."""
    if arrays:
        norm = norm.astype(_FLOAT32, copy=False)
        limits = (np.float64(1), 0, norm.address, np.float64(limit))
        _run("scale_parts", (arrays,), limits, (0,))


def unscale_(arrays, found_inf, inverse_scale):
    """Multiply every array in place by `inverse_scale`; `found_inf` becomes 1 where an element is
    not finite. Both are float32 scalars on the device."""
    if arrays:
        places = (_pointer(inverse_scale)[1], _pointer(found_inf)[1])
        _run("unscale_parts", (arrays,), places, (0,))


def update_scale_(scale, growth_tracker, found_inf, growth_factor, backoff_factor,
                  growth_interval):  # fmt: skip
    """GradScaler's update, in place on `scale` (float32) and `growth_tracker` (int32)."""
    kernel = sources.kernel("foreach", "update_scale", T=_FLOAT32)
    arguments = (scale.address, growth_tracker.address, found_inf.address,
                 np.float64(growth_factor), np.float64(backoff_factor),
                 np.int32(growth_interval))  # fmt: skip
    launch(kernel, 1, 32, arguments, scale.device)
