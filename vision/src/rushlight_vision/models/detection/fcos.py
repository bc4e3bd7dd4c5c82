"""FCOS (Tian et al., FCOS: fully convolutional one-stage object detection, 2019)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision import ops
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._downstream import on_backbone
from rushlight_vision.models.detection import _utils
from rushlight_vision.models.detection._construction import (
    COCO_CLASSES,
    IMAGE_MEAN,
    IMAGE_STD,
    check_backbone,
    check_part,
    resnet50_pyramid,
)
from rushlight_vision.models.detection._inputs import Target
from rushlight_vision.models.detection._one_stage import (
    OneStage,
    Tensors,
    all_levels,
    counts_of,
    split_by_level,
)
from rushlight_vision.models.detection.anchor_utils import AnchorGenerator
from rushlight_vision.models.detection.retinanet import draw_normal, scoring_layer
from rushlight_vision.models.detection.transform import GeneralizedRCNNTransform
from rushlight_vision.models.resnet import ResNet50_Weights
from rushlight_vision.ops import generalized_box_iou_loss, sigmoid_focal_loss
from rushlight_vision.ops.feature_pyramid_network import LastLevelP6P7

__all__ = ["FCOS", "FCOS_ResNet50_FPN_Weights", "fcos_resnet50_fpn"]

Norm = Callable[..., nn.Module]
_NORM: Norm = partial(nn.GroupNorm, 32)
_LARGEST_AREA = 1e8  # pixels; smaller boxes win where several match


class FCOSHead(nn.Module):
    """Logits, distances and centredness of all anchors.

    Parameters
    ----------
    in_channels : int
    num_anchors : int
        Of a position.
    num_classes : int
    num_convs : int, default 4
    """

    def __init__(
        self, in_channels: int, num_anchors: int, num_classes: int, num_convs: int | None = 4
    ) -> None:
        super().__init__()
        self.box_coder = _utils.BoxLinearCoder(normalize_by_size=True)
        depth = 4 if num_convs is None else num_convs
        self.classification_head = FCOSClassificationHead(
            in_channels, num_anchors, num_classes, depth
        )
        self.regression_head = FCOSRegressionHead(in_channels, num_anchors, depth)

    def compute_loss(
        self,
        targets: list[Target],
        head_outputs: dict[str, rl.Tensor],
        anchors: Tensors,
        matched_idxs: Tensors,
    ) -> dict[str, rl.Tensor]:
        """The losses of classes, boxes and centredness, over the number of positive anchors."""
        pairs = [_goals(*each) for each in zip(targets, matched_idxs, strict=True)]
        labels, boxes = (rl.stack(list(column)) for column in zip(*pairs, strict=True))
        positive = rl.where(labels >= 0)
        logits = head_outputs["cls_logits"]
        goal = rl.zeros_like(logits)
        goal[(*positive, labels[positive])] = 1.0
        candidates = rl.stack(anchors)[positive]
        predicted = self.box_coder.decode(head_outputs["bbox_regression"][positive], candidates)
        matched = boxes[positive]
        distances = self.box_coder.encode(candidates, matched)
        centredness = head_outputs["bbox_ctrness"].squeeze(dim=2)[positive]
        losses = {
            "classification": sigmoid_focal_loss(logits, goal, reduction="sum"),
            "bbox_regression": generalized_box_iou_loss(predicted, matched, reduction="sum"),
            "bbox_ctrness": F.binary_cross_entropy_with_logits(
                centredness, _centredness(distances), reduction="sum"
            ),
        }
        count = max(1, len(positive[0]))
        return {name: loss / count for name, loss in losses.items()}

    def forward(self, x: Tensors) -> dict[str, rl.Tensor]:
        """``cls_logits`` (N, anchors, C), ``bbox_regression`` (N, anchors, 4) and ``bbox_ctrness``
        (N, anchors, 1)."""
        logits = self.classification_head(x)
        distances, centredness = self.regression_head(x)
        return {
            "cls_logits": logits,
            "bbox_regression": distances,
            "bbox_ctrness": centredness,
        }


def _goals(target: Target, matched: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
    """Labels (A,), -1 for no box, and boxes (A, 4) of the anchors of an image."""
    labels, boxes = target["labels"], target["boxes"]
    if len(labels) == 0:
        return matched.new_full(matched.shape, -1), boxes.new_zeros((len(matched), 4))
    index = matched.clamp(min=0)
    return rl.where(matched < 0, -1, labels[index]), boxes[index]


def _centredness(distances: rl.Tensor) -> rl.Tensor:
    """1 in the centre of a box, 0 at its sides, of distances (N, 4) to them."""
    across, down = distances[:, [0, 2]], distances[:, [1, 3]]
    ratios = [side.amin(dim=-1) / side.amax(dim=-1) for side in (across, down)]
    return (ratios[0] * ratios[1]).sqrt()


def _convolutions(channels: int, depth: int, norm_layer: Norm | None) -> nn.Sequential:
    norm = _NORM if norm_layer is None else norm_layer
    layers: list[nn.Module] = []
    for _ in range(depth):
        layers += [nn.Conv2d(channels, channels, 3, stride=1, padding=1), norm(channels), nn.ReLU()]
    return nn.Sequential(*layers)


class FCOSClassificationHead(nn.Module):
    """Logits of all anchors; `prior_probability` is what they say at first."""

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_classes: int,
        num_convs: int = 4,
        prior_probability: float = 0.01,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.num_anchors = num_anchors
        self.conv = _convolutions(in_channels, num_convs, norm_layer)
        draw_normal(self.conv)
        self.cls_logits = scoring_layer(in_channels, num_anchors * num_classes, prior_probability)

    def forward(self, x: Tensors) -> rl.Tensor:
        """Logits (N, anchors, C) of all maps (N, C, H, W)."""
        return all_levels([self.cls_logits(self.conv(each)) for each in x], self.num_classes)


class FCOSRegressionHead(nn.Module):
    """Distances to the sides of boxes, and how far in their centre anchors are."""

    def __init__(
        self, in_channels: int, num_anchors: int, num_convs: int = 4, norm_layer: Norm | None = None
    ) -> None:
        super().__init__()
        self.conv = _convolutions(in_channels, num_convs, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, 3, stride=1, padding=1)
        self.bbox_ctrness = nn.Conv2d(in_channels, num_anchors, 3, stride=1, padding=1)
        for part in (self.bbox_reg, self.bbox_ctrness, self.conv):
            draw_normal(part)

    def forward(self, x: Tensors) -> tuple[rl.Tensor, rl.Tensor]:
        """Distances (N, anchors, 4) and logits of centredness (N, anchors, 1) of all maps."""
        seen = [self.conv(each) for each in x]
        distances = all_levels([F.relu(self.bbox_reg(each)) for each in seen], 4)
        return distances, all_levels([self.bbox_ctrness(each) for each in seen], 1)


class FCOS(OneStage):
    """FCOS on a backbone.

    Parameters
    ----------
    backbone : Module
        With an attribute `out_channels`; makes feature maps, one or a dict.
    num_classes : int
    min_size, max_size : int, default 800 and 1333
        Of the shorter and of the longer side of images.
    image_mean, image_std : list of float or None
        Default: those of ImageNet.
    anchor_generator : AnchorGenerator or None
        With one anchor at each position.
    head : Module or None
    center_sampling_radius : float, default 1.5
        Positions that near to the centre of a box, in anchors, belong to it.
    score_thresh, nms_thresh : float, default 0.2 and 0.6
    detections_per_img : int, default 100
    topk_candidates : int, default 1000
        Best boxes of each map that suppression looks at.
    **kwargs
        Go to :class:`~rushlight_vision.models.detection.transform.GeneralizedRCNNTransform`.

    Raises
    ------
    ValueError
        For a backbone without `out_channels`, or several anchors at a position.
    TypeError
        For an anchor generator of another class.
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int,
        min_size: int = 800,
        max_size: int = 1333,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        anchor_generator: AnchorGenerator | None = None,
        head: nn.Module | None = None,
        center_sampling_radius: float = 1.5,
        score_thresh: float = 0.2,
        nms_thresh: float = 0.6,
        detections_per_img: int = 100,
        topk_candidates: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        check_backbone(backbone)
        check_part("anchor_generator", anchor_generator, AnchorGenerator)
        self.backbone = backbone
        if anchor_generator is None:
            anchor_generator = AnchorGenerator(((8,), (16,), (32,), (64,), (128,)), ((1.0,),) * 5)
        self.anchor_generator = anchor_generator
        count = anchor_generator.num_anchors_per_location()[0]
        if count != 1:
            raise ValueError(f"anchor_generator: {count} anchors at a position; expected 1")
        channels: Any = backbone.out_channels
        self.head: Any = FCOSHead(channels, count, num_classes) if head is None else head
        self.box_coder = _utils.BoxLinearCoder(normalize_by_size=True)
        mean, std = image_mean or IMAGE_MEAN, image_std or IMAGE_STD
        self.transform = GeneralizedRCNNTransform(min_size, max_size, mean, std, **kwargs)
        self.center_sampling_radius = center_sampling_radius
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates

    def compute_loss(
        self,
        targets: list[Target],
        head_outputs: dict[str, rl.Tensor],
        anchors: Tensors,
        num_anchors_per_level: list[int],
    ) -> dict[str, rl.Tensor]:
        """The losses ``classification``, ``bbox_regression`` and ``bbox_ctrness``."""
        pairs = zip(targets, anchors, strict=True)
        matched = [
            self._matched(each["boxes"], candidates, num_anchors_per_level)
            for each, candidates in pairs
        ]
        return self.head.compute_loss(targets, head_outputs, anchors, matched)

    def _matched(self, boxes: rl.Tensor, anchors: rl.Tensor, counts: list[int]) -> rl.Tensor:
        """The box of each anchor (A,), or -1: of those it is in the middle of, and whose size fits
        its map, the smallest."""
        if boxes.numel() == 0:
            return rl.full((len(anchors),), -1, dtype=rl.int64, device=anchors.device)
        centers = (anchors[:, :2] + anchors[:, 2:]) / 2
        sizes = anchors[:, 2] - anchors[:, 0]
        goals = (boxes[:, :2] + boxes[:, 2:]) / 2
        apart = (centers[:, None] - goals[None]).abs().amax(dim=2)
        near = apart < self.center_sampling_radius * sizes[:, None]
        distances = rl.cat((centers[:, None] - boxes[:, :2], boxes[:, 2:] - centers[:, None]), 2)
        lower, upper = sizes * 4, sizes * 8
        lower[: counts[0]] = 0
        upper[-counts[-1] :] = float("inf")
        largest = distances.amax(dim=2)
        fits = (largest > lower[:, None]) & (largest < upper[:, None])
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        matches = (near & (distances.amin(dim=2) > 0) & fits).to(rl.float32)
        best, index = (matches * (_LARGEST_AREA - areas[None])).max(dim=1)
        return rl.where(best < 1e-5, -1, index)

    def postprocess_detections(
        self,
        head_outputs: dict[str, Tensors],
        anchors: list[Tensors],
        image_shapes: list[tuple[int, int]],
    ) -> list[Target]:
        """The detections of each image, of what the head says map by map."""
        names = ("cls_logits", "bbox_regression", "bbox_ctrness")
        found = []
        for image, shape in enumerate(image_shapes):
            parts = [[each[image] for each in head_outputs[name]] for name in names]
            levels = zip(*parts, anchors[image], strict=True)
            rows = [self._best(shape, *level) for level in levels]
            found.append(self.suppressed(*(rl.cat(column) for column in zip(*rows, strict=True))))
        return found

    def _best(
        self,
        shape: tuple[int, int],
        logits: rl.Tensor,
        distances: rl.Tensor,
        centredness: rl.Tensor,
        anchors: rl.Tensor,
    ) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
        """Boxes, scores and classes of the best of a map."""
        quality = (logits.sigmoid() * centredness.sigmoid()).sqrt()
        scores, index, labels = self.best_of_level(quality)
        boxes = self.box_coder.decode(distances[index], anchors[index])
        return ops.clip_boxes_to_image(boxes, shape), scores, labels

    def compute_losses(
        self, targets: Any, outputs: Any, anchors: Tensors, features: Tensors
    ) -> dict[str, rl.Tensor]:
        """The losses of what the head says."""
        counts = counts_of(features, outputs["cls_logits"].shape[1])
        return self.compute_loss(targets, outputs, anchors, counts)

    def detections(
        self, outputs: Any, anchors: Tensors, sizes: list[tuple[int, int]], features: Tensors
    ) -> list[Target]:
        """The detections of each image, in pixels of the batch."""
        counts = counts_of(features, outputs["cls_logits"].shape[1])
        return self.postprocess_detections(*split_by_level(outputs, anchors, counts), sizes)


class FCOS_ResNet50_FPN_Weights(WeightsEnum):
    """Weights of :func:`fcos_resnet50_fpn`."""

    COCO_V1 = published("FCOS_ResNet50_FPN_Weights.COCO_V1")
    DEFAULT = COCO_V1


@on_backbone(
    FCOS_ResNet50_FPN_Weights,
    ResNet50_Weights,
    COCO_CLASSES,
    FCOS_ResNet50_FPN_Weights.COCO_V1,
    ResNet50_Weights.IMAGENET1K_V1,
)
def fcos_resnet50_fpn(
    *,
    weights: FCOS_ResNet50_FPN_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    weights_backbone: ResNet50_Weights | None = ResNet50_Weights.IMAGENET1K_V1,
    trainable_backbone_layers: int | None = None,
    **kwargs: Any,
) -> FCOS:
    """FCOS on ResNet-50 with a feature pyramid; arguments as of
    :func:`~rushlight_vision.models.detection.faster_rcnn.fasterrcnn_resnet50_fpn`, others go to
    :class:`FCOS`."""
    given = (weights, progress, weights_backbone, trainable_backbone_layers)
    backbone = resnet50_pyramid(
        *given, returned_layers=[2, 3, 4], extra_blocks=partial(LastLevelP6P7, 256, 256)
    )
    return FCOS(backbone, num_classes or 0, **kwargs)
