"""Text for Rushlight: tokenizers, vocabularies, transforms, data sets, models and generation."""

import importlib
from typing import TYPE_CHECKING

from rushlight_text import data, functional, tokenizers, transforms, utils, vocab
from rushlight_text._version import __version__

if TYPE_CHECKING:
    from rushlight_text import (
        datasets,
        experimental,
        generation,
        legacy,
        metrics,
        models,
        nn,
        pipelines,
        prototype,
        zoo,
    )
    from rushlight_text.pipelines import pipeline

__all__ = [
    "__version__",
    "data",
    "datasets",
    "disable_torchtext_deprecation_warning",
    "experimental",
    "functional",
    "generation",
    "legacy",
    "metrics",
    "models",
    "nn",
    "pipeline",
    "pipelines",
    "prototype",
    "tokenizers",
    "transforms",
    "utils",
    "vocab",
    "zoo",
]

# Imported when they are asked for: few programs need them all.
_LATER = "datasets experimental generation legacy metrics models nn pipelines prototype zoo".split()


def __getattr__(name: str):
    """What is imported at its first use."""
    if name in _LATER:
        return importlib.import_module(f"rushlight_text.{name}")
    if name == "pipeline":
        return importlib.import_module("rushlight_text.pipelines").pipeline
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, "pipeline"})


def disable_torchtext_deprecation_warning() -> None:
    """Nothing: this package is not deprecated; torchtext's programs call it."""
