"""Inputs of every kind, made by NumPy, so that torchvision and Rushlight get the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from PIL import Image

HEIGHT, WIDTH = 17, 23
CANVAS = (HEIGHT, WIDTH)
FORMATS = ("XYXY", "XYWH", "CXCYWH", "XYWHR", "CXCYWHR", "XYXYXYXY")


def library(name: str) -> Any:
    """Package, tv_tensors, transforms and v2 of "torchvision" or "rushlight_vision"."""
    module = __import__
    torch = module("torch" if name == "torchvision" else "rushlight")
    tv = module(f"{name}.tv_tensors", fromlist=["x"])
    v1 = module(f"{name}.transforms", fromlist=["x"])
    v2 = module(f"{name}.transforms.v2", fromlist=["x"])
    functional = module(f"{name}.transforms.v2.functional", fromlist=["x"])
    return SimpleNamespace(torch=torch, tv=tv, v1=v1, v2=v2, F=functional)


def _boxes() -> np.ndarray:
    """Corners of boxes inside, at the edge and partly outside of the canvas."""
    return np.array([[2, 3, 9, 12], [0, 0, 23, 17], [15, 9, 21, 15], [12, 4, 20, 9]], np.float32)


def _in_format(name: str) -> np.ndarray:
    left, top, right, bottom = _boxes().T
    width, height = right - left, bottom - top
    middle = [(left + right) / 2, (top + bottom) / 2]
    angle = np.array([10.0, 0.0, -30.0, 90.0], np.float32)
    columns = {
        "XYXY": [left, top, right, bottom],
        "XYWH": [left, top, width, height],
        "CXCYWH": [*middle, width, height],
        "XYWHR": [left, top, width / 3, height / 3, angle],
        "CXCYWHR": [*middle, width / 3, height / 3, angle],
    }
    if name != "XYXYXYXY":
        return np.stack(columns[name], 1).astype(np.float32)
    turn = np.deg2rad(angle)
    corners = []
    for across, down in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
        x, y = across * width / 6, down * height / 6
        corners.append(middle[0] + x * np.cos(turn) + y * np.sin(turn))
        corners.append(middle[1] - x * np.sin(turn) + y * np.cos(turn))
    return np.stack(corners, 1).astype(np.float32)


def inputs(lib: Any) -> dict[str, Any]:
    """One input of every kind by name."""
    rng = np.random.default_rng(3)
    tensor = lib.torch.tensor
    levels = rng.integers(0, 256, (3, HEIGHT, WIDTH), dtype=np.uint8)
    levels[0, :5] //= 3
    floats = rng.random((2, 3, HEIGHT, WIDTH), dtype=np.float32)
    found = {
        "uint8": tensor(levels),
        "grey": tensor(levels[:1]),
        "batch": tensor(floats),
        "Image": lib.tv.Image(tensor(floats[0])),
        "Video": lib.tv.Video(tensor(rng.integers(0, 256, (2, 3, HEIGHT, WIDTH), dtype=np.uint8))),
        "Mask": lib.tv.Mask(tensor(rng.integers(0, 5, (HEIGHT, WIDTH), dtype=np.uint8))),
        "Masks": lib.tv.Mask(tensor(rng.integers(0, 2, (2, HEIGHT, WIDTH)) > 0)),
        "PIL": Image.fromarray(levels.transpose(1, 2, 0).copy()),
        "PIL grey": Image.fromarray(levels[0]),
    }
    for name in FORMATS:
        boxes = tensor(_in_format(name))
        # Rotated boxes are not clamped here: torchvision documents the smallest box around what is
        # inside, and computes it for boxes that leave the image on one side alone.
        mode = None if name in FORMATS[3:] else "soft"
        found[f"boxes {name}"] = lib.tv.BoundingBoxes(
            boxes, format=name, canvas_size=CANVAS, clamping_mode=mode
        )
    found["whole boxes"] = lib.tv.BoundingBoxes(
        tensor(_boxes().astype(np.int64)), format="XYXY", canvas_size=CANVAS
    )
    points = np.array([[0, 0], [22, 16], [5, 7], [11.5, 3.25]], np.float32)
    found["points"] = lib.tv.KeyPoints(tensor(points), canvas_size=CANVAS)
    return found


def sample(lib: Any, alone: bool = False) -> dict[str, Any]:
    """An image with all that belongs to it (or `alone`), and things that no transform may touch."""
    every = inputs(lib)
    if alone:
        return {"image": lib.tv.Image(every["uint8"]), "text": "kept"}
    return {
        "image": lib.tv.Image(every["uint8"]),
        "target": {
            "boxes": every["boxes XYXY"],
            "labels": lib.torch.tensor([1, 0, 2, 1]),
            "masks": lib.tv.Mask(
                lib.torch.stack([every["Mask"].as_subclass(lib.torch.Tensor)] * 4)
            ),
            "points": every["points"],
        },
        "text": "kept",
        "number": 3,
    }


def leaves(value: Any, at: str = "") -> dict[str, Any]:
    """Arrays and words by their path: values, and type and metadata of each."""
    if isinstance(value, dict):
        return {k: v for key, each in value.items() for k, v in leaves(each, f"{at}.{key}").items()}
    if isinstance(value, (list, tuple)):
        items = [leaves(each, f"{at}.{number}") for number, each in enumerate(value)]
        return {k: v for each in items for k, v in each.items()}
    kind = type(value).__name__
    words = [kind]
    if hasattr(value, "canvas_size"):
        words = [kind, str(getattr(value, "format", "")), str(tuple(value.canvas_size))]
    if isinstance(value, Image.Image):
        words = ["PIL", value.mode]
    array = np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
    return {f"{at} type": np.array(" ".join(words)), at or "value": array}
