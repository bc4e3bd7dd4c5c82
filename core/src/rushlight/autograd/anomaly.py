"""Anomaly mode: find the forward line behind a nan or an error in the backward pass."""

from __future__ import annotations

import threading
import traceback
import warnings

from rushlight.machine import np
from rushlight.tensor.dispatch import STATE


class _Anomaly:
    __slots__ = ("check_nan", "enabled")


anomaly = _Anomaly()
anomaly.enabled, anomaly.check_nan = False, True


class _Running(threading.local):
    node = None  # whose formulas run now: what is recorded meanwhile is its doing


_running = _Running()
_NOTE, _PARENT = "traceback_", "parent_"  # in a node's `metadata`


def note_line(node) -> None:
    """Remember where a node was recorded, and during whose backward."""
    node.metadata[_NOTE] = traceback.format_stack()[:-2]
    if _running.node is not None:
        node.metadata[_PARENT] = _running.node


def run_in_anomaly(run, node, grads, create):
    """``run(node, grads, create)``; an error or a nan in what it gives is reported with the line of
    the forward call."""
    previous, _running.node = _running.node, node
    try:
        pieces = run(node, grads, create)
        if anomaly.check_nan:
            _check(node, pieces)
    except Exception:
        _report(node)
        raise
    finally:
        _running.node = previous
    return pieces


def _check(node, pieces):
    for number, piece in enumerate(pieces):
        if piece is None or piece._array.dtype.kind not in "fc" or not np.isnan(piece._array).any():
            continue
        raise RuntimeError(
            f"Function '{node.name()}' returned nan values in its {number}th output."
        )


def _report(node):
    """Warn of the lines that recorded a node, the node in whose backward that was, and so on."""
    what, did = f"Error detected in {node.name()}", "caused the error"
    while node is not None:
        lines = node.metadata.get(_NOTE)
        if lines is None:
            lines = ["No forward line is known: anomaly mode was off when it ran."]
        warnings.warn(
            f"{what}. Traceback of forward call that {did}:\n" + "".join(lines), stacklevel=5
        )
        node = node.metadata.get(_PARENT)
        if node is not None:
            what = f"\n\nPrevious calculation was induced by {node.name()}"
            did = "induced the previous calculation"


class set_detect_anomaly:  # noqa: N801 - PyTorch's public name
    """Turn anomaly mode on or off; as a context manager, until its end."""

    def __init__(self, mode: bool, check_nan: bool = True):
        self.previous = anomaly.enabled, anomaly.check_nan
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        set_anomaly_enabled(*self.previous)


class detect_anomaly(set_detect_anomaly):  # noqa: N801 - PyTorch's public name
    """Inside, a nan in the backward pass raises, and for it and for every error there the forward
    line that it came from is in a warning."""

    def __init__(self, check_nan: bool = True):
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=2,
        )
        super().__init__(True, check_nan)


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return anomaly.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode, once on, looks for nan."""
    return anomaly.check_nan


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Turn anomaly mode on or off."""
    for name, value in (("mode", mode), ("check_nan", check_nan)):
        if not isinstance(value, bool):
            raise TypeError(
                f"set_detect_anomaly(): argument '{name}' must be bool, not {type(value).__name__}"
            )
    # While it is on, every op takes the general path, which notes the line.
    STATE.modes += int(mode) - int(anomaly.enabled)
    anomaly.enabled, anomaly.check_nan = mode, check_nan
