"""Compiled products with matrices of signed bytes, whose rows have a scale each.

Argument words follow :mod:`rushlight.kernels.launch.prepared`.

A row of bytes is read for each row of the input, but stays in the first cache meanwhile. Bytes
become float32 in registers (``vpmovsxbd``, ``vcvtdq2ps``) and are multiplied and added there. With
few rows of input the time is that of reading the matrix, a quarter of float32's bytes; products of
integers (VNNI) would need the input rounded, too.
"""

from __future__ import annotations

from rushlight.machine.language.functions import array, f32, function, i8, i64, range_kernel

OUT, X, W, SCALE, BIAS = 1, 2, 3, 4, 5


@function(reassociate=True)
def byte_product(x, w, count):
    """The inner product of float32 and bytes, in vectors."""
    total = f32(0)
    for i in range(count):
        total += x[i] * f32(w[i])
    return total


@range_kernel(wide=True)
def byte_rows(args, lo, hi, tid):
    """OUT[r, c] = X[r, :] . W[c, :] * SCALE[c] + BIAS[c]: items are rows c of W. Constants: rows of
    X, elements of a row, rows of W, whether there is a bias (else that word is any address)."""
    g = array(i64, args)
    rows, n, channels, biased = g[6], g[7], g[8], g[9]
    scale, bias, out = array(f32, g[SCALE]), array(f32, g[BIAS]), array(f32, g[OUT])
    for c in range(lo, hi):
        w = array(i8, g[W] + c * n)
        for r in range(rows):
            x = array(f32, g[X] + 4 * r * n)
            total = byte_product(x, w, n) * scale[c]
            if biased != 0:
                total = total + bias[c]
            out[r * channels + c] = total
