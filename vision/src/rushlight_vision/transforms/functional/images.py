"""What an image is: a PIL image, or a tensor of shape (..., channels, height, width)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from PIL import Image

import rushlight as rl

if TYPE_CHECKING:
    from typing_extensions import TypeIs

# What functions of pictures take, and give back as the same kind.
Picture = TypeVar("Picture", rl.Tensor, Image.Image)

_PART = 1 << 18  # bytes of pictures for a thread at a time: as floats they fit into its cache


def is_pil(image: Any) -> TypeIs[Image.Image]:
    """Whether this is a PIL image."""
    return isinstance(image, Image.Image)


def is_tensor_image(image: Any) -> bool:
    """Whether this is a tensor that can be an image: it has at least two dimensions."""
    return isinstance(image, rl.Tensor) and image.ndim >= 2


def check_image(image: Any, name: str) -> None:
    """Refuse what is neither a PIL image nor a tensor of at least two dimensions."""
    if isinstance(image, rl.Tensor):
        if image.ndim < 2:
            raise TypeError(
                f"{name}: a tensor image has the shape (..., H, W); got {tuple(image.shape)}"
            )
    elif not is_pil(image):
        raise TypeError(
            f"{name}: expected a PIL image or a tensor, got {type(image).__module__}."
            f"{type(image).__name__}"
        )


def check_channels(image: rl.Tensor, allowed: tuple[int, ...], name: str) -> None:
    """Refuse a tensor whose number of channels is not allowed."""
    shape = image.shape
    channels = shape[-3] if len(shape) > 2 else 1
    if channels not in allowed:
        raise TypeError(
            f"{name}: {channels} channels in a tensor of shape {tuple(image.shape)}; "
            f"expected {' or '.join(map(str, allowed))}"
        )


def in_parts(function: Callable[[rl.Tensor], rl.Tensor], images: rl.Tensor) -> rl.Tensor:
    """`function` of pictures of any number, some at a time where a batch of bytes is large: the
    floats between two steps then stay in a cache.

    Graphs that are being captured get the one call.
    """
    if images.dtype is not rl.uint8 or images.ndim < 4:
        return function(images)
    if rl.compiler.is_compiling() or rl.jit.is_tracing() or images.numel() <= _PART:
        return function(images)
    pictures = images.flatten(0, -4)
    count = max(1, _PART * rl.get_num_threads() // pictures[0].numel())
    found = rl.cat([function(part) for part in pictures.split(count)])
    return found.reshape(*images.shape[:-3], *found.shape[1:])


def get_dimensions(img: rl.Tensor | Image.Image) -> list[int]:
    """Channels, height and width of an image."""
    check_image(img, "get_dimensions")
    if is_pil(img):
        return [len(img.getbands()), img.height, img.width]
    channels = 1 if img.ndim == 2 else img.shape[-3]
    return [channels, img.shape[-2], img.shape[-1]]


def get_image_size(img: rl.Tensor | Image.Image) -> list[int]:
    """Width and height of an image, in this order."""
    _, height, width = get_dimensions(img)
    return [width, height]


def get_image_num_channels(img: rl.Tensor | Image.Image) -> int:
    """Number of channels of an image."""
    return get_dimensions(img)[0]


@functools.cache
def largest_value(dtype: Any) -> int:
    """The value that stands for full brightness: 1 for floats, the largest one for integers."""
    if dtype.is_floating_point or dtype is rl.bool:
        return 1
    return int(rl.iinfo(dtype).max)
