"""What is known of GPU memory, and what can be asked of its pool."""

from __future__ import annotations

from collections import OrderedDict

from rushlight.cuda import index_of, is_available, needs_gpu
from rushlight.machine.cuda import runtime

_UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def _known(device=None) -> dict:
    """The pool's statistics; empty where there is no GPU."""
    return runtime.current().memory_statistics(index_of(device)) if is_available() else {}


def empty_cache() -> None:
    """Give GPU memory that is held in reserve back to the system."""
    if is_available():
        runtime.current().empty_cache()


def memory_allocated(device=None) -> int:
    """Bytes of GPU memory in use by tensors; 0 without a GPU."""
    return _known(device).get("allocated_bytes", 0)


def max_memory_allocated(device=None) -> int:
    """The most bytes that were in use since the start or :func:`reset_peak_memory_stats`."""
    return _known(device).get("peak_allocated_bytes", 0)


def memory_reserved(device=None) -> int:
    """Bytes of GPU memory that the pool holds, in use or not."""
    return _known(device).get("reserved_bytes", 0)


def max_memory_reserved(device=None) -> int:
    """The most bytes that the pool held."""
    return _known(device).get("peak_reserved_bytes", 0)


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved

_NAMES = {
    "allocated_bytes.all.current": "allocated_bytes",
    "allocated_bytes.all.peak": "peak_allocated_bytes",
    "reserved_bytes.all.current": "reserved_bytes",
    "reserved_bytes.all.peak": "peak_reserved_bytes",
    "active_bytes.all.current": "allocated_bytes",
    "active_bytes.all.peak": "peak_allocated_bytes",
    "allocation.all.allocated": "allocations",
    "allocation.all.freed": "frees",
    "allocation.all.current": "active_blocks",
    "active.all.current": "active_blocks",
    "num_alloc_retries": "retries",
    "num_ooms": "out_of_memory",
}


def memory_stats(device=None) -> OrderedDict:
    """Statistics of GPU memory by PyTorch's names; empty without a GPU."""
    known = _known(device)
    return OrderedDict(sorted((name, known[own]) for name, own in _NAMES.items() if own in known))


def host_memory_stats() -> OrderedDict:
    """Statistics of page-locked host memory: it is not counted."""
    return OrderedDict()


def _text(nbytes):
    for unit, scale in _UNITS:
        if nbytes >= scale:
            return f"{nbytes / scale:.1f} {unit}"
    return f"{nbytes} bytes"


def memory_summary(device=None, abbreviated: bool = False) -> str:
    """A printable account of GPU memory."""
    if not is_available():
        return "No GPU memory is in use: there is no GPU."
    known, index = _known(device), index_of(device)
    rows = [("Allocated", "allocated_bytes", "peak_allocated_bytes")]
    rows.append(("Reserved", "reserved_bytes", "peak_reserved_bytes"))
    lines = [f"Memory of GPU {index} ({runtime.current().properties(index).name})", ""]
    lines.append(f"{'':12}{'now':>14}{'peak':>14}")
    for name, now, peak in rows:
        lines.append(f"{name:12}{_text(known.get(now, 0)):>14}{_text(known.get(peak, 0)):>14}")
    if not abbreviated:
        lines.append("")
        for name in ("allocations", "frees", "active_blocks", "retries", "out_of_memory"):
            lines.append(f"{name.replace('_', ' '):20}{known.get(name, 0):>20}")
    return "\n".join(lines)


def memory_snapshot() -> list:
    """The blocks of the pool one by one: the pool does not list them."""
    needs_gpu("memory_snapshot")
    raise NotImplementedError(
        "cuda.memory_snapshot: the pool does not list its blocks; use memory_stats or "
        "memory_summary"
    )


def reset_peak_memory_stats(device=None) -> None:
    """Start measuring peaks of GPU memory anew."""
    if is_available():
        runtime.current().reset_peak(index_of(device))


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device=None) -> None:
    """Start the counts anew: only the peaks have a start."""
    reset_peak_memory_stats(device)


def mem_get_info(device=None) -> tuple[int, int]:
    """Bytes free on a GPU, and its total."""
    needs_gpu("mem_get_info")
    return runtime.current().memory_free(index_of(device))


def set_per_process_memory_fraction(fraction: float, device=None) -> None:
    """Let this process take at most a part of a GPU's memory."""
    needs_gpu("set_per_process_memory_fraction")
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    runtime.current().set_memory_fraction(fraction, index_of(device))


def get_allocator_backend() -> str:
    """The name of the allocator."""
    return "native"


def ipc_collect() -> None:
    """Free memory shared with processes that have ended: GPU memory is not shared here."""
    needs_gpu("ipc_collect")


__all__ = [
    "empty_cache",
    "get_allocator_backend",
    "host_memory_stats",
    "ipc_collect",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
]
