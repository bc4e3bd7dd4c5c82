"""Anomaly mode: find the forward line behind a nan that appears in the backward pass."""

from __future__ import annotations

import traceback
import warnings

from rushlight.backends import np
from rushlight.tensor.dispatch import STATE


class _Anomaly:
    __slots__ = ("check_nan", "enabled")


anomaly = _Anomaly()
anomaly.enabled = anomaly.check_nan = False


def note_line(node) -> None:
    """Remember where a node was recorded."""
    node.traceback = "".join(traceback.format_stack()[:-3])


def check(node, pieces) -> None:
    """Raise if a gradient a node computed holds nan; the forward line is in a warning."""
    if not anomaly.check_nan:
        return
    for number, piece in enumerate(pieces):
        if piece is None or piece._array.dtype.kind not in "fc" or not np.isnan(piece._array).any():
            continue
        line = node.__dict__.get("traceback")
        if line:
            warnings.warn(
                f"Error detected in {node.name()}. Traceback of forward call that caused the "
                f"error:\n{line}",
                stacklevel=2,
            )
        raise RuntimeError(
            f"Function '{node.name()}' returned nan values in its {number}th output."
        )


class set_detect_anomaly:  # noqa: N801 - PyTorch's public name
    """Turn anomaly mode on or off; as a context manager, until its end."""

    def __init__(self, mode: bool, check_nan: bool = True):
        self.previous = anomaly.enabled, anomaly.check_nan
        _switch(bool(mode), bool(check_nan))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        _switch(*self.previous)


class detect_anomaly(set_detect_anomaly):  # noqa: N801 - PyTorch's public name
    """Inside, a nan in the backward pass raises and names the forward line it came from."""

    def __init__(self, check_nan: bool = True):
        super().__init__(True, check_nan)


def _switch(enabled, check_nan):
    """While it is on, every op takes the general way, which notes the line."""
    STATE.modes += int(enabled) - int(anomaly.enabled)
    anomaly.enabled, anomaly.check_nan = enabled, check_nan and enabled


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return anomaly.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for nan."""
    return anomaly.check_nan


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Turn anomaly mode on or off."""
    _switch(bool(mode), bool(check_nan))
