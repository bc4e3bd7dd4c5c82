"""Detectors of one stage: heads on feature maps say at once what and where."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision import ops
from rushlight_vision.models.detection import _utils
from rushlight_vision.models.detection._inputs import (
    Target,
    check_boxes,
    check_targets,
    named,
    sizes_of,
)

Tensors = list[rl.Tensor]


class OneStage(nn.Module):
    """A backbone, a head, anchors, and what becomes of them: RetinaNet, FCOS and SSD.

    A subclass has `compute_losses` and `detections`.
    """

    backbone: nn.Module
    head: nn.Module
    anchor_generator: nn.Module
    transform: nn.Module
    score_thresh: float
    topk_candidates: int
    nms_thresh: float
    detections_per_img: int

    def eager_outputs(self, losses: dict[str, rl.Tensor], detections: list[Target]) -> Any:
        """The losses in training, else the detections."""
        return losses if self.training else detections

    def forward(self, images: list[rl.Tensor], targets: list[Target] | None = None) -> Any:
        """In training losses by name, in evaluation a dict of each image: ``boxes`` (D, 4),
        ``scores`` and ``labels`` (D,), best first.

        Parameters
        ----------
        images : list of Tensor (C, H, W)
            Of any sizes, with values from 0 to 1.
        targets : list of dict
            In training: ``boxes`` (N, 4), ``x1, y1, x2, y2`` in pixels, and ``labels`` (N,) of
            int64.

        Raises
        ------
        AssertionError
            In training without targets; for boxes of another shape, or without width or height.
        """
        if self.training:
            check_targets(targets)
        originals = sizes_of(images)
        batch, targets = self.transform(images, targets)
        check_boxes(targets)
        features = list(named(self.backbone(batch.tensors)).values())
        outputs = self.head(features)
        anchors = self.anchor_generator(batch, features)
        if self.training:
            return self.eager_outputs(self.compute_losses(targets, outputs, anchors, features), [])
        detections = self.detections(outputs, anchors, batch.image_sizes, features)
        sizes = batch.image_sizes
        return self.eager_outputs({}, self.transform.postprocess(detections, sizes, originals))

    def compute_losses(
        self, targets: Any, outputs: Any, anchors: Tensors, features: Tensors
    ) -> dict[str, rl.Tensor]:
        """The losses of what the head says."""
        raise NotImplementedError(f"{type(self).__name__}: define compute_losses")

    def detections(
        self, outputs: Any, anchors: Tensors, sizes: list[tuple[int, int]], features: Tensors
    ) -> list[Target]:
        """The detections of each image, in pixels of the batch."""
        raise NotImplementedError(f"{type(self).__name__}: define detections")

    def best_of_level(self, scores: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
        """Of scores (A, C) the best that are good enough: they, their anchors and their classes."""
        classes, flat = scores.shape[-1], scores.flatten()
        found = rl.where(flat > self.score_thresh)[0]
        flat = flat[found]
        flat, order = flat.topk(_utils._topk_min(flat, self.topk_candidates, 0))
        chosen = found[order]
        return flat, chosen // classes, chosen % classes

    def suppressed(self, boxes: rl.Tensor, scores: rl.Tensor, labels: rl.Tensor) -> Target:
        """The detections of an image: of each class those that overlap no better one."""
        keep = ops.batched_nms(boxes, scores, labels, self.nms_thresh)[: self.detections_per_img]
        return {"boxes": boxes[keep], "scores": scores[keep], "labels": labels[keep]}


def counts_of(features: Tensors, anchors: int) -> list[int]:
    """How many anchors each map has, of `anchors` on all maps together."""
    positions = [each.shape[2] * each.shape[3] for each in features]
    each_has = anchors // sum(positions)
    return [count * each_has for count in positions]


def split_by_level(
    outputs: dict[str, rl.Tensor], anchors: Tensors, counts: list[int]
) -> tuple[dict[str, Tensors], list[Tensors]]:
    """What the head says, and the anchors of each image, map by map."""
    heads = {name: list(each.split(counts, dim=1)) for name, each in outputs.items()}
    return heads, [list(each.split(counts)) for each in anchors]


def all_levels(layers: Tensors, columns: int) -> rl.Tensor:
    """What a head says at all maps (N, A * columns, H, W), one row for each anchor: (N, anchors,
    columns)."""
    rows = []
    for each in layers:
        count, _, height, width = each.shape
        each = each.view(count, -1, columns, height, width).permute(0, 3, 4, 1, 2)
        rows.append(each.reshape(count, -1, columns))
    return rl.cat(rows, dim=1)


def matched_boxes(matcher: Any, targets: list[Target], anchors: Tensors) -> Tensors:
    """Of each image the indices of the boxes that its anchors belong to, or -1 or -2."""
    found = []
    for target, candidates in zip(targets, anchors, strict=True):
        boxes = target["boxes"]
        if boxes.numel() == 0:
            nothing = rl.full((len(candidates),), -1, dtype=rl.int64, device=candidates.device)
            found.append(nothing)
        else:
            found.append(matcher(ops.box_iou(boxes, candidates)))
    return found
