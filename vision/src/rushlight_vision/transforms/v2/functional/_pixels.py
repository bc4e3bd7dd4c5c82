"""Colour, dtypes, noise, JPEG and erasing: kernels that leave every pixel where it is."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import PIL.Image

import rushlight as rl
from rushlight_vision import io as files
from rushlight_vision import tv_tensors
from rushlight_vision.transforms import functional as v1
from rushlight_vision.transforms.functional.images import Picture, is_pil, largest_value
from rushlight_vision.transforms.sampling import normal, normal_like
from rushlight_vision.transforms.v2.functional._registry import (
    KERNELS,
    dispatcher,
    first_named,
    on_pixels,
    pixel_family,
)


def _permute_channels(img: Picture, permutation: Sequence[int]) -> Picture:
    if is_pil(img):
        return v1.to_pil_image(_permute_channels(v1.pil_to_tensor(img), permutation), img.mode)
    if len(permutation) != img.shape[-3]:
        raise ValueError(
            f"permute_channels: permutation has {len(permutation)} numbers; the image has "
            f"{img.shape[-3]} channels"
        )
    order = rl.tensor(list(permutation), dtype=rl.int64, device=img.device)
    return img.index_select(-3, order)


def _gaussian_noise(
    img: rl.Tensor, mean: float = 0.0, sigma: float = 0.1, clip: bool = True
) -> rl.Tensor:
    if sigma < 0:
        raise ValueError(f"gaussian_noise: sigma {sigma}; expected a number of at least 0")
    if img.dtype is rl.uint8:
        level: Any = normal(img.shape) * (sigma * 255) + mean * 255
        noisy = img.to(rl.int16) + level.to(rl.int16)
        return (noisy.clamp(0, 255) if clip else noisy).to(rl.uint8)
    if not img.is_floating_point():
        raise ValueError(f"gaussian_noise: expected uint8 or a floating dtype, got {img.dtype}")
    noisy = img + (mean + normal_like(img) * sigma)
    return noisy.clamp(0, 1) if clip else noisy


def _jpeg(img: Picture, quality: int) -> Picture:
    if is_pil(img):
        data = io.BytesIO()
        img.save(data, format="JPEG", quality=quality)
        data.seek(0)
        return PIL.Image.open(data)
    if img.shape[0 if img.ndim < 4 else -3] not in (1, 3) or img.dtype is not rl.uint8:
        raise ValueError(
            f"jpeg: expected a uint8 tensor of 1 or 3 channels, got {img.dtype} of shape "
            f"{tuple(img.shape)}"
        )
    planes = [_coded(each, quality) for each in img.reshape(-1, *img.shape[-3:])]
    return rl.stack(planes).reshape(img.shape) if planes else img.clone()


def _coded(image: rl.Tensor, quality: int) -> rl.Tensor:
    return files.decode_image(files.encode_jpeg(image, quality=quality))


def _erase(
    img: Picture, i: int, j: int, h: int, w: int, v: rl.Tensor, inplace: bool = False
) -> Picture:
    if is_pil(img):
        return v1.to_pil_image(v1.erase(v1.pil_to_tensor(img), i, j, h, w, v), img.mode)
    return v1.erase(img, i, j, h, w, v, inplace)


def _to_dtype(image: rl.Tensor, dtype: rl.dtype = rl.float32, scale: bool = False) -> rl.Tensor:
    if image.dtype is dtype:
        return image
    if not scale:
        return image.to(dtype)
    if not image.is_floating_point() and dtype.is_floating_point:
        factor = 1.0 / largest_value(image.dtype)
        if dtype is rl.get_default_dtype():  # the product has it by itself
            return image * factor
        return image.to(dtype) * factor
    if not image.is_floating_point() and not dtype.is_floating_point:
        return _shifted(image, dtype)
    return v1.convert_image_dtype(image, dtype)


def _shifted(image: rl.Tensor, dtype: Any) -> rl.Tensor:
    """Whole numbers in another dtype: the highest bits stay the highest."""
    old, new = (largest_value(each).bit_length() for each in (image.dtype, dtype))
    if old > new:
        return rl.bitwise_right_shift(image, old - new).to(dtype)
    return rl.bitwise_left_shift(image.to(dtype), new - old)


def _to_rgb(img: Picture) -> Picture:
    if is_pil(img):
        return img.convert("RGB") if img.mode != "RGB" else img
    if img.shape[-3] >= 3:
        return img
    return img.expand(*img.shape[:-3], 3, *img.shape[-2:])


def _grey(img: Picture, num_output_channels: int = 1) -> Picture:
    return v1.rgb_to_grayscale(img, num_output_channels)


def _subsampled(video: rl.Tensor, num_samples: int) -> rl.Tensor:
    last = video.shape[-4] - 1
    frames = rl.linspace(0, last, num_samples, device=video.device).long()
    return rl.index_select(video, -4, frames)


adjust_brightness, adjust_brightness_image, adjust_brightness_video = pixel_family(
    "adjust_brightness", v1.adjust_brightness, "Brightness times a factor."
)
adjust_contrast, adjust_contrast_image, adjust_contrast_video = pixel_family(
    "adjust_contrast", v1.adjust_contrast, "Contrast times a factor."
)
adjust_saturation, adjust_saturation_image, adjust_saturation_video = pixel_family(
    "adjust_saturation", v1.adjust_saturation, "Saturation times a factor."
)
adjust_sharpness, adjust_sharpness_image, adjust_sharpness_video = pixel_family(
    "adjust_sharpness", v1.adjust_sharpness, "Sharpness times a factor."
)
adjust_hue, adjust_hue_image, adjust_hue_video = pixel_family(
    "adjust_hue", v1.adjust_hue, "The colour circle turned by -0.5 ... 0.5."
)
adjust_gamma, adjust_gamma_image, adjust_gamma_video = pixel_family(
    "adjust_gamma", v1.adjust_gamma, "`gain * image ** gamma`."
)
posterize, posterize_image, posterize_video = pixel_family(
    "posterize", v1.posterize, "Only the highest `bits` of each channel."
)
solarize, solarize_image, solarize_video = pixel_family(
    "solarize", v1.solarize, "Values from `threshold` on inverted."
)
autocontrast, autocontrast_image, autocontrast_video = pixel_family(
    "autocontrast", v1.autocontrast, "Each channel over the whole range."
)
equalize, equalize_image, equalize_video = pixel_family(
    "equalize", v1.equalize, "Each channel with an even histogram."
)
invert, invert_image, invert_video = pixel_family("invert", v1.invert, "The negative.")
permute_channels, permute_channels_image, permute_channels_video = pixel_family(
    "permute_channels", _permute_channels, "The channels in another order."
)
gaussian_blur, gaussian_blur_image, gaussian_blur_video = pixel_family(
    "gaussian_blur", v1.gaussian_blur, "Under a Gaussian; see `transforms.functional`."
)
gaussian_noise, gaussian_noise_image, gaussian_noise_video = pixel_family(
    "gaussian_noise", _gaussian_noise, "Normal noise added; `clip` keeps values in range."
)
jpeg, jpeg_image, jpeg_video = pixel_family(
    "jpeg", _jpeg, "Encoded as JPEG of a quality 1 ... 100 and decoded.", first="image"
)
erase, erase_image, erase_video = pixel_family(
    "erase", _erase, "`v` written over `h` x `w` pixels from row i and column j on."
)
normalize, normalize_image, normalize_video = pixel_family(
    "normalize", v1.normalize, "`(image - mean) / std`, channel by channel."
)
to_dtype, to_dtype_image, to_dtype_video = pixel_family(
    "to_dtype", _to_dtype, "Another dtype, with `scale` also of the range of values."
)
rgb_to_grayscale, rgb_to_grayscale_image = pixel_family(
    "rgb_to_grayscale", _grey, "The grey image with 1 channel or 3 equal ones.", video=False
)
grayscale_to_rgb, grayscale_to_rgb_image = pixel_family(
    "grayscale_to_rgb", _to_rgb, "Three channels; colour stays as it is.", video=False
)

uniform_temporal_subsample = dispatcher(
    "uniform_temporal_subsample", _subsampled, "`num_samples` frames, evenly apart."
)
uniform_temporal_subsample_video = first_named(
    _subsampled, "video", "uniform_temporal_subsample_video", "Frames of a video, evenly apart."
)
KERNELS[uniform_temporal_subsample].update(
    {rl.Tensor: _subsampled, tv_tensors.Video: on_pixels(_subsampled)}
)
for _functional in (normalize, to_dtype, gaussian_noise):
    del KERNELS[_functional][PIL.Image.Image]
for _kind in (tv_tensors.Mask, tv_tensors.BoundingBoxes, tv_tensors.KeyPoints):
    KERNELS[to_dtype][_kind] = lambda inpt, dtype=rl.float32, scale=False: inpt.to(dtype)


def to_grayscale(inpt: Picture, num_output_channels: int = 1) -> Picture:
    """`rgb_to_grayscale`; torchvision's older name for it."""
    return rgb_to_grayscale(inpt, num_output_channels)


def convert_image_dtype(image: rl.Tensor, dtype: rl.dtype = rl.float32) -> rl.Tensor:
    """`to_dtype_image` with `scale=True`."""
    return to_dtype_image(image, dtype=dtype, scale=True)
