"""Switches of PyTorch's executor of TorchScript. Code runs as it is written, whatever they say,
so that they change no result and no speed; what is set can be asked for."""

from __future__ import annotations

import contextlib

_fusion = {"onednn": False, "strategy": [("STATIC", 2), ("DYNAMIC", 10)]}


def enable_onednn_fusion(enabled: bool) -> None:
    """Say whether oneDNN may fuse operations, by default not; nothing fuses them here."""
    _fusion["onednn"] = bool(enabled)


def onednn_fusion_enabled() -> bool:
    """What :func:`enable_onednn_fusion` was told last.

    >>> rushlight.jit.onednn_fusion_enabled()
    False
    """
    return bool(_fusion["onednn"])


def set_fusion_strategy(strategy: list[tuple[str, int]]):
    """Say how often code is compiled for fixed (``"STATIC"``) and for any sizes (``"DYNAMIC"``);
    returns what was set before. Code is compiled once here, for all sizes.

    Raises ValueError for another word.
    """
    for word, _ in strategy:
        if word not in ("STATIC", "DYNAMIC"):
            raise ValueError(f"FusionBehavior only supported 'STATIC' or 'DYNAMIC', got: {word}")
    before, _fusion["strategy"] = _fusion["strategy"], [tuple(each) for each in strategy]
    return before


@contextlib.contextmanager
def optimized_execution(should_optimize: bool):
    """Inside, PyTorch's executor rewrites code or does not; code runs as it is written here."""
    yield


@contextlib.contextmanager
def fuser(name: str):
    """Inside, PyTorch's executor uses one of its fusers, ``"fuser0"`` to ``"fuser3"``; none does
    anything here.

    Raises Exception for another name.
    """
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3"):
        raise Exception(f"unrecognized fuser option (name: {name})")  # noqa: TRY002 - PyTorch's
    yield


__all__ = [
    "enable_onednn_fusion",
    "fuser",
    "onednn_fusion_enabled",
    "optimized_execution",
    "set_fusion_strategy",
]
