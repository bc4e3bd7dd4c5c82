"""Changes of levels that happen with a probability; each samples `rand(1)`."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms import sampling
from rushlight_vision.transforms.sampling import Sampling


class _Chance(Sampling, nn.Module):
    """A change that happens with probability `p`."""

    def __init__(self, p: float = 0.5, *, generator: rl.Generator | None = None) -> None:
        super().__init__(generator=generator)
        self.p = p

    def change(self, img: Any) -> Any:
        """The changed image."""
        raise NotImplementedError(f"{type(self).__name__}: subclasses give `change`")

    def forward(self, img: Any) -> Any:
        """The image, changed or not."""
        return self.change(img) if sampling.rand((1,)).item() < self.p else img

    def __repr__(self) -> str:
        shown = ",".join(
            f"{name}={value}"
            for name, value in sorted(self.__dict__.items(), key=lambda item: item[0] == "p")
            if not name.startswith("_") and name not in ("training", "generator")
        )
        return f"{type(self).__name__}({shown})"


class RandomPosterize(_Chance):
    """Only the highest `bits` of each channel with probability `p`."""

    def __init__(self, bits: int, p: float = 0.5, *, generator: rl.Generator | None = None) -> None:
        super().__init__(p, generator=generator)
        self.bits = bits

    def change(self, img: Any) -> Any:
        """The posterized image."""
        return F.posterize(img, self.bits)


class RandomSolarize(_Chance):
    """Values from `threshold` on inverted with probability `p`."""

    def __init__(
        self, threshold: float, p: float = 0.5, *, generator: rl.Generator | None = None
    ) -> None:
        super().__init__(p, generator=generator)
        self.threshold = threshold

    def change(self, img: Any) -> Any:
        """The solarized image."""
        return F.solarize(img, self.threshold)


class RandomAdjustSharpness(_Chance):
    """Sharpness times a factor with probability `p`."""

    def __init__(
        self, sharpness_factor: float, p: float = 0.5, *, generator: rl.Generator | None = None
    ) -> None:
        super().__init__(p, generator=generator)
        self.sharpness_factor = sharpness_factor

    def change(self, img: Any) -> Any:
        """The sharpened image."""
        return F.adjust_sharpness(img, self.sharpness_factor)


class RandomAutocontrast(_Chance):
    """Channels over the whole range with probability `p`."""

    def change(self, img: Any) -> Any:
        """The stretched image."""
        return F.autocontrast(img)


class RandomEqualize(_Chance):
    """An even histogram with probability `p`."""

    def change(self, img: Any) -> Any:
        """The equalized image."""
        return F.equalize(img)
