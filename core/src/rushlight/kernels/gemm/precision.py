"""How exact products of float32 matrices are: what ``set_float32_matmul_precision`` sets."""

from __future__ import annotations

from rushlight.backends import cuda

__all__ = ["float32_precision", "planes_of_float32", "set_float32_precision"]

# bfloat16 values a float32 value is split into where matrix units multiply: 24, 16 and 8 bits
_PLANES = {"highest": 3, "high": 2, "medium": 1}
_chosen = "highest"


def float32_precision():
    """ "highest", "high" or "medium"."""
    return _chosen


def set_float32_precision(precision):
    """Choose; products planned before are planned again."""
    global _chosen
    from rushlight.kernels.gemm import products as matrix

    _chosen = precision
    matrix.forget_plans()


def _back_to_highest():
    if _chosen != "highest":
        set_float32_precision("highest")


cuda.matmul.watchers.append(_back_to_highest)  # `allow_tf32 = False` is the same setting


def planes_of_float32():
    """Number of bfloat16 planes that products of float32 are computed from."""
    return _PLANES[_chosen]
