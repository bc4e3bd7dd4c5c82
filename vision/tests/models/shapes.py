"""Images of squares, discs and triangles with boxes and masks; networks small enough to learn them
in minutes; and how well they did."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

import rushlight as rl
from rushlight import nn
from rushlight_vision import ops
from rushlight_vision.models.detection import FasterRCNN
from rushlight_vision.models.detection.anchor_utils import AnchorGenerator
from rushlight_vision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from rushlight_vision.models.segmentation import DeepLabV3
from rushlight_vision.models.segmentation.deeplabv3 import DeepLabHead

CLASSES = 4  # background, square, disc, triangle
SIDE = 96
WIDTH = 64

Target = dict[str, rl.Tensor]


def _mask(kind: int, x: float, y: float, half: float) -> np.ndarray:
    """The pixels of one shape around (x, y)."""
    rows, columns = np.mgrid[:SIDE, :SIDE] + 0.5
    across, down = np.abs(columns - x), rows - y
    if kind == 1:
        return (across <= half) & (np.abs(down) <= half)
    if kind == 2:
        return across**2 + down**2 <= half**2
    return (np.abs(down) <= half) & (across <= (down + half) / 2)


def image(draw: np.random.Generator) -> tuple[rl.Tensor, Target]:
    """An image (3, 96, 96) of noise and one to three shapes, which may touch but not overlap, and
    its boxes, labels and pixels (``classes``, 0 for background)."""
    pixels = draw.uniform(0.0, 0.35, (3, SIDE, SIDE))
    classes = np.zeros((SIDE, SIDE), np.int64)
    boxes, labels = [], []
    wanted = int(draw.integers(1, 4))
    for _ in range(20):
        kind, half = int(draw.integers(1, CLASSES)), draw.uniform(8.0, 18.0)
        x, y = draw.uniform(half, SIDE - half, 2)
        mask = _mask(kind, x, y, half)
        if len(labels) == wanted or classes[mask].any():
            continue
        color = draw.uniform(0.4, 1.0, 3)[:, None]
        pixels[:, mask] = color + draw.normal(0.0, 0.05, (3, int(mask.sum())))
        classes[mask] = kind
        rows, columns = np.where(mask)
        boxes.append([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
        labels.append(kind)
    target = {
        "boxes": rl.tensor(np.array(boxes, np.float32)),
        "labels": rl.tensor(labels),
        "classes": rl.tensor(classes),
    }
    return rl.tensor(pixels.astype(np.float32)), target


def batch(draw: np.random.Generator, count: int) -> tuple[list[rl.Tensor], list[Target]]:
    """`count` images and their targets."""
    rows = [image(draw) for _ in range(count)]
    return [pixels for pixels, _ in rows], [target for _, target in rows]


def _block(before: int, after: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU(inplace=True),
    )


def backbone(stride: int) -> nn.Sequential:
    """Six convolutions; maps of 64 channels with one position for every `stride` pixels."""
    return nn.Sequential(
        _block(3, 16, 2),
        _block(16, 32, 2),
        _block(32, WIDTH, stride // 4),
        _block(WIDTH, WIDTH, 1),
        _block(WIDTH, WIDTH, 1),
        _block(WIDTH, WIDTH, 1),
    )


def detector() -> FasterRCNN:
    """A small Faster R-CNN."""
    body = backbone(8)
    body.out_channels = WIDTH
    return FasterRCNN(
        body, min_size=SIDE, max_size=SIDE,
        rpn_anchor_generator=AnchorGenerator(((16, 24, 34),), ((1.0,),)),
        rpn_pre_nms_top_n_train=200, rpn_post_nms_top_n_train=100,
        rpn_pre_nms_top_n_test=100, rpn_post_nms_top_n_test=50, rpn_batch_size_per_image=64,
        box_roi_pool=ops.MultiScaleRoIAlign(["0"], 5, 2), box_batch_size_per_image=48,
        box_head=TwoMLPHead(WIDTH * 25, 128), box_predictor=FastRCNNPredictor(128, CLASSES),
    )  # fmt: skip


class _Maps(nn.Module):
    """A network's result as the map ``"out"``."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: rl.Tensor) -> dict[str, rl.Tensor]:
        return OrderedDict(out=self.body(x))


def segmenter() -> DeepLabV3:
    """A small DeepLabv3."""
    return DeepLabV3(_Maps(backbone(4)), DeepLabHead(WIDTH, CLASSES, (2, 4, 6)))


def detection_loss(model: FasterRCNN, images: list[rl.Tensor], targets: list[Target]) -> rl.Tensor:
    """The sum of all losses."""
    return rl.stack(list(model(images, targets).values())).sum()


def segmentation_loss(
    model: DeepLabV3, images: list[rl.Tensor], targets: list[Target]
) -> rl.Tensor:
    """The cross entropy of all pixels."""
    goals = rl.stack([target["classes"] for target in targets])
    return nn.functional.cross_entropy(model(rl.stack(images))["out"], goals)


def precision(found: list[Target], targets: list[Target]) -> float:
    """Mean average precision at an overlap of 0.5 (area under the precision of all recalls)."""
    return float(np.mean([_precision(found, targets, kind) for kind in range(1, CLASSES)]))


def _precision(found: list[Target], targets: list[Target], kind: int) -> float:
    """The average precision of one class."""
    rows, count = [], 0
    for detections, target in zip(found, targets, strict=True):
        goals = target["boxes"][target["labels"] == kind]
        mine = detections["labels"] == kind
        count += len(goals)
        rows += _hits(detections["boxes"][mine], detections["scores"][mine], goals)
    rows.sort(key=lambda row: -row[0])
    hits = np.array([hit for _, hit in rows], float)
    precisions = hits.cumsum() / np.arange(1, len(hits) + 1)
    best_from_here = np.maximum.accumulate(precisions[::-1])[::-1]
    return float((best_from_here * hits).sum() / max(count, 1))


def _hits(boxes: rl.Tensor, scores: rl.Tensor, goals: rl.Tensor) -> list[tuple[float, bool]]:
    """Scores of the boxes of an image, best first, and whether each finds a box not found yet."""
    if len(boxes) == 0 or len(goals) == 0:
        return [(score, False) for score in scores.tolist()]
    overlaps, rows = ops.box_iou(boxes, goals).numpy().copy(), []
    for number, score in enumerate(scores.tolist()):
        best = int(overlaps[number].argmax())
        hit = bool(overlaps[number, best] >= 0.5)
        if hit:
            overlaps[:, best] = 0.0
        rows.append((score, hit))
    return rows


def overlap(classes: rl.Tensor, goals: rl.Tensor) -> float:
    """Mean intersection over union of the classes, background included, of all pixels."""
    pairs = [(classes == kind, goals == kind) for kind in range(CLASSES)]
    ratios = [int((a & b).sum()) / max(int((a | b).sum()), 1) for a, b in pairs]
    return float(np.mean(ratios))
