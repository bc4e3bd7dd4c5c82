"""Colour as transforms; the random ones draw in torchvision's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms.sampling import Sampling, happens, permutation, uniform

Bounds = tuple[float, float]


def _bounds(
    value: float | Sequence[float],
    name: str,
    center: float = 1.0,
    limits: Bounds = (0.0, float("inf")),
) -> Bounds | None:
    """The interval a factor is drawn from; None where it could only be `center`, no change."""
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"ColorJitter: {name} {value}; one number must not be negative")
        low, high = center - value, center + value
        if name != "hue":
            low = max(low, 0.0)
    elif isinstance(value, (list, tuple)) and len(value) == 2:
        low, high = float(value[0]), float(value[1])
    else:
        raise TypeError(f"ColorJitter: {name} {value!r}; expected one number or two")
    if not limits[0] <= low <= high <= limits[1]:
        raise ValueError(
            f"ColorJitter: {name} from {low} to {high}; expected least <= largest within {limits}"
        )
    return None if low == high == center else (low, high)


class ColorJitter(Sampling, nn.Module):
    """Brightness, contrast, saturation and hue changed by random factors in random order.

    One number d means 1 - d ... 1 + d (not below 0), for the hue -d ... d; two numbers are the
    bounds. Draws `randperm(4)`, then one factor for each change that is on.
    """

    def __init__(
        self,
        brightness: float | Sequence[float] = 0,
        contrast: float | Sequence[float] = 0,
        saturation: float | Sequence[float] = 0,
        hue: float | Sequence[float] = 0,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(generator=generator)
        self.brightness = _bounds(brightness, "brightness")
        self.contrast = _bounds(contrast, "contrast")
        self.saturation = _bounds(saturation, "saturation")
        self.hue = _bounds(hue, "hue", center=0.0, limits=(-0.5, 0.5))

    @staticmethod
    def get_params(
        brightness: Bounds | None,
        contrast: Bounds | None,
        saturation: Bounds | None,
        hue: Bounds | None,
    ) -> tuple[rl.Tensor, float | None, float | None, float | None, float | None]:
        """The order of the four changes and their factors, None for those that are off."""
        order = rl.tensor(permutation(4))
        b, c, s, h = (
            None if bounds is None else uniform(bounds[0], bounds[1])
            for bounds in (brightness, contrast, saturation, hue)
        )
        return order, b, c, s, h

    def forward(self, img: Any) -> Any:
        """The changed image."""
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        changes = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        for number in order.tolist():
            if factors[number] is not None:
                img = changes[number](img, factors[number])
        return img

    def __repr__(self) -> str:
        return (
            f"ColorJitter(brightness={self.brightness}, contrast={self.contrast}, "
            f"saturation={self.saturation}, hue={self.hue})"
        )


class Grayscale(nn.Module):
    """The grey image, with one channel or with three equal ones."""

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img: Any) -> Any:
        """The grey image."""
        return F.rgb_to_grayscale(img, self.num_output_channels)

    def __repr__(self) -> str:
        return f"Grayscale(num_output_channels={self.num_output_channels})"


class RandomGrayscale(Sampling, nn.Module):
    """The grey image with probability `p`, with as many channels as before. Draws `rand(1)`."""

    def __init__(self, p: float = 0.1, *, generator: rl.Generator | None = None) -> None:
        super().__init__(generator=generator)
        self.p = p

    def forward(self, img: Any) -> Any:
        """The image, grey or not."""
        channels = F.get_image_num_channels(img)
        return F.rgb_to_grayscale(img, channels) if happens(self.p) else img

    def __repr__(self) -> str:
        return f"RandomGrayscale(p={self.p})"


class RandomInvert(Sampling, nn.Module):
    """The negative with probability `p`. Draws `rand(1)`."""

    def __init__(self, p: float = 0.5, *, generator: rl.Generator | None = None) -> None:
        super().__init__(generator=generator)
        self.p = p

    def forward(self, img: Any) -> Any:
        """The image, inverted or not."""
        return F.invert(img) if happens(self.p) else img

    def __repr__(self) -> str:
        return f"RandomInvert(p={self.p})"
