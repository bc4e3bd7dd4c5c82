"""Rows of a table by index, singly or in bags, with their gradients.

Gradients are summed row by row of the table: indices are sorted by a stable counting sort, so each
row has one writer and adds in the order of the indices, whatever the number of threads.
"""

from __future__ import annotations

from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.copying.conversion import cast
from rushlight.kernels.launch.execution import chunk, compute_array, language_type, referenced_by
from rushlight.machine import np, threads
from rushlight.machine.language.functions import (
    Parameter,
    array,
    f32,
    function,
    i64,
    independent,
    infinity,
    range_kernel,
    real,
)
from rushlight.machine.memory import empty
from rushlight.machine.worker_pool import memcpy

__all__ = [
    "embedding_backward",
    "embedding_bag_backward",
    "embedding_bag_forward",
    "embedding_bag_scale_gradient",
    "embedding_forward",
]

MODES = ("sum", "mean", "max")
LINE = 16  # columns of a strip are a multiple of this: whole cache lines
mode = Parameter("mode")

# Argument words.
TABLE, INDICES, OUT, FAILED, STARTS, ORDER, SCALES, PLACES, ROWS, WIDTH, ITEMS, PADDING, STRIP = (
    range(13)
)
WORDS = 13


@range_kernel
def gather_rows(args, lo, hi, tid):
    """OUT[i] = TABLE[INDICES[i]]; WIDTH counts bytes."""
    g = array(i64, args)
    indices, width, rows = array(i64, g[INDICES]), g[WIDTH], g[ROWS]
    for i in range(lo, hi):
        row = indices[i]
        if row < 0 or row >= rows:
            array(i64, g[FAILED])[0] = 1
        else:
            memcpy(g[OUT] + i * width, g[TABLE] + row * width, width)


@range_kernel
def count_rows(args, lo, hi, tid):
    """One item: STARTS[r] = first position of row r in the sorted ORDER of the indices (stable)."""
    g = array(i64, args)
    indices, starts, order = array(i64, g[INDICES]), array(i64, g[STARTS]), array(i64, g[ORDER])
    rows, items = g[ROWS], g[ITEMS]
    for r in range(rows + 2):
        starts[r] = 0
    for i in range(items):
        row = indices[i]
        if row < 0 or row >= rows:
            array(i64, g[FAILED])[0] = 1
            return
        starts[row + 2] += 1
    for r in range(rows):
        starts[r + 2] += starts[r + 1]
    for i in range(items):
        place = starts[indices[i] + 1]
        order[place] = i
        starts[indices[i] + 1] = place + 1


@range_kernel
def sum_gradients(args, lo, hi, tid):
    """Items are rows of the gradient OUT; TABLE holds the incoming rows.

    PLACES maps an index's position to its incoming row (none: the position itself), SCALES gives
    its factor (none: 1).
    """
    g = array(i64, args)
    starts, order, width = array(i64, g[STARTS]), array(i64, g[ORDER]), g[WIDTH]
    places, scales, size = array(i64, g[PLACES]), array(real, g[SCALES]), 4 if real is f32 else 8
    for row in range(lo, hi):
        out = array(real, g[OUT] + size * row * width)
        for j in range(width):
            out[j] = 0
        if row == g[PADDING]:
            continue
        for k in range(starts[row], starts[row + 1]):
            i = order[k]
            place = i
            if g[PLACES] != 0:
                place = places[i]
            incoming = array(real, g[TABLE] + size * place * width)
            if g[SCALES] != 0:
                factor = scales[i]
                for j in range(width):
                    out[j] += factor * incoming[j]
            else:
                for j in range(width):
                    out[j] += incoming[j]


@function
def is_added(row, rows, padding):
    """Whether a row is one of the table that counts."""
    return (row >= 0) & (row < rows) & (row != padding)


@function
def add_rows(g, out, k, end):
    """Add the next few rows of a bag one after the other, where all of them count; how many."""
    indices, width, size = array(i64, g[INDICES]), g[WIDTH], 4 if real is f32 else 8
    if k + 4 > end:
        return i64(0)
    first, second, third, fourth = indices[k], indices[k + 1], indices[k + 2], indices[k + 3]
    some = is_added(first, g[ROWS], g[PADDING]) & is_added(second, g[ROWS], g[PADDING])
    if not (some & is_added(third, g[ROWS], g[PADDING]) & is_added(fourth, g[ROWS], g[PADDING])):
        return i64(0)
    a = array(real, g[TABLE] + size * first * width)
    b = array(real, g[TABLE] + size * second * width)
    c = array(real, g[TABLE] + size * third * width)
    d = array(real, g[TABLE] + size * fourth * width)
    for j in independent(width):
        out[j] = out[j] + a[j] + b[j] + c[j] + d[j]
    return i64(4)


@range_kernel
def reduce_bags(args, lo, hi, tid):
    """Items are bags: OUT[b] = sum, mean or maximum of its rows.

    STARTS are the bags' first positions (one more at the end), ORDER receives the number of rows
    that count, PLACES (of max) the row of each maximum (-1: none), SCALES are per-sample weights.
    """
    g = array(i64, args)
    indices, starts, counts = array(i64, g[INDICES]), array(i64, g[STARTS]), array(i64, g[ORDER])
    width, rows, size, scales = g[WIDTH], g[ROWS], 4 if real is f32 else 8, array(real, g[SCALES])
    for bag in range(lo, hi):
        out, count = array(real, g[OUT] + size * bag * width), i64(0)
        places = array(i64, g[PLACES] + 8 * bag * width)
        for j in range(width):
            out[j] = -infinity(real) if mode == 2 else real(0)
        k, end = starts[bag], starts[bag + 1]
        while k < end:
            added = i64(0)
            if mode < 2 and g[SCALES] == 0:
                added = add_rows(g, out, k, end)
            if added > 0:
                count += added
                k += added
                continue
            place, row = k, indices[k]
            k += 1
            if row < 0 or row >= rows:
                array(i64, g[FAILED])[0] = 1
                continue
            if row == g[PADDING]:
                continue
            count += 1
            x = array(real, g[TABLE] + size * row * width)
            if mode == 2:
                for j in range(width):
                    if x[j] > out[j] or x[j] != x[j] or count == 1:
                        out[j] = x[j]
                        places[j] = row
            elif g[SCALES] != 0:
                factor = scales[place]
                for j in range(width):
                    out[j] += factor * x[j]
            else:
                for j in range(width):
                    out[j] += x[j]
        counts[bag] = count
        if mode == 1 and count > 0:
            for j in range(width):
                out[j] = out[j] / real(count)
        if mode == 2 and count == 0:
            for j in range(width):
                out[j] = 0
                places[j] = -1


@range_kernel
def spread_maxima(args, lo, hi, tid):
    """Items are strips of columns: OUT[PLACES[b, j], j] += TABLE[b, j] for all bags, in order.

    A strip of STRIP columns has one writer. OUT begins as zeros; ITEMS counts bags.
    """
    g, size = array(i64, args), 4 if real is f32 else 8
    width, bags, columns = g[WIDTH], g[ITEMS], g[STRIP]
    out, places = array(real, g[OUT]), array(i64, g[PLACES])
    for strip in range(lo, hi):
        begin = strip * columns
        end = min(width, begin + columns)
        for bag in range(bags):
            incoming = array(real, g[TABLE] + size * bag * width)
            for j in range(begin, end):
                row = places[bag * width + j]
                if row >= 0:
                    out[row * width + j] += incoming[j]


@range_kernel(reassociate=True)
def weigh_rows(args, lo, hi, tid):
    """Items are bags: SCALES[i] = TABLE[INDICES[i]] . OUT[b] for all positions i of bag b, where
    OUT holds rows of gradients."""
    g = array(i64, args)
    indices, starts, scales = array(i64, g[INDICES]), array(i64, g[STARTS]), array(real, g[SCALES])
    width, size = g[WIDTH], 4 if real is f32 else 8
    for bag in range(lo, hi):
        grad = array(real, g[OUT] + size * bag * width)
        for i in range(starts[bag], starts[bag + 1]):
            row, total = indices[i], real(0)
            x = array(real, g[TABLE] + size * row * width)
            for j in range(width):
                total += x[j] * grad[j]
            scales[i] = real(0) if row == g[PADDING] else total


# ---- launching -----------------------------------------------------------------------------------

_OUT_OF_RANGE = "index out of range in self"


def _launch(kernel, items, work, words, arrays, **parameters):
    failed = np.zeros(1, np.int64)
    arrays = (*arrays[:3], failed, *arrays[3:])
    plan = threads.plan(kernel.address(**parameters), items, chunk(items, work), words)
    threads.run(plan, *arrays)
    if failed[0]:
        raise IndexError(_OUT_OF_RANGE)


def _words(rows, width, items, padding=-1):
    words = [0] * WORDS
    words[ROWS], words[WIDTH], words[ITEMS], words[PADDING] = rows, width, items, padding
    return words


def _flat_indices(indices):
    if indices.dtype.kind not in "iu":
        raise TypeError(f"embedding: indices must be integers, got {indices.dtype}")
    return np.ascontiguousarray(indices.reshape(-1), np.int64)


def _check_rows(grad, indices):
    width = grad.shape[-1] if grad.ndim else 0
    if grad.shape != (*indices.shape, width):
        raise ValueError(
            f"embedding: grad has shape {grad.shape}, expected {(*indices.shape, 'E')}"
        )
    return width


def _check_range(flat, rows):
    if flat.size and not 0 <= int(flat.min()) <= int(flat.max()) < rows:
        raise IndexError(_OUT_OF_RANGE)


def _sorted(flat, rows):
    """(starts, order): positions of every table row among the indices, stable."""
    starts, order = np.empty(rows + 2, np.int64), np.empty(len(flat), np.int64)
    _launch(count_rows, 1, 1, _words(rows, 0, len(flat)), (None, flat, None, starts, order))
    return starts, order


# ---- reference -----------------------------------------------------------------------------------


def _forward_reference(weight, indices):
    flat = _flat_indices(indices)
    _check_range(flat, len(weight))
    return weight[flat].reshape(*indices.shape, weight.shape[1])


def _backward_reference(grad, indices, num_embeddings, padding_idx, scale_grad_by_freq):
    flat = _flat_indices(indices)
    _check_range(flat, num_embeddings)
    width = _check_rows(grad, indices)
    rows = grad.astype(np.float64).reshape(-1, width)
    if scale_grad_by_freq and flat.size:
        rows = rows / np.bincount(flat, minlength=num_embeddings)[flat][:, None]
    out = np.zeros((num_embeddings, width))
    np.add.at(out, flat, rows)
    if padding_idx >= 0:
        out[padding_idx] = 0
    return out.astype(grad.dtype)


def _bag_forward_reference(weight, indices, offsets, mode, per_sample_weights,
                           include_last_offset, padding_idx):  # fmt: skip
    flat, starts = _bags(indices, offsets, include_last_offset)
    _check_bag(mode, per_sample_weights, flat)
    _check_range(flat, len(weight))
    wide, count, width = weight.astype(np.float64), len(starts) - 1, weight.shape[1]
    out, counts = np.zeros((count, width)), np.zeros(count, np.int64)
    places = np.full((count if mode == "max" else 0, width), -1, np.int64)
    for bag in range(count):
        chosen = np.arange(starts[bag], starts[bag + 1])
        chosen = chosen[flat[chosen] != padding_idx]
        counts[bag] = len(chosen)
        if not len(chosen):
            continue
        rows = wide[flat[chosen]]
        if mode == "max":
            best = rows.argmax(axis=0)
            out[bag], places[bag] = rows[best, np.arange(width)], flat[chosen][best]
            continue
        if per_sample_weights is not None:
            rows = rows * per_sample_weights.reshape(-1)[chosen].astype(np.float64)[:, None]
        out[bag] = rows.sum(axis=0) if mode == "sum" else rows.mean(axis=0)
    return out.astype(weight.dtype), (flat, starts, counts, places)


def _bag_backward_reference(grad, saved, num_embeddings, mode, per_sample_weights, padding_idx,
                            scale_grad_by_freq=False):  # fmt: skip
    indices, starts, counts, places = saved
    flat, wide = _flat_indices(indices), grad.astype(np.float64)
    out = np.zeros((num_embeddings, grad.shape[1]))
    if mode == "max":
        bags, columns = np.nonzero(places >= 0)
        np.add.at(out, (places[bags, columns], columns), wide[bags, columns])
        return out.astype(grad.dtype)
    bag_of = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    flat, rows = flat[: len(bag_of)], wide[bag_of]
    if mode == "mean":
        rows = rows / np.maximum(counts[bag_of], 1)[:, None]
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1).astype(np.float64)[: len(flat), None]
    if scale_grad_by_freq and flat.size:
        rows = rows / np.bincount(flat, minlength=num_embeddings)[flat][:, None]
    np.add.at(out, flat, rows)
    if padding_idx >= 0:
        out[padding_idx] = 0
    return out.astype(grad.dtype)


def _bag_scale_reference(grad, weight, saved, padding_idx):
    indices, starts, _, _ = saved
    flat, out = _flat_indices(indices), np.zeros(indices.size, grad.dtype)
    bag_of = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    used = flat[: len(bag_of)]
    dots = (weight.astype(np.float64)[used] * grad.astype(np.float64)[bag_of]).sum(1)
    out[: len(used)] = np.where(used == padding_idx, 0, dots)
    return out


# ---- public --------------------------------------------------------------------------------------


def _check_table(weight):
    if weight.ndim != 2:
        raise ValueError(f"embedding: weight must be (rows, width), got shape {weight.shape}")


@referenced_by(_forward_reference)
def embedding_forward(weight, indices):
    """``weight[indices]``: rows of (V, E) by integers of any shape; any dtype of weight.

    Raises IndexError for an index outside 0..V-1.
    """
    _check_table(weight)
    flat = _flat_indices(indices)
    table = by_rows(weight)
    out = empty((*indices.shape, weight.shape[1]), weight.dtype)
    if out.size == 0:
        _check_range(flat, len(weight))
        return out
    width = weight.shape[1] * weight.itemsize
    words = _words(len(weight), width, len(flat))
    _launch(gather_rows, len(flat), width, words, (table, flat, out))
    return out


@referenced_by(_backward_reference)
def embedding_backward(grad, indices, num_embeddings, padding_idx, scale_grad_by_freq):
    """Gradient (V, E) of the table from grad (*indices.shape, E).

    Row ``padding_idx`` (-1: none) stays zero; ``scale_grad_by_freq`` divides each row's gradient
    by the number of its occurrences.
    """
    flat = _flat_indices(indices)
    width = _check_rows(grad, indices)
    rows = compute_array(grad)
    starts, order = _sorted(flat, num_embeddings)
    scales = _frequency_scales(flat, starts, rows.dtype) if scale_grad_by_freq else None
    out = _sum_gradients(
        rows, flat, num_embeddings, width, padding_idx, starts, order, scales, None
    )
    return cast(out, grad.dtype)


def _frequency_scales(flat, starts, dtype):
    return (1.0 / np.maximum(np.diff(starts), 1)[flat]).astype(dtype)


def _sum_gradients(rows, flat, count, width, padding, starts, order, scales, places):
    out = empty((count, width), rows.dtype)
    if out.size:
        work = width * (1 + len(flat) // count)
        _launch(sum_gradients, count, work, _words(count, width, len(flat), padding),
                (rows, None, out, starts, order, scales, places),
                real=language_type(rows.dtype))  # fmt: skip
    return out


def _spread_maxima(rows, places, count):
    """Gradient (count, E) of a table from rows (B, E) and the table's rows of the maxima."""
    bags, width = rows.shape
    out = np.zeros((count, width), rows.dtype)
    if rows.size:
        # As wide as the threads allow: a bag's rows are read in one go.
        columns = -(-width // (threads.get_num_threads() * LINE)) * LINE
        words = _words(count, width, bags)
        words[STRIP] = columns
        _launch(spread_maxima, -(-width // columns), bags * columns, words,
                (rows, None, out, None, None, None, np.ascontiguousarray(places)),
                real=language_type(rows.dtype))  # fmt: skip
    return out


def _bags(indices, offsets, include_last_offset):
    """Flat indices and the first position of every bag, with the end appended."""
    flat = _flat_indices(indices)
    if indices.ndim == 2:
        if offsets is not None:
            raise ValueError("embedding_bag: 2-dim indices are bags by themselves: offsets is None")
        return flat, np.arange(len(indices) + 1, dtype=np.int64) * indices.shape[1]
    if indices.ndim != 1 or offsets is None:
        raise ValueError(
            f"embedding_bag: indices of shape {indices.shape} need offsets (1-dim) or two dims"
        )
    starts = np.array(offsets, np.int64)  # a copy: the graph keeps it, offsets may be written to
    if starts.ndim != 1 or (starts.size and starts[0] != 0):
        raise ValueError("embedding_bag: offsets must be one-dimensional and start with 0")
    if not include_last_offset:
        starts = np.append(starts, len(flat))
    if (np.diff(starts) < 0).any() or (starts.size and starts[-1] > len(flat)):
        raise ValueError(
            f"embedding_bag: offsets must increase up to the number of indices, {len(flat)}"
        )
    return flat, starts


def _check_bag(op_mode, per_sample_weights, flat):
    if op_mode not in MODES:
        raise ValueError(f"embedding_bag: mode must be 'sum', 'mean' or 'max', got {op_mode!r}")
    if per_sample_weights is not None:
        if op_mode != "sum":
            raise NotImplementedError(
                f"embedding_bag: per_sample_weights is only supported for mode='sum', got "
                f"{op_mode!r}"
            )
        if per_sample_weights.size != len(flat):
            raise ValueError(
                f"embedding_bag: per_sample_weights has {per_sample_weights.size} values for "
                f"{len(flat)} indices"
            )


@referenced_by(_bag_forward_reference)
def embedding_bag_forward(weight, indices, offsets, mode, per_sample_weights, include_last_offset,
                          padding_idx):  # fmt: skip
    """Sum, mean or maximum of the rows of every bag; empty bags give zeros.

    ``indices`` is (B, L), or flat with ``offsets``. Rows equal to ``padding_idx`` (-1: none) do not
    count. Returns (out, saved) where saved = (flat indices, bag starts, counts, positions of the
    maxima, none in other modes) is what :func:`embedding_bag_backward` needs."""
    _check_table(weight)
    flat, starts = _bags(indices, offsets, include_last_offset)
    _check_bag(mode, per_sample_weights, flat)
    table = compute_array(weight)
    count, width = len(starts) - 1, weight.shape[1]
    out, counts = np.empty((count, width), table.dtype), np.empty(count, np.int64)
    places = np.empty((count if mode == "max" else 0, width), np.int64)
    scales = None
    if per_sample_weights is not None:
        scales = compute_array(per_sample_weights.reshape(-1)).astype(table.dtype, copy=False)
    if count:
        words = _words(len(weight), width, len(flat), padding_idx)
        work = width * (1 + len(flat) // count)
        _launch(reduce_bags, count, work, words, (table, flat, out, starts, counts, scales, places),
                real=language_type(table.dtype), mode=MODES.index(mode))  # fmt: skip
    return cast(out, weight.dtype), (flat, starts, counts, places)


@referenced_by(_bag_backward_reference)
def embedding_bag_backward(grad, saved, num_embeddings, mode, per_sample_weights, padding_idx,
                           scale_grad_by_freq=False):  # fmt: skip
    """Gradient (V, E) of the table from grad (B, E) and what the forward pass saved, its indices
    flat or not."""
    indices, starts, counts, places = saved
    flat, rows, width = _flat_indices(indices), compute_array(grad), grad.shape[1]
    if mode == "max":
        return cast(_spread_maxima(rows, places, num_embeddings), grad.dtype)
    bag_of = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    flat = flat[: len(bag_of)]
    scales = None
    if per_sample_weights is not None:
        scales = per_sample_weights.reshape(-1)[: len(flat)].astype(rows.dtype)
    if mode == "mean":
        scales = (1.0 / np.maximum(counts, 1))[bag_of].astype(rows.dtype)
    ends, order = _sorted(flat, num_embeddings)
    if scale_grad_by_freq:
        factor = _frequency_scales(flat, ends, rows.dtype)
        scales = factor if scales is None else scales * factor
    scales = None if scales is None else np.ascontiguousarray(scales)
    out = _sum_gradients(
        rows, flat, num_embeddings, width, padding_idx, ends, order, scales, bag_of
    )
    return cast(out, grad.dtype)


@referenced_by(_bag_scale_reference)
def embedding_bag_scale_gradient(grad, weight, saved, padding_idx):
    """Gradient of ``per_sample_weights`` (flat) of a sum, from grad (B, E), the table and what the
    forward pass saved."""
    indices, starts, _, _ = saved
    rows, flat = compute_array(grad), _flat_indices(indices)
    table = compute_array(weight).astype(rows.dtype, copy=False)
    out, bags, width = np.zeros(flat.size, rows.dtype), len(starts) - 1, rows.shape[1]
    if flat.size and bags:
        words = _words(len(table), width, flat.size, padding_idx)
        work = width * (1 + flat.size // bags)
        _launch(weigh_rows, bags, work, words, (table, flat, rows, starts, None, out, None),
                real=language_type(rows.dtype))  # fmt: skip
    return cast(out, grad.dtype)
