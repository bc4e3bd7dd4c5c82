"""A recurrent layer over a whole sequence, as one op."""

from __future__ import annotations

from rushlight.kernels.recurrent import sequences as kernels
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._calls.direct import on_arrays, on_gpu, tensors_of, translated
from rushlight.ops._table.op import op
from rushlight.ops._table.rules import floating_only
from rushlight.ops._transforms.differentiation import pullback
from rushlight.ops.creation.tensors import zeros_like
from rushlight.ops.linalg.products import linear
from rushlight.ops.shape.joining import stack
from rushlight.tensor.tensor import Tensor


def lstm_step(gates, hidden, cell):
    """State and cell after gates (N, 4H): input, forget, cell, output.

    (Hochreiter and Schmidhuber, 1997.)
    """
    i, f, g, o = gates.chunk(4, 1)
    cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def gru_step(from_input, from_hidden, hidden):
    """The state after gates (N, 3H): reset, update, new. (Cho et al., 2014.)"""
    r_i, z_i, n_i = from_input.chunk(3, 1)
    r_h, z_h, n_h = from_hidden.chunk(3, 1)
    update = (z_i + z_h).sigmoid()
    new = (n_i + (r_i + r_h).sigmoid() * n_h).tanh()
    return new + update * (hidden - new)


def _by_steps(gates, hidden, cell, weight, bias, kind, backwards):
    """The same computed step by step: states of all steps and the last cell."""
    outputs = []
    steps = gates.unbind(0)
    for step in reversed(steps) if backwards else steps:
        inner = linear(hidden, weight, bias)
        if kind == "lstm":
            hidden, cell = lstm_step(step + inner, hidden, cell)
        elif kind == "gru":
            hidden = gru_step(step, inner, hidden)
        else:
            hidden = (step + inner).tanh() if kind == "tanh" else (step + inner).relu()
        outputs.append(hidden)
    return stack(outputs[::-1] if backwards else outputs, 0), cell


def _samples(make):
    def one(kind, backwards):
        count = kernels.GATES[kind]
        cell = make(2, 4) if kind == "lstm" else None
        bias = make(count * 4) if kind == "gru" else None
        arguments = (make(3, 2, count * 4), make(2, 4), cell, make(count * 4, 4), bias)
        return ((*arguments, kind, backwards), {})

    return [one("lstm", False), one("gru", True), one("tanh", False), one("relu", True)]


def _meta(gates, hidden, cell, weight, bias, kind, _backwards):
    steps, (rows, width), dtype = gates.shape[0], hidden.shape, dtype_of(gates)
    states, nothing = ((steps, rows, width), dtype), ((0,), dtype)
    gated = nothing if kind in ("tanh", "relu") else ((steps, rows, 4 * width), dtype)
    if kind != "lstm":
        return [states, nothing, gated, nothing]
    return [states, ((rows, width), dtype), gated, states]


@op(
    method=False,
    outputs=2,
    samples=_samples,
    meta=_meta,
    rule=floating_only,
    node="Recurrence",
    autocast="lower",
    flops="recurrence",
)
def _recurrence(
    gates: Tensor,
    hidden: Tensor,
    cell: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    kind,
    backwards,
):
    """States (T, N, H) of an LSTM, GRU or Elman layer and its last cell, from what its gates get
    of the input (T, N, G H); also the gates and cells of all steps. Empty: what a kind has not."""
    found = kernels.recurrence_forward(gates, hidden, cell, weight, bias, kind, backwards)
    return tuple(np.empty(0, gates.dtype) if part is None else part for part in found)


def _recurrence_backward(grad, *rest):
    return kernels.recurrence_backward(grad, *rest)


@_recurrence.gradients("gates", "hidden", "cell", "weight", "bias")
def _recurrence_gradient(
    grads, gates, hidden, cell, weight, bias, kind, backwards, out0, out2, out3, needs
):
    grad, grad_cell = grads[0], grads[1]
    if not out0.numel():  # no example: nothing depends on the parameters
        inputs = (gates, hidden, cell, weight, bias)
        return [zeros_like(t) if need else None for t, need in zip(inputs, needs, strict=True)]
    if on_arrays(grad, grad_cell, hidden, cell, weight):
        zero = np.zeros_like(out0._array) if grad is None else grad._array
        saved = [t._array if t._array.size else None for t in (out0, out2, out3)]
        arrays = [None if t is None else t._array for t in (grad_cell, hidden, cell, weight)]
        found = kernels.recurrence_backward(zero, *arrays, saved, kind, backwards)
        return [g if need else None for g, need in zip(tensors_of(found), needs, strict=True)]
    if on_gpu(grad, grad_cell, hidden, cell, weight):
        zero = np.zeros_like(out0._array) if grad is None else grad._array
        saved = [t._array if t._array.size else None for t in (out0, out2, out3)]
        arrays = [None if t is None else t._array for t in (grad_cell, hidden, cell, weight)]
        found = translated(_recurrence_backward)(zero, *arrays, saved, kind, backwards)
        return [g if need else None for g, need in zip(tensors_of(found), needs, strict=True)]
    inputs = (gates, hidden, cell, weight, bias)
    cotangents = [g for g in grads[:2] if g is not None and g.numel()]

    def outputs(*present):
        present = iter(present)
        full = [None if t is None else next(present) for t in inputs]
        found = zip(_by_steps(*full, kind, backwards), grads[:2], strict=True)
        return tuple(out for out, g in found if g is not None and g.numel())

    _, pull = pullback(outputs, [t for t in inputs if t is not None])
    found = iter(pull(cotangents))
    pieces = [None if t is None else next(found) for t in inputs]
    return [piece if need else None for piece, need in zip(pieces, needs, strict=True)]
