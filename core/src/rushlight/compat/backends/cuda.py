"""``torch.backends.cuda``: no GPU is there; the switches change nothing."""

from __future__ import annotations


class _MatrixProducts:
    """Switches of matrix products on a GPU."""

    def __init__(self):
        self.allow_tf32 = False
        self.allow_fp16_reduced_precision_reduction = True
        self.allow_bf16_reduced_precision_reduction = True
        self.fp32_precision = "none"


matmul = _MatrixProducts()


def is_built() -> bool:
    """False: this is not a build with CUDA."""
    return False
