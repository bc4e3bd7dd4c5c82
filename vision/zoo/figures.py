"""How well the networks of the zoo do on data that training did not see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import rushlight as rl
from rushlight_vision import utils
from rushlight_vision.datasets import DigitsSample, GeneratedShapes

HELD_OUT = 300  # generated pictures of detection, segmentation and noise
NOISE = 0.1  # standard deviation, of values from 0 to 1


def digits(split: str) -> tuple[rl.Tensor, rl.Tensor]:
    """All digits of a part, (N, 1, 28, 28) from 0 to 1, and their labels."""
    data = DigitsSample(split=split)
    return data.data.unsqueeze(1).float() / 255.0, data.targets


def shapes(task: str, split: str, indices: range, size: int | None = None) -> tuple[Any, list[Any]]:
    """Generated pictures of some indices, (N, 3, size, size) from 0 to 1, and their targets."""
    data = GeneratedShapes(split, task, count=indices.stop, size=size)
    rows = [data[index] for index in indices]
    return rl.stack([image.as_subclass(rl.Tensor) for image, _ in rows]).float() / 255.0, [
        target for _, target in rows
    ]


def confusion(name: str, model: Any) -> utils.ConfusionMatrix:
    """Which classes the network takes for which."""
    images, labels = digits("test") if name == "digits_cnn" else shapes(
        "classification", "test", range(1000)
    )  # fmt: skip
    matrix = utils.ConfusionMatrix(10 if name == "digits_cnn" else 5)
    with rl.no_grad():
        matrix.update(model(images), rl.as_tensor(labels))
    return matrix


def _accuracy(name: str) -> Callable[[Any], dict[str, float]]:
    return lambda model: {"acc@1": 100.0 * confusion(name, model).compute()["accuracy"]}


def _detection(model: Any) -> dict[str, float]:
    images, targets = shapes("detection", "test", range(HELD_OUT))
    scores = utils.MeanAveragePrecision()
    with rl.no_grad():
        for start in range(0, HELD_OUT, 50):
            found = model(list(images[start : start + 50]))
            scores.update(found, targets[start : start + 50])
    result = scores.compute()
    return {"box_map": 100.0 * result["map"], "box_map_50": 100.0 * result["map_50"]}


def _segmentation(model: Any) -> dict[str, float]:
    images, targets = shapes("segmentation", "test", range(HELD_OUT))
    matrix = utils.ConfusionMatrix(6)
    with rl.no_grad():
        for start in range(0, HELD_OUT, 50):
            goals = rl.stack([each.as_subclass(rl.Tensor) for each in targets[start : start + 50]])
            matrix.update(model(images[start : start + 50])["out"], goals.long())
    result = matrix.compute()
    return {"miou": 100.0 * result["mean_iou"], "pixel_acc": 100.0 * result["accuracy"]}


def noisy(images: rl.Tensor, seed: int = 7) -> rl.Tensor:
    """Pictures with Gaussian noise, the same on every machine."""
    noise = np.random.default_rng(seed).normal(0.0, NOISE, tuple(images.shape))
    return images + rl.from_numpy(noise.astype(np.float32))


def psnr(images: rl.Tensor, goals: rl.Tensor) -> float:
    """Peak signal-to-noise ratio in dB, of values from 0 to 1."""
    return float(-10.0 * ((images - goals) ** 2).mean().log10())


def _denoising(model: Any) -> dict[str, float]:
    images, _ = shapes("detection", "test", range(50))
    with rl.no_grad():
        return {
            "psnr": psnr(model(noisy(images)), images),
            "psnr_before": psnr(noisy(images), images),
        }


def _coding(model: Any) -> dict[str, float]:
    images, _ = digits("test")
    with rl.no_grad():
        return {"psnr": psnr(model(images), images), "psnr_pca_16": psnr(_principal(), images)}


def _principal(count: int = 16) -> rl.Tensor:
    """The digits held out as so many principal components of the others keep them."""
    train, test = digits("train")[0].flatten(1), digits("test")[0].flatten(1)
    mean = train.mean(0)
    axes = rl.linalg.eigh((train - mean).T @ (train - mean)).eigenvectors[:, -count:]
    return ((test - mean) @ axes @ axes.T + mean).reshape(-1, 1, 28, 28)


# Model -> the name of the data held out, and its figures.
FIGURES: dict[str, tuple[str, Callable[[Any], dict[str, float]]]] = {
    "digits_cnn": ("DigitsSample test (1,000)", _accuracy("digits_cnn")),
    "shapes_classifier": ("GeneratedShapes test (1,000)", _accuracy("shapes_classifier")),
    "shapes_detector": (f"GeneratedShapes test ({HELD_OUT})", _detection),
    "shapes_segmenter": (f"GeneratedShapes test ({HELD_OUT})", _segmentation),
    "denoiser": (f"GeneratedShapes test (50), noise {NOISE}", _denoising),
    "digits_autoencoder": ("DigitsSample test (1,000)", _coding),
}


def measured(name: str, model: Any) -> dict[str, dict[str, float]]:
    """The figures of a trained model, by the data they were measured on, to two digits."""
    where, measure = FIGURES[name]
    model.eval()
    return {where: {key: round(value, 2) for key, value in measure(model).items()}}
