"""Heads that look at proposed boxes: what is in them, where exactly, masks and key points."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision import ops
from rushlight_vision.models.detection import _utils
from rushlight_vision.models.detection._inputs import Target
from rushlight_vision.models.detection._keypoints import (
    heatmaps_to_keypoints as heatmaps_to_keypoints,
)
from rushlight_vision.models.detection._keypoints import keypointrcnn_inference, keypointrcnn_loss
from rushlight_vision.models.detection._keypoints import (
    keypoints_to_heatmap as keypoints_to_heatmap,
)
from rushlight_vision.models.detection._masks import (
    expand_boxes as expand_boxes,
)
from rushlight_vision.models.detection._masks import (
    expand_masks as expand_masks,
)
from rushlight_vision.models.detection._masks import maskrcnn_inference, maskrcnn_loss
from rushlight_vision.models.detection._masks import (
    paste_mask_in_image as paste_mask_in_image,
)
from rushlight_vision.models.detection._masks import (
    paste_masks_in_image as paste_masks_in_image,
)
from rushlight_vision.models.detection._masks import (
    project_masks_on_boxes as project_masks_on_boxes,
)

_BETA = 1 / 9  # where the loss of offsets turns from squares to magnitudes
_FLOATS = (rl.float32, rl.float64, rl.float16)

Tensors = list[rl.Tensor]


def fastrcnn_loss(
    class_logits: rl.Tensor,
    box_regression: rl.Tensor,
    labels: Tensors,
    regression_targets: Tensors,
) -> tuple[rl.Tensor, rl.Tensor]:
    """The losses of classes and of offsets of the right class, of logits (N, C) and offsets
    (N, C * 4)."""
    every, goals = rl.cat(labels), rl.cat(regression_targets)
    positive = rl.where(every > 0)[0]
    offsets = box_regression.reshape(len(class_logits), box_regression.shape[-1] // 4, 4)
    chosen = offsets[positive, every[positive]]
    box_loss = F.smooth_l1_loss(chosen, goals[positive], beta=_BETA, reduction="sum")
    return F.cross_entropy(class_logits, every), box_loss / every.numel()


class RoIHeads(nn.Module):
    """Classes and boxes of proposals, and their masks and key points where there are heads.

    Parameters
    ----------
    box_roi_pool, box_head, box_predictor : Module
        Pools feature maps under boxes, looks at them, and gives logits and offsets.
    fg_iou_thresh, bg_iou_thresh : float
        Proposals that overlap a box so much belong to it; those that overlap all less are
        background.
    batch_size_per_image : int
        Proposals of an image that training looks at.
    positive_fraction : float
        The largest share of positive ones.
    bbox_reg_weights : (float, float, float, float) or None
        Factors of offsets; None: 10, 10, 5 and 5.
    score_thresh, nms_thresh : float
        Detections with less go, and the worse of two that overlap more.
    detections_per_img : int
        Best detections of an image.
    mask_roi_pool, mask_head, mask_predictor : Module, optional
    keypoint_roi_pool, keypoint_head, keypoint_predictor : Module, optional
    """

    def __init__(
        self,
        box_roi_pool: nn.Module,
        box_head: nn.Module,
        box_predictor: nn.Module,
        fg_iou_thresh: float,
        bg_iou_thresh: float,
        batch_size_per_image: int,
        positive_fraction: float,
        bbox_reg_weights: tuple[float, float, float, float] | None,
        score_thresh: float,
        nms_thresh: float,
        detections_per_img: int,
        mask_roi_pool: nn.Module | None = None,
        mask_head: nn.Module | None = None,
        mask_predictor: nn.Module | None = None,
        keypoint_roi_pool: nn.Module | None = None,
        keypoint_head: nn.Module | None = None,
        keypoint_predictor: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.box_similarity = ops.box_iou
        self.proposal_matcher = _utils.Matcher(fg_iou_thresh, bg_iou_thresh)
        self.fg_bg_sampler = _utils.BalancedPositiveNegativeSampler(
            batch_size_per_image, positive_fraction
        )
        self.box_coder = _utils.BoxCoder(bbox_reg_weights or (10.0, 10.0, 5.0, 5.0))
        self.box_roi_pool = box_roi_pool
        self.box_head = box_head
        self.box_predictor = box_predictor
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.mask_roi_pool: Any = mask_roi_pool
        self.mask_head: Any = mask_head
        self.mask_predictor: Any = mask_predictor
        self.keypoint_roi_pool: Any = keypoint_roi_pool
        self.keypoint_head: Any = keypoint_head
        self.keypoint_predictor: Any = keypoint_predictor

    def has_mask(self) -> bool:
        """Whether there are heads for masks."""
        return None not in (self.mask_roi_pool, self.mask_head, self.mask_predictor)

    def has_keypoint(self) -> bool:
        """Whether there are heads for key points."""
        return None not in (self.keypoint_roi_pool, self.keypoint_head, self.keypoint_predictor)

    def assign_targets_to_proposals(
        self, proposals: Tensors, gt_boxes: Tensors, gt_labels: Tensors
    ) -> tuple[Tensors, Tensors]:
        """Of each image the indices of the boxes that its proposals belong to, and their labels: 0
        for background, -1 for what is neither."""
        matched, labels = [], []
        for boxes, goals, classes in zip(proposals, gt_boxes, gt_labels, strict=True):
            index, label = self._assigned(boxes, goals, classes)
            matched.append(index)
            labels.append(label)
        return matched, labels

    def _assigned(
        self, boxes: rl.Tensor, goals: rl.Tensor, classes: rl.Tensor
    ) -> tuple[rl.Tensor, rl.Tensor]:
        if goals.numel() == 0:
            nothing = rl.zeros((len(boxes),), dtype=rl.int64, device=boxes.device)
            return nothing, nothing.clone()
        found = self.proposal_matcher(self.box_similarity(goals, boxes))
        index = found.clamp(min=0)
        labels = classes[index].to(dtype=rl.int64)
        labels[found == self.proposal_matcher.BELOW_LOW_THRESHOLD] = 0
        labels[found == self.proposal_matcher.BETWEEN_THRESHOLDS] = -1
        return index, labels

    def subsample(self, labels: Tensors) -> Tensors:
        """Indices of the proposals of each image that training looks at."""
        chosen = zip(*self.fg_bg_sampler(labels), strict=True)
        return [rl.where(positive | negative)[0] for positive, negative in chosen]

    def add_gt_proposals(self, proposals: Tensors, gt_boxes: Tensors) -> Tensors:
        """Proposals and, behind them, the boxes themselves."""
        return [rl.cat(pair) for pair in zip(proposals, gt_boxes, strict=True)]

    def check_targets(self, targets: list[Target] | None) -> None:
        """ValueError without targets, AssertionError where they lack something."""
        if targets is None:
            raise ValueError("targets should not be None: expected a dict of each image")
        for name in ("boxes", "labels", *(["masks"] if self.has_mask() else [])):
            if not all(name in target for target in targets):
                raise AssertionError(f"targets: every element of targets should have {name!r}")

    def select_training_samples(
        self, proposals: Tensors, targets: list[Target] | None
    ) -> tuple[Tensors, Tensors, Tensors, Tensors]:
        """Of each image the proposals that training looks at, the indices of the boxes they belong
        to, labels, and offsets to these boxes."""
        self.check_targets(targets)
        known = targets or []
        goals = [target["boxes"].to(proposals[0].dtype) for target in known]
        proposals = self.add_gt_proposals(proposals, goals)
        classes = [target["labels"] for target in known]
        matched, labels = self.assign_targets_to_proposals(proposals, goals, classes)
        sampled = self.subsample(labels)
        proposals, matched, labels = (
            [each[index] for each, index in zip(every, sampled, strict=True)]
            for every in (proposals, matched, labels)
        )
        boxes = [
            (goal if goal.numel() else goal.new_zeros((1, 4)))[index]
            for goal, index in zip(goals, matched, strict=True)
        ]
        return proposals, matched, labels, self.box_coder.encode(boxes, proposals)

    def postprocess_detections(
        self,
        class_logits: rl.Tensor,
        box_regression: rl.Tensor,
        proposals: Tensors,
        image_shapes: list[tuple[int, int]],
    ) -> tuple[Tensors, Tensors, Tensors]:
        """Boxes, scores and labels of each image, best first."""
        counts = [len(each) for each in proposals]
        boxes = self.box_coder.decode(box_regression, proposals).split(counts, 0)
        scores = class_logits.softmax(-1).split(counts, 0)
        kept = [self._kept(*each) for each in zip(boxes, scores, image_shapes, strict=True)]
        return [b for b, _, _ in kept], [s for _, s, _ in kept], [c for _, _, c in kept]

    def _kept(
        self, boxes: rl.Tensor, scores: rl.Tensor, shape: tuple[int, int]
    ) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
        """Detections of one image, of boxes (N, C, 4) and scores (N, C)."""
        classes = scores.shape[-1]
        scores = scores[:, 1:].reshape(-1)
        found = rl.where(scores > self.score_thresh)[0]
        scores = scores[found]
        candidates = boxes.reshape(len(boxes), classes, 4)[:, 1:].reshape(-1, 4)[found]
        candidates = ops.clip_boxes_to_image(candidates, shape)
        labels = found % max(classes - 1, 1) + 1
        keep = ops.remove_small_boxes(candidates, min_size=1e-2)
        candidates, scores, labels = candidates[keep], scores[keep], labels[keep]
        keep = ops.batched_nms(candidates, scores, labels, self.nms_thresh)
        keep = keep[: self.detections_per_img]
        return candidates[keep], scores[keep], labels[keep]

    def forward(
        self,
        features: dict[str, rl.Tensor],
        proposals: Tensors,
        image_shapes: list[tuple[int, int]],
        targets: list[Target] | None = None,
    ) -> tuple[list[Target], dict[str, rl.Tensor]]:
        """In evaluation a dict of each image, in training losses by name.

        Raises TypeError for targets of another dtype.
        """
        self._check_dtypes(targets or [])
        if not self.training:
            return self._detected(features, proposals, image_shapes), {}
        proposals, matched, labels, offsets = self.select_training_samples(proposals, targets)
        seen = self.box_head(self.box_roi_pool(features, proposals, image_shapes))
        scores, deltas = self.box_predictor(seen)
        losses = fastrcnn_loss(scores, deltas, labels, offsets)
        found = dict(zip(("loss_classifier", "loss_box_reg"), losses, strict=True))
        inside = [rl.where(label > 0)[0] for label in labels]
        proposals, matched = (
            [each[index] for each, index in zip(every, inside, strict=True)]
            for every in (proposals, matched)
        )
        targets = targets or []
        if self.has_mask():
            logits = self._masks(features, proposals, image_shapes)
            masks, classes = ([each[name] for each in targets] for name in ("masks", "labels"))
            found["loss_mask"] = maskrcnn_loss(logits, proposals, masks, classes, matched)
        if self.has_keypoint():
            logits = self._heatmaps(features, proposals, image_shapes)
            points = [target["keypoints"] for target in targets]
            found["loss_keypoint"] = keypointrcnn_loss(logits, proposals, points, matched)
        return [], found

    def _check_dtypes(self, targets: list[Target]) -> None:
        for target in targets:
            boxes, labels = target["boxes"].dtype, target["labels"].dtype
            if boxes not in _FLOATS:
                raise TypeError(f"target boxes must of float type, instead got {boxes}")
            if labels != rl.int64:
                raise TypeError(f"target labels must of int64 type, instead got {labels}")
            if self.has_keypoint() and target["keypoints"].dtype != rl.float32:
                points = target["keypoints"].dtype
                raise TypeError(f"target keypoints must of float type, instead got {points}")

    def _masks(self, features: Any, boxes: Tensors, shapes: Any) -> rl.Tensor:
        pooled = self.mask_roi_pool(features, boxes, shapes)
        return self.mask_predictor(self.mask_head(pooled))

    def _heatmaps(self, features: Any, boxes: Tensors, shapes: Any) -> rl.Tensor:
        pooled = self.keypoint_roi_pool(features, boxes, shapes)
        return self.keypoint_predictor(self.keypoint_head(pooled))

    def _detected(self, features: Any, proposals: Tensors, shapes: Any) -> list[Target]:
        """The detections of each image."""
        seen = self.box_head(self.box_roi_pool(features, proposals, shapes))
        scores, deltas = self.box_predictor(seen)
        kept = self.postprocess_detections(scores, deltas, proposals, shapes)
        result = [
            {"boxes": boxes, "labels": labels, "scores": scores}
            for boxes, scores, labels in zip(*kept, strict=True)
        ]
        boxes = kept[0]
        if self.has_mask():
            masks = maskrcnn_inference(self._masks(features, boxes, shapes), kept[2])
            for found, mask in zip(result, masks, strict=True):
                found["masks"] = mask
        if self.has_keypoint():
            points = keypointrcnn_inference(self._heatmaps(features, boxes, shapes), boxes)
            for found, point, score in zip(result, *points, strict=True):
                found["keypoints"], found["keypoints_scores"] = point, score
        return result
