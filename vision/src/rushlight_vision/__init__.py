"""Images for Rushlight: input and output, transforms, data sets and models."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rushlight_vision._version import __version__

if TYPE_CHECKING:
    from rushlight_vision import (
        datasets,
        io,
        models,
        ops,
        training,
        transforms,
        tv_tensors,
        utils,
    )

__all__ = [
    "__version__",
    "datasets",
    "io",
    "models",
    "ops",
    "training",
    "transforms",
    "tv_tensors",
    "utils",
]


def __getattr__(name: str) -> Any:
    """Load a part of the package when it is first named, so that the package itself is light."""
    if name in __all__:
        return import_module(f"rushlight_vision.{name}")
    raise AttributeError(f"module 'rushlight_vision' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
