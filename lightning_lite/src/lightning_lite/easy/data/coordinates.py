"""Points and boxes of pictures: from pixels to coordinates between -1 and 1, and as batches."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from lightning_lite.easy.data.describing import announce, describable
from lightning_lite.easy.data.transform import Transform


@announce
def as_points(value: Any) -> rl.Tensor:
    """Points as a tensor `(P, 2)` (float32), of pairs or of numbers one after another."""
    return rl.as_tensor(value, dtype=rl.float32).reshape(-1, 2)


@announce
def as_boxes(value: Any) -> rl.Tensor:
    """Boxes as a tensor `(B, 4)` (float32), of four numbers each."""
    return rl.as_tensor(value, dtype=rl.float32).reshape(-1, 4)


@describable
class PointScaler(Transform):
    """Points and boxes in pixels, as coordinates between -1 and 1 of the sample's picture.
    `y_first`: points come as y and x. ValueError for samples without a picture."""

    order = -1  # transforms that cut and resize want coordinates

    def __init__(self, y_first: bool = False) -> None:
        self.y_first = y_first
        self.size: Any = None

    def begin(self, sample: tuple[Any, ...], kinds: tuple[str, ...], split: int) -> None:
        """Look at the picture."""
        sizes = [part.size for part, kind in zip(sample, kinds, strict=False) if kind == "image"]
        if not sizes:
            raise ValueError(
                f"PointBlock, BBoxBlock: samples are {list(kinds)}; need an ImageBlock"
            )
        self.size = rl.tensor(sizes[0], dtype=rl.float32)

    def points(self, points: Any) -> Any:
        """Coordinates of points."""
        return (points.flip(-1) if self.y_first else points) * 2 / self.size - 1

    def boxes(self, boxes: Any) -> Any:
        """Coordinates of boxes."""
        return (boxes.reshape(-1, 2, 2) * 2 / self.size - 1).reshape(-1, 4)


def in_pixels(points: Any, size: tuple[int, int]) -> Any:
    """Coordinates `(..., 2)` between -1 and 1 as pixels of a picture of (width, height)."""
    return (points + 1) * rl.tensor(size, dtype=rl.float32) / 2


def bb_pad(samples: list[Any], kinds: tuple[str, ...], pad_idx: int = 0) -> list[Any]:
    """Samples with as many boxes, and labels of boxes, as each other: cut off at the picture's
    border, without empty ones, and filled up with zeros and `pad_idx`."""
    boxes = kinds.index("boxes")
    if boxes >= len(samples[0]):  # inputs alone
        return samples
    labels = boxes + 1 if "labels" in kinds[boxes + 1 : boxes + 2] else None
    cleaned = [_clipped(list(sample), boxes, labels) for sample in samples]
    most = max(len(sample[boxes]) for sample in cleaned)
    for sample in cleaned:
        missing = most - len(sample[boxes])
        sample[boxes] = rl.cat([sample[boxes], rl.zeros(missing, 4)])
        if labels is not None:
            spare = rl.full((missing,), pad_idx, dtype=rl.int64)
            sample[labels] = rl.cat([sample[labels], spare])
    return [tuple(sample) for sample in cleaned]


def _clipped(sample: list[Any], boxes: int, labels: int | None) -> list[Any]:
    found = sample[boxes].clamp(-1, 1)
    there = (found[:, 2] > found[:, 0]) & (found[:, 3] > found[:, 1])
    if labels is not None:
        if len(sample[labels]) != len(found):
            raise ValueError(f"BBoxLblBlock: {len(sample[labels])} labels for {len(found)} boxes")
        sample[labels] = sample[labels][there]
    sample[boxes] = found[there]
    return sample
