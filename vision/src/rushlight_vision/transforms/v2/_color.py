"""Random colour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as rl
from rushlight_vision import tv_tensors
from rushlight_vision.transforms.color import _bounds
from rushlight_vision.transforms.functional.color import adjust_each
from rushlight_vision.transforms.sampling import happens, permutation, uniform
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2._transform import Transform, query_chw
from rushlight_vision.tv_tensors._base import plain

Range = float | Sequence[float] | None
CHANGES: dict[str, Callable[..., Any]] = {
    "brightness": F.adjust_brightness,
    "contrast": F.adjust_contrast,
    "saturation": F.adjust_saturation,
    "hue": F.adjust_hue,
}


class ColorJitter(Transform):
    """Brightness, contrast, saturation and hue by random factors in random order.

    One number d means 1 - d ... 1 + d (not below 0), for the hue -d ... d; two numbers are the
    bounds; None leaves it as it is.
    """

    _pixels_only = True

    def __init__(
        self,
        brightness: Range = None,
        contrast: Range = None,
        saturation: Range = None,
        hue: Range = None,
        *,
        generator: rl.Generator | None = None,
        per_sample: bool = False,
    ) -> None:
        super().__init__(generator=generator, per_sample=per_sample)
        self.brightness = _bounds(brightness or 0, "brightness")
        self.contrast = _bounds(contrast or 0, "contrast")
        self.saturation = _bounds(saturation or 0, "saturation")
        self.hue = _bounds(hue or 0, "hue", center=0.0, limits=(-0.5, 0.5))

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The order and the factors."""
        order = permutation(4)
        ranges = (getattr(self, name) for name in CHANGES)
        factors = [None if pair is None else uniform(pair[0], pair[1]) for pair in ranges]
        return {"order": order, "factors": factors}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The changed image."""
        changes = list(CHANGES.values())
        for number in params["order"]:
            factor = params["factors"][number]
            if factor is not None:
                inpt = self._call_kernel(changes[number], inpt, factor)
        return inpt

    def _transform_samples(self, inpt: Any, params: list[dict[str, Any]]) -> Any:
        """All samples at once that have the same change at the same step of their orders."""
        pixels = plain(inpt)
        if pixels.dtype in (rl.float16, rl.bfloat16):  # factors would be rounded to these
            return super()._transform_samples(inpt, params)
        pixels = pixels.clone()
        for step in range(len(CHANGES)):
            for number, name in enumerate(CHANGES):
                factors = {
                    at: each["factors"][number]
                    for at, each in enumerate(params)
                    if each["order"][step] == number and each["factors"][number] is not None
                }
                if factors:
                    at = list(factors)
                    pixels[at] = adjust_each(pixels[at], name, list(factors.values()))
        return tv_tensors.wrap(pixels, like=inpt)


class RandomPhotometricDistort(Transform):
    """Random colour as in the training of SSD (Liu et al., 2016), each change with probability `p`.

    Contrast comes first or last, by chance; at the end the channels may be permuted.
    """

    def __init__(
        self,
        brightness: tuple[float, float] = (0.875, 1.125),
        contrast: tuple[float, float] = (0.5, 1.5),
        saturation: tuple[float, float] = (0.5, 1.5),
        hue: tuple[float, float] = (-0.05, 0.05),
        p: float = 0.5,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(generator=generator)
        self.brightness, self.contrast = brightness, contrast
        self.saturation, self.hue, self.p = saturation, hue, p

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Factors (None for a change that does not happen), order, and permutation."""
        channels, *_ = query_chw(flat_inputs)
        params: dict[str, Any] = {}
        for name in CHANGES:
            low, high = getattr(self, name)
            params[name] = uniform(low, high) if happens(self.p) else None
        params["contrast_before"] = happens(0.5)
        chosen = happens(self.p)
        params["permutation"] = permutation(channels) if chosen else None
        return params

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The changed image."""
        middle = ["saturation", "hue"]
        first = params["contrast_before"]
        order = ["brightness", *(["contrast"] if first else []), *middle]
        for name in order if first else [*order, "contrast"]:
            if params[name] is not None:
                inpt = self._call_kernel(CHANGES[name], inpt, params[name])
        if params["permutation"] is not None:
            inpt = self._call_kernel(F.permute_channels, inpt, permutation=params["permutation"])
        return inpt
