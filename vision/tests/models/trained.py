"""What networks that segment or classify videos compute, measured the same way by torchvision and
by Rushlight: results in training, gradients, and results in evaluation."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import detected
import measured
import numpy as np
from measured import SEED, Arrays

CLASSES = 7
SHOWN = 400  # values of a result that are recorded


def options(builder: Any) -> dict[str, Any]:
    """The arguments of a builder."""
    found: dict[str, Any] = {"weights": None, "num_classes": CLASSES}
    found |= measured.without_backbone_weights(builder)
    if "aux_loss" in inspect.signature(builder).parameters:
        found["aux_loss"] = True
    return found


# What networks of videos are given; the others images. S3D's last pooling wants so much, and MViT
# is built for one size.
SHAPES = {"s3d": (1, 3, 14, 224, 224), "mvit": (1, 3, 16, 224, 224), "swin3d": (2, 3, 7, 58, 70)}
VIDEO, IMAGES = (2, 3, 6, 40, 48), (2, 3, 56, 72)


def shape(builder: Any, name: str) -> tuple[int, ...]:
    """Of what a network is given."""
    other = VIDEO if ".video." in builder.__module__ else IMAGES
    return SHAPES.get(name.partition("_")[0], other)


def built(torch: Any, models: Any, name: str) -> Any:
    """The network with its first weights."""
    builder = models.get_model_builder(name)
    torch.manual_seed(SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return builder(**options(builder))


def _tensors(result: Any) -> dict[str, Any]:
    """The tensors of a result by name: of one, of several, or of a dict."""
    if isinstance(result, dict):
        return dict(result)
    several = result if isinstance(result, (list, tuple)) else [result]
    return {str(number): each for number, each in enumerate(several)}


def sampled(value: Any) -> np.ndarray:
    """Values at equal distances, and the sum of all."""
    flat = np.array(value.detach().numpy()).ravel()
    step = max(1, flat.size // SHOWN) | 1
    return np.append(flat[::step], flat.mean())


def outputs(torch: Any, model: Any, name: str, size: tuple[int, ...]) -> Arrays:
    """Results and gradients in training, which leaves statistics of the inputs, then results in
    evaluation, all in float64."""
    draw = measured.draw_weights(torch, model, name)
    given = torch.tensor(draw.standard_normal(size))
    for module in model.modules():
        if hasattr(module, "running_var"):
            module.momentum = 1.0
    model.double().train()
    torch.manual_seed(SEED)
    results = _tensors(model(given))
    sum(each.square().mean() for each in results.values()).backward()
    found = {f"train {key}": sampled(each) for key, each in results.items()}
    found["grad"] = detected.gradients(model)
    model.eval()
    with torch.no_grad():
        for key, each in _tensors(model(given)).items():
            found[f"eval {key}"] = sampled(each)
            found[f"shape of {key}"] = np.array(each.shape)
    return found


def measure(torch: Any, models: Any, name: str) -> Arrays:
    """Everything that is compared of a builder."""
    size = shape(models.get_model_builder(name), name)
    return compared(torch, built(torch, models, name), name, size)


def compared(torch: Any, model: Any, name: str, size: tuple[int, ...]) -> Arrays:
    """Everything that is compared of a network with its first weights."""
    found = {
        "state": np.array(measured.fingerprint(model.state_dict())),
        "init": measured.first_weights(model),
    }
    return {**found, **outputs(torch, model, name, size)}
