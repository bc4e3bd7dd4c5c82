"""Text for Rushlight: tokenizers, vocabularies, transforms, data sets and models."""

import importlib

from rushlight_text import (
    data,
    datasets,
    functional,
    legacy,
    models,
    nn,
    prototype,
    tokenizers,
    transforms,
    utils,
    vocab,
)
from rushlight_text._version import __version__

# Imported when they are asked for: programs of torchtext need none of them.
_LATER = ("generation", "metrics", "pipelines")


def __getattr__(name: str):
    """The modules that are imported at their first use."""
    if name in _LATER:
        return importlib.import_module(f"rushlight_text.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def disable_torchtext_deprecation_warning() -> None:
    """Nothing: this package is not deprecated; torchtext's programs call it."""


__all__ = [
    "__version__",
    "data",
    "datasets",
    "disable_torchtext_deprecation_warning",
    "functional",
    "legacy",
    "models",
    "nn",
    "prototype",
    "tokenizers",
    "transforms",
    "utils",
    "vocab",
]
