"""What functions that draw have in common: checks, colours, bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from PIL import ImageColor, ImageDraw

import rushlight as rl

Color = str | tuple[int, int, int]
Colors = list[Color] | Color | None
# Steps between the colours of things, of red, green and blue, modulo 255: neighbours differ well.
_STEPS = (2**25 - 1, 2**15 - 1, 2**21 - 1)


def checked_image(image: Any, channels: tuple[int, ...]) -> None:
    """Raise unless an image is uint8 or float, (C, H, W), with as many channels as may be."""
    if not isinstance(image, rl.Tensor):
        raise TypeError(f"image must be a tensor, got {type(image).__name__}")
    if image.dtype is not rl.uint8 and not image.is_floating_point():
        raise ValueError(f"image must be uint8 or float, got {image.dtype}")
    if image.ndim != 3 or image.shape[0] not in channels:
        expected = " or ".join(f"({count}, H, W)" for count in channels)
        raise ValueError(f"image must have the shape {expected}, got {tuple(image.shape)}")


def color_of_each(colors: Any, count: int, name: str = "colors") -> list[tuple[int, int, int]]:
    """Red, green and blue of each of some things, 0 to 255."""
    if colors is None:
        return [tuple(number * step % 255 for step in _STEPS) for number in range(count)]  # type: ignore[misc]
    if isinstance(colors, list):
        if len(colors) < count:
            raise ValueError(f"{name} must have one colour for each of {count}, got {len(colors)}")
    elif isinstance(colors, tuple) and len(colors) != 3:
        raise ValueError(f"{name} as a tuple must be red, green and blue, got {colors}")
    elif not isinstance(colors, (tuple, str)):
        raise ValueError(f"{name} must be a colour or a list of them, got {colors!r}")
    else:
        colors = [colors] * count
    return [ImageColor.getrgb(one) if isinstance(one, str) else tuple(one) for one in colors]


def to_bytes(image: rl.Tensor) -> rl.Tensor:
    """A float image, 0 to 1, as uint8."""
    from rushlight_vision.transforms.v2.functional import to_dtype

    return image if image.dtype is rl.uint8 else to_dtype(image, rl.uint8, scale=True)


def from_bytes(image: rl.Tensor, dtype: Any) -> rl.Tensor:
    """A uint8 image as another dtype, floats 0 to 1."""
    from rushlight_vision.transforms.v2.functional import to_dtype

    return image if dtype is rl.uint8 else to_dtype(image, dtype, scale=True)


class Draw(ImageDraw.ImageDraw):
    """Pillow's drawing, and boxes that are turned."""

    def turned_box(
        self, corners: Sequence[float], fill: Any = None, outline: Any = None, width: int = 1
    ) -> None:
        """A box by its four corners, x and y of each; the side from the first to the second, the
        top of the thing, is dashed."""
        points = [(corners[n], corners[n + 1]) for n in range(0, len(corners), 2)]
        self._dashed(points[0], points[1], outline, width)
        for start, end in zip(points[1:], [*points[2:], points[0]], strict=True):
            self.line((start, end), width=width, fill=outline)
        self.polygon(list(corners), fill=fill, outline=None, width=0)

    def _dashed(self, start: Any, end: Any, fill: Any, width: int, dash: float = 5) -> None:
        """A line of dashes and gaps of equal length."""
        (x, y), left = start, math.dist(start, end)
        drawn = True
        while left > 0:
            length = min(left, dash)
            angle = math.atan2(end[1] - y, end[0] - x)
            to = x + math.cos(angle) * length, y + math.sin(angle) * length
            if drawn:
                self.line([(x, y), to], fill, width)
            (x, y), left, drawn = to, left - length, not drawn
