"""Text for Rushlight: tokenizers, vocabularies, transforms, data sets and models."""

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
