"""What the processor can do."""

from __future__ import annotations

import functools
import os
import pathlib

_BEYOND_AVX2 = ("avx512", "avx10", "amx")  # how the names of LLVM's features begin


@functools.cache
def features():
    """LLVM's features of the processor that kernels may use, by name.

    ``RUSHLIGHT_VECTOR_LENGTH=8`` leaves out those that processors with AVX2 do not have.
    """
    import llvmlite.binding

    found = llvmlite.binding.get_host_cpu_features()
    if os.environ.get("RUSHLIGHT_VECTOR_LENGTH") == "8":
        found.update((name, False) for name in list(found) if name.startswith(_BEYOND_AVX2))
    return found


def get_cpu_capability() -> str:
    """The widest vector instructions kernels are compiled for, in PyTorch's names: ``"AVX512"``,
    ``"AVX2"``, ``"NEON"`` or ``"DEFAULT"``."""
    import platform

    if platform.machine().lower() in ("aarch64", "arm64"):
        return "NEON"
    found = features()
    if found.get("avx512f") and found.get("avx512dq") and found.get("avx512bw"):
        return "AVX512"
    return "AVX2" if found.get("avx2") and found.get("fma") else "DEFAULT"


@functools.cache
def compresses_slowly() -> bool:
    """Whether chosen lanes of a vector are stored by microcode, as on Zen 4: NumPy's sort, which
    does that all the time, takes four to eight times as long there."""
    import llvmlite.binding

    return llvmlite.binding.get_host_cpu_name() == "znver4"


@functools.cache
def has_two_wide_units() -> bool:
    """Whether two units multiply and add 512 bits at a time, as on Intel's servers and Zen 5: what
    feeds them has to be twice as quick as for one, which Zen 4 has."""
    import llvmlite.binding

    found = features()
    return bool(found.get("avx512f")) and llvmlite.binding.get_host_cpu_name() != "znver4"


def _of_cache(index, name):
    """What Linux says of a cache, or an empty text."""
    try:
        place = pathlib.Path(f"/sys/devices/system/cpu/cpu0/cache/index{index}/{name}")
        return place.read_text().strip()
    except OSError:
        return ""


@functools.cache
def ways_of_first_cache() -> int:
    """Lines of one set of the first cache for data; 8 where that is unknown."""
    ways = _of_cache(0, "ways_of_associativity")
    return int(ways) if ways.isdigit() and int(ways) >= 8 else 8


@functools.cache
def streams_from() -> int:
    """Bytes of a result from which stores go past the caches: what the last cache holds, at most
    32 MiB; 16 MiB where that is unknown or less. Below it what is written is read again from the
    cache, and stores into it are quicker themselves."""
    size = _of_cache(3, "size").removesuffix("K")
    return min(max(int(size) << 10 if size.isdigit() else 0, 16 << 20), 32 << 20)
