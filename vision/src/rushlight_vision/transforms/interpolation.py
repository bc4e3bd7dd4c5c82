"""InterpolationMode: how pixels between pixels are made up."""

from __future__ import annotations

from enum import Enum

PILLOW_CODES = {
    "nearest": 0,
    "lanczos": 1,
    "bilinear": 2,
    "bicubic": 3,
    "box": 4,
    "hamming": 5,
    "nearest-exact": 0,
}


class InterpolationMode(Enum):
    """Ways of resampling an image.

    PIL images take all of them; tensors take `NEAREST`, `NEAREST_EXACT`, `BILINEAR` and `BICUBIC`.
    """

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"

    @property
    def pillow_code(self) -> int:
        """Pillow's number of this mode."""
        return PILLOW_CODES[self.value]


def interpolation_mode(given: InterpolationMode | int | str, name: str) -> InterpolationMode:
    """The mode that a caller of `name` means: a mode, its name, or Pillow's number for it."""
    if isinstance(given, InterpolationMode):
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        for mode in InterpolationMode:
            if mode.pillow_code == given:
                return mode
    elif isinstance(given, str) and given in PILLOW_CODES:
        return InterpolationMode(given)
    raise TypeError(
        f"{name}: interpolation {given!r}; expected an InterpolationMode or Pillow's number of one"
    )
