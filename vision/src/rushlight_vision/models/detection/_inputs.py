"""What detectors are given: checks of images and targets."""

from __future__ import annotations

from typing import Any

import rushlight as rl

Target = dict[str, rl.Tensor]


def check_targets(targets: list[Target] | None) -> None:
    """AssertionError unless there are targets with boxes (N, 4), which training needs."""
    if targets is None:
        raise AssertionError(
            "targets should not be none when in training mode: expected a dict of each image"
        )
    for number, target in enumerate(targets):
        boxes: Any = target["boxes"]
        if not isinstance(boxes, rl.Tensor):
            raise AssertionError(
                f"targets[{number}]: Expected target boxes to be of type Tensor, got {type(boxes)}."
            )
        if boxes.ndim != 2 or boxes.shape[-1] != 4:
            raise AssertionError(
                f"targets[{number}]: Expected target boxes to be a tensor of shape [N, 4], got "
                f"{tuple(boxes.shape)}."
            )


def sizes_of(images: list[rl.Tensor]) -> list[tuple[int, int]]:
    """Height and width of each image; AssertionError for one that has none."""
    found = []
    for number, image in enumerate(images):
        size = tuple(image.shape[-2:])
        if len(size) != 2:
            raise AssertionError(
                f"images[{number}]: expecting the last two dimensions of the Tensor to be H and W "
                f"instead got {size}"
            )
        found.append((int(size[0]), int(size[1])))
    return found


def check_boxes(targets: list[Target] | None) -> None:
    """AssertionError for a box without width or height."""
    for number, target in enumerate(targets or []):
        boxes = target["boxes"]
        flat = (boxes[:, 2:] <= boxes[:, :2]).any(dim=1)
        if bool(flat.any()):
            first = boxes[rl.where(flat)[0][0]].tolist()
            raise AssertionError(
                "All bounding boxes should have positive height and width. Found invalid box "
                f"{first} for target at index {number}."
            )


def named(features: Any) -> dict[str, rl.Tensor]:
    """Feature maps by name; one tensor is called ``"0"``."""
    return {"0": features} if isinstance(features, rl.Tensor) else features
