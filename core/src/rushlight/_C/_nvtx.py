"""Ranges and marks for NVIDIA's profiler, under the names of PyTorch's compiled part."""

from rushlight.cuda.nvtx import mark as markA  # noqa: N812 - PyTorch's name
from rushlight.cuda.nvtx import range_pop as rangePop  # noqa: N812 - PyTorch's name
from rushlight.cuda.nvtx import range_push as rangePushA  # noqa: N812 - PyTorch's name

__all__ = ["markA", "rangePop", "rangePushA"]
