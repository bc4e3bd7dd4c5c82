"""How the networks of the zoo are trained: batches, losses, steps and rates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import figures

import rushlight as rl
from rushlight.nn import functional as F
from rushlight_vision.transforms import v2

Batch = tuple[Any, Any]


class Recipe(NamedTuple):
    """What training a network takes: batches without end, a loss of the model and a batch, and how
    many steps of AdamW at which highest rate."""

    batches: Callable[[], Iterator[Batch]]
    loss: Callable[[Any, Any, Any], rl.Tensor]
    steps: int
    rate: float = 3e-3


def _digits(size: int, augment: bool) -> Callable[[], Iterator[Batch]]:
    """Digits in random order, moved, turned and scaled a little, a new way for every batch."""
    change = v2.RandomAffine(degrees=12, translate=(0.08, 0.08), scale=(0.85, 1.15), shear=8)

    def batches() -> Iterator[Batch]:
        images, labels = figures.digits("train")
        while True:
            for chosen in rl.randperm(len(labels)).split(size):
                batch = images[chosen]
                if augment:
                    batch = rl.cat([change(part) for part in batch.split(8)])
                yield batch, labels[chosen]

    return batches


def _shapes(task: str, size: int, side: int | None = None) -> Callable[[], Iterator[Batch]]:
    """Generated pictures; none is seen twice."""

    def batches() -> Iterator[Batch]:
        start = 0
        while True:
            yield figures.shapes(task, "train", range(start, start + size), side)
            start += size

    return batches


def _textured() -> Iterator[Batch]:
    """Generated pictures with textures of several sizes on them, and the same with noise."""
    for images, _ in _shapes("detection", 12, 40)():
        count, side = len(images), images.shape[-1]
        texture: Any = 0.0
        for cells in (4, 10, 20, 40):
            grid = rl.randn(count, 3, cells, cells) * (0.6 / cells**0.5)
            texture = texture + F.interpolate(grid, size=side, mode="bilinear")
        clean = (images + texture * rl.rand(count, 1, 1, 1) * 0.8).clamp(0.0, 1.0)
        noise = rl.randn(*clean.shape) * (0.02 + 0.18 * rl.rand(count, 1, 1, 1))
        yield clean + noise, clean


def _classified(model: Any, images: rl.Tensor, labels: Any) -> rl.Tensor:
    return F.cross_entropy(model(images), rl.as_tensor(labels), label_smoothing=0.05)


def _detected(model: Any, images: rl.Tensor, targets: Any) -> rl.Tensor:
    return rl.stack(list(model(list(images), targets).values())).sum()


def _segmented(model: Any, images: rl.Tensor, targets: Any) -> rl.Tensor:
    goals = rl.stack([each.as_subclass(rl.Tensor) for each in targets]).long()
    return F.cross_entropy(model(images)["out"], goals)


def _restored(model: Any, images: rl.Tensor, goals: rl.Tensor) -> rl.Tensor:
    return F.mse_loss(model(images), goals)


def _coded(model: Any, images: rl.Tensor, labels: Any) -> rl.Tensor:
    return F.mse_loss(model(images), images)


RECIPES = {
    "digits_cnn": Recipe(_digits(64, augment=True), _classified, 2500),
    "shapes_classifier": Recipe(_shapes("classification", 64), _classified, 2000),
    "shapes_detector": Recipe(_shapes("detection", 8), _detected, 2000, 2e-3),
    "shapes_segmenter": Recipe(_shapes("segmentation", 8), _segmented, 1500),
    "denoiser": Recipe(_textured, _restored, 3000, 1e-3),
    "digits_autoencoder": Recipe(_digits(64, augment=False), _coded, 5000, 2e-3),
}


def train(name: str, model: Any, steps: int | None = None) -> None:
    """AdamW; the rate rises over a tenth of the steps and falls along half a cosine."""
    recipe = RECIPES[name]
    steps = recipe.steps if steps is None else steps
    optimizer = rl.optim.AdamW(model.parameters(), lr=recipe.rate, weight_decay=1e-4)
    schedule = rl.optim.lr_scheduler.OneCycleLR(
        optimizer, recipe.rate, total_steps=steps, pct_start=0.1
    )
    model.train()
    for step, batch in zip(range(steps), recipe.batches(), strict=False):
        loss = recipe.loss(model, *batch)
        optimizer.zero_grad()
        loss.backward()
        rl.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step == steps - 1:
            print(f"{name}: step {step}, loss {loss.item():.4f}", flush=True)
