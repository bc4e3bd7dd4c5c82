"""What training is for each task: transforms, batches, loss, and what is measured."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight.nn import functional as F
from rushlight.utils.data import default_collate
from rushlight_vision import tv_tensors, utils
from rushlight_vision.training.settings import Settings
from rushlight_vision.transforms import v2

IGNORED = 255


class Task:
    """One task. `metric` names what a validation measures, in percent: more is better."""

    metric: str

    def __init__(self, settings: Settings, classes: list[str]) -> None:
        self.settings, self.classes = settings, classes

    def transforms(self, train: bool) -> Any:
        """What changes an image and its target."""
        steps = [v2.ToImage(), *self.varied()] if train else [v2.ToImage(), *self.plain()]
        return v2.Compose(
            [*steps, v2.ToDtype({tv_tensors.Image: rl.float32, "others": None}, True)]
        )

    def varied(self) -> list[Any]:
        """The steps that change training pictures."""
        return [v2.RandomHorizontalFlip()] if self.settings.flip else []

    def plain(self) -> list[Any]:
        """The steps of other pictures."""
        return []

    def normalized(self, images: rl.Tensor) -> rl.Tensor:
        """Images by the mean and deviation of the settings."""
        shape = (1, -1, 1, 1)
        mean, std = (
            rl.tensor(each, device=images.device).reshape(shape)
            for each in (self.settings.mean, self.settings.std)
        )
        return (images - mean) / std

    def collate(self, rows: list[Any]) -> Any:
        """A batch of items."""
        return default_collate(rows)

    def mixed(self, batch: Any) -> Any:
        """A training batch, its samples mixed."""
        return batch

    def loss(self, model: Any, batch: Any) -> rl.Tensor:
        """The loss of a training batch."""
        raise NotImplementedError(f"{type(self).__name__} defines no loss")

    def reset(self) -> None:
        """Begin to measure."""
        raise NotImplementedError(f"{type(self).__name__} defines no reset")

    def measure(self, model: Any, batch: Any) -> None:
        """Count a batch."""
        raise NotImplementedError(f"{type(self).__name__} defines no measure")

    def score(self) -> float:
        """The metric of what was counted, in percent."""
        raise NotImplementedError(f"{type(self).__name__} defines no score")


class Classification(Task):
    """The class of a picture: cross entropy, with smoothed labels, MixUp and CutMix."""

    metric = "acc@1"

    def varied(self) -> list[Any]:
        """Random crops, flips."""
        scale = (self.settings.crop, 1.0)
        return [v2.RandomResizedCrop(self.settings.side, scale=scale), *super().varied()]

    def plain(self) -> list[Any]:
        """The centre."""
        return [v2.Resize(self.settings.side), v2.CenterCrop(self.settings.side)]

    def mixed(self, batch: Any) -> Any:
        """One of MixUp and CutMix, if they are wanted."""
        settings, count = self.settings, len(self.classes)
        mixing = [(v2.MixUp, settings.mixup), (v2.CutMix, settings.cutmix)]
        wanted = [make(alpha=alpha, num_classes=count) for make, alpha in mixing if alpha > 0.0]
        return v2.RandomChoice(wanted)(*batch) if wanted else batch

    def loss(self, model: Any, batch: Any) -> rl.Tensor:
        """Cross entropy; that of each auxiliary classifier counts 0.3."""
        images, labels = batch
        found = model(self.normalized(images))
        scores, *others = found if isinstance(found, tuple) else (found,)
        smoothing = self.settings.label_smoothing
        loss = F.cross_entropy(scores, labels, label_smoothing=smoothing)
        for each in others:
            loss = loss + 0.3 * F.cross_entropy(each, labels, label_smoothing=smoothing)
        return loss

    def reset(self) -> None:
        """Begin to measure."""
        self.matrix = utils.ConfusionMatrix(len(self.classes))

    def measure(self, model: Any, batch: Any) -> None:
        """Count a batch."""
        self.matrix.update(model(self.normalized(batch[0])), batch[1])

    def score(self) -> float:
        """Accuracy."""
        return 100.0 * self.matrix.compute()["accuracy"]


class Similarity(Classification):
    """Vectors that are near where pictures are of one class: the supervised contrastive loss of
    Khosla et al., 2020. Measured by how often the nearest other picture is of the same class."""

    metric = "recall@1"

    def mixed(self, batch: Any) -> Any:
        """As it is."""
        return batch

    def embedded(self, model: Any, images: rl.Tensor) -> rl.Tensor:
        """Vectors of length 1."""
        return F.normalize(model(self.normalized(images)).float(), dim=1)

    def loss(self, model: Any, batch: Any) -> rl.Tensor:
        """The contrastive loss; pictures without another of their class do not count."""
        images, labels = batch
        vectors = self.embedded(model, images)
        itself = rl.eye(len(labels), dtype=rl.bool, device=labels.device)
        scores = (vectors @ vectors.T / self.settings.temperature).masked_fill(itself, -1e9)
        same = ((labels[:, None] == labels) & ~itself).float()
        log_shares = scores - scores.logsumexp(1, keepdim=True)
        counts = same.sum(1)
        each = -(log_shares * same).sum(1) / counts.clamp(min=1.0)
        return (each * (counts > 0)).sum() / (counts > 0).sum().clamp(min=1)

    def reset(self) -> None:
        """Begin to measure."""
        self.vectors: list[rl.Tensor] = []
        self.labels: list[rl.Tensor] = []

    def measure(self, model: Any, batch: Any) -> None:
        """Keep the vectors of a batch."""
        self.vectors.append(self.embedded(model, batch[0]).cpu())
        self.labels.append(batch[1].cpu())

    def score(self) -> float:
        """How often the nearest is of the same class."""
        vectors, labels = rl.cat(self.vectors), rl.cat(self.labels)
        near = (vectors @ vectors.T).fill_diagonal_(-2.0).argmax(1)
        return 100.0 * float((labels[near] == labels).float().mean())


class Detection(Task):
    """Boxes: the sum of the losses of a detection model, COCO's mean average precision."""

    metric = "map"

    def varied(self) -> list[Any]:
        """Flips; boxes that are none go."""
        return [*super().varied(), v2.SanitizeBoundingBoxes()]

    def collate(self, rows: list[Any]) -> Any:
        """A list of images and one of targets."""
        images, targets = zip(*rows, strict=True)
        plain = [
            {
                key: each.as_subclass(rl.Tensor) if isinstance(each, rl.Tensor) else each
                for key, each in target.items()
            }
            for target in targets
        ]
        return [image.as_subclass(rl.Tensor) for image in images], plain

    def loss(self, model: Any, batch: Any) -> rl.Tensor:
        """The sum of the model's losses."""
        return rl.stack(list(model(*batch).values())).sum()

    def reset(self) -> None:
        """Begin to measure."""
        self.precision = utils.MeanAveragePrecision()

    def measure(self, model: Any, batch: Any) -> None:
        """Count a batch."""
        images, targets = batch
        self.precision.update(model(images), targets)

    def score(self) -> float:
        """Mean average precision over overlaps from 0.5 to 0.95."""
        return 100.0 * max(self.precision.compute()["map"], 0.0)


class Segmentation(Task):
    """Classes of pixels: cross entropy, mean intersection over union; 255 does not count."""

    metric = "miou"

    def varied(self) -> list[Any]:
        """Random crops, flips."""
        scale = (self.settings.crop, 1.0)
        return [v2.RandomResizedCrop(self.settings.side, scale=scale), *super().varied()]

    def plain(self) -> list[Any]:
        """The whole picture."""
        return [v2.Resize((self.settings.side, self.settings.side))]

    def collate(self, rows: list[Any]) -> Any:
        """Images, and classes as int64."""
        images, masks = zip(*rows, strict=True)
        plain = [[each.as_subclass(rl.Tensor) for each in part] for part in (images, masks)]
        return rl.stack(plain[0]), rl.stack(plain[1]).long()

    def loss(self, model: Any, batch: Any) -> rl.Tensor:
        """Cross entropy of all pixels; that of a second head counts half."""
        images, classes = batch
        found = model(self.normalized(images))
        loss = F.cross_entropy(found["out"], classes, ignore_index=IGNORED)
        if "aux" in found:
            loss = loss + 0.5 * F.cross_entropy(found["aux"], classes, ignore_index=IGNORED)
        return loss

    def reset(self) -> None:
        """Begin to measure."""
        self.matrix = utils.ConfusionMatrix(len(self.classes), ignore_index=IGNORED)

    def measure(self, model: Any, batch: Any) -> None:
        """Count a batch."""
        self.matrix.update(model(self.normalized(batch[0]))["out"], batch[1])

    def score(self) -> float:
        """Mean intersection over union."""
        return 100.0 * self.matrix.compute()["mean_iou"]


TASKS: dict[str, type[Task]] = {
    "classification": Classification,
    "detection": Detection,
    "segmentation": Segmentation,
    "similarity": Similarity,
}
