"""Changes of levels: posterize, solarize, autocontrast, equalize."""

from __future__ import annotations

import math

from PIL import ImageOps

import rushlight as rl
from rushlight_vision.transforms.functional.color import invert
from rushlight_vision.transforms.functional.conversion import convert_image_dtype
from rushlight_vision.transforms.functional.images import (
    Picture,
    check_channels,
    check_image,
    in_parts,
    is_pil,
    largest_value,
)


def posterize(img: Picture, bits: int) -> Picture:
    """Each channel with only its highest `bits` of 8 bits; floats get 2**bits levels."""
    check_image(img, "posterize")
    if not 0 <= bits <= 8:
        raise ValueError(f"posterize: bits {bits}; expected 0 to 8")
    if is_pil(img):
        return ImageOps.posterize(img, bits)
    if img.is_floating_point():
        levels = 1 << bits
        return (img * levels).floor().clamp(0, levels - 1) * (1.0 / levels)
    depth = largest_value(img.dtype).bit_length()
    return img & (((1 << min(bits, depth)) - 1) << max(depth - bits, 0))


def solarize(img: Picture, threshold: float) -> Picture:
    """All values from `threshold` on inverted; TypeError for one above the dtype's largest."""
    check_image(img, "solarize")
    if is_pil(img):
        return ImageOps.solarize(img, int(math.ceil(threshold)))
    check_channels(img, (1, 3), "solarize")
    if threshold > largest_value(img.dtype):
        raise TypeError(
            f"solarize: threshold {threshold} is above {largest_value(img.dtype)}, the largest "
            f"value of {img.dtype}"
        )
    return rl.where(img >= threshold, invert(img), img)


def autocontrast(img: Picture) -> Picture:
    """Each channel stretched so that its darkest value is 0 and its lightest the largest."""
    check_image(img, "autocontrast")
    if is_pil(img):
        return ImageOps.autocontrast(img)
    check_channels(img, (1, 3), "autocontrast")
    if img.numel() == 0:
        return img
    return in_parts(_stretched, img)


def _stretched(img: rl.Tensor) -> rl.Tensor:
    bound = largest_value(img.dtype)
    low, high = (f(dim=(-2, -1), keepdim=True) for f in (img.amin, img.amax))
    if not img.is_floating_point():
        low, high = low.to(rl.float32), high.to(rl.float32)
    flat = low == high
    step = rl.where(flat, rl.ones_like(high), (high - low) * (1.0 / bound))
    low = rl.where(flat, rl.zeros_like(low), low)
    return ((img - low) / step).clamp(0, bound).to(img.dtype)


def equalize(img: Picture) -> Picture:
    """Each channel with an even histogram; floats are treated as bytes."""
    check_image(img, "equalize")
    if is_pil(img):
        return ImageOps.equalize(img)
    check_channels(img, (1, 3), "equalize")
    if img.numel() == 0:
        return img
    levels = convert_image_dtype(img, rl.uint8)
    planes = levels.reshape(-1, img.shape[-2] * img.shape[-1]).to(rl.int64)
    count = planes.shape[0]
    offsets = rl.arange(count, device=img.device).unsqueeze(1) * 256
    index = (planes + offsets).flatten()
    table = _equalizing(rl.bincount(index, minlength=256 * count), count).to(rl.uint8)
    result = table.flatten().index_select(0, index).reshape(img.shape)
    return convert_image_dtype(result, img.dtype)


def _equalizing(histogram: rl.Tensor, count: int) -> rl.Tensor:
    """For each plane a table (count, 256) of new levels, as Pillow makes it."""
    sums = histogram.reshape(count, 256).cumsum(1)
    total = sums[:, -1:]
    # The pixels of the lightest level do not count.
    lightest = (sums == total).to(rl.int64).argmax(dim=1, keepdim=True)
    step = (total - histogram.reshape(count, 256).gather(1, lightest)) // 255
    before = rl.cat([rl.zeros_like(total), sums[:, :-1]], dim=1)
    table = (before + step // 2) // rl.where(step == 0, rl.ones_like(step), step)
    identity = rl.arange(256, device=histogram.device).expand(count, 256)
    return rl.where(step == 0, identity, table.clamp(0, 255))
