"""Whole sequences of recurrent layers: LSTM, GRU, and the Elman network with tanh or relu.

What depends on the input alone (``gates``) is computed before by one large product. Sequences do
not depend on each other, so each block of them runs through all steps on one thread; the gradient
of the weights is one product over all steps again. Floating dtypes run compiled, those of half
width in float32, other dtypes by the formulas of the reference.
"""

from __future__ import annotations

import functools

from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.copying.conversion import cast
from rushlight.kernels.gemm.products import matmul
from rushlight.kernels.launch.execution import (
    COMPILED_DTYPES,
    FLOAT32,
    is_low_precision,
    language_type,
    referenced_by,
)
from rushlight.machine import np, threads
from rushlight.machine.memory import empty

__all__ = ["GATES", "KINDS", "plan_of", "recurrence_backward", "recurrence_forward"]

GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}
KINDS = list(GATES)
TILES = 3  # of rows that a thread has go through a step together


# ---- reference -----------------------------------------------------------------------------------
def _order(steps, backwards):
    return range(steps - 1, -1, -1) if backwards else range(steps)


def _sigmoid(x):
    return 0.5 * (np.tanh(0.5 * x) + 1)


def _step_reference(kind, gates, hidden, cell, weight, bias):
    """The new state, the new cell and what the backward pass wants."""
    inner = hidden @ weight.T + (0 if bias is None else bias)
    if kind == "lstm":
        i, f, new, o = np.split(gates + inner, 4, 1)
        i, f, new, o = _sigmoid(i), _sigmoid(f), np.tanh(new), _sigmoid(o)
        cell = f * cell + i * new
        return o * np.tanh(cell), cell, np.concatenate([i, f, new, o], 1)
    if kind == "gru":
        (r, z, n), (r_h, z_h, n_h) = np.split(gates, 3, 1), np.split(inner, 3, 1)
        r, z = _sigmoid(r + r_h), _sigmoid(z + z_h)
        n = np.tanh(n + r * n_h)
        return n + z * (hidden - n), None, np.concatenate([r, z, n, n_h], 1)
    total = gates + inner
    return np.tanh(total) if kind == "tanh" else np.where(total < 0, 0, total), None, None


def _forward_reference(gates, hidden, cell, weight, bias, kind, backwards):
    steps, rows, width = len(gates), len(hidden), weight.shape[1]
    out = np.zeros((steps, rows, width), gates.dtype)
    acts = None if kind in ("tanh", "relu") else np.zeros((steps, rows, 4 * width), gates.dtype)
    cells = None if cell is None else np.zeros_like(out)
    for t in _order(steps, backwards):
        hidden, cell, kept = _step_reference(kind, gates[t], hidden, cell, weight, bias)
        out[t] = hidden
        if kept is not None:
            acts[t] = kept
        if cells is not None:
            cells[t] = cell
    return out, cell, acts, cells


def _step_back_reference(kind, whole, dcell, before, cell_before, cell, acts, out):
    """Gradients of the gates from the input and from the state; what the state and the cell before
    get directly."""
    if kind == "lstm":
        i, f, new, o = np.split(acts, 4, 1)
        bent = np.tanh(cell)
        inner = dcell + whole * o * (1 - bent * bent)
        parts = (inner * new * i * (1 - i), inner * cell_before * f * (1 - f),
                 inner * i * (1 - new * new), whole * bent * o * (1 - o))  # fmt: skip
        gates = np.concatenate(parts, 1)
        return gates, gates, 0, inner * f
    if kind == "gru":
        r, z, n, inner = np.split(acts, 4, 1)
        dz, dn = whole * (before - n) * z * (1 - z), whole * (1 - z) * (1 - n * n)
        dr = dn * inner * r * (1 - r)
        return np.concatenate([dr, dz, dn], 1), np.concatenate([dr, dz, dn * r], 1), whole * z, None
    gates = whole * (1 - out * out) if kind == "tanh" else np.where(out <= 0, 0, whole)
    return gates, gates, 0, None


def _steps_back_reference(grad, grad_cell, hidden, cell, weight, saved, kind, backwards):
    out, acts, cells = saved
    order = list(_order(len(out), backwards))
    dgates = np.zeros((*out.shape[:2], weight.shape[0]), out.dtype)
    dfrom = np.zeros_like(dgates)
    dhidden = np.zeros_like(hidden)
    dcell = None if cell is None else np.zeros_like(cell) if grad_cell is None else grad_cell
    for number in range(len(order) - 1, -1, -1):
        t, before = order[number], order[number - 1]
        dgates[t], dfrom[t], direct, dcell = _step_back_reference(
            kind,
            grad[t] + dhidden,
            dcell,
            out[before] if number else hidden,
            None if cell is None else cells[before] if number else cell,
            None if cell is None else cells[t],
            None if acts is None else acts[t],
            out[t],
        )
        dhidden = direct + dfrom[t] @ weight
    return dgates, dfrom, dhidden, dcell


# ---- compiled ------------------------------------------------------------------------------------
def _blocks(rows, most, count, dtype):
    """Parts of the sequences. Of float32 each has up to `TILES` tiles, and there are as many as
    threads, or a multiple of that: where they begin changes no bits. It may in OpenBLAS."""
    if dtype != FLOAT32:
        blocks = -(-rows // most)
        return blocks + (blocks % 2 if rows > 1 else 0)  # two threads get the same work
    blocks = max(-(-rows // (TILES * most)), min(-(-rows // most), count))
    return min(rows, -(-blocks // count) * count) if blocks > count else blocks


@functools.lru_cache(maxsize=256)
def plan_of(kind, steps, rows, width, backwards, back, dtype, count):
    """The plan of a layer's forward or backward pass (`back`) on so many threads."""
    from rushlight.kernels.recurrent import compiled as native

    mk = native.mk
    blocks = _blocks(rows, mk.MAX_ROWS, count, dtype)
    words = [0] * native.T
    sizes = {rows * (i + 1) // blocks - rows * i // blocks for i in range(blocks)}
    words += [steps, rows, width, blocks, int(backwards)]
    few = [size for size in sizes if size <= mk.FEW]
    words += [mk.ROWS.need(*sizes), mk.ROWS_OF_SEVERAL.need(*few)] if dtype == FLOAT32 else [0, 0]
    kernel = native.backward_blocks if back else native.forward_blocks
    code = kernel.address(kind=KINDS.index(kind), count=GATES[kind], real=language_type(dtype))
    work = steps * rows * width * width
    grain = max(1, -(-blocks // 16))
    return threads.plan(code, blocks, blocks if work < 60_000 else grain, words)


def _each(dtype, arrays):
    """The arrays in a dtype: low precision is computed in float32 and rounded once."""
    return tuple(None if array is None else cast(array, dtype) for array in arrays)


def _is_compiled(gates, hidden, weight):
    dtype = gates.dtype
    return dtype == hidden.dtype == weight.dtype and dtype in COMPILED_DTYPES and gates.size > 0


@referenced_by(_forward_reference)
def recurrence_forward(gates, hidden, cell, weight, bias, kind, backwards):
    """States of all steps (T, N, H), the last cell, and what the backward pass wants of the gates
    (T, N, 4 H) and the cells (T, N, H); what a kind does not have is None.

    ``gates`` (T, N, G H) comes from the input, G gates in PyTorch's order: input, forget, cell and
    output (``kind`` "lstm"), reset, update and new ("gru"), one ("tanh", "relu"). ``hidden`` and
    ``cell`` are (N, H), ``weight`` (G H, H); ``bias`` (G H) or None belongs to the state's part
    and may be given for "gru" only. ``backwards`` runs from the last step to the first.
    """
    if is_low_precision(gates.dtype):
        wide = _each(FLOAT32, (gates, hidden, cell, weight, bias))
        return _each(gates.dtype, recurrence_forward(*wide, kind, backwards))
    if not _is_compiled(gates, hidden, weight):
        return _forward_reference(gates, hidden, cell, weight, bias, kind, backwards)
    steps, rows, width, dtype = len(gates), len(hidden), weight.shape[1], gates.dtype
    out = empty((steps, rows, width), dtype)
    acts = None if kind in ("tanh", "relu") else empty((steps, rows, 4 * width), dtype)
    cells = last = None
    if kind == "lstm":
        cells, last = empty(out.shape, dtype), np.empty((rows, width), dtype)
    count = threads.get_num_threads()
    plan = plan_of(kind, steps, rows, width, backwards, False, dtype, count)
    threads.run(plan, by_rows(gates), by_rows(hidden), by_rows(cell), by_rows(weight), out, last,
                acts, cells, by_rows(bias))  # fmt: skip
    return out, last, acts, cells


def _steps_back(grad, grad_cell, hidden, cell, weight, saved, kind, backwards):
    if not _is_compiled(grad, hidden, weight):
        return _steps_back_reference(grad, grad_cell, hidden, cell, weight, saved, kind, backwards)
    out, acts, cells = saved
    (steps, rows, width), dtype = out.shape, grad.dtype
    dgates = empty((steps, rows, len(weight)), dtype)
    dfrom = empty(dgates.shape, dtype) if kind == "gru" else dgates
    dhidden = np.empty((rows, width), dtype)
    dcell = np.empty((rows, width), dtype) if kind == "lstm" else None
    plan = plan_of(kind, steps, rows, width, backwards, True, dtype, threads.get_num_threads())
    threads.run(plan, None, by_rows(hidden),
                by_rows(cell), by_rows(weight), by_rows(out), None, by_rows(acts),
                by_rows(cells), None, by_rows(grad), by_rows(grad_cell), dgates, dfrom, dhidden,
                dcell)  # fmt: skip
    return dgates, dfrom, dhidden, dcell


def recurrence_backward(grad, grad_cell, hidden, cell, weight, saved, kind, backwards):
    """Gradients of gates, hidden, cell (or None), weight and bias (for "gru", else None).

    ``saved`` is what :func:`recurrence_forward` gave as states, gates and cells.
    """
    if is_low_precision(grad.dtype):
        wide = _each(FLOAT32, (grad, grad_cell, hidden, cell, weight))
        found = recurrence_backward(*wide, _each(FLOAT32, saved), kind, backwards)
        return _each(grad.dtype, found)
    found = _steps_back(grad, grad_cell, hidden, cell, weight, saved, kind, backwards)
    dgates, dfrom, dhidden, dcell = found
    out, steps = saved[0], len(saved[0])
    first = steps - 1 if backwards else 0
    later, earlier = (slice(0, -1), slice(1, None)) if backwards else (slice(1, None), slice(0, -1))
    dweight = matmul(dfrom[first].T, hidden)
    if steps > 1:
        wide, width = dfrom.shape[2], out.shape[2]
        dweight += matmul(dfrom[later].reshape(-1, wide).T, out[earlier].reshape(-1, width))
    dbias = np.add.reduce(dfrom.reshape(-1, dfrom.shape[2]), 0) if kind == "gru" else None
    return dgates, dhidden, dcell, dweight, dbias
