"""Pictures: reading them, padding items, scaling batches. Needs Pillow when a picture is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as rl
from lightning_lite.easy.data.describing import announce, describable

# Means and deviations by channel of pictures from 0 to 1, for `Normalize.from_stats(*stats)`.
imagenet_stats = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
cifar_stats = ([0.491, 0.482, 0.447], [0.247, 0.243, 0.261])
mnist_stats = ([0.131], [0.308])

PAD_MODES = ("zeros", "border", "reflection")


def pillow() -> Any:
    """Pillow's module of images. ModuleNotFoundError that says what to install."""
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "ImageBlock needs Pillow: pip install rushlight-lightning-lite[vision]"
        ) from error
    return Image


class PILImage:
    """Pictures of three colours. Other kinds are subclasses with another Pillow `mode`."""

    mode: str | None = "RGB"

    @classmethod
    def create(cls, source: Any) -> Any:
        """A picture of a path, or of one that is open already, in the mode of the class."""
        images = pillow()
        image = source if isinstance(source, images.Image) else images.open(source)
        return image.copy() if cls.mode in (None, image.mode) else image.convert(cls.mode)


class PILImageBW(PILImage):
    """Pictures in grey."""

    mode = "L"


class PILMask(PILImage):
    """Pictures whose values are the numbers of classes."""

    mode = "L"


for _kind in (PILImage, PILImageBW, PILMask):
    announce(_kind.create, f"{_kind.__name__}.create")


@announce
def as_tensor(image: Any) -> rl.Tensor:
    """A Pillow picture as uint8: `(C, H, W)`, one channel for grey.

    >>> from PIL import Image
    >>> as_tensor(Image.new("RGB", (3, 2))).shape
    rushlight.Size([3, 2, 3])
    """
    width, height = image.size
    values = rl.frombuffer(bytearray(image.tobytes()), dtype=rl.uint8)
    return values.reshape(height, width, -1).permute(2, 0, 1).contiguous()


def _as_image(values: rl.Tensor, mode: str) -> Any:
    _, height, width = values.shape
    flat = bytes(values.permute(1, 2, 0).contiguous().reshape(-1).tolist())
    return pillow().frombytes(mode, (width, height), flat)


def _source(length: int, before: int, after: int, mode: str) -> rl.Tensor:
    """The positions that a padded line of pixels is read from."""
    line = rl.arange(-before, length + after)
    if mode == "border":
        return line.clamp(0, length - 1)
    period = max(2 * (length - 1), 1)
    folded = line % period
    return rl.where(folded < length, folded, period - folded)


def padded(image: Any, sides: tuple[int, int, int, int], mode: str) -> Any:
    """A picture with pixels added at its left, top, right and bottom, by `mode` of PAD_MODES."""
    left, top, right, bottom = sides
    width, height = image.size
    if mode == "zeros":
        return image.crop((-left, -top, width + right, height + bottom))
    rows, columns = _source(height, top, bottom, mode), _source(width, left, right, mode)
    values = as_tensor(image).index_select(1, rows).index_select(2, columns)
    return _as_image(values, image.mode)


@describable
class Normalize:
    """Pictures of a batch with mean 0 and deviation 1 by channel: `Normalize.from_stats`.

    Args:
        mean: a mean for each channel.
        std: a deviation for each channel.

    >>> made = Normalize.from_stats([0.5], [0.25])(rl.ones(1, 1, 1, 2))
    >>> made.flatten()
    tensor([2., 2.])
    """

    order = 99

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        if len(mean) != len(std):
            raise ValueError(f"Normalize: {len(mean)} means and {len(std)} deviations")
        self.mean = rl.tensor(list(mean)).reshape(-1, 1, 1)
        self.std = rl.tensor(list(std)).reshape(-1, 1, 1)

    @classmethod
    def from_stats(cls, mean: Sequence[float], std: Sequence[float]) -> Normalize:
        """Of the means and deviations of the channels."""
        return cls(mean, std)

    def __call__(self, batch: Any) -> Any:
        """The pictures `(N, C, H, W)`, normalized."""
        return (batch - self.mean) / self.std

    def decode(self, batch: Any) -> Any:
        """The pictures as they were."""
        return batch * self.std + self.mean
