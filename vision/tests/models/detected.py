"""What a detector computes, measured the same way by torchvision and by Rushlight: losses of images
of different sizes, one of them without boxes, gradients, and detections."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import measured
import numpy as np
from measured import SEED, Arrays

CLASSES = 4
SIZES = ((90, 120), (100, 80), (64, 64))
POINTS = 5
# Detectors whose images have one size cannot be smaller.
FIXED = ("ssd300_vgg16", "ssdlite320_mobilenet_v3_large")


def options(name: str, builder: Any) -> dict[str, Any]:
    """The arguments of a builder."""
    found = {"weights": None, "num_classes": CLASSES, **measured.without_backbone_weights(builder)}
    if name not in FIXED:
        found |= {"min_size": 96, "max_size": 128}
    if "rcnn" in name:
        found |= {
            "rpn_post_nms_top_n_train": 60, "rpn_post_nms_top_n_test": 40,
            "rpn_pre_nms_top_n_train": 200, "rpn_pre_nms_top_n_test": 100,
            "box_batch_size_per_image": 32, "box_detections_per_img": 12, "rpn_score_thresh": 0.0,
        }  # fmt: skip
    else:
        found |= {"detections_per_img": 20, "score_thresh": 0.05, "topk_candidates": 50}
    if "num_keypoints" in inspect.signature(builder).parameters:
        found["num_keypoints"] = POINTS
    return found


def built(torch: Any, models: Any, name: str) -> Any:
    """The detector with its first weights."""
    builder = models.get_model_builder(name)
    torch.manual_seed(SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return builder(**options(name, builder))


def _image(draw: np.random.Generator, size: tuple[int, int], count: int) -> dict[str, np.ndarray]:
    """An image and its boxes, labels, masks and key points."""
    height, width = size
    corners = draw.uniform(0.0, 0.6, (count, 2)) * (width, height)
    sides = draw.uniform(0.2, 0.4, (count, 2)) * (width, height)
    boxes = np.concatenate([corners, corners + sides], axis=1)
    masks = np.zeros((count, height, width), np.uint8)
    for mask, (left, top, right, bottom) in zip(masks, boxes.astype(int), strict=True):
        mask[top:bottom, left:right] = 1
        mask[top : (top + bottom) // 2, left : (left + right) // 2] = 0
    points = boxes[:, None, :2] + draw.uniform(-0.1, 1.1, (count, POINTS, 2)) * sides[:, None]
    seen = draw.integers(0, 3, (count, POINTS, 1))
    return {
        "image": draw.uniform(0.0, 1.0, (3, height, width)),
        "boxes": boxes,
        "labels": draw.integers(1, CLASSES, count),
        "masks": masks,
        "keypoints": np.concatenate([points, seen], axis=2).astype(np.float32),
    }


def inputs(torch: Any, draw: np.random.Generator) -> tuple[list[Any], list[dict[str, Any]]]:
    """Images and targets; the last has no boxes."""
    rows = [_image(draw, size, count) for size, count in zip(SIZES, (3, 2, 0), strict=True)]
    images = [torch.tensor(row.pop("image")) for row in rows]
    return images, [{k: torch.tensor(v) for k, v in row.items()} for row in rows]


def gradients(model: Any) -> np.ndarray:
    """Of every parameter's gradient its magnitude and its sum with alternating signs."""
    rows = []
    for parameter in model.parameters():
        grad = parameter.grad
        flat = np.zeros(1) if grad is None else np.array(grad.detach().numpy()).reshape(-1)
        signs = np.where(np.arange(flat.size) % 3 == 1, -1.0, 1.0)
        rows.append((np.sqrt((flat**2).sum()), (flat * signs).sum()))
    return np.array(rows)


def _plain(value: Any) -> np.ndarray:
    return np.array(value.detach().numpy())


def _shown(key: str, value: np.ndarray) -> np.ndarray:
    """A result as it is recorded: of masks the sums of rows and of columns."""
    if key == "masks":
        return np.concatenate([value.sum(-1).ravel(), value.sum(-2).ravel()])
    return value


def outputs(torch: Any, model: Any, name: str) -> Arrays:
    """Losses and gradients in training, which leaves statistics of the images, then detections, all
    in float64."""
    draw = measured.draw_weights(torch, model, name)
    images, targets = inputs(torch, draw)
    for module in model.modules():
        if hasattr(module, "running_var"):
            module.momentum = 1.0
    model.double().train()
    torch.manual_seed(SEED)
    losses = model(images, targets)
    sum(losses.values()).backward()
    found = {f"train {key}": _plain(loss) for key, loss in losses.items()}
    found["grad"] = gradients(model)
    model.eval()
    with torch.no_grad():
        for number, detections in enumerate(model(images)):
            for key, value in detections.items():
                found[f"eval {number} {key}"] = _shown(key, _plain(value))
    return found


def measure(torch: Any, models: Any, name: str) -> Arrays:
    """Everything that is compared of a builder."""
    model = built(torch, models, name)
    found = {
        "state": np.array(measured.fingerprint(model.state_dict())),
        "trained": np.array([each.requires_grad for each in model.parameters()]),
        "init": measured.first_weights(model),
    }
    return {**found, **outputs(torch, model, name)}
