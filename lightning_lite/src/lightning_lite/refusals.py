"""Lightning's names that exist so that the head of a program can be read, and refuse to be used.

`REFUSED` is the whole list, with what to use instead. Each is a class here; making one raises
NotImplementedError with the reason.
"""

from __future__ import annotations

from typing import Any

_XLA = "there is no XLA device; use the CPU or a CUDA device"
_DEEPSPEED = "DeepSpeed is a compiled extension of PyTorch; use strategy='auto'"

REFUSED = {
    "XLAAccelerator": _XLA,
    "XLACheckpointIO": _XLA,
    "XLAEnvironment": _XLA,
    "XLAFSDPStrategy": _XLA,
    "XLAPrecision": _XLA,
    "XLAProfiler": _XLA,
    "XLAStrategy": _XLA,
    "SingleDeviceXLAStrategy": _XLA,
    "DeepSpeedPrecision": _DEEPSPEED,
    "DeepSpeedStrategy": _DEEPSPEED,
    "convert_zero_checkpoint_to_fp32_state_dict": _DEEPSPEED,
    "TransformerEnginePrecision": "Transformer Engine needs a GPU of its own; use 'bf16-mixed'",
}


class Refused:
    """The base of the refused names' classes."""

    refuses = True
    reason = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} is not available: {self.reason}")


def is_refused(name: str) -> bool:
    """Whether a name of Lightning's is refused here."""
    return name in REFUSED


def __getattr__(name: str) -> Any:
    if name not in REFUSED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = type(name, (Refused,), {"reason": REFUSED[name], "__module__": __name__})
    globals()[name] = made
    return made
