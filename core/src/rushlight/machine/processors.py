"""The processor that kernels are made for, and how far the machine can run its instructions.

Everything that depends on the kind of processor asks :func:`processor`. It is the machine's own, or
one of MODELS by name in ``RUSHLIGHT_PROCESSOR``: then kernels, blocks and plans are chosen as they
are there. Instructions that the machine lacks are replaced by functions with the same results
(:mod:`rushlight.machine.language.emulated_instructions`), so that each way of every processor can
be run, and tested, on any other.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from typing import NamedTuple

# What LLVM calls the features that kernels of ours ask for, or that decide which vectors it uses.
_FAMILIES = ("avx", "fma", "f16c", "amx", "pclmul", "vpclmulqdq", "vaes", "gfni")
_HASWELL = frozenset({"avx", "avx2", "fma", "f16c", "pclmul"})
_SKYLAKE = _HASWELL | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
_ICELAKE = _SKYLAKE | {
    "avx512bitalg", "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512vnni", "avx512vpopcntdq",
    "gfni", "vaes", "vpclmulqdq",
}  # fmt: skip
_ZEN4 = _ICELAKE | {"avx512bf16"}

_ONE_WIDE_UNIT = ("znver4", "cannonlake", "icelake-client", "rocketlake", "tigerlake")


@dataclasses.dataclass(frozen=True)
class Processor:
    """What kernels are chosen and compiled by.

    ``name`` is LLVM's, after which code is tuned; ``features`` says for each of LLVM's features
    whether kernels may use it, ``emulated`` which of those the machine lacks. ``wide_units``: how
    many units multiply and add 512 bits at a time.
    """

    name: str
    features: dict = dataclasses.field(repr=False, compare=False)
    emulated: frozenset = frozenset()
    wide_units: int = 0
    first_cache_ways: int = 8
    last_cache: int = 0  # bytes; 0: not known

    def has(self, *names: str) -> bool:
        """Whether kernels may use all of these features."""
        return all(self.features.get(name) for name in names)

    @property
    def vector_length(self) -> int:
        """float32 lanes of the widest registers."""
        return 16 if self.has("avx512f") else 8 if self.has("avx2") else 4

    def flags(self) -> str:
        """What LLVM may use, in the notation of its ``-mattr``: nothing that is emulated."""
        kept = {name: on and name not in self.emulated for name, on in self.features.items()}
        return ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(kept.items()))

    def fingerprint(self) -> str:
        """The same text in every process that makes the same code."""
        return (
            f"{self.name} {self.flags()} emulates {sorted(self.emulated)} units {self.wide_units} "
            f"caches {self.first_cache_ways} {self.last_cache}"
        )


class _Model(NamedTuple):
    features: frozenset
    wide_units: int = 0
    first_cache_ways: int = 8
    last_cache: int = 32 << 20


# One for each way that kernels can go, by LLVM's name of a processor that goes it.
MODELS = {
    "x86-64-v2": _Model(frozenset()),  # 128 bits, no fused multiply-add
    "haswell": _Model(_HASWELL),  # AVX2; Zen 3 alike
    "alderlake": _Model(_HASWELL | {"avxvnni"}, first_cache_ways=12),  # bytes in 256 bits
    "skylake-avx512": _Model(_SKYLAKE, wide_units=2),
    "icelake-client": _Model(_ICELAKE, wide_units=1, first_cache_ways=12, last_cache=8 << 20),
    "znver4": _Model(_ZEN4, wide_units=1),  # bfloat16 pairs by one unit
    "znver5": _Model(_ZEN4 | {"avx512vp2intersect"}, wide_units=2, first_cache_ways=12),
    "sapphirerapids": _Model(  # matrix units
        _ZEN4 | {"avx512fp16", "avxvnni", "amx-tile", "amx-bf16", "amx-int8"},
        wide_units=2,
        first_cache_ways=12,
    ),
}


def model(name: str) -> Processor:
    """One of MODELS on this machine; ValueError for another name."""
    if name not in MODELS:
        known = ", ".join(MODELS)
        raise ValueError(f"RUSHLIGHT_PROCESSOR: expected one of {known}; got {name!r}")
    import llvmlite.binding

    chosen, found = MODELS[name], dict(llvmlite.binding.get_host_cpu_features())
    decided = {key for key in found if key.startswith(_FAMILIES)} | chosen.features
    lacking = frozenset(key for key in chosen.features if not found.get(key))
    found.update((key, key in chosen.features) for key in decided)
    return Processor(
        name, found, lacking, chosen.wide_units, chosen.first_cache_ways, chosen.last_cache
    )


def _host() -> Processor:
    import llvmlite.binding

    found = dict(llvmlite.binding.get_host_cpu_features())
    name = llvmlite.binding.get_host_cpu_name()
    if name in _ONE_WIDE_UNIT and found.get("amx-tile"):
        # A virtual machine may go by the number of a desktop's processor; none of those has matrix
        # units, whose servers have two units for vectors.
        name = "sapphirerapids"
    units = 1 if name in _ONE_WIDE_UNIT else 2  # what LLVM does not know is likely to be a server
    ways, size = _of_cache(0, "ways_of_associativity"), _of_cache(3, "size").removesuffix("K")
    return Processor(
        name,
        found,
        wide_units=units if found.get("avx512f") else 0,
        first_cache_ways=int(ways) if ways.isdigit() else 0,
        last_cache=int(size) << 10 if size.isdigit() else 0,
    )


@functools.cache
def processor() -> Processor:
    """The processor that this process makes kernels for: ``RUSHLIGHT_PROCESSOR`` or the host."""
    chosen = os.environ.get("RUSHLIGHT_PROCESSOR")
    return model(chosen) if chosen else _host()


def get_cpu_capability() -> str:
    """The widest vector instructions kernels are compiled for, in PyTorch's names: ``"AVX512"``,
    ``"AVX2"``, ``"NEON"`` or ``"DEFAULT"``."""
    import platform

    if platform.machine().lower() in ("aarch64", "arm64"):
        return "NEON"
    if processor().has("avx512f", "avx512dq", "avx512bw"):
        return "AVX512"
    return "AVX2" if processor().has("avx2", "fma") else "DEFAULT"


@functools.cache
def fuses_vectors() -> bool:
    """Whether vectors are multiplied and added by one instruction: on x86 with AVX2 and FMA, on
    other 64-bit processors always. Asks NumPy, where the host itself is meant: LLVM takes longer to
    import."""
    if os.environ.get("RUSHLIGHT_PROCESSOR"):
        return processor().has("avx2", "fma")
    from rushlight.machine import np

    found = np._core._multiarray_umath.__cpu_features__
    if "AVX2" not in found:
        return bool(found.get("ASIMD"))
    return bool(found["AVX2"] and found["FMA3"])


@functools.cache
def compresses_slowly() -> bool:
    """Whether chosen lanes of a vector are stored by microcode, as on Zen 4: NumPy's sort, which
    does that all the time, takes four to eight times as long there."""
    return processor().name == "znver4"


@functools.cache
def has_two_wide_units() -> bool:
    """Whether two units multiply and add 512 bits at a time, as on Intel's servers and Zen 5: what
    feeds them has to be twice as quick as for one, which Zen 4 has."""
    return processor().wide_units == 2


def _of_cache(index, name):
    """What Linux says of a cache, or an empty text."""
    try:
        with open(f"/sys/devices/system/cpu/cpu0/cache/index{index}/{name}") as file:
            return file.read().strip()
    except OSError:
        return ""


@functools.cache
def ways_of_first_cache() -> int:
    """Lines of one set of the first cache for data; 8 where that is unknown."""
    return max(processor().first_cache_ways, 8)


@functools.cache
def streams_from() -> int:
    """Bytes of a result from which stores go past the caches: what the last cache holds, at most
    32 MiB; 16 MiB where that is unknown or less. Below it what is written is read again from the
    cache, and stores into it are quicker themselves."""
    return min(max(processor().last_cache, 16 << 20), 32 << 20)
