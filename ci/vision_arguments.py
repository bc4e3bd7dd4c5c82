"""What the cases of ci/vision_family.py are given: arrays from a seed, and descriptions of them."""

from __future__ import annotations

from typing import Any

import numpy as np

Case = tuple[dict[str, Any], dict[str, np.ndarray]]


def array(name: str) -> dict[str, str]:
    return {"array": name}


def nn(name: str) -> dict[str, str]:
    return {"nn": name}


def pair(*values: Any) -> dict[str, list]:
    return {"tuple": list(values)}


def both(value: Any) -> tuple[int, int]:
    """A setting for both dimensions."""
    return tuple(value["tuple"]) if isinstance(value, dict) else (value, value)


class Numbers:
    """Arrays from a seed."""

    def __init__(self, seed: int, dtype: Any) -> None:
        self.source, self.dtype = np.random.default_rng(seed), dtype

    def normal(self, *shape: int) -> np.ndarray:
        return self.source.standard_normal(shape).astype(self.dtype)

    def uniform(self, low: float, high: float, *shape: int) -> np.ndarray:
        return self.source.uniform(low, high, shape).astype(self.dtype)

    def boxes(self, count: int, size: float = 20.0) -> np.ndarray:
        """Corners with x1 < x2 and y1 < y2."""
        start = self.uniform(0, size * 0.7, count, 2)
        return np.concatenate([start, start + self.uniform(1, size * 0.5, count, 2)], 1)

    def regions(self, images: int, height: int, width: int, odd: bool) -> np.ndarray:
        """Regions (K, 5) of images; `odd`: outside, empty, reversed, whole and exact ones."""
        boxes = self.boxes(5, min(height, width))
        if odd:
            special = [
                [-5.5, -4.25, 3, 2], [width - 2, height - 3, width + 6, height + 4],
                [3, 4, 3, 4], [6, 7, 2.5, 3.25], [0, 0, width, height], [2.5, 1.5, 6.5, 7.5],
                [-30, -30, -20, -20], [3, 5, 3, 9],
            ]  # fmt: skip
            boxes = np.concatenate([boxes, np.array(special, self.dtype)])
        numbers = self.source.integers(0, images, (len(boxes), 1))
        return np.concatenate([numbers.astype(self.dtype), boxes], 1)
