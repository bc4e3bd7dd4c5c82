"""Which detections meet which things, as COCO's evaluation pairs them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Found(NamedTuple):
    """The detections of one image and class, best first."""

    scores: np.ndarray  # (D,)
    hits: np.ndarray  # (levels, D): met a thing
    ignored: np.ndarray  # (levels, D): counts neither way
    wanted: int  # things that are to be found


def matched(
    prediction: dict[str, np.ndarray],
    target: dict[str, np.ndarray],
    kind: str,
    area: tuple[float, float],
    thresholds: np.ndarray,
    most: int,
) -> Found:
    """Pair detections with things: the best detection first, each with the thing it covers best."""
    order = np.argsort(-prediction["scores"], kind="stable")[:most]
    found, things = prediction[kind][order], target[kind]
    crowds = target.get("iscrowd", np.zeros(len(things))).astype(bool)
    sizes = target.get("area", sizes_of(things, kind))
    outside = crowds | (sizes < area[0]) | (sizes > area[1])
    last = np.argsort(outside, kind="stable")  # things that do not count come last
    overlaps = overlaps_of(found, things, crowds, kind)[:, last]
    crowds, outside = crowds[last], outside[last]
    met = np.stack([_pairs(overlaps, outside, crowds, level) for level in thresholds])
    hits = met >= 0
    ignored = hits & outside[np.maximum(met, 0)] if len(things) else np.zeros_like(hits)
    lengths = sizes_of(found, kind)
    ignored |= ~hits & ((lengths < area[0]) | (lengths > area[1]))
    return Found(prediction["scores"][order], hits, ignored, int((~outside).sum()))


def _pairs(
    overlaps: np.ndarray, outside: np.ndarray, crowds: np.ndarray, level: float
) -> np.ndarray:
    """The thing that each detection meets, or -1."""
    met = np.full(len(overlaps), -1)
    taken = np.zeros(overlaps.shape[1], bool)
    for number, row in enumerate(overlaps):
        best, least = -1, min(level, 1 - 1e-10)
        for thing, overlap in enumerate(row):
            if taken[thing] and not crowds[thing]:
                continue
            if best > -1 and not outside[best] and outside[thing]:
                break  # one that counts is better than any that does not
            if overlap >= least:
                best, least = thing, overlap
        if best > -1:
            met[number], taken[best] = best, True
    return met


def sizes_of(things: np.ndarray, kind: str) -> np.ndarray:
    """Areas in pixels."""
    if kind == "masks":
        return _rows(things).sum(1).astype(np.float64)
    things = things.astype(np.float64)
    return (things[:, 2] - things[:, 0]) * (things[:, 3] - things[:, 1])


def _rows(masks: np.ndarray) -> np.ndarray:
    """Each mask as one row."""
    return masks.reshape(len(masks), masks.shape[1] * masks.shape[2])


def overlaps_of(found: np.ndarray, things: np.ndarray, crowds: np.ndarray, kind: str) -> np.ndarray:
    """Intersection over union of detections and things; over the detection for a crowd."""
    if kind == "masks":
        shared = _rows(found).astype(np.float32) @ _rows(things).astype(np.float32).T
        shared = shared.astype(np.float64)
    else:
        found, things = found.astype(np.float64), things.astype(np.float64)
        low = np.maximum(found[:, None, :2], things[None, :, :2])
        high = np.minimum(found[:, None, 2:], things[None, :, 2:])
        shared = np.prod(np.clip(high - low, 0, None), axis=2)
    sizes = sizes_of(found, kind)[:, None]
    union = np.where(crowds, sizes, sizes + sizes_of(things, kind) - shared)
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
