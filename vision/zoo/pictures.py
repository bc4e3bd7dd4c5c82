"""What the networks of the zoo do, as small pictures for their cards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import figures

import rushlight as rl
from rushlight_vision import utils

COLORS = ["red", "cyan", "yellow", "magenta", "white"]
FOLDER = Path(__file__).with_name("pictures")


def _enlarged(pixels: rl.Tensor, times: int) -> rl.Tensor:
    return pixels.repeat_interleave(times, -1).repeat_interleave(times, -2)


def _confusion(name: str) -> Callable[[Any], rl.Tensor]:
    """The confusion matrix: rows are the truth, bright is often."""

    def picture(model: Any) -> rl.Tensor:
        counts = figures.confusion(name, model).matrix.double()
        share = counts / counts.sum(1, keepdim=True)
        return _enlarged((share.sqrt() * 255).byte(), 16).expand(3, -1, -1)

    return picture


def _detections(model: Any) -> rl.Tensor:
    images, _ = figures.shapes("detection", "test", range(8))
    with rl.no_grad():
        found = model(list(images))
    drawn = []
    for image, each in zip(images, found, strict=True):
        sure = each["scores"] > 0.5
        colors: Any = [COLORS[label - 1] for label in each["labels"][sure].tolist()]
        pixels = (image * 255).byte()
        if colors:
            pixels = utils.draw_bounding_boxes(pixels, each["boxes"][sure], colors=colors)
        drawn.append(pixels)
    return utils.make_grid(rl.stack(drawn), nrow=4)


def _segments(model: Any) -> rl.Tensor:
    images, _ = figures.shapes("segmentation", "test", range(4))
    with rl.no_grad():
        classes = model(images)["out"].argmax(1)
    pixels = (images * 255).byte()
    drawn = [
        utils.draw_segmentation_masks(
            image, rl.stack([each == kind for kind in range(1, 6)]), alpha=0.9, colors=COLORS
        )
        for image, each in zip(pixels, classes, strict=True)
    ]
    return utils.make_grid(rl.cat([pixels, rl.stack(drawn)]), nrow=4)


def _rows(*rows: rl.Tensor) -> rl.Tensor:
    grid = utils.make_grid(rl.cat(rows), nrow=len(rows[0]))
    return (grid.clamp(0.0, 1.0) * 255).byte()


def _cleaned(model: Any) -> rl.Tensor:
    images, _ = figures.shapes("detection", "test", range(2))
    with rl.no_grad():
        return _rows(figures.noisy(images), model(figures.noisy(images)), images)


def _kept(model: Any) -> rl.Tensor:
    images = figures.digits("test")[0][:10]
    with rl.no_grad():
        return _rows(images, model(images))


PICTURES: dict[str, tuple[str, Callable[[Any], rl.Tensor]]] = {
    "digits_cnn": ("Confusion: rows are the truth, 0 to 9", _confusion("digits_cnn")),
    "shapes_classifier": ("Confusion: rows are the truth", _confusion("shapes_classifier")),
    "shapes_detector": ("Detections above 0.5 in pictures held out", _detections),
    "shapes_segmenter": ("Pictures held out, and the classes of their pixels", _segments),
    "denoiser": ("With noise, without it, and the truth", _cleaned),
    "digits_autoencoder": ("Digits held out, and what 16 numbers keep of them", _kept),
}


def draw(name: str, model: Any) -> None:
    """Write the picture of a trained model."""
    pixels = PICTURES[name][1](model)
    utils.save_image(pixels.float() / 255.0, FOLDER / f"{name}.png")
