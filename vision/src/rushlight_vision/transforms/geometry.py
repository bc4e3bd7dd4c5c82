"""Size and place as transforms; the random ones draw in torchvision's order."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Sequence
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms.functional.padding import PADDING_MODES, border_widths
from rushlight_vision.transforms.interpolation import InterpolationMode, interpolation_mode
from rushlight_vision.transforms.sampling import Sampling, happens, integer, uniform


def _two_sizes(size: int | Sequence[int], name: str) -> tuple[int, int]:
    """Height and width from one number for both, or two."""
    if isinstance(size, int):
        return size, size
    if isinstance(size, Sequence) and len(size) == 1:
        return size[0], size[0]
    if not isinstance(size, Sequence) or len(size) != 2:
        raise ValueError(f"{name}: size {size!r}; expected one number or (height, width)")
    return size[0], size[1]


@functools.lru_cache(64)
def _logarithms(ratio: tuple[float, ...]) -> list[float]:
    return rl.log(rl.tensor(ratio, dtype=rl.float32)).tolist()


def draw_ratio(ratio: Sequence[float]) -> float:
    """An aspect ratio, its logarithm even between those of the two bounds."""
    low, high = _logarithms(tuple(ratio))
    return float(rl.exp(rl.tensor([uniform(low, high)])))


def random_part(
    height: int, width: int, scale: Sequence[float], ratio: Sequence[float]
) -> tuple[int, int, int, int]:
    """Top, left, height and width of a random part; the middle where none fits in ten trials."""
    area = height * width
    for _ in range(10):
        target = area * uniform(scale[0], scale[1])
        aspect = draw_ratio(ratio)
        new_width = int(round(math.sqrt(target * aspect)))
        new_height = int(round(math.sqrt(target / aspect)))
        if 0 < new_width <= width and 0 < new_height <= height:
            top = integer(height - new_height + 1)
            left = integer(width - new_width + 1)
            return top, left, new_height, new_width
    new_width, new_height = width, height
    if width / height < min(ratio):
        new_height = int(round(width / min(ratio)))
    elif width / height > max(ratio):
        new_width = int(round(height * max(ratio)))
    return (height - new_height) // 2, (width - new_width) // 2, new_height, new_width


class Resize(nn.Module):
    """The image at another size; see `functional.resize`."""

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if not isinstance(size, (int, Sequence)):
            raise TypeError(f"Resize: size should be int or sequence; got {type(size).__name__}")
        if isinstance(size, Sequence) and len(size) not in (1, 2):
            raise ValueError(f"Resize: size {size!r}; expected one number or (height, width)")
        self.size = size
        self.max_size = max_size
        self.interpolation = interpolation_mode(interpolation, "Resize")
        self.antialias = antialias

    def forward(self, img: Any) -> Any:
        """The resized image."""
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def __repr__(self) -> str:
        return (
            f"Resize(size={self.size}, interpolation={self.interpolation.value}, "
            f"max_size={self.max_size}, antialias={self.antialias})"
        )


class CenterCrop(nn.Module):
    """The middle of the image; zeros around it where the image is smaller."""

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = _two_sizes(size, "CenterCrop")

    def forward(self, img: Any) -> Any:
        """The cropped image."""
        return F.center_crop(img, self.size)

    def __repr__(self) -> str:
        return f"CenterCrop(size={self.size})"


class Pad(nn.Module):
    """Room around the image; see `functional.pad`."""

    def __init__(
        self,
        padding: int | Sequence[int],
        fill: int | float | Sequence[float] = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        border_widths(padding, "Pad")
        if not isinstance(fill, (int, float, tuple, list)):
            raise TypeError(f"Pad: fill {fill!r}; expected a number or one for every channel")
        if padding_mode not in PADDING_MODES:
            raise ValueError(
                f"Pad: padding_mode {padding_mode!r}; expected one of {list(PADDING_MODES)}"
            )
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def forward(self, img: Any) -> Any:
        """The padded image."""
        return F.pad(img, self.padding, self.fill, self.padding_mode)

    def __repr__(self) -> str:
        return f"Pad(padding={self.padding}, fill={self.fill}, padding_mode={self.padding_mode})"


class RandomCrop(Sampling, nn.Module):
    """A part of the image at a random place.

    `padding` goes around the image first; with `pad_if_needed` so does what a smaller image lacks,
    on both sides. Draws `randint` for the top, then for the left.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: int | float | Sequence[float] = 0,
        padding_mode: str = "constant",
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(generator=generator)
        self.size = _two_sizes(size, "RandomCrop")
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Top, left, height and width of a random part."""
        _, height, width = F.get_dimensions(img)
        new_height, new_width = output_size
        if height < new_height or width < new_width:
            raise ValueError(
                f"RandomCrop: the crop {(new_height, new_width)} is larger than the image "
                f"{(height, width)}"
            )
        if (height, width) == (new_height, new_width):
            return 0, 0, height, width
        top = integer(height - new_height + 1)
        left = integer(width - new_width + 1)
        return top, left, new_height, new_width

    def forward(self, img: Any) -> Any:
        """The cropped image."""
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        if self.pad_if_needed:
            _, height, width = F.get_dimensions(img)
            if width < self.size[1]:
                img = F.pad(img, [self.size[1] - width, 0], self.fill, self.padding_mode)
            if height < self.size[0]:
                img = F.pad(img, [0, self.size[0] - height], self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))

    def __repr__(self) -> str:
        return f"RandomCrop(size={self.size}, padding={self.padding})"


class RandomResizedCrop(Sampling, nn.Module):
    """A part of random size, shape and place, resized to `size`.

    Its area is `scale` of the image's, its aspect ratio (width to height) lies in `ratio`. Draws
    an area, a ratio, top and left, up to ten times until the part fits; then takes the middle.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(generator=generator)
        self.size = _two_sizes(size, "RandomResizedCrop")
        for name, bounds in (("scale", scale), ("ratio", ratio)):
            if not isinstance(bounds, Sequence) or len(bounds) != 2:
                raise TypeError(f"RandomResizedCrop: {name} {bounds!r}; expected two numbers")
            if bounds[0] > bounds[1]:
                warnings.warn(
                    f"RandomResizedCrop: {name} should be (least, largest); got {tuple(bounds)}",
                    stacklevel=2,
                )
        self.scale = scale
        self.ratio = ratio
        self.interpolation = interpolation_mode(interpolation, "RandomResizedCrop")
        self.antialias = antialias

    @staticmethod
    def get_params(
        img: Any, scale: Sequence[float], ratio: Sequence[float]
    ) -> tuple[int, int, int, int]:
        """Top, left, height and width of a random part."""
        _, height, width = F.get_dimensions(img)
        return random_part(height, width, scale, ratio)

    def forward(self, img: Any) -> Any:
        """The cropped and resized image."""
        top, left, height, width = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(
            img, top, left, height, width, self.size, self.interpolation, self.antialias
        )

    def __repr__(self) -> str:
        scale = tuple(round(value, 4) for value in self.scale)
        ratio = tuple(round(value, 4) for value in self.ratio)
        return (
            f"RandomResizedCrop(size={self.size}, scale={scale}, ratio={ratio}, "
            f"interpolation={self.interpolation.value}, antialias={self.antialias})"
        )


class RandomHorizontalFlip(Sampling, nn.Module):
    """Left and right exchanged with probability `p`. Draws `rand(1)`."""

    def __init__(self, p: float = 0.5, *, generator: rl.Generator | None = None) -> None:
        super().__init__(generator=generator)
        self.p = p

    def forward(self, img: Any) -> Any:
        """The image, flipped or not."""
        return F.hflip(img) if happens(self.p) else img

    def __repr__(self) -> str:
        return f"RandomHorizontalFlip(p={self.p})"


class RandomVerticalFlip(Sampling, nn.Module):
    """Top and bottom exchanged with probability `p`. Draws `rand(1)`."""

    def __init__(self, p: float = 0.5, *, generator: rl.Generator | None = None) -> None:
        super().__init__(generator=generator)
        self.p = p

    def forward(self, img: Any) -> Any:
        """The image, flipped or not."""
        return F.vflip(img) if happens(self.p) else img

    def __repr__(self) -> str:
        return f"RandomVerticalFlip(p={self.p})"


class RandomRotation(Sampling, nn.Module):
    """The image turned by a random angle of `degrees`: (least, largest), or -d ... d for one d."""

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: Any = 0,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(generator=generator)
        if isinstance(degrees, (int, float)):
            if degrees < 0:
                raise ValueError(f"RandomRotation: one number must not be negative; got {degrees}")
            self.degrees = [-float(degrees), float(degrees)]
        elif isinstance(degrees, Sequence) and len(degrees) == 2:
            self.degrees = [float(degree) for degree in degrees]
        else:
            raise TypeError(f"RandomRotation: degrees {degrees!r}; expected one or two numbers")
        if center is not None and len(center) != 2:
            raise ValueError(f"RandomRotation: center {center!r}; expected two numbers, x and y")
        self.interpolation = interpolation_mode(interpolation, "RandomRotation")
        self.expand = expand
        self.center = center
        self.fill = 0 if fill is None else fill

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """A random angle."""
        return uniform(float(degrees[0]), float(degrees[1]))

    def forward(self, img: Any) -> Any:
        """The turned image."""
        angle = self.get_params(self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, self.fill)

    def __repr__(self) -> str:
        text = f"RandomRotation(degrees={self.degrees}, interpolation={self.interpolation.value}"
        text += f", expand={self.expand}"
        if self.center is not None:
            text += f", center={self.center}"
        return f"{text}, fill={self.fill})"


class FiveCrop(nn.Module):
    """The four corners and the middle, as a tuple."""

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = _two_sizes(size, "FiveCrop")

    def forward(self, img: Any) -> tuple[Any, ...]:
        """Five images."""
        return F.five_crop(img, self.size)

    def __repr__(self) -> str:
        return f"FiveCrop(size={self.size})"


class TenCrop(nn.Module):
    """`FiveCrop` of the image and of its mirror image, as a tuple."""

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__()
        self.size = _two_sizes(size, "TenCrop")
        self.vertical_flip = vertical_flip

    def forward(self, img: Any) -> tuple[Any, ...]:
        """Ten images."""
        return F.ten_crop(img, self.size, self.vertical_flip)

    def __repr__(self) -> str:
        return f"TenCrop(size={self.size}, vertical_flip={self.vertical_flip})"
