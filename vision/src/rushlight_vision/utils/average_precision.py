"""COCO's mean average precision of boxes or masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight_vision.utils._matching import Found, matched

# Lin et al., "Microsoft COCO" (2014), https://cocodataset.org/#detection-eval
_THRESHOLDS = np.linspace(0.5, 0.95, 10)
_RECALLS = np.linspace(0.0, 1.0, 101)
_AREAS = {  # in pixels
    "all": (0.0, 1e10),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}
_MOST = (1, 10, 100)  # detections of an image that count


class MeanAveragePrecision:
    """COCO's scores of detections, as pycocotools computes them.

    :meth:`update` takes the detections and the truth of some images, :meth:`compute` gives the
    scores of all of them. A detection is what detection models return: a dict of "boxes" (N, 4;
    xmin, ymin, xmax, ymax), "scores" (N,) and "labels" (N,), for `kind="masks"` also "masks" ((N,
    H, W) or (N, 1, H, W), bool or above 0.5). The truth has "boxes" (or "masks") and "labels", and
    may have "iscrowd" (crowds: what lies in them counts neither way) and "area".

    >>> import rushlight as rl
    >>> scores = MeanAveragePrecision()
    >>> box, label = rl.tensor([[0.0, 0, 10, 10]]), rl.tensor([1])
    >>> scores.update([{"boxes": box, "labels": label, "scores": rl.tensor([0.9])}],
    ...               [{"boxes": box, "labels": label}])
    >>> round(scores.compute()["map"], 6)
    1.0

    """

    def __init__(self, kind: str = "boxes") -> None:
        if kind not in ("boxes", "masks"):
            raise ValueError(f'kind must be "boxes" or "masks", got {kind!r}')
        self.kind = kind
        self.reset()

    def reset(self) -> None:
        """Forget all images."""
        self._found: dict[tuple[int, str], list[Found]] = {}
        self._labels: set[int] = set()

    def update(self, predictions: list[dict[str, Any]], targets: list[dict[str, Any]]) -> None:
        """Count some images. ValueError if there are not as many of both, or an entry lacks."""
        if len(predictions) != len(targets):
            raise ValueError(
                f"predictions and targets must be as many, got {len(predictions)} and "
                f"{len(targets)}"
            )
        for number, (prediction, target) in enumerate(zip(predictions, targets, strict=True)):
            self._add(
                _arrays(prediction, ("scores", "labels", self.kind), f"predictions[{number}]"),
                _arrays(target, ("labels", self.kind), f"targets[{number}]"),
            )

    def _add(self, prediction: dict[str, np.ndarray], target: dict[str, np.ndarray]) -> None:
        labels = set(prediction["labels"].tolist()) | set(target["labels"].tolist())
        self._labels |= set(target["labels"].tolist())
        for label in sorted(labels):
            chosen = _of_label(prediction, label), _of_label(target, label)
            for name, area in _AREAS.items():
                one = matched(*chosen, self.kind, area, _THRESHOLDS, _MOST[-1])
                self._found.setdefault((label, name), []).append(one)

    def compute(self) -> dict[str, Any]:
        """The scores, 0 to 1, or -1 where there is nothing to find: "map" (the mean of IoU 0.5 to
        0.95), "map_50", "map_75", "map_small", "map_medium", "map_large", "mar_1", "mar_10",
        "mar_100" (recall with so many detections an image), "mar_small", "mar_medium", "mar_large",
        and "map_per_class", a dict of labels."""
        labels = sorted(self._labels)
        curves = {
            (label, name, most): _curve(self._found.get((label, name), []), most)
            for label in labels
            for name in _AREAS
            for most in (_MOST if name == "all" else _MOST[-1:])
        }

        def precision(name: str = "all", level: Any = slice(None)) -> float:
            return _mean([curves[label, name, _MOST[-1]][0][level] for label in labels])

        def recall(name: str = "all", most: int = _MOST[-1]) -> float:
            return _mean([curves[label, name, most][1] for label in labels])

        scores: dict[str, Any] = {"map": precision(), "map_50": precision(level=0)}
        scores["map_75"] = precision(level=5)
        sizes = ("small", "medium", "large")
        scores |= {f"map_{size}": precision(size) for size in sizes}
        scores |= {f"mar_{most}": recall(most=most) for most in _MOST}
        scores |= {f"mar_{size}": recall(size) for size in sizes}
        whole = {label: _mean([curves[label, "all", _MOST[-1]][0]]) for label in labels}
        return scores | {"map_per_class": whole}


def _arrays(values: dict[str, Any], needed: tuple[str, ...], name: str) -> dict[str, np.ndarray]:
    """The entries that are counted, as arrays."""
    missing = [key for key in needed if key not in values]
    if missing:
        raise ValueError(f"{name} has no {missing[0]!r}")
    wanted = {*needed, "iscrowd", "area"} & set(values)
    found = {key: np.asarray(values[key].cpu()) for key in wanted}
    count = len(found["labels"])
    for key, array in found.items():
        if len(array) != count:
            raise ValueError(f"{name}: {key!r} has {len(array)} entries, 'labels' has {count}")
    if "masks" in found:
        masks = found["masks"]
        masks = masks[:, 0] if masks.ndim == 4 else masks
        found["masks"] = masks if masks.dtype == bool else masks > 0.5
    return found


def _of_label(values: dict[str, np.ndarray], label: int) -> dict[str, np.ndarray]:
    chosen = values["labels"] == label
    return {key: array[chosen] for key, array in values.items()}


def _curve(images: list[Found], most: int) -> tuple[np.ndarray, np.ndarray]:
    """Precision at each level of overlap and of recall, and the recall at each level of overlap."""
    empty = np.full((len(_THRESHOLDS), len(_RECALLS)), -1.0), np.full(len(_THRESHOLDS), -1.0)
    wanted = sum(one.wanted for one in images)
    if not wanted:
        return empty
    scores = np.concatenate([one.scores[:most] for one in images])
    order = np.argsort(-scores, kind="stable")
    hits = np.concatenate([one.hits[:, :most] for one in images], axis=1)[:, order]
    ignored = np.concatenate([one.ignored[:, :most] for one in images], axis=1)[:, order]
    right = np.cumsum(hits & ~ignored, axis=1, dtype=np.float64)
    wrong = np.cumsum(~hits & ~ignored, axis=1, dtype=np.float64)
    precisions, recalls = empty
    for level, (good, bad) in enumerate(zip(right, wrong, strict=True)):
        recall = good / wanted
        recalls[level] = recall[-1] if len(recall) else 0
        precision = good / (good + bad + np.spacing(1))
        precision = np.maximum.accumulate(precision[::-1])[::-1]
        places = np.searchsorted(recall, _RECALLS, side="left")
        inside = places < len(precision)
        precisions[level] = 0
        precisions[level, inside] = precision[places[inside]]
    return precisions, recalls


def _mean(values: list[np.ndarray]) -> float:
    """The mean of what is known; -1 of nothing."""
    known = np.concatenate([np.ravel(value) for value in values]) if values else np.zeros(0)
    known = known[known > -1]
    return float(known.mean()) if known.size else -1.0
