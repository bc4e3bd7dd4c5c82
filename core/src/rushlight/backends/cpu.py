"""What the processor can do."""

from __future__ import annotations

import functools


def get_cpu_capability() -> str:
    """The widest vector instructions kernels are compiled for, in PyTorch's names: ``"AVX512"``,
    ``"AVX2"``, ``"NEON"`` or ``"DEFAULT"``."""
    import platform

    if platform.machine().lower() in ("aarch64", "arm64"):
        return "NEON"
    import llvmlite.binding

    features = llvmlite.binding.get_host_cpu_features()
    if features.get("avx512f") and features.get("avx512dq") and features.get("avx512bw"):
        return "AVX512"
    return "AVX2" if features.get("avx2") and features.get("fma") else "DEFAULT"


@functools.cache
def compresses_slowly() -> bool:
    """Whether chosen lanes of a vector are stored by microcode, as on Zen 4: NumPy's sort, which
    does that all the time, takes four to eight times as long there."""
    import llvmlite.binding

    return llvmlite.binding.get_host_cpu_name() == "znver4"
