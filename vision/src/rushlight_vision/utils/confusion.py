"""Which classes a network takes for which."""

from __future__ import annotations

from typing import Any

import rushlight as rl


class ConfusionMatrix:
    """How often each class was taken for each: rows are the truth, columns what was said.

    :meth:`update` takes classes (any shape), or scores with one more dimension, (N, classes, ...),
    and the true classes. With `ignore_index` pixels of that class in the truth do not count.

    >>> matrix = ConfusionMatrix(2)
    >>> matrix.update(rl.tensor([0, 1, 1]), rl.tensor([0, 0, 1]))
    >>> matrix.matrix.tolist()
    [[1, 1], [0, 1]]
    >>> round(matrix.compute()["accuracy"], 3)
    0.667

    """

    def __init__(self, num_classes: int, ignore_index: int | None = None) -> None:
        if num_classes < 1:
            raise ValueError(f"num_classes must be 1 at least, got {num_classes}")
        self.num_classes, self.ignore_index = num_classes, ignore_index
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self.matrix = rl.zeros(self.num_classes, self.num_classes, dtype=rl.int64)

    def update(self, prediction: rl.Tensor, target: rl.Tensor) -> None:
        """Count some samples."""
        said: Any = prediction.argmax(1) if prediction.ndim == target.ndim + 1 else prediction
        if said.shape != target.shape:
            raise ValueError(
                "prediction must have the shape of target, or a dimension of classes more, got "
                f"{tuple(prediction.shape)} and {tuple(target.shape)}"
            )
        said, true = said.reshape(-1).long().cpu(), target.reshape(-1).long().cpu()
        if self.ignore_index is not None:
            kept = true != self.ignore_index
            said, true = said[kept], true[kept]
        for name, values in (("prediction", said), ("target", true)):
            if (
                values.numel()
                and not 0 <= int(values.min()) <= int(values.max()) < self.num_classes
            ):
                raise ValueError(
                    f"{name} must have classes from 0 to {self.num_classes - 1}, got "
                    f"{int(values.min())} to {int(values.max())}"
                )
        counts = rl.bincount(true * self.num_classes + said, minlength=self.num_classes**2)
        self.matrix += counts.reshape(self.num_classes, self.num_classes)

    def compute(self) -> dict[str, Any]:
        """ "accuracy" over all samples, and of each class (float64 tensors, NaN where it does not
        occur) "recall", "precision", "f1", "iou"; "mean_iou" over classes that occur."""
        counts = self.matrix.double()
        right, true, said = counts.diagonal(), counts.sum(1), counts.sum(0)
        iou = right / (true + said - right)
        return {
            "accuracy": float(right.sum() / counts.sum()),
            "recall": right / true,
            "precision": right / said,
            "f1": 2 * right / (true + said),
            "iou": iou,
            "mean_iou": float(iou.nanmean()),
        }

    def pairs(self, count: int = 10) -> list[tuple[int, int, int]]:
        """The mistakes that are made most often: true class, what was said, how often."""
        wrong = self.matrix.clone()
        wrong.fill_diagonal_(0)
        values, places = wrong.reshape(-1).topk(min(count, wrong.numel()))
        return [
            (place // self.num_classes, place % self.num_classes, value)
            for value, place in zip(values.tolist(), places.tolist(), strict=True)
            if value
        ]


def most_confused(
    scores: rl.Tensor, target: rl.Tensor, count: int = 9
) -> list[tuple[int, int, float]]:
    """The samples a network is most wrong about: their number, the class it says, and the loss.

    `scores` are logits (N, classes), `target` the true classes (N,). Samples that are right are
    left out.

    >>> found = most_confused(rl.tensor([[4.0, 0], [0, 9], [1, 0]]), rl.tensor([1, 0, 0]))
    >>> [(number, said, round(loss, 2)) for number, said, loss in found]
    [(1, 1, 9.0), (0, 0, 4.02)]

    """
    losses = rl.nn.functional.cross_entropy(scores, target, reduction="none")
    said = scores.argmax(1)
    order = losses.masked_fill(said == target, -1).argsort(descending=True)
    chosen = [number for number in order.tolist() if said[number] != target[number]][:count]
    return [(number, int(said[number]), float(losses[number])) for number in chosen]
