"""ONNX: there is no exporter in this version, so nothing is ever being exported."""

from __future__ import annotations

from rushlight.refusals import rest_of


def is_in_onnx_export() -> bool:
    """Whether a model is being exported just now: never."""
    return False


__getattr__ = rest_of(__name__)
