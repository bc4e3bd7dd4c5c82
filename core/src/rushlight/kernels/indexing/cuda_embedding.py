"""Embedding tables: rows by index, bags of rows, and their gradients without atomics."""

from __future__ import annotations

from rushlight.kernels.indexing.cuda import _segments, combined_at, take_rows
from rushlight.kernels.launch.cuda import address, constant, empty, grid_of, launch
from rushlight.kernels.scan_sort.cuda_sort import sorted_rows
from rushlight.machine import np
from rushlight.machine.cuda import runtime, sources

__all__ = [
    "embedding_backward",
    "embedding_bag_backward",
    "embedding_bag_forward",
    "embedding_bag_scale_gradient",
    "embedding_forward",
]

MODES = ("sum", "mean", "max")
_INT64 = np.dtype(np.int64)


def _flat(indices):
    return indices.astype(_INT64, copy=False).contiguous().reshape(-1)


def _zeros(shape, dtype, device):
    out = empty(shape, dtype, device)
    runtime.current().fill_bytes(out.address, 0, out.nbytes, runtime.streams.current(device))
    return out


def embedding_forward(weight, indices):
    """``weight[indices]``: rows of (V, E) by integers of any shape; any dtype of weight."""
    return take_rows(weight, indices)


def _table_gradient(rows, flat, size, padding, by_frequency, row_of=None, scales=None):
    width = rows.shape[-1]
    out = _zeros((size, width), rows.dtype, rows.device)
    if flat.size and out.size:
        keys, order = sorted_rows(flat.reshape(1, flat.size), bits=max(1, size.bit_length()))
        _segments(rows, keys, order, out, "sum", count=flat.size, width=width, size=size,
                  row_of=row_of, scales=scales, padding=padding,
                  by_frequency=by_frequency)  # fmt: skip
    return out


def embedding_backward(grad, indices, num_embeddings, padding_idx, scale_grad_by_freq):
    """Gradient (V, E) of the table from grad (*indices.shape, E).

    Row ``padding_idx`` (-1: none) stays zero; ``scale_grad_by_freq`` divides each row's gradient
    by the number of its occurrences.
    """
    rows = grad.contiguous()
    return _table_gradient(rows, _flat(indices), num_embeddings, padding_idx, scale_grad_by_freq)


def _starts(indices, offsets, include_last_offset):
    """Where bags start, with their end: int64 (bags + 1,)."""
    device = indices.device
    if indices.ndim == 2:
        bags, length = indices.shape
        return constant(np.arange(bags + 1, dtype=_INT64) * length, device)
    count = offsets.size
    starts = empty((count if include_last_offset else count + 1,), _INT64, device)
    starts[:count] = offsets.astype(_INT64, copy=False)
    if not include_last_offset:
        starts[count:] = indices.size
    return starts


def embedding_bag_forward(weight, indices, offsets, mode, per_sample_weights, include_last_offset,
                          padding_idx):  # fmt: skip
    """Sum, mean or maximum of the rows of every bag; empty bags give zeros.

    Returns (out, saved) as :func:`rushlight.kernels.indexing.embedding.embedding_bag_forward`.
    """
    table, flat = weight.contiguous(), _flat(indices)
    starts = _starts(indices, offsets, include_last_offset)
    bags, (size, width), device = starts.size - 1, weight.shape, weight.device
    out, counts = empty((bags, width), table.dtype, device), empty((bags,), _INT64, device)
    places = empty((bags if mode == "max" else 0, width), _INT64, device)
    scales, rows = _scales(per_sample_weights, table.dtype), places if mode == "max" else None
    if out.size:
        kernel = sources.kernel("bags", "reduce_bags", T=table.dtype)
        arguments = (table.address, flat.address, starts.address, address(scales), out.address,
                     counts.address, address(rows), bags, width, size, padding_idx,
                     np.int32(MODES.index(mode)))  # fmt: skip
        launch(kernel, grid_of(out.size, device), 256, arguments, device)
    return out, (flat, starts, counts, places)


def _scales(weights, dtype):
    if weights is None:
        return None
    wide = sources.compute_dtype(dtype)
    return weights.astype(wide, copy=False).contiguous().reshape(-1)


def _bag_numbers(starts, n, dtype):
    bags = empty((n,), _INT64, starts.device)
    if n:
        kernel = sources.kernel("bags", "bag_numbers", T=dtype)
        arguments = (starts.address, bags.address, starts.size - 1, n)
        launch(kernel, grid_of(n, starts.device), 256, arguments, starts.device)
    return bags


def embedding_bag_backward(grad, saved, num_embeddings, mode, per_sample_weights, padding_idx,
                           scale_grad_by_freq=False):  # fmt: skip
    """Gradient (V, E) of the table from grad (B, E) and what the forward pass saved, its indices
    flat or not."""
    indices, starts, counts, places = saved
    flat, rows, width = _flat(indices), grad.contiguous(), grad.shape[1]
    if mode == "max":
        out = _zeros((num_embeddings, width), rows.dtype, rows.device)
        combined_at(out, 0, places, rows, "sum", True, skips_negative=True)
        return out
    bags = _bag_numbers(starts, flat.size, rows.dtype)
    scales = _scales(per_sample_weights, rows.dtype)
    if mode == "mean" and flat.size:
        scales = empty((flat.size,), sources.compute_dtype(rows.dtype), rows.device)
        kernel = sources.kernel("bags", "bag_scales", T=rows.dtype)
        arguments = (bags.address, counts.address, scales.address, flat.size)
        launch(kernel, grid_of(flat.size, rows.device), 256, arguments, rows.device)
    return _table_gradient(
        rows, flat, num_embeddings, padding_idx, scale_grad_by_freq, bags, scales
    )


def embedding_bag_scale_gradient(grad, weight, saved, padding_idx):
    """Gradient of ``per_sample_weights`` (flat) of a sum."""
    flat, starts, _, _ = saved
    rows, table = grad.contiguous(), weight.astype(grad.dtype, copy=False).contiguous()
    out = empty((flat.size,), rows.dtype, rows.device)
    if flat.size:
        bags = _bag_numbers(starts, flat.size, rows.dtype)
        kernel = sources.kernel("bags", "bag_scale_gradients", T=rows.dtype)
        arguments = (rows.address, table.address, flat.address, bags.address, out.address,
                     flat.size, rows.shape[1], padding_idx)  # fmt: skip
        launch(kernel, -(-flat.size // 8), (32, 8, 1), arguments, rows.device)
    return out
