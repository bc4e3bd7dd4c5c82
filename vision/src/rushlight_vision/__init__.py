"""Images for Rushlight: input and output, transforms, data sets and models."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rushlight_vision._backends import (
    _is_tracing as _is_tracing,
)
from rushlight_vision._backends import (
    disable_beta_transforms_warning,
    get_image_backend,
    get_video_backend,
    set_image_backend,
    set_video_backend,
)
from rushlight_vision._version import __version__

if TYPE_CHECKING:
    from rushlight_vision import (
        datasets,
        io,
        models,
        ops,
        transforms,
        tv_tensors,
        utils,
        version,
    )
    from rushlight_vision import training as training

__all__ = [
    "__version__",
    "datasets",
    "disable_beta_transforms_warning",
    "get_image_backend",
    "get_video_backend",
    "io",
    "models",
    "ops",
    "set_image_backend",
    "set_video_backend",
    "transforms",
    "tv_tensors",
    "utils",
    "version",
]
_OPTIONAL = ("training",)  # not in __all__: `import *` must work without the trainer


def __getattr__(name: str) -> Any:
    """Load a part of the package when it is first named, so that the package itself is light."""
    if name in __all__ or name in _OPTIONAL:
        return import_module(f"rushlight_vision.{name}")
    raise AttributeError(f"module 'rushlight_vision' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_OPTIONAL})
