"""Blurred and sharpened images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from PIL import ImageEnhance

import rushlight as rl
from rushlight_vision.transforms.functional.color import blend
from rushlight_vision.transforms.functional.conversion import pil_to_tensor, to_pil_image
from rushlight_vision.transforms.functional.images import (
    Picture,
    check_channels,
    check_image,
    is_pil,
)

LARGE = 49  # weights from which two passes, one for each axis, are faster than one


def _two(value: Any, name: str, kinds: tuple[type, ...]) -> list[Any]:
    """Width and height of one value or two."""
    values = [value, value] if isinstance(value, kinds) else list(value)
    values = values * 2 if len(values) == 1 else values
    if len(values) != 2:
        raise ValueError(f"gaussian_blur: {name} {value!r}; expected one number or two")
    return values


def gaussian_weights(size: int, sigma: Any, dtype: Any, device: Any = None) -> rl.Tensor:
    """A Gaussian at `size` whole distances from its middle, sum 1; one row for each of N `sigma`.

    `sigma` is a number or a tensor (N, 1).
    """
    limit = (size - 1) / (2.0 * math.sqrt(2.0))
    distance = rl.linspace(-limit, limit, size, dtype=dtype, device=device)
    return rl.softmax(-((distance / sigma) ** 2), dim=-1)


def _depthwise(image: rl.Tensor, kernel: rl.Tensor) -> rl.Tensor:
    """Every plane (..., H, W) of a float image under the kernel, without padding.

    Of several kernels (N, height, width) each serves an N-th of the planes.
    """
    planes = image.reshape(1, -1, *image.shape[-2:])
    count = planes.shape[1]
    kernels = kernel.reshape(-1, 1, 1, *kernel.shape[-2:])
    each = kernels.expand(-1, count // kernels.shape[0], 1, -1, -1).flatten(0, 1).contiguous()
    result = rl.nn.functional.conv2d(planes, each, groups=count)
    return result.reshape(*image.shape[:-2], *result.shape[-2:])


def gaussian_blur(
    img: Picture, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Picture:
    """The image under a Gaussian, mirrored at its edges.

    `kernel_size` is (width, height) in odd numbers; `sigma` (x, y) is by default
    0.15 * kernel_size + 0.35.

    Raises `ValueError` for even sizes and for a sigma that is not positive.
    """
    check_image(img, "gaussian_blur")
    sizes = _two(kernel_size, "kernel_size", (int,))
    for size in sizes:
        if size % 2 == 0 or size < 1:
            raise ValueError(f"gaussian_blur: kernel_size {sizes}; expected odd positive numbers")
    deviations = [size * 0.15 + 0.35 for size in sizes]
    if sigma is not None:
        deviations = [float(each) for each in _two(sigma, "sigma", (int, float))]
    if min(deviations) <= 0:
        raise ValueError(f"gaussian_blur: sigma {deviations}; expected positive numbers")
    if is_pil(img):
        return to_pil_image(_blurred(pil_to_tensor(img), sizes, deviations), img.mode)
    return _blurred(img, sizes, deviations)


def _blurred(image: rl.Tensor, sizes: list[int], deviations: list[float]) -> rl.Tensor:
    return blurred_each(image, sizes, [deviations])


def blurred_each(
    image: rl.Tensor, sizes: Sequence[int], deviations: Sequence[Sequence[float]]
) -> rl.Tensor:
    """A batch (N, ..., H, W) under N Gaussians, or any image under one.

    `sizes` is (width, height) of the kernels, `deviations` holds a pair (x, y) for each.
    """
    if image.numel() == 0:
        return image
    floats = image.is_floating_point()
    working: Any = image if floats else image.to(rl.float32)
    # In float32 as the samples are; a column, so that each row of weights has its own.
    columns = rl.tensor(deviations, dtype=working.dtype, device=image.device).T.unsqueeze(-1)
    x, y = (
        gaussian_weights(size, column, working.dtype, image.device)
        for size, column in zip(sizes, columns, strict=True)
    )
    planes = working.reshape(-1, 1, *image.shape[-2:])
    across, down = sizes[0] // 2, sizes[1] // 2
    padded = rl.nn.functional.pad(planes, [across, across, down, down], mode="reflect")
    if sizes[0] * sizes[1] > LARGE:
        result: Any = _depthwise(_depthwise(padded, x.unsqueeze(-2)), y.unsqueeze(-1))
    else:
        result = _depthwise(padded, y.unsqueeze(-1) * x.unsqueeze(-2))
    result = result.reshape(image.shape)
    return result if floats else result.round().to(image.dtype)


def _softened(image: rl.Tensor) -> rl.Tensor:
    """The inner pixels under a small smoothing kernel, whole numbers for integers."""
    working = image if image.is_floating_point() else image.to(rl.float32)
    kernel = rl.ones((3, 3), dtype=working.dtype, device=image.device)
    kernel[1, 1] = 5.0
    result = _depthwise(working, kernel / 13.0)
    return result if image.is_floating_point() else result.round()


def adjust_sharpness(img: Picture, sharpness_factor: float) -> Picture:
    """Sharpness times a factor: 0 is smoothed, 1 the image itself, 2 twice as sharp.

    Raises `ValueError` for a negative factor, `TypeError` for tensors of other than 1 or 3
    channels.
    """
    if sharpness_factor < 0:
        raise ValueError(f"adjust_sharpness: the factor ({sharpness_factor}) must not be negative")
    check_image(img, "adjust_sharpness")
    if is_pil(img):
        return ImageEnhance.Sharpness(img).enhance(sharpness_factor)
    check_channels(img, (1, 3), "adjust_sharpness")
    if min(img.shape[-2:]) <= 2 or img.numel() == 0:
        return img
    inner = img[..., 1:-1, 1:-1]
    result = img.clone()
    result[..., 1:-1, 1:-1] = blend(inner, _softened(img), sharpness_factor)
    return result
