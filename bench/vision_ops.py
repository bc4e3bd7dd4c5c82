"""Operators of rushlight_vision beside torchvision's: CPU time, one process after the other.

torchvision runs in an environment of its own, which `nox -s family` makes. Every process times all
calls and keeps the fastest of each; processes take turns.

Usage: python bench/vision_ops.py [--oracle PYTHON] [--pairs N] [--write NAME]
       --write: bench/results/vision_ops_NAME.json and .md
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).resolve().parent / "results"
ORACLE = Path(__file__).resolve().parents[1] / ".nox" / "torchvision" / "bin" / "python"
BUDGET = 0.5  # seconds of CPU time for one call
Call = tuple[str, Callable[[], Any]]


class Inputs:
    """Tensors of one library from a seed."""

    def __init__(self, torch: Any) -> None:
        self.torch, self.source = torch, np.random.default_rng(0)

    def of(self, values: np.ndarray) -> Any:
        return self.torch.tensor(values.astype(np.float32))

    def normal(self, *shape: int) -> Any:
        return self.of(self.source.standard_normal(shape))

    def corners(self, count: int) -> np.ndarray:
        """Boxes of an image of 800 x 800 pixels, most of them 30 to 130 pixels wide."""
        centers = self.source.uniform(0, 800, (count, 2))
        sides = np.exp(self.source.normal(np.log(66), 0.7, (count, 2)))
        return np.concatenate([centers - sides / 2, centers + sides / 2], 1).clip(0, 800)

    def crowd(self, count: int) -> np.ndarray:
        """Boxes of few objects, as a detector gives them."""
        objects = self.corners(max(5, count // 40))
        boxes = objects[self.source.integers(0, len(objects), count)]
        boxes = boxes + self.source.normal(0, 6, (count, 4))
        boxes[:, 2:] = np.maximum(boxes[:, 2:], boxes[:, :2] + 1)
        return boxes

    def regions(self, count: int, images: int) -> Any:
        numbers = self.source.integers(0, images, (count, 1))
        return self.of(np.concatenate([numbers, self.corners(count)], 1))


def box_calls(torch: Any, ops: Any, inputs: Inputs) -> Iterator[Call]:
    for count in (100, 1000, 4000):
        scores = inputs.of(inputs.source.random(count))
        classes = torch.tensor(inputs.source.integers(0, 80, count))
        crowd, spread = inputs.of(inputs.crowd(count)), inputs.of(inputs.corners(count))
        yield f"nms, crowded, {count}", lambda b=crowd, s=scores: ops.nms(b, s, 0.5)
        yield f"nms, spread, {count}", lambda b=spread, s=scores: ops.nms(b, s, 0.5)
        yield (
            f"batched_nms, {count} of 80 classes",
            lambda b=spread, s=scores, c=classes: ops.batched_nms(b, s, c, 0.5),
        )
    one, other = inputs.of(inputs.corners(1000)), inputs.of(inputs.corners(500))
    for name in ("box_iou", "generalized_box_iou", "complete_box_iou"):
        yield f"{name} 1000 x 500", partial(getattr(ops, name), one, other)
    masks = torch.tensor(inputs.source.random((50, 200, 200)) > 0.99)
    yield "masks_to_boxes 50 x 200 x 200", lambda: ops.masks_to_boxes(masks)
    logits = inputs.normal(200, 80, 91)
    targets = inputs.of(inputs.source.random((200, 80, 91)) > 0.9)
    yield "sigmoid_focal_loss 1.5 million", lambda: ops.sigmoid_focal_loss(logits, targets)


def there_and_back(name: str, call: Callable[..., Any], *tensors: Any) -> Iterator[Call]:
    """A call, and one with gradients of all tensors."""
    yield name, lambda: call(*tensors)
    leaves = [each.clone().requires_grad_() for each in tensors]

    def step() -> None:
        for leaf in leaves:
            leaf.grad = None
        call(*leaves).sum().backward()

    yield f"{name}, with gradients", step


def region_calls(ops: Any, inputs: Inputs) -> Iterator[Call]:
    for channels, size, count in ((256, 50, 512), (256, 200, 512), (64, 50, 100)):
        x, rois, scale = (
            inputs.normal(2, channels, size, size),
            inputs.regions(count, 2),
            size / 800,
        )
        name = f"{channels} x {size} x {size}, {count} regions"
        for ratio in (2, -1):
            yield from there_and_back(
                f"roi_align {name}, sampling {ratio}",
                lambda x, r=rois, s=scale, n=ratio: ops.roi_align(x, r, 7, s, n, True), x,
            )  # fmt: skip
        if size == 50:
            call = lambda x, r=rois, s=scale: ops.roi_pool(x, r, 7, s)  # noqa: E731
            yield from there_and_back(f"roi_pool {name}", call, x)
    x, rois = inputs.normal(1, 490, 50, 50), inputs.regions(300, 1)
    yield "ps_roi_align 490 x 50 x 50, 300", lambda: ops.ps_roi_align(x, rois, 7, 1 / 16, 2)
    yield "ps_roi_pool 490 x 50 x 50, 300", lambda: ops.ps_roi_pool(x, rois, 7, 1 / 16)


def deform_calls(ops: Any, inputs: Inputs) -> Iterator[Call]:
    for images, channels, groups in ((2, 64, 1), (1, 256, 1), (2, 64, 4)):
        given = (
            inputs.normal(images, channels, 32, 32),
            inputs.normal(images, 18 * groups, 32, 32),
            inputs.normal(channels, channels, 3, 3),
            inputs.normal(images, 9 * groups, 32, 32),
        )
        yield from there_and_back(
            f"deform_conv2d {images} x {channels} x 32 x 32, offset groups {groups}",
            lambda x, o, w, m: ops.deform_conv2d(x, o, w, padding=1, mask=m), *given,
        )  # fmt: skip


def fastest(call: Callable[[], Any]) -> float:
    """Milliseconds of CPU time."""
    call()
    best, end, runs = float("inf"), time.process_time() + BUDGET, 0
    while runs < 3 or time.process_time() < end:
        start = time.process_time()
        call()
        best, runs = min(best, time.process_time() - start), runs + 1
    return best * 1000


def measure(family: str) -> dict[str, float]:
    """All calls of one library."""
    if family == "torchvision":
        import torch
        import torchvision.ops as ops
    else:
        import rushlight as torch
        from rushlight_vision import ops
    torch.set_num_threads(1)
    inputs = Inputs(torch)
    parts = box_calls(torch, ops, inputs), region_calls(ops, inputs), deform_calls(ops, inputs)
    return {name: fastest(call) for part in parts for name, call in part}


def in_turn(oracle: str, pairs: int) -> dict[str, dict[str, float]]:
    """The fastest of every call in both libraries."""
    best: dict[str, dict[str, float]] = {"torchvision": {}, "rushlight_vision": {}}
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    for _ in range(pairs):
        for family, python in (("torchvision", oracle), ("rushlight_vision", sys.executable)):
            command = [python, __file__, "--measure", family]
            done = subprocess.run(command, env=environment, check=True, capture_output=True)
            for name, value in json.loads(done.stdout.splitlines()[-1]).items():
                best[family][name] = min(value, best[family].get(name, value))
    return best


def table(best: dict[str, dict[str, float]]) -> str:
    """Both times, how many times as fast ours is, and the geometric mean of that."""
    lines = ["| call | torchvision, ms | rushlight_vision, ms | ratio |", "| --- " * 4 + "|"]
    ratios = []
    for name, theirs in best["torchvision"].items():
        ours = best["rushlight_vision"][name]
        ratios.append(theirs / ours)
        lines.append(f"| {name} | {theirs:.3f} | {ours:.3f} | {ratios[-1]:.2f} |")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    lines.append(f"| geometric mean | | | {mean:.2f} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--oracle", default=str(ORACLE), help="Python that has torchvision")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--write", help="a name for the files of results: the processor's")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure)))
        return 0
    best = in_turn(arguments.oracle, arguments.pairs)
    print(table(best))
    if arguments.write:
        path = RESULTS / f"vision_ops_{arguments.write}"
        path.with_suffix(".json").write_text(json.dumps(best, indent=1) + "\n")
        path.with_suffix(".md").write_text(f"# Vision: operators\n\n{table(best)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
