"""Convolutions with one window, as large as the image: products of two matrices.

The last layer of a discriminator, the first of a generator (its input gradient), and 1 x 1
convolutions of single pixels. Operands of any strides; results are dense.
"""

from __future__ import annotations

from rushlight.kernels.gemm.products import product_into

__all__ = ["Forward", "InputGradient", "WeightGradient", "fits"]


def fits(image, kernel, padding, dilation, groups):
    """Whether the only window of every channel is its whole image."""
    dense = all(d == 1 or k == 1 for d, k in zip(dilation, kernel, strict=True))
    return groups == 1 and image == kernel and not any(padding) and dense


class Forward:
    """y[n, o] = sum over x[n] * w[o], plus bias."""

    @staticmethod
    def run(x, w, y, bias):
        """Write into a dense ``y``."""
        rows = len(w)
        product_into(x.reshape(len(x), -1), w.reshape(rows, -1).T, y.reshape(len(x), rows), bias)


class InputGradient:
    """dx[n] = sum over o of dy[n, o] * w[o]."""

    @staticmethod
    def run(dy, w, dx, bias):
        """Write into a dense ``dx``."""
        rows = len(w)
        product_into(dy.reshape(len(dx), rows), w.reshape(rows, -1), dx.reshape(len(dx), -1), bias)


class WeightGradient:
    """dw[o] = sum over n of dy[n, o] * x[n]."""

    @staticmethod
    def run(x, dy, dw):
        """Write into a dense ``dw``."""
        rows = len(dw)
        product_into(dy.reshape(len(x), rows).T, x.reshape(len(x), -1), dw.reshape(rows, -1))
