"""Brightness, contrast, saturation, hue, gamma and grey images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PIL import Image, ImageEnhance, ImageOps

import rushlight as rl
from rushlight_vision.transforms.functional.conversion import convert_image_dtype
from rushlight_vision.transforms.functional.images import (
    Picture,
    check_channels,
    check_image,
    get_image_num_channels,
    in_parts,
    is_pil,
    largest_value,
)

_FEW = 4096  # bytes of an image up to which a table of all levels does not pay


def _check_factor(factor: float, name: str) -> None:
    if factor < 0:
        raise ValueError(f"{name}: the factor ({factor}) must not be negative")


def blend(first: rl.Tensor, second: rl.Tensor | float, ratio: Any, rest: Any = None) -> rl.Tensor:
    """`ratio` parts of the first image and the `rest` of the second, within the dtype's range.

    Both are numbers, or tensors that broadcast; `rest` is by default 1 - `ratio`.
    """
    mixed = ratio * first + (1.0 - ratio if rest is None else rest) * second
    return mixed.clamp(0, largest_value(first.dtype)).to(first.dtype)


def _grey(image: rl.Tensor) -> rl.Tensor:
    """Luma of an RGB tensor by ITU-R 601, one channel, in the image's dtype."""
    red, green, blue = image.unbind(-3)
    return (0.2989 * red + 0.587 * green + 0.114 * blue).to(image.dtype).unsqueeze(-3)


def rgb_to_grayscale(img: Picture, num_output_channels: int = 1) -> Picture:
    """The grey image of a colour one, with one channel or with three equal ones."""
    check_image(img, "rgb_to_grayscale")
    if num_output_channels not in (1, 3):
        raise ValueError(
            f"rgb_to_grayscale: num_output_channels {num_output_channels}; expected 1 or 3"
        )
    if is_pil(img):
        grey = img.convert("L")
        return grey if num_output_channels == 1 else Image.merge("RGB", (grey, grey, grey))
    if img.ndim < 3:
        raise TypeError(
            f"rgb_to_grayscale: expected a tensor (..., C, H, W); got shape {tuple(img.shape)}"
        )
    check_channels(img, (1, 3), "rgb_to_grayscale")
    plain: Any = in_parts(_grey, img) if img.shape[-3] == 3 else img.clone()
    if num_output_channels == 3:
        return plain.expand(*plain.shape[:-3], 3, *plain.shape[-2:])
    return plain


def to_grayscale(img: Picture, num_output_channels: int = 1) -> Picture:
    """The grey image of a PIL image; tensors go to `rgb_to_grayscale`."""
    if not is_pil(img):
        raise TypeError(
            f"to_grayscale: expected a PIL image, got {type(img).__name__}; "
            "use rgb_to_grayscale for tensors"
        )
    return rgb_to_grayscale(img, num_output_channels)


def adjust_brightness(img: Picture, brightness_factor: float) -> Picture:
    """Brightness times a factor: 0 is black, 1 the image itself."""
    check_image(img, "adjust_brightness")
    _check_factor(brightness_factor, "adjust_brightness")
    if is_pil(img):
        return ImageEnhance.Brightness(img).enhance(brightness_factor)
    check_channels(img, (1, 3), "adjust_brightness")
    return in_parts(lambda part: blend(part, 0.0, brightness_factor), img)


def adjust_contrast(img: Picture, contrast_factor: float) -> Picture:
    """Contrast times a factor: 0 is the mean grey everywhere, 1 the image itself."""
    check_image(img, "adjust_contrast")
    _check_factor(contrast_factor, "adjust_contrast")
    if is_pil(img):
        return ImageEnhance.Contrast(img).enhance(contrast_factor)
    check_channels(img, (1, 3), "adjust_contrast")
    return in_parts(lambda part: blend(part, _mean_grey(part), contrast_factor), img)


def _mean_grey(img: rl.Tensor) -> rl.Tensor:
    """The mean luma of each image, with dimensions of size 1 in place of the pixels."""
    dtype = img.dtype if img.is_floating_point() else rl.float32
    grey: Any = _grey(img) if get_image_num_channels(img) == 3 else img
    dimensions = (-3, -2, -1) if img.ndim > 2 else (-2, -1)
    return grey.to(dtype).mean(dim=dimensions, keepdim=True)


def adjust_saturation(img: Picture, saturation_factor: float) -> Picture:
    """Saturation times a factor: 0 is grey, 1 the image itself."""
    check_image(img, "adjust_saturation")
    _check_factor(saturation_factor, "adjust_saturation")
    if is_pil(img):
        return ImageEnhance.Color(img).enhance(saturation_factor)
    check_channels(img, (1, 3), "adjust_saturation")
    if get_image_num_channels(img) == 1:
        return img
    return in_parts(lambda part: blend(part, _grey(part), saturation_factor), img)


def _rgb_to_hsv(image: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
    """Hue, saturation and value, each in 0 ... 1 (Foley, van Dam et al.: the hexcone model)."""
    red, green, blue = image.unbind(-3)
    high, low = image.amax(dim=-3), image.amin(dim=-3)
    spread = high - low
    flat = spread == 0
    ones = rl.ones_like(high)
    saturation = spread / rl.where(flat, ones, high)
    divisor = rl.where(flat, ones, spread)
    to_red, to_green, to_blue = ((high - c) / divisor for c in (red, green, blue))
    red_leads = high == red
    green_leads = (high == green) & ~red_leads
    blue_leads = ~red_leads & ~green_leads
    hue = (
        red_leads * (to_blue - to_green)
        + green_leads * (2.0 + to_red - to_blue)
        + blue_leads * (4.0 + to_green - to_red)
    )
    return rl.fmod(hue / 6.0 + 1.0, 1.0), saturation, high


def _hsv_to_rgb(hue: rl.Tensor, saturation: rl.Tensor, value: rl.Tensor) -> rl.Tensor:
    """The inverse of `_rgb_to_hsv`."""
    sector = rl.floor(hue * 6.0)
    rest = hue * 6.0 - sector
    sector = rl.remainder(sector.to(rl.int32), 6)
    p = (value * (1.0 - saturation)).clamp(0.0, 1.0)
    q = (value * (1.0 - saturation * rest)).clamp(0.0, 1.0)
    t = (value * (1.0 - saturation * (1.0 - rest))).clamp(0.0, 1.0)
    by_sector = (
        (value, q, p, p, t, value),
        (t, value, value, q, p, p),
        (p, p, t, value, value, q),
    )
    channels = []
    for choices in by_sector:
        channel = choices[5]
        for number in range(5):
            channel = rl.where(sector == number, choices[number], channel)
        channels.append(channel)
    return rl.stack(channels, dim=-3)


def adjust_hue(img: Picture, hue_factor: float) -> Picture:
    """Turn the colour circle by `hue_factor` turns, -0.5 ... 0.5; 0 is the image itself."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"adjust_hue: hue_factor ({hue_factor}) is not in [-0.5, 0.5]")
    check_image(img, "adjust_hue")
    if is_pil(img):
        if img.mode in {"L", "1", "I", "F"}:
            return img
        hue, saturation, value = img.convert("HSV").split()
        shift = int(hue_factor * 255)
        hue = hue.point([(level + shift) % 256 for level in range(256)])
        return Image.merge("HSV", (hue, saturation, value)).convert(img.mode)
    check_channels(img, (1, 3), "adjust_hue")
    if get_image_num_channels(img) == 1:
        return img
    return in_parts(lambda part: _turned(part, hue_factor), img)


def _turned(img: rl.Tensor, shift: Any) -> rl.Tensor:
    """The hue of a colour tensor shifted by a number, or by one for each sample (N, 1, 1)."""
    working = img if img.dtype is rl.float64 else convert_image_dtype(img, rl.float32)
    hue, saturation, value = _rgb_to_hsv(working)
    hue = rl.remainder(hue + shift, 1.0)
    return convert_image_dtype(_hsv_to_rgb(hue, saturation, value), img.dtype)


def adjust_each(images: rl.Tensor, name: str, factors: Sequence[float]) -> rl.Tensor:
    """A batch (N, ..., C, H, W) under one change of colour, a factor for each sample.

    `name` is "brightness", "contrast", "saturation" or "hue".
    """
    check_channels(images, (1, 3), f"adjust_{name}")
    if name in ("saturation", "hue") and get_image_num_channels(images) == 1:
        return images
    floats = images.dtype if images.is_floating_point() else rl.get_default_dtype()
    shape = (-1, *[1] * (images.ndim - 1))

    def column(values: list[float]) -> rl.Tensor:
        return rl.tensor(values, dtype=floats, device=images.device).reshape(shape)

    if name == "hue":
        return _turned(images, column(list(factors)).squeeze(-3))
    second: Any = 0.0
    if name != "brightness":
        second = _mean_grey(images) if name == "contrast" else _grey(images)
    # Subtracted before rounding to the image's dtype, as for one factor.
    return blend(images, second, column(list(factors)), column([1.0 - each for each in factors]))


def adjust_gamma(img: Picture, gamma: float, gain: float = 1) -> Picture:
    """`gain * image ** gamma`, the image taken as 0 ... 1."""
    if gamma < 0:
        raise ValueError(f"adjust_gamma: gamma ({gamma}) must not be negative")
    check_image(img, "adjust_gamma")
    if is_pil(img):
        table = [int((255 + 1 - 1e-3) * gain * (level / 255.0) ** gamma) for level in range(256)]
        table = [min(max(level, 0), 255) for level in table]
        return img.convert("RGB").point(table * 3).convert(img.mode)
    check_channels(img, (1, 3), "adjust_gamma")
    if img.dtype is rl.uint8 and img.numel() > _FEW:
        levels = _with_gamma(rl.arange(256, dtype=rl.uint8, device=img.device), gamma, gain)
        return levels[img.to(rl.int64)]
    return _with_gamma(img, gamma, gain)


def _with_gamma(levels: rl.Tensor, gamma: float, gain: float) -> rl.Tensor:
    working = levels if levels.is_floating_point() else convert_image_dtype(levels, rl.float32)
    return convert_image_dtype((gain * working**gamma).clamp(0, 1), levels.dtype)


def invert(img: Picture) -> Picture:
    """The negative."""
    check_image(img, "invert")
    if is_pil(img):
        return ImageOps.invert(img)
    check_channels(img, (1, 3), "invert")
    if img.dtype is rl.uint8:
        return ~img
    return largest_value(img.dtype) - img
