"""Compiled loop behind :mod:`rushlight.kernels.linalg.cross`."""

from __future__ import annotations

from rushlight.machine.language.functions import array, f32, i64, range_kernel, real

__all__ = ["cross_rows"]

OUT, A, B, INNER = range(1, 5)


@range_kernel
def cross_rows(args, lo, hi, tid):
    """Items are blocks of three rows of INNER elements. Words: a number, OUT, A, B, INNER."""
    g, size = array(i64, args), 4 if real is f32 else 8
    inner = g[INNER]
    if inner == 1:
        a, b, out = array(real, g[A]), array(real, g[B]), array(real, g[OUT])
        for item in range(lo, hi):
            i = 3 * item
            x, y, z = a[i], a[i + 1], a[i + 2]
            u, v, w = b[i], b[i + 1], b[i + 2]
            out[i] = y * w - z * v
            out[i + 1] = z * u - x * w
            out[i + 2] = x * v - y * u
    else:
        for item in range(lo, hi):
            at = 3 * size * inner * item
            a, b, out = array(real, g[A] + at), array(real, g[B] + at), array(real, g[OUT] + at)
            for j in range(inner):
                x, y, z = a[j], a[inner + j], a[2 * inner + j]
                u, v, w = b[j], b[inner + j], b[2 * inner + j]
                out[j] = y * w - z * v
                out[inner + j] = z * u - x * w
                out[2 * inner + j] = x * v - y * u
