"""Panoptic quality: how well every pixel's thing or kind of ground is found."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

import rushlight as rl


class PanopticQuality:
    """Panoptic quality (Kirillov et al., "Panoptic Segmentation", 2019), over all images.

    `things` are the classes of which there are several things, `stuffs` those of which there is one
    area. :meth:`update` takes maps (N, H, W, 2) or (H, W, 2): the class of each pixel and the
    number of the thing (which does not matter for `stuffs`). Pixels of other classes in the truth
    count neither way; in a prediction they must be among the classes, unless `allow_unknown`. A
    thing is found where its overlap with one of its class is above one half.

    >>> truth = rl.zeros(4, 4, 2, dtype=rl.int64)
    >>> truth[:2, :2, 0] = 1
    >>> quality = PanopticQuality(things={1}, stuffs={0})
    >>> quality.update(truth, truth)
    >>> quality.compute()["pq"]
    1.0

    """

    def __init__(self, things: set[int], stuffs: set[int], allow_unknown: bool = False) -> None:
        self.things, self.stuffs = set(things), set(stuffs)
        if self.things & self.stuffs:
            both = sorted(self.things & self.stuffs)
            raise ValueError(f"things and stuffs must have no class in common, both have {both}")
        if not self.things | self.stuffs:
            raise ValueError("things and stuffs must have a class at least")
        self.allow_unknown = allow_unknown
        self.reset()

    def reset(self) -> None:
        """Forget all images."""
        classes = sorted(self.things | self.stuffs)
        self._overlap = dict.fromkeys(classes, 0.0)
        self._right, self._wrong, self._missed = (dict.fromkeys(classes, 0) for _ in range(3))

    def update(self, prediction: rl.Tensor, target: rl.Tensor) -> None:
        """Count some images."""
        if prediction.shape != target.shape or prediction.ndim not in (3, 4):
            raise ValueError(
                "prediction and target must be maps (N, H, W, 2) of one shape, got "
                f"{tuple(prediction.shape)} and {tuple(target.shape)}"
            )
        if prediction.shape[-1] != 2:
            raise ValueError(f"maps must end in 2 numbers a pixel, got {prediction.shape[-1]}")
        maps = (np.asarray(one.cpu()).astype(np.int64) for one in (prediction, target))
        found, truth = (one[None] if one.ndim == 3 else one for one in maps)
        for one, other in zip(found, truth, strict=True):
            self._count(
                self._cleaned(one, self.allow_unknown, "prediction"), self._cleaned(other, True)
            )

    def _cleaned(self, pixels: np.ndarray, unknown: bool, name: str = "target") -> np.ndarray:
        """Pixels as (P, 2), with 0 as the number of stuff and (-1, 0) for classes that are not
        known."""
        pixels = pixels.reshape(-1, 2).copy()
        known = np.isin(pixels[:, 0], list(self.things | self.stuffs))
        if not known.all() and not unknown:
            raise ValueError(
                f"{name} has the class {pixels[~known][0, 0]}, which is not among those"
            )
        pixels[np.isin(pixels[:, 0], list(self.stuffs)), 1] = 0
        pixels[~known] = (-1, 0)
        return pixels

    def _count(self, found: np.ndarray, truth: np.ndarray) -> None:
        pairs = _counts(np.concatenate([found, truth], axis=1))
        areas, wanted = _counts(found), _counts(truth)
        met: set[Any] = set()
        reached: set[Any] = set()
        for (*one, kind, number), shared in pairs.items():
            first, second = (one[0], one[1]), (kind, number)
            if first[0] != kind or kind == -1:
                continue
            nothing = pairs.get((*first, -1, 0), 0)  # of the prediction, what counts neither way
            unknown = pairs.get((-1, 0, *second), 0)
            union = areas[first] - nothing + wanted[second] - unknown - shared
            if shared / union > 0.5:
                self._overlap[kind] += shared / union
                self._right[kind] += 1
                met.add(first)
                reached.add(second)
        for (kind, number), area in wanted.items():
            unknown = pairs.get((-1, 0, kind, number), 0)
            if kind != -1 and (kind, number) not in reached and unknown <= 0.5 * area:
                self._missed[kind] += 1
        for (kind, number), area in areas.items():
            nothing = pairs.get((kind, number, -1, 0), 0)
            if kind != -1 and (kind, number) not in met and nothing <= 0.5 * area:
                self._wrong[kind] += 1

    def compute(self) -> dict[str, Any]:
        """The qualities, 0 to 1: "pq" (the mean over classes that occur), "sq" (of segmentation),
        "rq" (of recognition), the same of things and stuffs ("pq_things", ...), and "per_class",
        dicts by class."""
        classes = {kind: self._of(kind) for kind in self._right}
        scores: dict[str, Any] = {"per_class": {k: v for k, v in classes.items() if v}}
        for end, chosen in (("", classes), ("_things", self.things), ("_stuffs", self.stuffs)):
            known = [classes[kind] for kind in chosen if classes[kind]]
            for name in ("pq", "sq", "rq"):
                values = [one[name] for one in known]
                scores[name + end] = sum(values) / len(values) if values else -1.0
        return scores

    def _of(self, kind: int) -> dict[str, float]:
        right = self._right[kind]
        parts = right + 0.5 * self._wrong[kind] + 0.5 * self._missed[kind]
        if not parts:
            return {}
        segmentation = self._overlap[kind] / right if right else 0.0
        return {"pq": self._overlap[kind] / parts, "sq": segmentation, "rq": right / parts}


def _counts(rows: np.ndarray) -> Counter[tuple[int, ...]]:
    """How often each row stands there."""
    values, counts = np.unique(rows, axis=0, return_counts=True)
    return Counter(dict(zip(map(tuple, values.tolist()), counts.tolist(), strict=True)))
