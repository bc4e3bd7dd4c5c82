"""PyTorch's switches for CUDA. They are kept and given back; nothing here uses CUDA."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class MatrixSwitches:
    """How CUDA may shorten matrix products. `allow_tf32` and the precision are one setting."""

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False
    fp32_precision = "none"
    precision = "highest"

    def __init__(self):
        self.watchers = []  # functions to call when full precision is asked for

    @property
    def allow_tf32(self) -> bool:
        """Whether products of float32 matrices may round their inputs to 10 bits."""
        return self.precision != "highest"

    @allow_tf32.setter
    def allow_tf32(self, value):
        self.precision = "high" if value else "highest"
        if not value:
            for watcher in self.watchers:
                watcher()


matmul = MatrixSwitches()

_ATTENTION = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True}


def is_built() -> bool:
    """Whether CUDA is built in: not in this version."""
    return False


def flash_sdp_enabled() -> bool:
    """Whether CUDA's flash attention may be chosen."""
    return _ATTENTION["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Allow or forbid CUDA's flash attention."""
    _ATTENTION["flash"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """Whether attention in plain products may be chosen."""
    return _ATTENTION["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Allow or forbid attention in plain products, on CUDA."""
    _ATTENTION["math"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Whether CUDA's memory-efficient attention may be chosen."""
    return _ATTENTION["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Allow or forbid CUDA's memory-efficient attention."""
    _ATTENTION["mem_efficient"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Whether cuDNN's attention may be chosen."""
    return _ATTENTION["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Allow or forbid cuDNN's attention."""
    _ATTENTION["cudnn"] = bool(enabled)


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """Inside, CUDA may choose among these attentions; the CPU's is the same in any case."""
    before = dict(_ATTENTION)
    _ATTENTION.update(
        flash=enable_flash,
        math=enable_math,
        mem_efficient=enable_mem_efficient,
        cudnn=enable_cudnn,
    )
    try:
        yield
    finally:
        _ATTENTION.update(before)
