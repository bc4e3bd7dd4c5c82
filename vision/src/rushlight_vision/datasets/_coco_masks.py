"""Masks of COCO's format: polygons and run lengths, as arrays of pixels.

The numbers are those of pycocotools' ``mask``: run lengths go down the columns and begin with
zeros; a polygon is traced on a grid five times as fine, and a pixel belongs to it by where the
outline crosses its column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_FINE = 5  # how much finer the grid is on which outlines are traced


def mask_of(segmentation: Any, height: int, width: int) -> np.ndarray:
    """The pixels of a "segmentation" of an annotation: uint8, (height, width), 0 or 1.

    It is a list of polygons (x, y, x, y, ...), or a dict with "size" and "counts" (a list, or a
    string as pycocotools packs it). ValueError if it is neither.
    """
    if isinstance(segmentation, dict):
        counts = segmentation["counts"]
        rows, columns = segmentation["size"]
        return runs_to_mask(
            counts if isinstance(counts, list) else unpack_counts(counts), rows, columns
        )
    if isinstance(segmentation, list):
        found = np.zeros((height, width), np.uint8)
        for polygon in segmentation:
            found |= polygon_to_mask(polygon, height, width)
        return found
    raise ValueError(
        f"segmentation must be a list of polygons or a dict of run lengths, got "
        f"{type(segmentation).__name__}"
    )


def runs_to_mask(counts: Sequence[int], height: int, width: int) -> np.ndarray:
    """Pixels of run lengths, of zeros and ones in turn, column by column."""
    values = np.arange(len(counts)) % 2
    pixels = np.repeat(values, counts).astype(np.uint8)
    if pixels.size != height * width:
        raise ValueError(f"counts add up to {pixels.size} pixels, expected {height} x {width}")
    return pixels.reshape(width, height).T


def unpack_counts(packed: str | bytes) -> list[int]:
    """Run lengths of a string: five bits a character and one that says whether more follow; from
    the third on the difference to the last but one is kept."""
    codes = packed.encode() if isinstance(packed, str) else packed
    counts: list[int] = []
    place = 0
    while place < len(codes):
        value, shift, more = 0, 0, True
        while more:
            if place == len(codes):
                raise ValueError("counts end inside a number")
            bits = codes[place] - 48
            value |= (bits & 31) << shift
            more, shift, place = bool(bits & 32), shift + 5, place + 1
            if not more and bits & 16:
                value |= -1 << shift
        counts.append(value + counts[-2] if len(counts) > 2 else value)
    return counts


def polygon_to_mask(polygon: Sequence[float], height: int, width: int) -> np.ndarray:
    """Pixels of one polygon (x, y, x, y, ...), in pixels."""
    corners = np.asarray(polygon, dtype=np.float64).reshape(-1, 2)
    fine = (_FINE * corners + 0.5).astype(np.int64)  # cut towards zero, as in C
    xs, ys = _outline(np.concatenate([fine, fine[:1]]))
    crossings = _crossings(xs, ys, height, width)
    toggles = np.bincount(crossings, minlength=height * width + 1)[: height * width]
    return (np.cumsum(toggles) % 2).astype(np.uint8).reshape(width, height).T


def _outline(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The points of the fine grid on the lines from corner to corner."""
    found = [_line(*start, *end) for start, end in zip(corners[:-1], corners[1:], strict=True)]
    return np.concatenate([x for x, _ in found]), np.concatenate([y for _, y in found])


def _line(x0: int, y0: int, x1: int, y1: int) -> tuple[np.ndarray, np.ndarray]:
    """The points of one line: one for each step along its longer side, both ends included."""
    across, down = abs(x1 - x0), abs(y1 - y0)
    steep = across < down
    flip = (y0 > y1) if steep else (x0 > x1)
    if flip:
        x0, y0, x1, y1 = x1, y1, x0, y0
    longer = down if steep else across
    steps = np.arange(longer + 1)
    steps = steps[::-1] if flip else steps
    slope = ((x1 - x0) if steep else (y1 - y0)) / longer if longer else 0.0
    other = ((x0 if steep else y0) + slope * steps + 0.5).astype(np.int64)
    return (other, steps + y0) if steep else (steps + x0, other)


def _crossings(xs: np.ndarray, ys: np.ndarray, height: int, width: int) -> np.ndarray:
    """Where the outline goes from one column of pixels to the next: numbers of pixels, column by
    column."""
    moved = xs[1:] != xs[:-1]
    left = np.where(xs[1:] < xs[:-1], xs[1:], xs[1:] - 1)[moved]
    column = (left + 0.5) / _FINE - 0.5
    inside = (np.floor(column) == column) & (column >= 0) & (column <= width - 1)
    upper = np.minimum(ys[1:], ys[:-1])[moved]
    row = np.ceil(np.clip((upper + 0.5) / _FINE - 0.5, 0, height))
    return (column[inside] * height + row[inside]).astype(np.int64)
