"""What `gemm` computes, described once for both runtimes."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import ml_dtypes
import numpy as np

EPILOGUES = ("none", "bias", "relu_bias", "gelu_bias")
DTYPES = tuple(map(np.dtype, (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)))


@dataclass(frozen=True)
class Product:
    """``out[i] = epilogue(alpha * a[i] @ b[i] + beta * out[i])`` for ``i`` in ``range(batch)``.

    `a` is [m, k], `b` is [k, n], `out` is [m, n]. Each has a pair of strides (row, column) and a
    stride from one member of the batch to the next, all in elements; in every pair one stride is
    1 (the other at least the extent), so that both transposes are expressible; a batch stride may
    be 0 (not `out`'s). Float16 and bfloat16 accumulate in float32. `bias`, of length `n` and
    `out`'s dtype, is added to every row; ``gelu_bias`` is the tanh form. `tf32` lets float32
    products round their inputs to 10 bits.
    """

    dtype: np.dtype
    m: int
    n: int
    k: int
    a_strides: tuple[int, int]
    b_strides: tuple[int, int]
    out_strides: tuple[int, int]
    batch: int = 1
    batch_strides: tuple[int, int, int] = (0, 0, 0)
    alpha: float = 1.0
    beta: float = 0.0
    epilogue: str = "none"
    out_dtype: np.dtype | None = None
    tf32: bool = False

    def checked(self) -> Product:
        """This product; ValueError where it cannot be computed as described."""
        if self.dtype not in DTYPES or self.result_dtype not in DTYPES:
            raise ValueError(f"gemm(): dtype {self.dtype} to {self.result_dtype} is not supported")
        if self.epilogue not in EPILOGUES:
            raise ValueError(f"gemm(): epilogue {self.epilogue!r}; expected one of {EPILOGUES}")
        matrices = (
            ("a", self.a_strides, self.m, self.k),
            ("b", self.b_strides, self.k, self.n),
            ("out", self.out_strides, self.m, self.n),
        )
        for name, strides, rows, columns in matrices:
            if not _is_matrix(strides, rows, columns):
                raise ValueError(
                    f"gemm(): {name} of [{rows}, {columns}] has strides {strides}; one must be 1, "
                    "the other at least the extent of the first"
                )
        return self

    @functools.cached_property
    def plans(self) -> dict:
        """What a library prepared for this product, by device and alignments."""
        return {}

    @functools.cached_property
    def result_dtype(self) -> np.dtype:
        """Dtype of `out`; that of the inputs where not given."""
        return self.dtype if self.out_dtype is None else self.out_dtype


# A step asks for the same products again and again: one object each, which keeps its plans.
described = functools.lru_cache(maxsize=4096)(Product)


def _is_matrix(strides, rows, columns):
    row, column = strides
    return (
        (column == 1 or columns <= 1)
        and (row >= columns or rows <= 1)
        or ((row == 1 or rows <= 1) and (column >= rows or columns <= 1))
    )


def gelu_tanh(x):
    """The tanh form of GELU, as cuBLASLt's epilogue computes it."""
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def compute(product: Product, a, b, out, bias=None) -> None:
    """The product over host arrays of shape [batch, rows, columns], written into `out`; infinities
    and NaN are results like any other."""
    with np.errstate(all="ignore"):
        _compute(product, a, b, out, bias)


def _compute(product, a, b, out, bias):
    wide = np.float64 if product.dtype == np.float64 else np.float32
    result = np.matmul(a.astype(wide), b.astype(wide)) * wide(product.alpha)
    if product.beta:
        result += wide(product.beta) * out.astype(wide)
    if product.epilogue != "none":
        result = result + bias.astype(wide)
    if product.epilogue == "relu_bias":
        result = np.where(result < 0, wide(0), result)
    elif product.epilogue == "gelu_bias":
        result = gelu_tanh(result)
    out[...] = result.astype(product.result_dtype)
