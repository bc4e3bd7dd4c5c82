"""RetinaNet (Lin et al., Focal loss for dense object detection, 2017; Zhang et al., Bridging the
gap between anchor-based and anchor-free detection, 2020, for the second version)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import rushlight as rl
from rushlight import nn
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
    forget_eps,
    resnet50_pyramid,
    resnet50_pyramid_v2,
)
from rushlight_vision.models.detection._inputs import Target
from rushlight_vision.models.detection._one_stage import (
    OneStage,
    Tensors,
    all_levels,
    counts_of,
    matched_boxes,
    split_by_level,
)
from rushlight_vision.models.detection.anchor_utils import AnchorGenerator
from rushlight_vision.models.detection.transform import GeneralizedRCNNTransform
from rushlight_vision.models.resnet import ResNet50_Weights
from rushlight_vision.ops import sigmoid_focal_loss
from rushlight_vision.ops.feature_pyramid_network import LastLevelP6P7
from rushlight_vision.ops.misc import Conv2dNormActivation

__all__ = [
    "RetinaNet",
    "RetinaNet_ResNet50_FPN_V2_Weights",
    "RetinaNet_ResNet50_FPN_Weights",
    "retinanet_resnet50_fpn",
    "retinanet_resnet50_fpn_v2",
]

Norm = Callable[..., nn.Module]
_DEPTH = 4  # convolutions of a head


def _default_anchorgen() -> AnchorGenerator:
    """Anchors of three sizes and three shapes on each of five maps."""
    sizes = tuple(
        (x, int(x * 2 ** (1 / 3)), int(x * 2 ** (2 / 3))) for x in (32, 64, 128, 256, 512)
    )
    return AnchorGenerator(sizes, ((0.5, 1.0, 2.0),) * len(sizes))


def draw_normal(head: nn.Module) -> None:
    """First weights of convolutions: small ones, without bias."""
    for layer in head.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.normal_(layer.weight, std=0.01)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def scoring_layer(channels: int, outputs: int, prior_probability: float) -> nn.Conv2d:
    """The convolution that gives logits; at first all say `prior_probability`."""
    layer = nn.Conv2d(channels, outputs, kernel_size=3, stride=1, padding=1)
    nn.init.normal_(layer.weight, std=0.01)
    bias = cast(rl.Tensor, layer.bias)
    nn.init.constant_(bias, -math.log((1 - prior_probability) / prior_probability))
    return layer


class _Convolutions(nn.Module):
    """A head that begins with convolutions."""

    _version = 2

    def __init__(self, in_channels: int, norm_layer: Norm | None) -> None:
        super().__init__()
        layers = [
            Conv2dNormActivation(in_channels, in_channels, norm_layer=norm_layer)
            for _ in range(_DEPTH)
        ]
        self.conv = nn.Sequential(*layers)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        """Take states from before version 2, which numbered activations as well."""
        if (local_metadata.get("version") or 1) < 2:
            for number in range(_DEPTH):
                for kind in ("weight", "bias"):
                    old = f"{prefix}conv.{2 * number}.{kind}"
                    if old in state_dict:
                        state_dict[f"{prefix}conv.{number}.0.{kind}"] = state_dict.pop(old)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class RetinaNetHead(nn.Module):
    """Logits and offsets of all anchors.

    Parameters
    ----------
    in_channels : int
    num_anchors : int
        Of a position.
    num_classes : int
    norm_layer : callable or None
    """

    def __init__(
        self, in_channels: int, num_anchors: int, num_classes: int, norm_layer: Norm | None = None
    ) -> None:
        super().__init__()
        self.classification_head = RetinaNetClassificationHead(
            in_channels, num_anchors, num_classes, norm_layer=norm_layer
        )
        self.regression_head = RetinaNetRegressionHead(
            in_channels, num_anchors, norm_layer=norm_layer
        )

    def compute_loss(
        self,
        targets: list[Target],
        head_outputs: dict[str, rl.Tensor],
        anchors: Tensors,
        matched_idxs: Tensors,
    ) -> dict[str, rl.Tensor]:
        """The losses of classes and of boxes."""
        offsets = (targets, head_outputs, anchors, matched_idxs)
        return {
            "classification": self.classification_head.compute_loss(
                targets, head_outputs, matched_idxs
            ),
            "bbox_regression": self.regression_head.compute_loss(*offsets),
        }

    def forward(self, x: Tensors) -> dict[str, rl.Tensor]:
        """``cls_logits`` (N, anchors, C) and ``bbox_regression`` (N, anchors, 4)."""
        return {
            "cls_logits": self.classification_head(x),
            "bbox_regression": self.regression_head(x),
        }


class RetinaNetClassificationHead(_Convolutions):
    """Logits of all anchors; `prior_probability` is what they say at first."""

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_classes: int,
        prior_probability: float = 0.01,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__(in_channels, norm_layer)
        draw_normal(self.conv)
        self.cls_logits = scoring_layer(in_channels, num_anchors * num_classes, prior_probability)
        self.num_classes = num_classes
        self.num_anchors = num_anchors
        self.BETWEEN_THRESHOLDS = _utils.Matcher.BETWEEN_THRESHOLDS

    def compute_loss(
        self, targets: list[Target], head_outputs: dict[str, rl.Tensor], matched_idxs: Tensors
    ) -> rl.Tensor:
        """The focal loss of all anchors that are not between, over the number of positive ones."""
        triples = zip(targets, head_outputs["cls_logits"].unbind(), matched_idxs, strict=True)
        losses = [self._loss(*each) for each in triples]
        return rl.stack(losses).sum() / len(targets)

    def _loss(self, target: Target, logits: rl.Tensor, matched: rl.Tensor) -> rl.Tensor:
        positive = rl.where(matched >= 0)[0]
        goal = rl.zeros_like(logits)
        goal[positive, target["labels"][matched[positive]]] = 1.0
        valid = rl.where(matched != self.BETWEEN_THRESHOLDS)[0]
        loss: Any = sigmoid_focal_loss(logits[valid], goal[valid], reduction="sum")
        return loss / max(1, len(positive))

    def forward(self, x: Tensors) -> rl.Tensor:
        """Logits (N, anchors, C) of all maps (N, C, H, W)."""
        return all_levels([self.cls_logits(self.conv(each)) for each in x], self.num_classes)


class RetinaNetRegressionHead(_Convolutions):
    """Offsets of all anchors."""

    def __init__(self, in_channels: int, num_anchors: int, norm_layer: Norm | None = None) -> None:
        super().__init__(in_channels, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, kernel_size=3, stride=1, padding=1)
        draw_normal(self.bbox_reg)
        draw_normal(self.conv)
        self.box_coder = _utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self._loss_type = "l1"

    def compute_loss(
        self,
        targets: list[Target],
        head_outputs: dict[str, rl.Tensor],
        anchors: Tensors,
        matched_idxs: Tensors,
    ) -> rl.Tensor:
        """The loss of the offsets of positive anchors, over their number."""
        offsets = head_outputs["bbox_regression"].unbind()
        rows = zip(targets, offsets, anchors, matched_idxs, strict=True)
        losses = [self._loss(*each) for each in rows]
        return rl.stack(losses).sum() / max(1, len(targets))

    def _loss(
        self, target: Target, offsets: rl.Tensor, anchors: rl.Tensor, matched: rl.Tensor
    ) -> rl.Tensor:
        positive = rl.where(matched >= 0)[0]
        boxes = target["boxes"][matched[positive]]
        pair = (anchors[positive], boxes, offsets[positive])
        loss: Any = _utils._box_loss(self._loss_type, self.box_coder, *pair)
        return loss / max(1, len(positive))

    def forward(self, x: Tensors) -> rl.Tensor:
        """Offsets (N, anchors, 4) of all maps (N, C, H, W)."""
        return all_levels([self.bbox_reg(self.conv(each)) for each in x], 4)


class RetinaNet(OneStage):
    """RetinaNet on a backbone.

    Parameters
    ----------
    backbone : Module
        With an attribute `out_channels`; makes feature maps, one or a dict.
    num_classes : int
        With the background, which is class 0.
    min_size, max_size : int, default 800 and 1333
        Of the shorter and of the longer side of images.
    image_mean, image_std : list of float or None
        Default: those of ImageNet.
    anchor_generator : AnchorGenerator or None
    head : Module or None
    proposal_matcher : Matcher or None
    score_thresh, nms_thresh : float, default 0.05 and 0.5
    detections_per_img : int, default 300
    fg_iou_thresh, bg_iou_thresh : float, default 0.5 and 0.4
        Overlap from which on an anchor is positive, and below which it is negative.
    topk_candidates : int, default 1000
        Best boxes of each map that suppression looks at.
    **kwargs
        Go to :class:`~rushlight_vision.models.detection.transform.GeneralizedRCNNTransform`.

    Raises
    ------
    ValueError
        For a backbone without `out_channels`.
    TypeError
        For an anchor generator of another class.
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int,
        min_size: Any = 800,
        max_size: int = 1333,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        anchor_generator: AnchorGenerator | None = None,
        head: nn.Module | None = None,
        proposal_matcher: _utils.Matcher | None = None,
        score_thresh: float = 0.05,
        nms_thresh: float = 0.5,
        detections_per_img: int = 300,
        fg_iou_thresh: float = 0.5,
        bg_iou_thresh: float = 0.4,
        topk_candidates: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        check_backbone(backbone)
        check_part("anchor_generator", anchor_generator, AnchorGenerator)
        self.backbone = backbone
        anchors = anchor_generator or _default_anchorgen()
        self.anchor_generator = anchors
        channels: Any = backbone.out_channels
        if head is None:
            head = RetinaNetHead(channels, anchors.num_anchors_per_location()[0], num_classes)
        self.head: Any = head
        self.proposal_matcher = proposal_matcher or _utils.Matcher(
            fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=True
        )
        self.box_coder = _utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        mean, std = image_mean or IMAGE_MEAN, image_std or IMAGE_STD
        self.transform = GeneralizedRCNNTransform(min_size, max_size, mean, std, **kwargs)
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates

    def compute_loss(
        self, targets: list[Target], head_outputs: dict[str, rl.Tensor], anchors: Tensors
    ) -> dict[str, rl.Tensor]:
        """The losses ``classification`` and ``bbox_regression``."""
        matched = matched_boxes(self.proposal_matcher, targets, anchors)
        return self.head.compute_loss(targets, head_outputs, anchors, matched)

    def postprocess_detections(
        self,
        head_outputs: dict[str, Tensors],
        anchors: list[Tensors],
        image_shapes: list[tuple[int, int]],
    ) -> list[Target]:
        """The detections of each image, of what the head says map by map."""
        found = []
        for image, shape in enumerate(image_shapes):
            logits = [each[image] for each in head_outputs["cls_logits"]]
            offsets = [each[image] for each in head_outputs["bbox_regression"]]
            rows = [
                self._best(*level, shape)
                for level in zip(logits, offsets, anchors[image], strict=True)
            ]
            found.append(self.suppressed(*(rl.cat(column) for column in zip(*rows, strict=True))))
        return found

    def _best(
        self, logits: rl.Tensor, offsets: rl.Tensor, anchors: rl.Tensor, shape: tuple[int, int]
    ) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
        """Boxes, scores and classes of the best of a map."""
        scores, index, labels = self.best_of_level(logits.sigmoid())
        boxes = self.box_coder.decode_single(offsets[index], anchors[index])
        return ops.clip_boxes_to_image(boxes, shape), scores, labels

    def compute_losses(
        self, targets: Any, outputs: Any, anchors: Tensors, features: Tensors
    ) -> dict[str, rl.Tensor]:
        """The losses of what the head says."""
        return self.compute_loss(targets, outputs, anchors)

    def detections(
        self, outputs: Any, anchors: Tensors, sizes: list[tuple[int, int]], features: Tensors
    ) -> list[Target]:
        """The detections of each image, in pixels of the batch."""
        counts = counts_of(features, outputs["cls_logits"].shape[1])
        return self.postprocess_detections(*split_by_level(outputs, anchors, counts), sizes)


class RetinaNet_ResNet50_FPN_Weights(WeightsEnum):
    """Weights of :func:`retinanet_resnet50_fpn`."""

    COCO_V1 = published("RetinaNet_ResNet50_FPN_Weights.COCO_V1")
    DEFAULT = COCO_V1


class RetinaNet_ResNet50_FPN_V2_Weights(WeightsEnum):
    """Weights of :func:`retinanet_resnet50_fpn_v2`."""

    COCO_V1 = published("RetinaNet_ResNet50_FPN_V2_Weights.COCO_V1")
    DEFAULT = COCO_V1


@on_backbone(
    RetinaNet_ResNet50_FPN_Weights,
    ResNet50_Weights,
    COCO_CLASSES,
    RetinaNet_ResNet50_FPN_Weights.COCO_V1,
    ResNet50_Weights.IMAGENET1K_V1,
)
def retinanet_resnet50_fpn(
    *,
    weights: RetinaNet_ResNet50_FPN_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    weights_backbone: ResNet50_Weights | None = ResNet50_Weights.IMAGENET1K_V1,
    trainable_backbone_layers: int | None = None,
    **kwargs: Any,
) -> RetinaNet:
    """RetinaNet on ResNet-50 with a feature pyramid; arguments as of
    :func:`~rushlight_vision.models.detection.faster_rcnn.fasterrcnn_resnet50_fpn`, others go to
    :class:`RetinaNet`."""
    given = (weights, progress, weights_backbone, trainable_backbone_layers)
    backbone = resnet50_pyramid(
        *given, returned_layers=[2, 3, 4], extra_blocks=partial(LastLevelP6P7, 256, 256)
    )
    model = RetinaNet(backbone, num_classes, **kwargs)  # type: ignore[arg-type]  # has a default
    forget_eps(model, weights, RetinaNet_ResNet50_FPN_Weights.COCO_V1)
    return model


@on_backbone(
    RetinaNet_ResNet50_FPN_V2_Weights,
    ResNet50_Weights,
    COCO_CLASSES,
    RetinaNet_ResNet50_FPN_V2_Weights.COCO_V1,
    ResNet50_Weights.IMAGENET1K_V1,
)
def retinanet_resnet50_fpn_v2(
    *,
    weights: RetinaNet_ResNet50_FPN_V2_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    weights_backbone: ResNet50_Weights | None = None,
    trainable_backbone_layers: int | None = None,
    **kwargs: Any,
) -> RetinaNet:
    """RetinaNet on ResNet-50 with group normalisation in its heads and a loss of overlaps;
    arguments as of :func:`retinanet_resnet50_fpn`."""
    given = (weights, progress, weights_backbone, trainable_backbone_layers)
    backbone: Any = resnet50_pyramid_v2(
        *given, returned_layers=[2, 3, 4], extra_blocks=partial(LastLevelP6P7, 2048, 256)
    )
    anchors = _default_anchorgen()
    head = RetinaNetHead(
        backbone.out_channels, anchors.num_anchors_per_location()[0], num_classes or 0,
        norm_layer=partial(nn.GroupNorm, 32),
    )  # fmt: skip
    head.regression_head._loss_type = "giou"
    settings = {"anchor_generator": anchors, "head": head, **kwargs}
    return RetinaNet(backbone, num_classes or 0, **settings)
