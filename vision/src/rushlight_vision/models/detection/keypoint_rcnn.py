"""Keypoint R-CNN (He et al., Mask R-CNN, 2017, section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._downstream import on_backbone
from rushlight_vision.models._utils import _ovewrite_value_param
from rushlight_vision.models.detection._box_heads import draw_convolutions
from rushlight_vision.models.detection._construction import (
    check_backbone,
    check_part,
    forget_eps,
    pooler,
    resnet50_pyramid,
)
from rushlight_vision.models.detection.anchor_utils import AnchorGenerator
from rushlight_vision.models.detection.faster_rcnn import FasterRCNN
from rushlight_vision.models.resnet import ResNet50_Weights
from rushlight_vision.ops import MultiScaleRoIAlign

__all__ = ["KeypointRCNN", "KeypointRCNN_ResNet50_FPN_Weights", "keypointrcnn_resnet50_fpn"]

_PERSON = 2  # classes: background and person
_POINTS = 17  # of a person


class KeypointRCNN(FasterRCNN):
    """Faster R-CNN with a head that gives key points of every detection.

    Targets have ``keypoints`` (N, K, 3), x, y and visibility (0 for points that are not seen), as
    well; detections have ``keypoints`` (N, K, 3), x, y and 1, and ``keypoints_scores`` (N, K).

    Parameters
    ----------
    min_size : int or tuple of int, default ``(640, 672, 704, 736, 768, 800)``
        Training draws one.
    keypoint_roi_pool, keypoint_head, keypoint_predictor : Module or None
    num_keypoints : int or None
        Default 17; None where there is a `keypoint_predictor`.
    others
        As of :class:`~rushlight_vision.models.detection.faster_rcnn.FasterRCNN`.

    Raises
    ------
    TypeError
        For a pooler of another class.
    ValueError
        For `num_keypoints` beside a `keypoint_predictor`, and as of Faster R-CNN.
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int | None = None,
        min_size: int | Sequence[int] | None = None,
        max_size: int = 1333,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        rpn_anchor_generator: AnchorGenerator | None = None,
        rpn_head: nn.Module | None = None,
        rpn_pre_nms_top_n_train: int = 2000,
        rpn_pre_nms_top_n_test: int = 1000,
        rpn_post_nms_top_n_train: int = 2000,
        rpn_post_nms_top_n_test: int = 1000,
        rpn_nms_thresh: float = 0.7,
        rpn_fg_iou_thresh: float = 0.7,
        rpn_bg_iou_thresh: float = 0.3,
        rpn_batch_size_per_image: int = 256,
        rpn_positive_fraction: float = 0.5,
        rpn_score_thresh: float = 0.0,
        box_roi_pool: MultiScaleRoIAlign | None = None,
        box_head: nn.Module | None = None,
        box_predictor: nn.Module | None = None,
        box_score_thresh: float = 0.05,
        box_nms_thresh: float = 0.5,
        box_detections_per_img: int = 100,
        box_fg_iou_thresh: float = 0.5,
        box_bg_iou_thresh: float = 0.5,
        box_batch_size_per_image: int = 512,
        box_positive_fraction: float = 0.25,
        bbox_reg_weights: tuple[float, float, float, float] | None = None,
        keypoint_roi_pool: MultiScaleRoIAlign | None = None,
        keypoint_head: nn.Module | None = None,
        keypoint_predictor: nn.Module | None = None,
        num_keypoints: int | None = None,
        **kwargs: Any,
    ) -> None:
        check_part("keypoint_roi_pool", keypoint_roi_pool, MultiScaleRoIAlign)
        check_backbone(backbone)
        if num_keypoints is not None and keypoint_predictor is not None:
            raise ValueError("num_keypoints should be None when keypoint_predictor is specified")
        pool = pooler(14) if keypoint_roi_pool is None else keypoint_roi_pool
        channels: Any = backbone.out_channels
        if keypoint_head is None:
            keypoint_head = KeypointRCNNHeads(channels, (512,) * 8)
        if keypoint_predictor is None:
            keypoint_predictor = KeypointRCNNPredictor(512, num_keypoints or _POINTS)
        if min_size is None:
            min_size = (640, 672, 704, 736, 768, 800)
        super().__init__(
            backbone, num_classes, min_size, max_size, image_mean, image_std,
            rpn_anchor_generator, rpn_head, rpn_pre_nms_top_n_train, rpn_pre_nms_top_n_test,
            rpn_post_nms_top_n_train, rpn_post_nms_top_n_test, rpn_nms_thresh, rpn_fg_iou_thresh,
            rpn_bg_iou_thresh, rpn_batch_size_per_image, rpn_positive_fraction, rpn_score_thresh,
            box_roi_pool, box_head, box_predictor, box_score_thresh, box_nms_thresh,
            box_detections_per_img, box_fg_iou_thresh, box_bg_iou_thresh,
            box_batch_size_per_image, box_positive_fraction, bbox_reg_weights, **kwargs,
        )  # fmt: skip
        heads: Any = self.roi_heads
        heads.keypoint_roi_pool = pool
        heads.keypoint_head = keypoint_head
        heads.keypoint_predictor = keypoint_predictor


class KeypointRCNNHeads(nn.Sequential):
    """Convolutions of the widths `layers` that keep the size of regions."""

    def __init__(self, in_channels: int, layers: Sequence[int]) -> None:
        blocks: list[nn.Module] = []
        for wide in layers:
            blocks += [nn.Conv2d(in_channels, wide, 3, stride=1, padding=1), nn.ReLU(inplace=True)]
            in_channels = wide
        super().__init__(*blocks)
        draw_convolutions(self)


class KeypointRCNNPredictor(nn.Module):
    """Heat maps (N, `num_keypoints`, 4 H, 4 W) of regions (N, C, H, W)."""

    def __init__(self, in_channels: int, num_keypoints: int) -> None:
        super().__init__()
        self.kps_score_lowres = nn.ConvTranspose2d(
            in_channels, num_keypoints, 4, stride=2, padding=1
        )
        weight = self.kps_score_lowres.weight
        nn.init.kaiming_normal_(weight, mode="fan_out", nonlinearity="relu")
        nn.init.constant_(cast(rl.Tensor, self.kps_score_lowres.bias), 0)
        self.up_scale = 2
        self.out_channels = num_keypoints

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The heat maps."""
        return F.interpolate(
            self.kps_score_lowres(x), scale_factor=float(self.up_scale), mode="bilinear",
            align_corners=False, recompute_scale_factor=False,
        )  # fmt: skip


class KeypointRCNN_ResNet50_FPN_Weights(WeightsEnum):
    """Weights of :func:`keypointrcnn_resnet50_fpn`."""

    COCO_LEGACY = published("KeypointRCNN_ResNet50_FPN_Weights.COCO_LEGACY")
    COCO_V1 = published("KeypointRCNN_ResNet50_FPN_Weights.COCO_V1")
    DEFAULT = COCO_V1


def _former(kwargs: dict[str, Any]) -> WeightsEnum:
    """What ``pretrained=True``, or ``"legacy"``, stood for."""
    legacy = kwargs["pretrained"] == "legacy"
    weights = KeypointRCNN_ResNet50_FPN_Weights
    return weights.COCO_LEGACY if legacy else weights.COCO_V1


@on_backbone(
    KeypointRCNN_ResNet50_FPN_Weights,
    ResNet50_Weights,
    _PERSON,
    _former,
    ResNet50_Weights.IMAGENET1K_V1,
)
def keypointrcnn_resnet50_fpn(
    *,
    weights: KeypointRCNN_ResNet50_FPN_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    num_keypoints: int | None = None,
    weights_backbone: ResNet50_Weights | None = ResNet50_Weights.IMAGENET1K_V1,
    trainable_backbone_layers: int | None = None,
    **kwargs: Any,
) -> KeypointRCNN:
    """Keypoint R-CNN on ResNet-50 with a feature pyramid; `num_keypoints` is 17 by default and 2
    the number of classes, other arguments as of
    :func:`~rushlight_vision.models.detection.faster_rcnn.fasterrcnn_resnet50_fpn`."""
    if weights is not None:
        known = len(weights.meta["keypoint_names"])
        num_keypoints = _ovewrite_value_param("num_keypoints", num_keypoints, known)
    points = _POINTS if num_keypoints is None else num_keypoints
    given = (weights, progress, weights_backbone, trainable_backbone_layers)
    backbone = resnet50_pyramid(*given)
    model = KeypointRCNN(backbone, num_classes, num_keypoints=points, **kwargs)
    forget_eps(model, weights, KeypointRCNN_ResNet50_FPN_Weights.COCO_V1)
    return model
