"""Types of what normalizations read and write: half-width numbers are converted in registers, and
the arithmetic is that of float32."""

from __future__ import annotations

import functools

from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.launch.execution import (
    compute_array,
    compute_dtype,
    floating_types,
    is_floating,
)
from rushlight.machine import np
from rushlight.machine.language.functions import Parameter, stored

__all__ = [
    "ALL",
    "INPUT",
    "ROWS",
    "dense",
    "dtype_of_rows",
    "row_in",
    "rows_fit",
    "rows_together",
    "scales",
    "stored",
    "types",
    "wanted",
    "which",
]

INPUT, ROWS, ALL = 1, 2, 3
wanted = Parameter("wanted")  # gradients of the input, of weight and bias, or of all
scales = Parameter("scales")  # of weight and bias


def which(needs):
    """INPUT, ROWS or ALL, for the gradients of input, weight (and bias) that are needed."""
    return (INPUT if needs[0] else 0) + (ROWS if any(needs[1:]) else 0) or ALL


@functools.cache
def types(dtype, rows):
    """The parameters of a kernel for an input (`stored`: it, the result, their gradients) and for
    weight and bias of such dtypes."""
    return {**floating_types(dtype), "scales": floating_types(rows)["stored"]}


def dense(array):
    """The array as the kernels take it: dense rows of a dtype they read."""
    if not is_floating(array.dtype):
        return compute_array(array)
    return by_rows(array)


def row_in(row, dtype):
    """A row (or None) that is dense and of a dtype."""
    return None if row is None else np.ascontiguousarray(row, dtype)


def dtype_of_rows(input, *rows):
    """That of the first row which is there, else the input's."""
    for row in rows:
        if row is not None:
            return row.dtype
    return input.dtype


def rows_fit(shape, dtype, rows):
    """Whether those that are there are dense rows of a shape and dtype."""
    for row in rows:
        if row is not None and (
            row.shape != shape or row.dtype is not dtype or not row.flags.c_contiguous
        ):
            return False
    return True


def rows_together(dtype, *rows):
    """(dtype, rows): weight and bias (or None) as dense rows of one dtype, for an input of `dtype`:
    their own where they agree and kernels read it along with the input, else that computed in."""
    wide = compute_dtype(dtype)
    given = [row.dtype for row in rows if row is not None]
    chosen = dtype if all(d == dtype for d in given) else wide
    return (chosen, *[row_in(row, chosen) for row in rows])
