"""What an input is: its size, channels and frames; and conversion of types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import PIL.Image

import rushlight as rl
from rushlight_vision import tv_tensors
from rushlight_vision.transforms import functional as v1
from rushlight_vision.transforms.v2.functional._registry import KERNELS, PICTURE, dispatcher

if TYPE_CHECKING:
    from numpy import ndarray


def get_dimensions_image(image: rl.Tensor) -> list[int]:
    """Channels, height and width of an image tensor."""
    return v1.get_dimensions(image)


def get_dimensions_video(video: rl.Tensor) -> list[int]:
    """Channels, height and width of a video."""
    return v1.get_dimensions(video)


def get_num_channels_image(image: rl.Tensor) -> int:
    """Number of channels of an image tensor."""
    return v1.get_image_num_channels(image)


def get_num_channels_video(video: rl.Tensor) -> int:
    """Number of channels of a video."""
    return v1.get_image_num_channels(video)


def get_size_image(image: rl.Tensor) -> list[int]:
    """Height and width of an image tensor."""
    return v1.get_dimensions(image)[1:]


def get_size_video(video: rl.Tensor) -> list[int]:
    """Height and width of a video."""
    return v1.get_dimensions(video)[1:]


def get_size_mask(mask: rl.Tensor) -> list[int]:
    """Height and width of a mask."""
    return v1.get_dimensions(mask)[1:]


def get_size_bounding_boxes(bounding_box: tv_tensors.BoundingBoxes) -> list[int]:
    """Height and width of the image that boxes belong to."""
    return list(bounding_box.canvas_size)


def get_size_keypoints(keypoints: tv_tensors.KeyPoints) -> list[int]:
    """Height and width of the image that points belong to."""
    return list(keypoints.canvas_size)


def get_num_frames_video(video: rl.Tensor) -> int:
    """Number of frames of a video (..., T, C, H, W)."""
    return video.shape[-4]


def _functional(name: str, doc: str, kernels: dict[Any, Callable[..., Any]]) -> Any:
    functional = dispatcher(name, next(iter(kernels.values())), doc)
    KERNELS[functional].update(kernels)
    return functional


def _of_pixels(function: Callable[..., Any]) -> dict[Any, Callable[..., Any]]:
    kinds = (PICTURE, rl.Tensor, tv_tensors.Image, tv_tensors.Video)
    return dict.fromkeys(kinds, function)


get_dimensions = _functional(
    "get_dimensions", "Channels, height and width.", _of_pixels(v1.get_dimensions)
)
get_num_channels = _functional(
    "get_num_channels", "Number of channels.", _of_pixels(v1.get_image_num_channels)
)
get_image_num_channels = get_num_channels
get_size = _functional(
    "get_size",
    "Height and width of an image, or of the one that boxes and points belong to.",
    {
        **_of_pixels(get_size_image),
        tv_tensors.Mask: get_size_mask,
        tv_tensors.BoundingBoxes: get_size_bounding_boxes,
        tv_tensors.KeyPoints: get_size_keypoints,
    },
)
get_num_frames = _functional(
    "get_num_frames",
    "Number of frames.",
    {rl.Tensor: get_num_frames_video, tv_tensors.Video: get_num_frames_video},
)


def get_image_size(inpt: rl.Tensor | PIL.Image.Image) -> list[int]:
    """Width and height, in this order; torchvision's older form of `get_size`."""
    return v1.get_image_size(inpt)


def to_image(inpt: rl.Tensor | PIL.Image.Image | ndarray) -> tv_tensors.Image:
    """A PIL image, an array (H, W, C) or a tensor (..., C, H, W) as an Image; TypeError else."""
    if isinstance(inpt, rl.Tensor):
        return tv_tensors.Image(inpt)
    if isinstance(inpt, PICTURE):
        return tv_tensors.Image(v1.pil_to_tensor(inpt))
    if hasattr(inpt, "__array_interface__"):
        pixels = rl.tensor(inpt)
        pixels = pixels.unsqueeze(2) if pixels.ndim < 3 else pixels
        return tv_tensors.Image(pixels.permute(2, 0, 1).contiguous())
    raise TypeError(
        f"to_image: expected a PIL image, an array or a tensor, got {type(inpt).__name__}"
    )


def pil_to_tensor(pic: PIL.Image.Image) -> rl.Tensor:
    """A PIL image as a tensor (C, H, W) with the values it is stored with."""
    return v1.pil_to_tensor(pic)


def to_pil_image(pic: rl.Tensor | ndarray, mode: str | None = None) -> PIL.Image.Image:
    """A tensor (C, H, W) or an array (H, W, C) as a PIL image."""
    return v1.to_pil_image(pic, mode)


def to_tensor(inpt: PIL.Image.Image | ndarray) -> rl.Tensor:
    """A PIL image or an array (H, W, C) as a tensor (C, H, W), bytes as floats in 0 ... 1."""
    return v1.to_tensor(inpt)
