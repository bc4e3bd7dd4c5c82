"""Transforms of Winograd convolution: tiles of R + 2 by R + 2 values, R by R outputs, 3x3 taps.

The method (Toom and Cook; Winograd 1980; Lavin and Gray 2015) evaluates polynomials at R + 1 points
and at infinity. The points decide how much rounding errors grow: 0, +-5/8, +-3/2 are the best of a
grid of sixteenths for R = 4; with the usual 0, +-1, +-2 errors are twice as large (Barabasz et al.
2020 explain why). Coefficients of inputs and outputs are exact in float32. Import at first need: it
imports the compiler.
"""

from __future__ import annotations

from fractions import Fraction

from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.microkernel import VECTOR, VL, ZERO, fma, load_vector, store_vector
from rushlight.machine.language.functions import Chosen, Emitted, Parameter, i64
from rushlight.machine.language.values import counted_loop

outputs = Parameter("outputs")  # R: 2 or 4
POINTS = {
    2: (Fraction(0), Fraction(1), Fraction(-1)),
    4: (Fraction(0), Fraction(5, 8), Fraction(-5, 8), Fraction(3, 2), Fraction(-3, 2)),
}


def matrices(points, taps=3):
    """(A', G, B') of exact fractions: outputs = A' [(G g) * (B' d)] for a row of taps g, inputs d.

    The last point is infinity: it takes the highest coefficients.
    """
    count = len(points) + 2 - taps
    at = [[p**k for p in points] + [Fraction(k == count - 1)] for k in range(count)]
    g, bt = [], []
    for p in points:
        others = [q for q in points if q != p]
        scale = _product([p - q for q in others])
        g.append([p**k / scale for k in range(taps)])
        bt.append([*_polynomial(others), Fraction(0)])
    g.append([Fraction(k == taps - 1) for k in range(taps)])
    bt.append(_polynomial(points))
    return at, g, bt


def _product(factors):
    result = Fraction(1)
    for factor in factors:
        result *= factor
    return result


def _polynomial(roots):
    """Coefficients, lowest first, of the product of (x - root)."""
    result = [Fraction(1)]
    for root in roots:
        shifted, scaled = [Fraction(0), *result], [*(root * c for c in result), Fraction(0)]
        result = [a - b for a, b in zip(shifted, scaled, strict=True)]
    return result


# ---- matrix times vectors ------------------------------------------------------------------------


def _combine(builder, coefficients, vectors):
    """Sum of coefficient * vector, zeros skipped and ones free; None for nothing."""
    total = None
    terms = [(c, v) for c, v in zip(coefficients, vectors, strict=True) if c]
    for coefficient, vector in sorted(terms, key=lambda term: abs(term[0]) != 1):
        constant = VECTOR([float(coefficient)] * VL)
        if total is None:
            if coefficient == -1:
                total = builder.fneg(vector)
            else:
                total = vector if coefficient == 1 else builder.fmul(vector, constant)
        elif coefficient == 1:
            total = builder.fadd(total, vector)
        elif coefficient == -1:
            total = builder.fsub(total, vector)
        else:
            total = fma(builder, vector, constant, total)
    return total


def _mirrored(rows):
    """Pairs (i, j) of rows that differ in the sign of the elements of odd index."""
    pairs = []
    for i, row in enumerate(rows):
        mirror = [-c if k % 2 else c for k, c in enumerate(row)]
        if mirror != row and mirror in rows[i + 1 :]:
            pairs.append((i, rows.index(mirror)))
    return pairs


def _apply(builder, matrix, vectors):
    """matrix @ vectors; points p and -p share the sums over even and over odd powers."""
    columns = [list(column) for column in zip(*matrix, strict=True)]
    paired = _mirrored(columns)
    if len(matrix) < len(columns) and paired:
        return _apply_folded(builder, matrix, list(vectors), paired)
    result = [None] * len(matrix)
    for i, j in _mirrored(matrix):
        even = _combine(builder, matrix[i][::2], vectors[::2])
        odd = _combine(builder, matrix[i][1::2], vectors[1::2])
        result[i], result[j] = builder.fadd(even, odd), builder.fsub(even, odd)
    return [
        _combine(builder, row, vectors) if value is None else value
        for row, value in zip(matrix, result, strict=True)
    ]


def _apply_folded(builder, matrix, vectors, paired):
    """Columns of opposite points: even rows take sums of two vectors, odd rows differences."""
    total, difference = list(vectors), list(vectors)
    dropped = {j for _, j in paired}
    for i, j in paired:
        total[i] = builder.fadd(vectors[i], vectors[j])
        difference[i] = builder.fsub(vectors[i], vectors[j])
    kept = [k for k in range(len(vectors)) if k not in dropped]
    result = []
    for r, row in enumerate(matrix):
        given = difference if r % 2 else total
        result.append(_combine(builder, [row[k] for k in kept], [given[k] for k in kept]))
    return result


def _sandwich(name, matrix, watched=False):
    """target = M source M' for ``vectors`` vectors of channels; elements are at byte strides.

    ``watched``: one more argument, the address of a vector that becomes NaN in the lanes where what
    is stored is not finite.
    """
    inner = range(len(matrix[0]))

    def emit(b, values):
        source, source_row, source_column, target, target_row, target_column, vectors = values[:7]
        with counted_loop(b, vectors) as index:
            shift = b.mul(index, mk.I64(4 * VL))

            def address(base, row_stride, column_stride, i, j):
                offset = b.add(b.mul(row_stride, mk.I64(i)), b.mul(column_stride, mk.I64(j)))
                return b.add(b.add(base, shift), offset)

            halves = []  # column by column
            for j in inner:
                column = [
                    load_vector(b, address(source, source_row, source_column, i, j)) for i in inner
                ]
                halves.append(_apply(b, matrix, column))
            seen = load_vector(b, values[7]) if watched else None
            for i in range(len(matrix)):
                row = _apply(b, matrix, [half[i] for half in halves])
                for j, value in enumerate(row):
                    store_vector(b, value, address(target, target_row, target_column, i, j))
                    seen = fma(b, value, ZERO, seen) if watched else None
            if watched:
                store_vector(b, seen, values[7])

    return Emitted(name, None, (i64,) * (7 + watched), emit)


def _transposed(matrix):
    return [list(column) for column in zip(*matrix, strict=True)]


def _by_outputs(name, choose, watched=False):
    made = {r: _sandwich(f"{name}_{r}", choose(*matrices(p)), watched) for r, p in POINTS.items()}
    return Chosen(outputs, made)


# (source, its row and column stride, target, its row and column stride, vectors); those of results
# also take where values that are not finite are noted
transform_input = _by_outputs("transform_input", lambda at, g, bt: bt)
transform_weights = _by_outputs("transform_weights", lambda at, g, bt: g)
transform_output = _by_outputs("transform_output", lambda at, g, bt: at, watched=True)
transform_gradient = _by_outputs("transform_gradient", lambda at, g, bt: _transposed(at))
transform_weight_gradient = _by_outputs(
    "weight_gradient", lambda at, g, bt: _transposed(g), watched=True
)
