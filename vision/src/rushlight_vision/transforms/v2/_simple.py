"""Transforms that run one functional with fixed or simply sampled parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import PIL.Image

import rushlight as rl
from rushlight_vision import tv_tensors
from rushlight_vision.transforms.functional.filtering import blurred_each
from rushlight_vision.transforms.sampling import integer, permutation, uniform
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2._transform import (
    RandomApplyTransform,
    Transform,
    is_pure_tensor,
    query_chw,
)
from rushlight_vision.tv_tensors._base import plain


class Identity(Transform):
    """The sample itself."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The input itself."""
        return inpt


class Grayscale(Transform):
    """Grey images with 1 channel or 3 equal ones."""

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The grey image."""
        return self._call_kernel(
            F.rgb_to_grayscale, inpt, num_output_channels=self.num_output_channels
        )


class RGB(Transform):
    """Images with three channels."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The image with three channels."""
        return self._call_kernel(F.grayscale_to_rgb, inpt)


class RandomGrayscale(RandomApplyTransform):
    """Grey images with probability `p`, with as many channels as before."""

    _pixels_only = True

    def __init__(
        self,
        p: float = 0.1,
        *,
        generator: rl.Generator | None = None,
        per_sample: bool = False,
    ) -> None:
        super().__init__(p=p, generator=generator, per_sample=per_sample)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The number of channels."""
        return {"num_input_channels": query_chw(flat_inputs)[0]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The grey image."""
        channels = params["num_input_channels"]
        return self._call_kernel(F.rgb_to_grayscale, inpt, num_output_channels=channels)

    def _transform_samples(self, inpt: Any, params: list[dict[str, Any]]) -> Any:
        return self.transform(inpt, params[0])


class RandomHorizontalFlip(RandomApplyTransform):
    """Left and right exchanged with probability `p`."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The flipped input."""
        return self._call_kernel(F.horizontal_flip, inpt)


class RandomVerticalFlip(RandomApplyTransform):
    """Top and bottom exchanged with probability `p`."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The flipped input."""
        return self._call_kernel(F.vertical_flip, inpt)


class RandomInvert(RandomApplyTransform):
    """The negative with probability `p`."""

    _pixels_only = True

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The negative."""
        return self._call_kernel(F.invert, inpt)


class RandomEqualize(RandomApplyTransform):
    """An even histogram with probability `p`."""

    _pixels_only = True

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The equalized image."""
        return self._call_kernel(F.equalize, inpt)


class RandomAutocontrast(RandomApplyTransform):
    """Channels over the whole range with probability `p`."""

    _pixels_only = True

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The stretched image."""
        return self._call_kernel(F.autocontrast, inpt)


class RandomPosterize(RandomApplyTransform):
    """Only the highest `bits` of each channel with probability `p`."""

    _pixels_only = True

    def __init__(
        self,
        bits: int,
        p: float = 0.5,
        *,
        generator: rl.Generator | None = None,
        per_sample: bool = False,
    ) -> None:
        super().__init__(p=p, generator=generator, per_sample=per_sample)
        self.bits = bits

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The posterized image."""
        return self._call_kernel(F.posterize, inpt, bits=self.bits)


class RandomSolarize(RandomApplyTransform):
    """Values from `threshold` on inverted with probability `p`."""

    _pixels_only = True

    def __init__(
        self,
        threshold: float,
        p: float = 0.5,
        *,
        generator: rl.Generator | None = None,
        per_sample: bool = False,
    ) -> None:
        super().__init__(p=p, generator=generator, per_sample=per_sample)
        self.threshold = threshold

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The solarized image."""
        return self._call_kernel(F.solarize, inpt, threshold=self.threshold)


class RandomAdjustSharpness(RandomApplyTransform):
    """Sharpness times a factor with probability `p`."""

    _pixels_only = True

    def __init__(
        self,
        sharpness_factor: float,
        p: float = 0.5,
        *,
        generator: rl.Generator | None = None,
        per_sample: bool = False,
    ) -> None:
        super().__init__(p=p, generator=generator, per_sample=per_sample)
        self.sharpness_factor = sharpness_factor

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The sharpened image."""
        return self._call_kernel(F.adjust_sharpness, inpt, sharpness_factor=self.sharpness_factor)


class RandomChannelPermutation(Transform):
    """The channels in a random order."""

    _pixels_only = True

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The order."""
        return {"permutation": permutation(query_chw(flat_inputs)[0])}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The image with its channels in that order."""
        return self._call_kernel(F.permute_channels, inpt, permutation=params["permutation"])


class GaussianNoise(Transform):
    """Normal noise added to floating images (0 ... 1) and to bytes."""

    def __init__(
        self,
        mean: float = 0.0,
        sigma: float = 0.1,
        clip: bool = True,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(generator=generator)
        self.mean, self.sigma, self.clip = mean, sigma, clip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The noisy image."""
        return self._call_kernel(F.gaussian_noise, inpt, self.mean, self.sigma, self.clip)


class GaussianBlur(Transform):
    """Images under a Gaussian of random sigma, evenly from `sigma` (least, largest)."""

    _pixels_only = True

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        sigma: float | Sequence[float] = (0.1, 2.0),
        *,
        generator: rl.Generator | None = None,
        per_sample: bool = False,
    ) -> None:
        super().__init__(generator=generator, per_sample=per_sample)
        sizes = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
        for size in sizes:
            if size <= 0 or size % 2 == 0:
                raise ValueError(
                    f"GaussianBlur: kernel_size {sizes}; expected odd positive numbers"
                )
        pair = [sigma, sigma] if isinstance(sigma, (int, float)) else list(sigma)
        if len(pair) != 2 or not 0.0 < pair[0] <= pair[1]:
            raise ValueError(f"GaussianBlur: sigma {sigma!r}; expected 0 < least <= largest")
        self.kernel_size, self.sigma = sizes, pair

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The sigma, the same for both axes."""
        return {"sigma": [uniform(self.sigma[0], self.sigma[1])] * 2}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The blurred image."""
        return self._call_kernel(F.gaussian_blur, inpt, self.kernel_size, **params)

    def _transform_samples(self, inpt: Any, params: list[dict[str, Any]]) -> Any:
        blurred = blurred_each(plain(inpt), self.kernel_size, [each["sigma"] for each in params])
        return tv_tensors.wrap(blurred, like=inpt)


class JPEG(Transform):
    """Images encoded as JPEG and decoded; `quality` is a number or (least, largest)."""

    def __init__(
        self, quality: int | Sequence[int], *, generator: rl.Generator | None = None
    ) -> None:
        super().__init__(generator=generator)
        pair = [quality, quality] if isinstance(quality, int) else list(quality)
        if len(pair) != 2 or not all(isinstance(each, int) for each in pair):
            raise ValueError(f"JPEG: quality {quality!r}; expected an integer or two")
        if not 1 <= pair[0] <= pair[1] <= 100:
            raise ValueError(f"JPEG: quality {quality!r}; expected 1 <= least <= largest <= 100")
        self.quality = pair

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The quality."""
        low, high = self.quality
        return {"quality": integer(high + 1, low)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The decoded image."""
        return self._call_kernel(F.jpeg, inpt, quality=params["quality"])


class Normalize(Transform):
    """`(image - mean) / std`, channel by channel; PIL images are refused."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean, self.std, self.inplace = list(mean), list(std), inplace

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Refuse PIL images."""
        if any(isinstance(each, PIL.Image.Image) for each in flat_inputs):
            raise TypeError("Normalize: PIL images are not supported; put ToImage before it")

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The normalised image."""
        return self._call_kernel(F.normalize, inpt, self.mean, self.std, self.inplace)


class ToDtype(Transform):
    """Images and videos in another dtype, or all inputs by a dict of dtypes by type.

    `scale` maps the range of one dtype to that of the other. The key "others" of the dict stands
    for all types it does not name; None leaves a type as it is.
    """

    def __init__(self, dtype: Any, scale: bool = False) -> None:
        super().__init__()
        if not isinstance(dtype, (dict, rl.dtype)):
            raise ValueError(
                f"ToDtype: dtype must be a dict or a dtype, got {type(dtype).__name__}"
            )
        self.dtype, self.scale = dtype, scale

    def _wanted(self, inpt: Any) -> Any:
        if isinstance(self.dtype, rl.dtype):
            images = (tv_tensors.Image, tv_tensors.Video)
            return self.dtype if is_pure_tensor(inpt) or isinstance(inpt, images) else None
        for key in (type(inpt), "others"):
            if key in self.dtype:
                return self.dtype[key]
        raise ValueError(
            f"ToDtype: no dtype for {type(inpt).__name__}; add it, or 'others', to the dict"
        )

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The converted input."""
        dtype = self._wanted(inpt)
        if dtype is None:
            return inpt
        return self._call_kernel(F.to_dtype, inpt, dtype=dtype, scale=self.scale)


class ConvertImageDtype(Transform):
    """`ToDtype(dtype, scale=True)` of images and masks; torchvision's older name for it."""

    _transformed_types = (is_pure_tensor, tv_tensors.Image, tv_tensors.Video, tv_tensors.Mask)

    def __init__(self, dtype: Any = rl.float32) -> None:
        super().__init__()
        self.dtype = dtype

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The converted image."""
        return self._call_kernel(F.to_dtype, inpt, dtype=self.dtype, scale=True)


class UniformTemporalSubsample(Transform):
    """`num_samples` frames of videos, evenly apart."""

    _transformed_types = (is_pure_tensor, tv_tensors.Video)

    def __init__(self, num_samples: int) -> None:
        super().__init__()
        self.num_samples = num_samples

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The shorter video."""
        return self._call_kernel(F.uniform_temporal_subsample, inpt, self.num_samples)
