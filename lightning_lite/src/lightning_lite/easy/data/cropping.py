"""Transforms of items that cut pictures out and resize them, masks, points and boxes with them.

Corners and sizes of pictures are pixels; points lie between -1 and 1, x before y.
"""

from __future__ import annotations

import math
from typing import Any

import rushlight as rl
from lightning_lite.easy.data.describing import describable
from lightning_lite.easy.data.pictures import PAD_MODES, padded
from lightning_lite.easy.data.randomness import between, chance, whole
from lightning_lite.easy.data.transform import Transform


class ResizeMethod:
    """The values of `Resize`'s `method`."""

    Squish, Crop, Pad = "squish", "crop", "pad"


class PadMode:
    """The values of `pad_mode`."""

    Zeros, Border, Reflection = PAD_MODES


Box = tuple[int, int, int, int]
RESAMPLES = (2, 0)  # Pillow's numbers of bilinear and nearest sampling


def _size(name: str, size: Any) -> tuple[int, int]:
    """Width and height of a size: pixels, or (height, width)."""
    pair = (size, size) if isinstance(size, int) else tuple(size)
    if len(pair) != 2 or not all(isinstance(each, int) and each > 0 for each in pair):
        raise ValueError(f"{name}: size={size!r}; expected pixels, or (height, width)")
    return pair[1], pair[0]


def _pad_mode(name: str, mode: str) -> str:
    if mode not in PAD_MODES:
        raise ValueError(f"{name}: pad_mode={mode!r}; expected one of {PAD_MODES}")
    return mode


def cut(image: Any, box: Box, pad_mode: str = "zeros") -> Any:
    """The piece (left, top, width, height) of a picture; what is outside of it is padded."""
    left, top, wide, high = box
    if pad_mode == "zeros":
        return image.crop((left, top, left + wide, top + high))
    width, height = image.size
    right, bottom = left + wide, top + high
    inside = image.crop((max(left, 0), max(top, 0), min(right, width), min(bottom, height)))
    sides = (max(-left, 0), max(-top, 0), max(right - width, 0), max(bottom - height, 0))
    return padded(inside, sides, pad_mode) if any(sides) else inside


def moved(points: Any, size: tuple[int, int], box: Box) -> Any:
    """Points `(..., 2)` of a picture of (width, height) as points of a piece of it."""
    whole_size, corner = rl.tensor(size, dtype=rl.float32), rl.tensor(box[:2], dtype=rl.float32)
    piece = rl.tensor(box[2:], dtype=rl.float32)
    return (points + 1) * whole_size / piece - corner * 2 / piece - 1


class Cutting(Transform):
    """The base: `choose` draws what the parts of a sample share, `box` says what is cut out of a
    picture of a size, `final` the size it gets (None: as it was cut)."""

    order = 1
    final: tuple[int, int] | None = None
    pad_mode = "zeros"
    resamples: tuple[int, int] = RESAMPLES
    original = (1, 1)

    def choose(self, split: int) -> None:
        """Draw for a sample whose picture has the size `original`."""

    def box(self, width: int, height: int) -> Box:
        """Left, top, width and height of the piece."""
        raise NotImplementedError("Cutting: a subclass says which piece is cut out")

    def begin(self, sample: tuple[Any, ...], kinds: tuple[str, ...], split: int) -> None:
        """Look at the first picture, and draw."""
        pairs = zip(sample, kinds, strict=True)
        sizes = [part.size for part, kind in pairs if kind in ("image", "mask")]
        if sizes:
            self.original = sizes[0]
            self.choose(split)

    def image(self, image: Any) -> Any:
        """The piece of a picture."""
        return self._cut(image, self.resamples[0])

    def mask(self, image: Any) -> Any:
        """The piece of a mask."""
        return self._cut(image, self.resamples[1])

    def points(self, points: Any) -> Any:
        """Points of the piece."""
        return moved(points, self.original, self.box(*self.original))

    def boxes(self, boxes: Any) -> Any:
        """Boxes `(count, 4)` of the piece, by their corners."""
        return self.points(boxes.reshape(-1, 2)).reshape(-1, 4)

    def _cut(self, image: Any, sampling: int) -> Any:
        made = cut(image, self.box(*image.size), self.pad_mode)
        return made if self.final is None else made.resize(self.final, sampling)


@describable
class Resize(Cutting):
    """Items of one size: `size` pixels, or `(height, width)`.

    `method`: "crop" cuts the largest piece of that form out (in the middle for validation, anywhere
    for training), "squish" changes the form, "pad" adds pixels by `pad_mode` ("reflection",
    "border" or "zeros"). `resamples`: Pillow's sampling of pictures and of masks, bilinear and
    nearest by default. ValueError for other words.

    >>> from PIL import Image
    >>> sample = Resize((16, 24))((Image.new("RGB", (40, 30)),), ("image",), 1)
    >>> sample[0].size
    (24, 16)
    """

    def __init__(
        self,
        size: Any,
        method: str = "crop",
        pad_mode: str = "reflection",
        resamples: tuple[int, int] = RESAMPLES,
    ) -> None:
        if method not in ("crop", "squish", "pad"):
            raise ValueError(f"Resize: method={method!r}; expected 'crop', 'squish' or 'pad'")
        self.final = self.width, self.height = _size("Resize", size)
        self.method, self.pad_mode = method, _pad_mode("Resize", pad_mode)
        self.resamples = resamples
        self.shares = (0.5, 0.5)

    def choose(self, split: int) -> None:
        """Draw where training cuts, or pads."""
        drawn = split == 0 and self.method != "squish"
        self.shares = (between(0, 1), between(0, 1)) if drawn else (0.5, 0.5)

    def box(self, width: int, height: int) -> Box:
        """The piece of the form of the size."""
        if self.method == "squish":
            return 0, 0, width, height
        ratios = (width / self.width, height / self.height)
        ratio = min(ratios) if self.method == "crop" else max(ratios)
        wide, high = int(ratio * self.width), int(ratio * self.height)
        return (
            int(self.shares[0] * (width - wide)),
            int(self.shares[1] * (height - high)),
            wide,
            high,
        )


@describable
class CropPad(Cutting):
    """The middle of items, cut or padded (`pad_mode`) to `size` pixels or `(height, width)`."""

    order = 0

    def __init__(self, size: Any, pad_mode: str = "zeros") -> None:
        self.size, self.pad_mode = _size("CropPad", size), _pad_mode("CropPad", pad_mode)

    def box(self, width: int, height: int) -> Box:
        """The middle."""
        wide, high = self.size
        return (width - wide) // 2, (height - high) // 2, wide, high


@describable
class RandomCrop(CropPad):
    """A piece of `size` pixels or `(height, width)`: anywhere for training, the middle for
    validation; padded with zeros where the picture is smaller."""

    order = 1

    def __init__(self, size: Any) -> None:
        self.size = _size("RandomCrop", size)
        self.corner: tuple[int, int] | None = None

    def choose(self, split: int) -> None:
        """Draw the corner."""
        spare = [have - want for have, want in zip(self.original, self.size, strict=True)]
        drawn = [whole(each, -1) if each < 0 else whole(0, each) for each in spare]
        self.corner = None if split else (drawn[0], drawn[1])

    def box(self, width: int, height: int) -> Box:
        """The piece."""
        if self.corner is None:
            return super().box(width, height)
        return (*self.corner, *self.size)


@describable
class RandomResizedCrop(Cutting):
    """A piece of random area and form, resized to `size` pixels or `(height, width)`.

    The piece has `min_scale` to `max_scale` of the area, and a width over height in `ratio`.
    Validation: the picture resized so that the share `val_xtra` is cut off around. `resamples`: as
    for Resize. ValueError for scales that are not above 0, in order.
    """

    def __init__(
        self,
        size: Any,
        min_scale: float = 0.08,
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        resamples: tuple[int, int] = RESAMPLES,
        val_xtra: float = 0.14,
        max_scale: float = 1.0,
    ) -> None:
        if not 0 < min_scale <= max_scale:
            raise ValueError(
                f"RandomResizedCrop: min_scale={min_scale}, max_scale={max_scale}; expected "
                "numbers above 0, the smaller first"
            )
        self.size = _size("RandomResizedCrop", size)
        self.min_scale, self.max_scale, self.ratio = min_scale, max_scale, tuple(ratio)
        self.resamples, self.val_xtra = resamples, val_xtra
        self.piece: Box | None = None
        self.final = self.size

    def choose(self, split: int) -> None:
        """Draw the piece; the whole for validation."""
        self.piece, self.final = None, self.size
        if split:
            # fastai rounds the pixels to cut off up to a multiple of 8.
            extra = math.ceil(max(self.size) * self.val_xtra / 8) * 8
            self.final = self.size[0] + extra, self.size[1] + extra
        else:
            scales = (self.min_scale, self.max_scale)
            self.piece = drawn_piece(self.original, scales, self.ratio)

    def box(self, width: int, height: int) -> Box:
        """The piece."""
        return (0, 0, width, height) if self.piece is None else self.piece

    def _cut(self, image: Any, sampling: int) -> Any:
        made = super()._cut(image, sampling)
        return made if self.final == self.size else cut(made, self._middle())

    def _middle(self) -> Box:
        (wide, high), (width, height) = self.size, self.final or self.size
        return (width - wide) // 2, (height - high) // 2, wide, high

    def points(self, points: Any) -> Any:
        """Points of the piece."""
        found = super().points(points)
        if self.final is None or self.final == self.size:
            return found
        return moved(found, self.final, self._middle())


def drawn_piece(
    size: tuple[int, int], scales: tuple[float, float], ratio: tuple[float, ...]
) -> Box:
    """A random piece of a picture of (width, height): ten tries to fit, then the middle."""
    width, height = size
    for _ in range(10):
        area = between(*scales) * width * height
        form = math.exp(between(math.log(ratio[0]), math.log(ratio[1])))
        wide, high = round(math.sqrt(area * form)), round(math.sqrt(area / form))
        if 0 < wide <= width and 0 < high <= height:
            return whole(0, width - wide), whole(0, height - high), wide, high
    return middle_piece(size, ratio)


def middle_piece(size: tuple[int, int], ratio: tuple[float, ...]) -> Box:
    """The largest piece in the middle whose width over height is within `ratio`."""
    width, height = wide, high = size
    if width / height < ratio[0]:
        high = int(width / ratio[0])
    elif width / height > ratio[1]:
        wide = int(height * ratio[1])
    return (width - wide) // 2, (height - high) // 2, wide, high


@describable
class RatioResize(Cutting):
    """Items whose longer side has `max_sz` pixels; the form stays. `resamples`: as for Resize."""

    def __init__(self, max_sz: int, resamples: tuple[int, int] = RESAMPLES) -> None:
        self.max_sz, self.resamples = max_sz, resamples

    def choose(self, split: int) -> None:
        """The size that this picture gets."""
        longest = max(self.original)
        wide, high = (int(each * self.max_sz / longest) for each in self.original)
        self.shape = Resize((high, wide))
        self.final = self.shape.final

    def box(self, width: int, height: int) -> Box:
        """The picture, save for what rounding changes in its form."""
        return self.shape.box(width, height)


class _Turning(Transform):
    """The base of what exchanges rows and columns of items, with probability `p`."""

    def __init__(self, p: float) -> None:
        self.p, self.number = p, 0

    def image(self, image: Any) -> Any:
        """The picture."""
        # Pillow numbers the seven transpositions from 0 on.
        return image if self.number == 0 else image.transpose(self.number - 1)

    mask = image

    def points(self, points: Any) -> Any:
        """The points."""
        x, y = points[..., 0], points[..., 1]
        x = -x if self.number in (1, 3, 4, 7) else x
        y = -y if self.number in (2, 4, 5, 7) else y
        return rl.stack([y, x] if self.number in (3, 5, 6, 7) else [x, y], -1)

    def boxes(self, boxes: Any) -> Any:
        """The boxes, by their corners."""
        corners = self.points(boxes.reshape(-1, 2, 2))
        return rl.cat([corners.amin(1), corners.amax(1)], 1)


@describable
class FlipItem(_Turning):
    """Training items mirrored left to right with probability `p`."""

    split_idx = 0

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)

    def begin(self, sample: tuple[Any, ...], kinds: tuple[str, ...], split: int) -> None:
        """Draw whether."""
        self.number = int(chance(self.p))


@describable
class DihedralItem(_Turning):
    """Training items in one of the eight flips and quarter turns, with probability `p`."""

    split_idx = 0

    def __init__(self, p: float = 1.0) -> None:
        super().__init__(p)

    def begin(self, sample: tuple[Any, ...], kinds: tuple[str, ...], split: int) -> None:
        """Draw which."""
        self.number = whole(0, 7) if chance(self.p) else 0
