"""Which libraries read pictures and videos: there is one for each; what else the root has."""

from __future__ import annotations

from importlib import import_module

_IMAGE = "PIL"
_VIDEO = "pyav"


def set_image_backend(backend: str) -> None:
    """Choose what reads pictures: "PIL" (the default and the only one).

    Raises NotImplementedError for "accimage", ValueError for another name.
    """
    if backend == "accimage":
        raise NotImplementedError(
            'set_image_backend: "accimage" is not available; use "PIL", or '
            "rushlight_vision.io.decode_image for tensors"
        )
    if backend != _IMAGE:
        raise ValueError(f"Invalid backend '{backend}'. Options are 'PIL' and 'accimage'")


def get_image_backend() -> str:
    """What reads pictures.

    >>> get_image_backend()
    'PIL'
    """
    return _IMAGE


def set_video_backend(backend: str) -> None:
    """Choose what reads videos: "pyav" (the default and the only one).

    Raises NotImplementedError for "video_reader" and "cuda", ValueError for another name.
    """
    if backend in ("video_reader", "cuda"):
        raise NotImplementedError(
            f'set_video_backend: "{backend}" is not available; use "pyav" (the extra '
            "rushlight-vision[video])"
        )
    if backend != _VIDEO:
        raise ValueError(
            f"Invalid video backend '{backend}'. Options are 'pyav', 'video_reader' and 'cuda'"
        )


def get_video_backend() -> str:
    """What reads videos.

    >>> get_video_backend()
    'pyav'
    """
    return _VIDEO


def disable_beta_transforms_warning() -> None:
    """Nothing: `transforms.v2` and `tv_tensors` give no such warning here."""


def _is_tracing() -> bool:
    """Whether `jit.trace` is recording; models written for torchvision ask it."""
    tracing: bool = import_module("rushlight").jit.is_tracing()
    return tracing
