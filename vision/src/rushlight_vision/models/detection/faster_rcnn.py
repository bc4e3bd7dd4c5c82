"""Faster R-CNN (Ren et al., Faster R-CNN, 2015; Li et al., Benchmarking detection transfer learning
with vision transformers, 2021, for the second version)."""

from __future__ import annotations

from typing import Any

from rushlight import nn
from rushlight_vision import ops
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._downstream import on_backbone
from rushlight_vision.models.detection._box_heads import (
    FastRCNNConvFCHead,
    FastRCNNPredictor,
    TwoMLPHead,
)
from rushlight_vision.models.detection._construction import (
    COCO_CLASSES,
    IMAGE_MEAN,
    IMAGE_STD,
    check_backbone,
    check_classes,
    check_part,
    forget_eps,
    pooler,
    resnet50_pyramid,
    resnet50_pyramid_v2,
)
from rushlight_vision.models.detection.anchor_utils import AnchorGenerator
from rushlight_vision.models.detection.backbone_utils import (
    _mobilenet_extractor,
    _validate_trainable_layers,
)
from rushlight_vision.models.detection.generalized_rcnn import GeneralizedRCNN
from rushlight_vision.models.detection.roi_heads import RoIHeads
from rushlight_vision.models.detection.rpn import RegionProposalNetwork, RPNHead
from rushlight_vision.models.detection.transform import GeneralizedRCNNTransform
from rushlight_vision.models.mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from rushlight_vision.models.resnet import ResNet50_Weights
from rushlight_vision.ops import MultiScaleRoIAlign

__all__ = [
    "FasterRCNN",
    "FasterRCNN_MobileNet_V3_Large_320_FPN_Weights",
    "FasterRCNN_MobileNet_V3_Large_FPN_Weights",
    "FasterRCNN_ResNet50_FPN_V2_Weights",
    "FasterRCNN_ResNet50_FPN_Weights",
    "fasterrcnn_mobilenet_v3_large_320_fpn",
    "fasterrcnn_mobilenet_v3_large_fpn",
    "fasterrcnn_resnet50_fpn",
    "fasterrcnn_resnet50_fpn_v2",
]


def _default_anchorgen() -> AnchorGenerator:
    """Anchors of one size and three shapes on each of five maps."""
    return AnchorGenerator(((32,), (64,), (128,), (256,), (512,)), ((0.5, 1.0, 2.0),) * 5)


class FasterRCNN(GeneralizedRCNN):
    """Faster R-CNN on a backbone.

    Parameters
    ----------
    backbone : Module
        With an attribute `out_channels`; makes feature maps, one or a dict.
    num_classes : int or None
        With the background, which is class 0; None where there is a `box_predictor`.
    min_size, max_size : int, default 800 and 1333
        Of the shorter and of the longer side of images.
    image_mean, image_std : list of float or None
        Default: those of ImageNet.
    rpn_anchor_generator, rpn_head : Module or None
    rpn_pre_nms_top_n_train, rpn_pre_nms_top_n_test : int, default 2000 and 1000
        Proposals of each map before suppression.
    rpn_post_nms_top_n_train, rpn_post_nms_top_n_test : int, default 2000 and 1000
        Proposals of an image after suppression.
    rpn_nms_thresh : float, default 0.7
    rpn_fg_iou_thresh, rpn_bg_iou_thresh : float, default 0.7 and 0.3
        Overlap from which on an anchor is positive, and below which it is negative.
    rpn_batch_size_per_image : int, default 256
    rpn_positive_fraction : float, default 0.5
    rpn_score_thresh : float, default 0.0
    box_roi_pool, box_head, box_predictor : Module or None
    box_score_thresh : float, default 0.05
    box_nms_thresh : float, default 0.5
    box_detections_per_img : int, default 100
    box_fg_iou_thresh, box_bg_iou_thresh : float, default 0.5
    box_batch_size_per_image : int, default 512
    box_positive_fraction : float, default 0.25
    bbox_reg_weights : (float, float, float, float) or None
    **kwargs
        Go to :class:`~rushlight_vision.models.detection.transform.GeneralizedRCNNTransform`.

    Raises
    ------
    ValueError
        For a backbone without `out_channels`, or unless either `num_classes` or `box_predictor` is
        given.
    TypeError
        For an anchor generator or a pooler of another class.

    Example
    -------
    >>> import rushlight as rl
    >>> from rushlight_vision.models.detection.backbone_utils import resnet_fpn_backbone
    >>> backbone = resnet_fpn_backbone(backbone_name="resnet18", weights=None)
    >>> model = FasterRCNN(backbone, num_classes=3, min_size=64, box_detections_per_img=5).eval()
    >>> sorted(model([rl.rand(3, 60, 80)])[0])
    ['boxes', 'labels', 'scores']
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
        **kwargs: Any,
    ) -> None:
        check_backbone(backbone)
        check_part("rpn_anchor_generator", rpn_anchor_generator, AnchorGenerator)
        check_part("box_roi_pool", box_roi_pool, MultiScaleRoIAlign)
        check_classes(num_classes, box_predictor, "box_predictor")
        channels: Any = backbone.out_channels
        anchors = rpn_anchor_generator or _default_anchorgen()
        if rpn_head is None:
            rpn_head = RPNHead(channels, anchors.num_anchors_per_location()[0])
        rpn = RegionProposalNetwork(
            anchors, rpn_head, rpn_fg_iou_thresh, rpn_bg_iou_thresh, rpn_batch_size_per_image,
            rpn_positive_fraction,
            {"training": rpn_pre_nms_top_n_train, "testing": rpn_pre_nms_top_n_test},
            {"training": rpn_post_nms_top_n_train, "testing": rpn_post_nms_top_n_test},
            rpn_nms_thresh, rpn_score_thresh,
        )  # fmt: skip
        pool = pooler(7) if box_roi_pool is None else box_roi_pool
        if box_head is None:
            box_head = TwoMLPHead(channels * pool.output_size[0] ** 2, 1024)
        if box_predictor is None:
            box_predictor = FastRCNNPredictor(1024, num_classes or 0)
        roi_heads = RoIHeads(
            pool, box_head, box_predictor, box_fg_iou_thresh, box_bg_iou_thresh,
            box_batch_size_per_image, box_positive_fraction, bbox_reg_weights, box_score_thresh,
            box_nms_thresh, box_detections_per_img,
        )  # fmt: skip
        mean, std = image_mean or IMAGE_MEAN, image_std or IMAGE_STD
        transform = GeneralizedRCNNTransform(min_size, max_size, mean, std, **kwargs)
        super().__init__(backbone, rpn, roi_heads, transform)


class FasterRCNN_ResNet50_FPN_Weights(WeightsEnum):
    """Weights of :func:`fasterrcnn_resnet50_fpn`."""

    COCO_V1 = published("FasterRCNN_ResNet50_FPN_Weights.COCO_V1")
    DEFAULT = COCO_V1


class FasterRCNN_ResNet50_FPN_V2_Weights(WeightsEnum):
    """Weights of :func:`fasterrcnn_resnet50_fpn_v2`."""

    COCO_V1 = published("FasterRCNN_ResNet50_FPN_V2_Weights.COCO_V1")
    DEFAULT = COCO_V1


class FasterRCNN_MobileNet_V3_Large_FPN_Weights(WeightsEnum):
    """Weights of :func:`fasterrcnn_mobilenet_v3_large_fpn`."""

    COCO_V1 = published("FasterRCNN_MobileNet_V3_Large_FPN_Weights.COCO_V1")
    DEFAULT = COCO_V1


class FasterRCNN_MobileNet_V3_Large_320_FPN_Weights(WeightsEnum):
    """Weights of :func:`fasterrcnn_mobilenet_v3_large_320_fpn`."""

    COCO_V1 = published("FasterRCNN_MobileNet_V3_Large_320_FPN_Weights.COCO_V1")
    DEFAULT = COCO_V1


def heads_v2(backbone: Any) -> dict[str, Any]:
    """The deeper heads of the second version: of proposals and of boxes."""
    anchors, channels = _default_anchorgen(), backbone.out_channels
    rpn_head = RPNHead(channels, anchors.num_anchors_per_location()[0], conv_depth=2)
    box_head = FastRCNNConvFCHead(
        (channels, 7, 7), [256, 256, 256, 256], [1024], norm_layer=nn.BatchNorm2d
    )
    return {"rpn_anchor_generator": anchors, "rpn_head": rpn_head, "box_head": box_head}


@on_backbone(
    FasterRCNN_ResNet50_FPN_Weights,
    ResNet50_Weights,
    COCO_CLASSES,
    FasterRCNN_ResNet50_FPN_Weights.COCO_V1,
    ResNet50_Weights.IMAGENET1K_V1,
)
def fasterrcnn_resnet50_fpn(
    *,
    weights: FasterRCNN_ResNet50_FPN_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    weights_backbone: ResNet50_Weights | None = ResNet50_Weights.IMAGENET1K_V1,
    trainable_backbone_layers: int | None = None,
    **kwargs: Any,
) -> FasterRCNN:
    """Faster R-CNN on ResNet-50 with a feature pyramid.

    Parameters
    ----------
    weights : FasterRCNN_ResNet50_FPN_Weights or None
        Of the whole network.
    progress : bool, default True
        Show how far a download is.
    num_classes : int or None
        With the background; default: 91, or what `weights` have.
    weights_backbone : ResNet50_Weights or None
        Of the backbone, where there are no `weights`.
    trainable_backbone_layers : int or None
        How many of the 5 last parts of the backbone are trained; default 3, and all without
        weights.
    **kwargs
        Go to :class:`FasterRCNN`.
    """
    given = (weights, progress, weights_backbone, trainable_backbone_layers)
    model = FasterRCNN(resnet50_pyramid(*given), num_classes=num_classes, **kwargs)
    forget_eps(model, weights, FasterRCNN_ResNet50_FPN_Weights.COCO_V1)
    return model


@on_backbone(
    FasterRCNN_ResNet50_FPN_V2_Weights,
    ResNet50_Weights,
    COCO_CLASSES,
    FasterRCNN_ResNet50_FPN_V2_Weights.COCO_V1,
    ResNet50_Weights.IMAGENET1K_V1,
)
def fasterrcnn_resnet50_fpn_v2(
    *,
    weights: FasterRCNN_ResNet50_FPN_V2_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    weights_backbone: ResNet50_Weights | None = None,
    trainable_backbone_layers: int | None = None,
    **kwargs: Any,
) -> FasterRCNN:
    """Faster R-CNN on ResNet-50 with deeper heads and batch normalisation throughout; arguments as
    of :func:`fasterrcnn_resnet50_fpn`."""
    given = (weights, progress, weights_backbone, trainable_backbone_layers)
    backbone = resnet50_pyramid_v2(*given, norm_layer=nn.BatchNorm2d)
    return FasterRCNN(backbone, num_classes=num_classes, **heads_v2(backbone), **kwargs)


def _fasterrcnn_mobilenet_v3_large_fpn(
    *,
    weights: WeightsEnum | None,
    progress: bool,
    num_classes: int | None,
    weights_backbone: MobileNet_V3_Large_Weights | None,
    trainable_backbone_layers: int | None,
    **kwargs: Any,
) -> FasterRCNN:
    trained = weights is not None or weights_backbone is not None
    layers = _validate_trainable_layers(trained, trainable_backbone_layers, 6, 3)
    norm_layer = ops.FrozenBatchNorm2d if trained else nn.BatchNorm2d
    network = mobilenet_v3_large(weights=weights_backbone, progress=progress, norm_layer=norm_layer)
    backbone = _mobilenet_extractor(network, True, layers)
    anchors = AnchorGenerator(((32, 64, 128, 256, 512),) * 3, ((0.5, 1.0, 2.0),) * 3)
    settings = {"rpn_anchor_generator": anchors, **kwargs}
    return FasterRCNN(backbone, num_classes=num_classes, **settings)


@on_backbone(
    FasterRCNN_MobileNet_V3_Large_320_FPN_Weights,
    MobileNet_V3_Large_Weights,
    COCO_CLASSES,
    FasterRCNN_MobileNet_V3_Large_320_FPN_Weights.COCO_V1,
    MobileNet_V3_Large_Weights.IMAGENET1K_V1,
)
def fasterrcnn_mobilenet_v3_large_320_fpn(
    *,
    weights: FasterRCNN_MobileNet_V3_Large_320_FPN_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    weights_backbone: MobileNet_V3_Large_Weights | None = MobileNet_V3_Large_Weights.IMAGENET1K_V1,
    trainable_backbone_layers: int | None = None,
    **kwargs: Any,
) -> FasterRCNN:
    """Faster R-CNN on a large MobileNetV3 for small images, 320 pixels the shorter side; arguments
    as of :func:`fasterrcnn_resnet50_fpn`, with 6 parts of the backbone."""
    small = {
        "min_size": 320, "max_size": 640, "rpn_pre_nms_top_n_test": 150,
        "rpn_post_nms_top_n_test": 150, "rpn_score_thresh": 0.05,
    }  # fmt: skip
    return _fasterrcnn_mobilenet_v3_large_fpn(
        weights=weights, progress=progress, num_classes=num_classes,
        weights_backbone=weights_backbone, trainable_backbone_layers=trainable_backbone_layers,
        **{**small, **kwargs},
    )  # fmt: skip


@on_backbone(
    FasterRCNN_MobileNet_V3_Large_FPN_Weights,
    MobileNet_V3_Large_Weights,
    COCO_CLASSES,
    FasterRCNN_MobileNet_V3_Large_FPN_Weights.COCO_V1,
    MobileNet_V3_Large_Weights.IMAGENET1K_V1,
)
def fasterrcnn_mobilenet_v3_large_fpn(
    *,
    weights: FasterRCNN_MobileNet_V3_Large_FPN_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    weights_backbone: MobileNet_V3_Large_Weights | None = MobileNet_V3_Large_Weights.IMAGENET1K_V1,
    trainable_backbone_layers: int | None = None,
    **kwargs: Any,
) -> FasterRCNN:
    """Faster R-CNN on a large MobileNetV3; arguments as of :func:`fasterrcnn_resnet50_fpn`, with 6
    parts of the backbone."""
    return _fasterrcnn_mobilenet_v3_large_fpn(
        weights=weights, progress=progress, num_classes=num_classes,
        weights_backbone=weights_backbone, trainable_backbone_layers=trainable_backbone_layers,
        **{"rpn_score_thresh": 0.05, **kwargs},
    )  # fmt: skip
