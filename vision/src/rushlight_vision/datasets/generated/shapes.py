"""GeneratedShapes: coloured pictures of simple shapes for all tasks, computed from a seed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import rushlight as rl
from rushlight_vision import tv_tensors
from rushlight_vision.datasets.vision import VisionDataset

KINDS = ("square", "disc", "triangle", "ring", "cross")
TASKS = ("classification", "detection", "segmentation")
SPLITS = ("train", "val", "test")
MOST = 3  # shapes of one picture


class GeneratedShapes(VisionDataset):
    """Pictures of squares, discs, triangles, rings and crosses, of any size, colour and angle.

    Nothing is stored or downloaded: the picture of an index follows from `seed`, `split` and the
    index alone, on every machine.

    Parameters
    ----------
    split : str, default "train"
        "train", "val" or "test": other pictures.
    task : str, default "classification"
        "classification": one shape, the target is its class (int, 0 to 4). "detection": one to
        three shapes that do not overlap; the target is a dict of ``boxes`` (BoundingBoxes, XYXY)
        and ``labels`` (int64, 1 to 5). "segmentation": the same pictures; the target is a Mask
        (uint8, (size, size)), 0 for the background.
    count : int, default 1000
    size : int or None
        Height and width; None: 32 for classification, otherwise 96.
    seed : int, default 0
    transforms, transform, target_transform : callable, optional
        As of :class:`VisionDataset`.

    An item is an image (``tv_tensors.Image``, uint8, (3, size, size)) and its target. `classes`
    names what labels mean, with ``"__background__"`` first where there is one.

    Raises ValueError for another split, task, count or size.

    Example
    -------
    >>> image, target = GeneratedShapes(task="detection")[0]
    >>> image.shape, target["boxes"].shape[1]
    (rushlight.Size([3, 96, 96]), 4)
    """

    def __init__(
        self,
        split: str = "train",
        task: str = "classification",
        *,
        count: int = 1000,
        size: int | None = None,
        seed: int = 0,
        transforms: Callable[[Any, Any], tuple[Any, Any]] | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(None, transforms, transform, target_transform)
        for name, value, known in (("split", split, SPLITS), ("task", task, TASKS)):
            if value not in known:
                raise ValueError(
                    f"GeneratedShapes: {name} {value!r}; expected one of {list(known)}"
                )
        size = (32 if task == "classification" else 96) if size is None else size
        if count < 1 or size < 16:
            raise ValueError(
                f"GeneratedShapes: count {count}, size {size}; expected 1 and 16 at least"
            )
        self.split, self.task, self.count, self.size, self.seed = split, task, count, size, seed
        self.classes = list(KINDS if task == "classification" else ("__background__", *KINDS))

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The picture of an index and its target, changed by the transforms."""
        if not -self.count <= index < self.count:
            raise IndexError(f"index {index}: there are {self.count} pictures")
        rng = np.random.default_rng([self.seed, SPLITS.index(self.split), index % self.count])
        classes = self._picture(rng)
        image, target = tv_tensors.Image(rl.from_numpy(classes[0])), self._target(*classes[1:])
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def _picture(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        """Pixels, the class of each (0 for background), and (class, mask) of every shape."""
        side = self.size
        pixels = _background(rng, side)
        classes = np.zeros((side, side), np.uint8)
        found: list[Any] = []
        single = self.task == "classification"
        wanted = 1 if single else int(rng.integers(1, MOST + 1))
        least, most = (side * 0.22, side * 0.45) if single else (side * 0.09, side * 0.19)
        for _ in range(20):
            kind, half = int(rng.integers(len(KINDS))), rng.uniform(least, most)
            x, y = rng.uniform(half, side - half, 2)
            mask = _mask(kind, side, (x, y), half, rng.uniform(0.0, 2.0 * math.pi))
            if len(found) == wanted or classes[mask].any():
                continue
            _paint(pixels, mask, rng)
            classes[mask] = kind + 1
            found.append((kind, mask))
        return _bytes(pixels), classes, found

    def _target(self, classes: np.ndarray, found: list[Any]) -> Any:
        if self.task == "classification":
            return found[0][0]
        if self.task == "segmentation":
            return tv_tensors.Mask(rl.from_numpy(classes))
        boxes = tv_tensors.BoundingBoxes(
            rl.tensor([_box(mask) for _, mask in found], dtype=rl.float32),
            format="XYXY",
            canvas_size=(self.size, self.size),
        )
        return {"boxes": boxes, "labels": rl.tensor([kind + 1 for kind, _ in found])}

    def extra_repr(self) -> str:
        """Split, task and size."""
        return f"Split: {self.split}\nTask: {self.task}\nSize: {self.size}"


def _background(rng: np.random.Generator, side: int) -> np.ndarray:
    """A colour that fades along some direction."""
    rows, columns = np.mgrid[:side, :side] / side - 0.5
    angle = rng.uniform(0.0, 2.0 * math.pi)
    slope = rows * math.sin(angle) + columns * math.cos(angle)
    return rng.uniform(0.0, 1.0, (3, 1, 1)) + rng.uniform(-0.3, 0.3, (3, 1, 1)) * slope


def _paint(pixels: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> None:
    """Fill a mask with a colour that stands out from what it covers."""
    below = pixels[:, mask].mean(axis=1)
    color = rng.uniform(0.0, 1.0, 3)
    while np.abs(color - below).max() < 0.35:
        color = rng.uniform(0.0, 1.0, 3)
    pixels[:, mask] = color[:, None]


def _bytes(pixels: np.ndarray) -> np.ndarray:
    return (pixels.clip(0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)


def _mask(
    kind: int, side: int, center: tuple[float, float], half: float, angle: float
) -> np.ndarray:
    """The pixels of one shape inside the circle of radius `half`, turned by `angle`."""
    rows, columns = np.mgrid[:side, :side] + 0.5
    across, down = columns - center[0], rows - center[1]
    u = across * math.cos(angle) + down * math.sin(angle)
    v = down * math.cos(angle) - across * math.sin(angle)
    square = u**2 + v**2
    if KINDS[kind] == "square":
        return np.maximum(abs(u), abs(v)) <= half / math.sqrt(2.0)
    if KINDS[kind] == "disc":
        return square <= (0.9 * half) ** 2
    if KINDS[kind] == "triangle":  # equilateral, its centre at (0, 0)
        return (v <= half / 2) & (abs(u) * math.sqrt(3.0) <= v + half)
    if KINDS[kind] == "ring":
        return (square <= half**2) & (square >= (0.55 * half) ** 2)
    return (np.minimum(abs(u), abs(v)) <= 0.25 * half) & (np.maximum(abs(u), abs(v)) <= half)


def _box(mask: np.ndarray) -> list[int]:
    """xmin, ymin, xmax, ymax of some pixels; a box of one pixel has width and height 1."""
    rows, columns = np.where(mask)
    return [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
