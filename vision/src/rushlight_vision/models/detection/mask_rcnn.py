"""Mask R-CNN (He et al., Mask R-CNN, 2017)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._downstream import on_backbone
from rushlight_vision.models.detection._box_heads import draw_convolutions
from rushlight_vision.models.detection._construction import (
    COCO_CLASSES,
    check_backbone,
    check_classes,
    check_part,
    forget_eps,
    pooler,
    resnet50_pyramid,
    resnet50_pyramid_v2,
)
from rushlight_vision.models.detection.anchor_utils import AnchorGenerator
from rushlight_vision.models.detection.faster_rcnn import FasterRCNN, heads_v2
from rushlight_vision.models.resnet import ResNet50_Weights
from rushlight_vision.ops import MultiScaleRoIAlign
from rushlight_vision.ops.misc import Conv2dNormActivation

__all__ = [
    "MaskRCNN",
    "MaskRCNN_ResNet50_FPN_V2_Weights",
    "MaskRCNN_ResNet50_FPN_Weights",
    "maskrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn_v2",
]


class MaskRCNN(FasterRCNN):
    """Faster R-CNN with a head that gives the mask of every detection.

    Targets have ``masks`` (N, H, W), of 0 and 1, as well; detections have ``masks`` (N, 1, H, W),
    probabilities, at least 0.5 inside.

    Parameters
    ----------
    mask_roi_pool, mask_head, mask_predictor : Module or None
    others
        As of :class:`~rushlight_vision.models.detection.faster_rcnn.FasterRCNN`; `num_classes` is
        None where there is a `mask_predictor`, too.

    Raises
    ------
    TypeError
        For a pooler of another class.
    ValueError
        For `num_classes` beside a `mask_predictor`, and as of Faster R-CNN.
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int | None = None,
        min_size: Any = 800,
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
        mask_roi_pool: MultiScaleRoIAlign | None = None,
        mask_head: nn.Module | None = None,
        mask_predictor: nn.Module | None = None,
        **kwargs: Any,
    ) -> None:
        check_part("mask_roi_pool", mask_roi_pool, MultiScaleRoIAlign)
        check_backbone(backbone)
        if num_classes is not None:
            check_classes(num_classes, mask_predictor, "mask_predictor")
        pool = pooler(14) if mask_roi_pool is None else mask_roi_pool
        channels: Any = backbone.out_channels
        if mask_head is None:
            mask_head = MaskRCNNHeads(channels, (256, 256, 256, 256), 1)
        if mask_predictor is None:
            mask_predictor = MaskRCNNPredictor(256, 256, num_classes or 0)
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
        heads.mask_roi_pool = pool
        heads.mask_head = mask_head
        heads.mask_predictor = mask_predictor


class MaskRCNNHeads(nn.Sequential):
    """Convolutions of the widths `layers` that keep the size of regions."""

    _version = 2

    def __init__(
        self,
        in_channels: int,
        layers: Sequence[int],
        dilation: int,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        blocks: list[nn.Module] = []
        for wide in layers:
            blocks.append(
                Conv2dNormActivation(
                    in_channels, wide, kernel_size=3, stride=1, padding=dilation,
                    dilation=dilation, norm_layer=norm_layer,
                )
            )  # fmt: skip
            in_channels = wide
        super().__init__(*blocks)
        draw_convolutions(self)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        """Take states from before version 2, which numbered convolutions from 1."""
        if (local_metadata.get("version") or 1) < 2:
            for number in range(len(self)):
                for kind in ("weight", "bias"):
                    old = f"{prefix}mask_fcn{number + 1}.{kind}"
                    if old in state_dict:
                        state_dict[f"{prefix}{number}.0.{kind}"] = state_dict.pop(old)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class MaskRCNNPredictor(nn.Sequential):
    """Logits (N, `num_classes`, 2 H, 2 W) of a mask for each class, of regions (N, C, H, W)."""

    def __init__(self, in_channels: int, dim_reduced: int, num_classes: int) -> None:
        super().__init__(
            OrderedDict(
                conv5_mask=nn.ConvTranspose2d(in_channels, dim_reduced, 2, 2, 0),
                relu=nn.ReLU(inplace=True),
                mask_fcn_logits=nn.Conv2d(dim_reduced, num_classes, 1, 1, 0),
            )
        )
        for name, parameter in self.named_parameters():
            if "weight" in name:
                nn.init.kaiming_normal_(parameter, mode="fan_out", nonlinearity="relu")


class MaskRCNN_ResNet50_FPN_Weights(WeightsEnum):
    """Weights of :func:`maskrcnn_resnet50_fpn`."""

    COCO_V1 = published("MaskRCNN_ResNet50_FPN_Weights.COCO_V1")
    DEFAULT = COCO_V1


class MaskRCNN_ResNet50_FPN_V2_Weights(WeightsEnum):
    """Weights of :func:`maskrcnn_resnet50_fpn_v2`."""

    COCO_V1 = published("MaskRCNN_ResNet50_FPN_V2_Weights.COCO_V1")
    DEFAULT = COCO_V1


@on_backbone(
    MaskRCNN_ResNet50_FPN_Weights,
    ResNet50_Weights,
    COCO_CLASSES,
    MaskRCNN_ResNet50_FPN_Weights.COCO_V1,
    ResNet50_Weights.IMAGENET1K_V1,
)
def maskrcnn_resnet50_fpn(
    *,
    weights: MaskRCNN_ResNet50_FPN_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    weights_backbone: ResNet50_Weights | None = ResNet50_Weights.IMAGENET1K_V1,
    trainable_backbone_layers: int | None = None,
    **kwargs: Any,
) -> MaskRCNN:
    """Mask R-CNN on ResNet-50 with a feature pyramid; arguments as of
    :func:`~rushlight_vision.models.detection.faster_rcnn.fasterrcnn_resnet50_fpn`."""
    given = (weights, progress, weights_backbone, trainable_backbone_layers)
    model = MaskRCNN(resnet50_pyramid(*given), num_classes=num_classes, **kwargs)
    forget_eps(model, weights, MaskRCNN_ResNet50_FPN_Weights.COCO_V1)
    return model


@on_backbone(
    MaskRCNN_ResNet50_FPN_V2_Weights,
    ResNet50_Weights,
    COCO_CLASSES,
    MaskRCNN_ResNet50_FPN_V2_Weights.COCO_V1,
    ResNet50_Weights.IMAGENET1K_V1,
)
def maskrcnn_resnet50_fpn_v2(
    *,
    weights: MaskRCNN_ResNet50_FPN_V2_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    weights_backbone: ResNet50_Weights | None = None,
    trainable_backbone_layers: int | None = None,
    **kwargs: Any,
) -> MaskRCNN:
    """Mask R-CNN on ResNet-50 with deeper heads and batch normalisation throughout; arguments as of
    :func:`~rushlight_vision.models.detection.faster_rcnn.fasterrcnn_resnet50_fpn`."""
    given = (weights, progress, weights_backbone, trainable_backbone_layers)
    backbone = resnet50_pyramid_v2(*given, norm_layer=nn.BatchNorm2d)
    heads = heads_v2(backbone)
    channels: Any = backbone.out_channels
    heads["mask_head"] = MaskRCNNHeads(channels, [256] * 4, 1, norm_layer=nn.BatchNorm2d)
    return MaskRCNN(backbone, num_classes=num_classes, **heads, **kwargs)
