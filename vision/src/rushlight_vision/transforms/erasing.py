"""RandomErasing: a rectangle of a tensor image overwritten."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms.geometry import draw_ratio
from rushlight_vision.transforms.sampling import Sampling, happens, integer, normal, uniform


def random_rectangle(
    size: tuple[int, int, int],
    scale: Sequence[float],
    ratio: Sequence[float],
    value: Sequence[float] | None,
) -> tuple[int, int, int, int, rl.Tensor] | None:
    """Row, column, height, width and what to write into an image of `size` (C, H, W), noise for
    no `value`; None where no rectangle fits in ten trials."""
    channels, height, width = size
    for _ in range(10):
        target = height * width * uniform(scale[0], scale[1])
        aspect = draw_ratio(ratio)
        h = int(round(math.sqrt(target * aspect)))
        w = int(round(math.sqrt(target / aspect)))
        if not (h < height and w < width):
            continue
        if value is None:
            written = normal((channels, h, w))
        else:
            written = rl.tensor(value).reshape(-1, 1, 1)
        row = integer(height - h + 1)
        column = integer(width - w + 1)
        return row, column, h, w, written
    return None


class RandomErasing(Sampling, nn.Module):
    """A random rectangle of a tensor overwritten with probability `p` (Zhong et al., 2017).

    Its area is `scale` of the image's, its aspect ratio (height to width) lies in `ratio`. `value`
    is a number, one for every channel, or "random" for normal noise.
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(generator=generator)
        if not isinstance(value, (int, float, str, tuple, list)):
            raise TypeError(f"RandomErasing: value {value!r}; expected a number, numbers or a str")
        if isinstance(value, str) and value != "random":
            raise ValueError(f"RandomErasing: value {value!r}; the only word is 'random'")
        for name, bounds in (("scale", scale), ("ratio", ratio)):
            if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
                raise TypeError(f"RandomErasing: {name} {bounds!r}; expected two numbers")
        if scale[0] < 0 or scale[1] > 1:
            raise ValueError(f"RandomErasing: scale {tuple(scale)} should lie between 0 and 1")
        if not 0 <= p <= 1:
            raise ValueError(f"RandomErasing: p {p} should lie between 0 and 1")
        self.p = p
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    @staticmethod
    def get_params(
        img: rl.Tensor,
        scale: Sequence[float],
        ratio: Sequence[float],
        value: Sequence[float] | None = None,
    ) -> tuple[int, int, int, int, rl.Tensor]:
        """Row, column, height, width and what to write; the whole image itself if none fits."""
        channels, height, width = img.shape[-3:]
        found = random_rectangle((channels, height, width), scale, ratio, value)
        return (0, 0, height, width, img) if found is None else found

    def forward(self, img: rl.Tensor) -> rl.Tensor:
        """The tensor, with or without its rectangle."""
        if not isinstance(img, rl.Tensor):
            raise TypeError(
                f"RandomErasing: expected a tensor, got {type(img).__name__}; put it after ToTensor"
            )
        if not happens(self.p):
            return img
        value: Any = self.value
        if isinstance(value, (int, float)):
            value = [float(value)]
        elif isinstance(value, str):
            value = None
        if value is not None and len(value) not in (1, img.shape[-3]):
            raise ValueError(
                f"RandomErasing: value holds {len(value)} numbers; expected 1 or the "
                f"{img.shape[-3]} channels of the image"
            )
        row, column, h, w, written = self.get_params(img, self.scale, self.ratio, value)
        return F.erase(img, row, column, h, w, written, self.inplace)

    def __repr__(self) -> str:
        return (
            f"RandomErasing(p={self.p}, scale={self.scale}, ratio={self.ratio}, "
            f"value={self.value}, inplace={self.inplace})"
        )
