"""What images go through before published models for other tasks than classification: calls that
torchvision and Rushlight answer alike."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from measured import SEED, Arrays

Given = Callable[..., Any]


def _detection(presets: Any, given: Given) -> Any:
    preset = presets.ObjectDetection()
    return [preset(given(3, 9, 12)), preset(given(2, 3, 9, 12))]


def _segmentation(presets: Any, given: Given) -> Any:
    make = presets.SemanticSegmentation
    made = [make(resize_size=20), make(resize_size=None, mean=(0.1, 0.2, 0.3), antialias=False)]
    return [preset(given(3, 30, 41)) for preset in made]


def _video(presets: Any, given: Given) -> Any:
    make = presets.VideoClassification
    preset = make(crop_size=(16, 12), resize_size=(18, 22))
    shorter = make(crop_size=(16, 16), resize_size=(20,), mean=(0.1, 0.2, 0.3))
    # halves of bytes are rounded either way, so not bytes
    videos = [given(4, 3, 30, 41) / 255, given(2, 3, 3, 25, 30) / 255]
    return [preset(videos[0]), shorter(videos[1])]


def _flow(presets: Any, given: Given) -> Any:
    return presets.OpticalFlow()(given(3, 9, 12), given(3, 9, 12))


CASES: dict[str, Callable[[Any, Given], Any]] = {
    "detection": _detection,
    "segmentation": _segmentation,
    "video": _video,
    "flow": _flow,
}
NAMES = ("presets",)


def measure(torch: Any, models: Any, name: str) -> Arrays:
    """What presets give, and how they show themselves."""
    presets = importlib.import_module(f"{models.__name__.split('.')[0]}.transforms._presets")
    draw = np.random.default_rng(SEED)

    def given(*shape: int) -> Any:
        return torch.tensor(draw.integers(0, 256, shape).astype(np.uint8))

    found = {}
    for case, call in CASES.items():
        for number, each in enumerate(call(presets, given)):
            found[f"part {case} {number}"] = np.array(each.numpy())
    return found
