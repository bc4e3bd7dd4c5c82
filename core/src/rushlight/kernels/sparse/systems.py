"""Systems of linear equations with a sparse triangular matrix, by substitution row after row.

The matrix is given as in :mod:`rushlight.kernels.sparse.products`; elements on the other side of
the diagonal are left out. Every column of the right-hand side has one writer.
"""

from __future__ import annotations

from rushlight.kernels.launch.execution import COMPILED_DTYPES, chunk, language_type, referenced_by
from rushlight.machine import np, threads
from rushlight.machine.language.functions import Parameter, array, f32, i64, range_kernel, real

__all__ = ["substituted"]

ordered = Parameter("ordered")  # 1 where ORDER is given
unit = Parameter("unit")  # 1 where the diagonal counts as ones

# Argument words.
STARTS, ORDER, COLUMNS, VALUES, OUT, WIDTH, ROWS, UPPER = range(8)


@range_kernel
def substitute_rows(args, lo, hi, tid):
    """Solve for columns lo to hi of OUT, which holds the right-hand side."""
    g = array(i64, args)
    starts, order, columns = array(i64, g[STARTS]), array(i64, g[ORDER]), array(i64, g[COLUMNS])
    values, width, rows, size = array(real, g[VALUES]), g[WIDTH], g[ROWS], 4 if real is f32 else 8
    for step in range(rows):
        row = step
        if g[UPPER] == 1:
            row = rows - 1 - step
        out = array(real, g[OUT] + size * row * width)
        diagonal = real(0)
        for k in range(starts[row], starts[row + 1]):
            p = k
            if ordered == 1:
                p = order[k]
            column = columns[p]
            if column == row:
                diagonal += values[p]
            elif (column > row) == (g[UPPER] == 1):
                a, x = values[p], array(real, g[OUT] + size * column * width)
                for j in range(lo, hi):
                    out[j] -= a * x[j]
        if unit == 0:
            for j in range(lo, hi):
                out[j] = out[j] / diagonal


def _reference(starts, order, columns, values, right, upper, unitriangular):
    out, rows = right.copy(), len(starts) - 1
    for row in reversed(range(rows)) if upper else range(rows):
        places = np.arange(starts[row], starts[row + 1])
        places = places if order is None else order[places]
        found = columns[places]
        other = places[found > row] if upper else places[found < row]
        out[row] -= values[other] @ out[columns[other]]
        if not unitriangular:
            with np.errstate(all="ignore"):
                out[row] /= values[places[found == row]].sum()
    return out


@referenced_by(_reference)
def substituted(starts, order, columns, values, right, upper, unitriangular):
    """X (N, K) with ``A @ X = right`` for the `upper` or lower triangle of A (N, N), all of one
    dtype; complex matrices by the reference."""
    if values.dtype not in COMPILED_DTYPES:
        return _reference(starts, order, columns, values, right, upper, unitriangular)
    out = np.array(right, order="C")
    rows, width = out.shape
    if out.size:
        address = substitute_rows.address(
            real=language_type(out.dtype), ordered=int(order is not None), unit=int(unitriangular)
        )
        words = [0] * 5 + [width, rows, int(upper)]
        plan = threads.plan(address, width, chunk(width, len(values) + rows), words)
        threads.run(plan, starts, order, columns, np.ascontiguousarray(values), out)
    return out
