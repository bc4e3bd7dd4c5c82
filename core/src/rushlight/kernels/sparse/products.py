"""Products of sparse and dense matrices: (M, K) sparse times (K, N), and the dense product (M, N)
at the positions of a sparse one.

The sparse matrix is given row by row: ``starts[i]:starts[i + 1]`` are the positions of row i, which
``order`` (None: the identity) turns into positions in ``columns`` and ``values``. Each row of the
result has one writer that adds in the order of the positions, so results have the same bits for any
number of threads.
"""

from __future__ import annotations

from rushlight.kernels.launch.execution import (
    COMPILED_DTYPES,
    chunk,
    compute_array,
    is_low_precision,
    language_type,
    referenced_by,
)
from rushlight.machine import np, threads
from rushlight.machine.language.functions import Parameter, array, f32, i64, range_kernel, real
from rushlight.machine.memory import empty

__all__ = ["merged_places", "order_of", "sampled_product", "sparse_times_dense"]

ordered = Parameter("ordered")  # 1 where ORDER is given

# Argument words.
STARTS, ORDER, COLUMNS, VALUES, LEFT, RIGHT, OUT, WIDTH, ROWS = range(9)
WORDS = 9


@range_kernel
def multiply_rows(args, lo, hi, tid):
    """OUT[i] = sum of VALUES[p] * RIGHT[COLUMNS[p]] over the positions of row i."""
    g = array(i64, args)
    starts, order, columns = array(i64, g[STARTS]), array(i64, g[ORDER]), array(i64, g[COLUMNS])
    values, width, size = array(real, g[VALUES]), g[WIDTH], 4 if real is f32 else 8
    for row in range(lo, hi):
        out = array(real, g[OUT] + size * row * width)
        for j in range(width):
            out[j] = 0
        end = starts[row + 1]
        k = starts[row]
        while k + 1 < end:
            p, q = k, k + 1
            if ordered == 1:
                p, q = order[k], order[k + 1]
            a, b = values[p], values[q]
            x = array(real, g[RIGHT] + size * columns[p] * width)
            y = array(real, g[RIGHT] + size * columns[q] * width)
            for j in range(width):
                out[j] += a * x[j] + b * y[j]
            k += 2
        if k < end:
            p = k
            if ordered == 1:
                p = order[k]
            a = values[p]
            x = array(real, g[RIGHT] + size * columns[p] * width)
            for j in range(width):
                out[j] += a * x[j]


@range_kernel
def sample_products(args, lo, hi, tid):
    """OUT[p] = dot product of LEFT[ROWS[p]] and RIGHT[COLUMNS[p]]."""
    g = array(i64, args)
    rows, columns, out = array(i64, g[ROWS]), array(i64, g[COLUMNS]), array(real, g[OUT])
    width, size = g[WIDTH], 4 if real is f32 else 8
    for p in range(lo, hi):
        x = array(real, g[LEFT] + size * rows[p] * width)
        y = array(real, g[RIGHT] + size * columns[p] * width)
        total = real(0)
        for j in range(width):
            total += x[j] * y[j]
        out[p] = total


# Argument words of `merge_keys`.
FIRST, SECOND, FROM_FIRST, FROM_SECOND, FOUND, FIRST_COUNT, SECOND_COUNT = range(7)


@range_kernel
def merge_keys(args, lo, hi, tid):
    """Merge FIRST and SECOND, the smaller head first, equal heads as one: where each result comes
    from, -1 for nowhere, in FROM_FIRST and FROM_SECOND; their number in FOUND."""
    g = array(i64, args)
    first, second = array(i64, g[FIRST]), array(i64, g[SECOND])
    left, right, found = array(i64, g[FROM_FIRST]), array(i64, g[FROM_SECOND]), array(i64, g[FOUND])
    n, m = g[FIRST_COUNT], g[SECOND_COUNT]
    i, j, k = 0, 0, 0
    while i + j < n + m:
        order = 0
        if i >= n:
            order = 1
        elif j >= m:
            order = -1
        elif first[i] < second[j]:
            order = -1
        elif first[i] > second[j]:
            order = 1
        left[k], right[k] = -1, -1
        if order <= 0:
            left[k] = i
            i += 1
        if order >= 0:
            right[k] = j
            j += 1
        k += 1
    found[0] = k


def _merged_reference(first, second):
    left, right, i, j = [], [], 0, 0
    while i < len(first) or j < len(second):
        ended = (j == len(second)) - (i == len(first))
        order = ended or int(second[j] > first[i]) - int(second[j] < first[i])
        left.append(i if order >= 0 else -1)
        right.append(j if order <= 0 else -1)
        i, j = i + (order >= 0), j + (order <= 0)
    return np.array(left, np.int64), np.array(right, np.int64)


@referenced_by(_merged_reference)
def merged_places(first, second):
    """Two lists of positions (N,) and (M,), as int64 numbers in any order, merged as if they were
    sorted: for each position of the result its position in the first list and in the second, or -1.
    """
    total = len(first) + len(second)
    left, right, found = (np.empty(n, np.int64) for n in (total, total, 1))
    if not total:
        return left, right
    plan = threads.plan(merge_keys.address(), 1, 1, [0] * 5 + [len(first), len(second)])
    threads.run(plan, first, second, left, right, found)
    return left[: found[0]], right[: found[0]]


def _words(width):
    words = [0] * WORDS
    words[WIDTH] = width
    return words


def order_of(rows, count):
    """``(starts, order)``: the positions of every row in row order, stable; order is None where
    `rows` (nnz,) is sorted already."""
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=count), out=starts[1:])
    if len(rows) < 2 or bool((rows[1:] >= rows[:-1]).all()):
        return starts, None
    return starts, np.argsort(rows, kind="stable").astype(np.int64, copy=False)


def _product_reference(starts, order, columns, values, right):
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    places = np.arange(len(values)) if order is None else order
    dtype = values.dtype
    wide = np.float64 if is_low_precision(dtype) or dtype in COMPILED_DTYPES else dtype
    out = np.zeros((len(starts) - 1, right.shape[1]), wide)
    products = values[places, None].astype(wide) * right[columns[places]].astype(wide)
    np.add.at(out, rows, products)
    return out.astype(dtype)


def _sampled_reference(left, right, rows, columns):
    dtype = left.dtype
    wide = np.float64 if is_low_precision(dtype) or dtype in COMPILED_DTYPES else dtype
    return (left[rows].astype(wide) * right[columns].astype(wide)).sum(1).astype(dtype)


def _compiles(array):
    return array.dtype in COMPILED_DTYPES or is_low_precision(array.dtype)


@referenced_by(_product_reference)
def sparse_times_dense(starts, order, columns, values, right):
    """(M, N) = sparse (M, K) @ right (K, N), both of one dtype; integers and complex numbers by the
    reference."""
    if not _compiles(values):
        return _product_reference(starts, order, columns, values, right)
    dtype, rows, width = values.dtype, len(starts) - 1, right.shape[1]
    values, right = compute_array(values), compute_array(right)
    out = empty((rows, width), right.dtype)
    if out.size:
        work = width * (1 + len(values) // rows)
        address = multiply_rows.address(
            real=language_type(right.dtype), ordered=int(order is not None)
        )
        plan = threads.plan(address, rows, chunk(rows, work), _words(width))
        threads.run(plan, starts, order, columns, values, None, right, out)
    return out.astype(dtype, copy=False)


@referenced_by(_sampled_reference)
def sampled_product(left, right, rows, columns):
    """``(left @ right.T)[rows, columns]``: (nnz,) from left (M, N) and right (K, N)."""
    if not _compiles(left):
        return _sampled_reference(left, right, rows, columns)
    dtype, count, width = left.dtype, len(rows), left.shape[1]
    left, right = compute_array(left), compute_array(right)
    out = empty((count,), left.dtype)
    if count:
        words = _words(width)
        words[ROWS] = rows.ctypes.data
        address = sample_products.address(real=language_type(left.dtype))
        plan = threads.plan(address, count, chunk(count, width), words)
        threads.run(plan, None, None, columns, None, left, right, out)
    return out.astype(dtype, copy=False)
