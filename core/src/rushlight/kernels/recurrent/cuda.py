"""Recurrent layers over all steps: a product and one pointwise kernel a step; nothing waits.

What runs from step to step (cells, gradients of states) is float32 for low precision.
"""

from __future__ import annotations

from rushlight.backends.cuda import matmul as switches
from rushlight.kernels.launch.cuda import address, empty, grid_of, launch
from rushlight.kernels.reduction.cuda import reduced
from rushlight.machine import np
from rushlight.machine.cuda import runtime, sources
from rushlight.machine.cuda.runtime.products import described

__all__ = ["recurrence_backward", "recurrence_forward"]

GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}


def _step(name, like, items, arguments):
    kernel = sources.kernel("recurrence", name, T=like.dtype)
    launch(kernel, grid_of(items, like.device), 256, arguments, like.device)


def _product(a, b, out, *, a_turned=False, b_turned=False, beta=0.0):
    """``out = a @ b + beta * out`` of contiguous matrices, each turned where said."""
    (m, n), k = out.shape, a.shape[0] if a_turned else a.shape[1]
    product = described(
        dtype=a.dtype, m=m, n=n, k=k,
        a_strides=(1, a.shape[1]) if a_turned else (a.shape[1], 1),
        b_strides=(1, b.shape[1]) if b_turned else (b.shape[1], 1),
        out_strides=(n, 1), beta=beta, out_dtype=out.dtype, tf32=switches.allow_tf32,
    )  # fmt: skip
    stream = runtime.streams.current(out.device)
    runtime.current().gemm(product, a.address, b.address, out.address, 0, stream)


def _zeros(shape, dtype, device):
    out = empty(shape, dtype, device)
    runtime.current().fill_bytes(out.address, 0, out.nbytes, runtime.streams.current(device))
    return out


def _order(steps, backwards):
    return range(steps - 1, -1, -1) if backwards else range(steps)


def recurrence_forward(gates, hidden, cell, weight, bias, kind, backwards):
    """States of all steps (T, N, H), the last cell, and what the backward pass wants of the gates
    (T, N, 4 H) and the cells (T, N, H); what a kind does not have is None.

    Arguments as in :func:`rushlight.kernels.recurrent.sequences.recurrence_forward`.
    """
    gates, weight, before = gates.contiguous(), weight.contiguous(), hidden.contiguous()
    (steps, rows, wide_gates), width = gates.shape, weight.shape[1]
    dtype, device = gates.dtype, gates.device
    wide = sources.compute_dtype(dtype)
    out, product = (
        empty((steps, rows, width), dtype, device),
        empty((rows, wide_gates), wide, device),
    )
    acts = cells = carry = None
    if kind in ("lstm", "gru"):
        acts = empty((steps, rows, 4 * width), dtype, device)
    if kind == "lstm":
        cells = empty(out.shape, dtype, device)
        carry = empty((rows, width), wide, device)
        carry[...] = cell
    bias = None if bias is None else bias.astype(dtype, copy=False).contiguous()
    items = rows * width
    for t in _order(steps, backwards) if items else ():
        _product(before, weight, product, b_turned=True)
        now, place = gates[t].address, out[t].address
        if kind == "lstm":
            arguments = (now, product.address, carry.address, place, acts[t].address,
                         cells[t].address, rows, width)  # fmt: skip
            _step("lstm_step", gates, items, arguments)
        elif kind == "gru":
            arguments = (now, product.address, address(bias), before.address, place,
                         acts[t].address, rows, width)  # fmt: skip
            _step("gru_step", gates, items, arguments)
        else:
            arguments = (now, product.address, place, items, np.int32(kind == "relu"))
            _step("plain_step", gates, items, arguments)
        before = out[t]
    last = None if carry is None else carry.astype(dtype, copy=False)
    return out, last, acts, cells


def recurrence_backward(grad, grad_cell, hidden, cell, weight, saved, kind, backwards):
    """Gradients of gates, hidden, cell (or None), weight and bias (for "gru", else None).

    ``saved`` is what :func:`recurrence_forward` gave as states, gates and cells.
    """
    out, acts, cells = saved
    grad, weight, hidden = grad.contiguous(), weight.contiguous(), hidden.contiguous()
    steps, rows, width = out.shape
    dtype, device = out.dtype, out.device
    wide = sources.compute_dtype(dtype)
    dgates = empty((steps, rows, GATES[kind] * width), dtype, device)
    dfrom = empty(dgates.shape, dtype, device) if kind == "gru" else dgates
    carry, dcell = _zeros((rows, width), wide, device), None
    if kind == "lstm":
        dcell = _zeros((rows, width), wide, device)
        if grad_cell is not None:
            dcell[...] = grad_cell
        cell = cell.astype(dtype, copy=False).contiguous()
    order, items = list(_order(steps, backwards)), rows * width
    for number in range(len(order) - 1, -1, -1) if items else ():
        t = order[number]
        before = out[order[number - 1]] if number else hidden
        if kind == "lstm":
            earlier = cells[order[number - 1]] if number else cell
            arguments = (grad[t].address, carry.address, dcell.address, acts[t].address,
                         cells[t].address, earlier.address, dgates[t].address, rows,
                         width)  # fmt: skip
            _step("lstm_step_back", out, items, arguments)
        elif kind == "gru":
            arguments = (grad[t].address, carry.address, acts[t].address, before.address,
                         dgates[t].address, dfrom[t].address, rows, width)  # fmt: skip
            _step("gru_step_back", out, items, arguments)
        else:
            arguments = (grad[t].address, carry.address, out[t].address, dgates[t].address, items,
                         np.int32(kind == "relu"))  # fmt: skip
            _step("plain_step_back", out, items, arguments)
        _product(dfrom[t], weight, carry, beta=1.0)
    dweight = _weight_gradient(dfrom, hidden, out, weight, backwards, wide)
    dbias = reduced(dfrom, (0, 1), False, "sum") if kind == "gru" else None
    dcell = None if dcell is None else dcell.astype(dtype, copy=False)
    return dgates, carry.astype(dtype, copy=False), dcell, dweight.astype(dtype, copy=False), dbias


def _weight_gradient(dfrom, hidden, out, weight, backwards, wide):
    """The sum over steps of the gates' gradients times the states before them."""
    steps, rows, width = out.shape
    dweight = _zeros(weight.shape, wide, weight.device)
    if not out.size:
        return dweight
    first = steps - 1 if backwards else 0
    _product(dfrom[first], hidden, dweight, a_turned=True)
    if steps > 1:
        later, earlier = (slice(0, -1), slice(1, None))
        if not backwards:
            later, earlier = earlier, later
        flat = (steps - 1) * rows
        _product(dfrom[later].reshape(flat, dfrom.shape[2]), out[earlier].reshape(flat, width),
                 dweight, a_turned=True, beta=1.0)  # fmt: skip
    return dweight
