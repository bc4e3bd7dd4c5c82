"""Errors of the exporter."""

from __future__ import annotations


class OnnxExporterError(RuntimeError):
    """A model cannot be written as ONNX."""


class OnnxImporterError(RuntimeError):
    """A file is no valid ONNX model."""


class UnsupportedOperatorError(OnnxExporterError):
    """An op has no translation; the text names it and the line that called it."""
