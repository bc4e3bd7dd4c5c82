"""The seam to CUDA: one runtime object, either on a device or emulated on the CPU.

``RUSHLIGHT_CUDA`` chooses: ``real`` (CuPy and a driver), ``emu`` (the production CUDA C++ compiled
by g++ and run on the CPU, for tests), ``off``. Without it: real where it works, else none.

Members of a runtime (:class:`~rushlight.machine.cuda.runtime.emulated.EmulatedRuntime` documents
each; :class:`~rushlight.machine.cuda.runtime.real.RealRuntime` has the same):

- ``name``, ``device_count()``, ``properties(device)``
- ``allocate(nbytes, device, stream) -> Block``, ``memory_statistics(device)``,
  ``reset_peak(device)``, ``set_memory_fraction(fraction, device)``, ``empty_cache()``,
  ``allocate_pinned(nbytes)``
- ``copy_in``, ``copy_out``, ``copy_within``, ``fill_bytes``, ``view``
- ``synchronize``, ``stream_create``, ``stream_destroy``, ``stream_synchronize``, ``stream_query``,
  ``stream_wait_event``, ``event_create``, ``event_record``, ``event_query``,
  ``event_synchronize``, ``event_elapsed``
- ``load(source, options) -> Module``, ``Module.kernel(name)``, ``launch``
- ``gemm`` (:class:`~rushlight.machine.cuda.runtime.products.Product`)
- ``nccl`` (:class:`~rushlight.machine.cuda.runtime.nccl.Library`)
- ``graph_begin``, ``graph_end``, ``is_capturing``
- ``counters``
"""

from __future__ import annotations

import os

from rushlight.machine.cuda.runtime import streams

__all__ = ["available", "current", "reset", "streams", "why_unavailable"]

CHOICES = ("real", "emu", "off")
_chosen: dict = {}


def _real():
    import cupy

    from rushlight.machine.cuda.runtime.real import RealRuntime

    if cupy.cuda.runtime.is_hip:
        from rushlight.machine.cuda.runtime.rocm import RocmRuntime

        return RocmRuntime()
    return RealRuntime()


def _emulated():
    from rushlight.machine.cuda.runtime.emulated import EmulatedRuntime

    return EmulatedRuntime()


def _reason_real():
    from rushlight.machine.cuda.runtime.presence import why_unavailable as reason

    return reason()


def _reason_emulated():
    from rushlight.machine.cuda.runtime.emulator_build import why_unavailable as reason

    return reason()


def _choose(wish):
    """A runtime or None, and the reason for None."""
    if wish == "off":
        return None, "CUDA is switched off: RUSHLIGHT_CUDA=off"
    if wish == "emu":
        reason = _reason_emulated()
        return (None, reason) if reason else (_emulated(), None)
    if wish not in ("", "real"):
        return None, f"RUSHLIGHT_CUDA is {wish!r}; expected one of {', '.join(CHOICES)}"
    reason = _reason_real()
    if reason:
        return None, reason
    try:
        return _real(), None
    except Exception as error:  # whatever a driver or library raises: the answer is "no CUDA"
        return None, f"CUDA's start failed: {type(error).__name__}: {error}"


def _found():
    global _now
    wish = os.environ.get("RUSHLIGHT_CUDA", "")
    if wish not in _chosen:
        _chosen[wish] = _choose(wish)
    _now = _chosen[wish][0]
    return _chosen[wish]


_now = None  # what the last look at the environment gave: reading it at every launch costs too much


def current():
    """The chosen runtime; RuntimeError with the reason where there is none. A changed environment
    is noticed by :func:`available`, :func:`why_unavailable` and :func:`reset`."""
    if _now is not None:
        return _now
    runtime, reason = _found()
    if runtime is None:
        raise RuntimeError(f"CUDA is not available: {reason}")
    return runtime


def available() -> bool:
    """Whether there is a runtime with at least one device; never raises."""
    runtime, _ = _found()
    return runtime is not None and runtime.device_count() > 0


def why_unavailable() -> str | None:
    """Why CUDA cannot be used and what to install; None when it can. Never raises."""
    runtime, reason = _found()
    if runtime is not None and runtime.device_count() == 0:
        return "the driver reports no device"
    return reason


def reset() -> None:
    """Forget the choice, so that the next :func:`current` looks again (for tests)."""
    global _now
    _chosen.clear()
    _now = None
