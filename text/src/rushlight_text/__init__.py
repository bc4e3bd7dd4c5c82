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

__all__ = [
    "__version__",
    "data",
    "datasets",
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
