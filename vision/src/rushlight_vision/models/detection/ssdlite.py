"""SSDlite (Sandler et al., MobileNetV2, 2018; Howard et al., Searching for MobileNetV3, 2019): SSD
with separable convolutions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._downstream import on_backbone
from rushlight_vision.models.detection import _utils
from rushlight_vision.models.detection._construction import COCO_CLASSES
from rushlight_vision.models.detection._one_stage import Tensors
from rushlight_vision.models.detection.anchor_utils import DefaultBoxGenerator
from rushlight_vision.models.detection.backbone_utils import (
    _validate_trainable_layers,
    freeze_stages,
    stages_of,
)
from rushlight_vision.models.detection.ssd import SSD, SSDScoringHead, without_size
from rushlight_vision.models.mobilenetv2 import MobileNetV2
from rushlight_vision.models.mobilenetv3 import (
    MobileNet_V3_Large_Weights,
    MobileNetV3,
    mobilenet_v3_large,
)
from rushlight_vision.ops.misc import Conv2dNormActivation

__all__ = ["SSDLite320_MobileNet_V3_Large_Weights", "ssdlite320_mobilenet_v3_large"]

Norm = Callable[..., nn.Module]
_SIDE = 320  # pixels


def _prediction_block(
    in_channels: int, out_channels: int, kernel_size: int, norm_layer: Norm
) -> nn.Sequential:
    """A separable convolution without an activation at its end."""
    return nn.Sequential(
        Conv2dNormActivation(
            in_channels, in_channels, kernel_size=kernel_size, groups=in_channels,
            norm_layer=norm_layer, activation_layer=nn.ReLU6,
        ),
        nn.Conv2d(in_channels, out_channels, 1),
    )  # fmt: skip


def _extra_block(in_channels: int, out_channels: int, norm_layer: Norm) -> nn.Sequential:
    """Half as many positions: narrow, filtered channel by channel, wide again."""
    between = out_channels // 2
    conv = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.ReLU6)
    return nn.Sequential(
        conv(in_channels, between, kernel_size=1),
        conv(between, between, kernel_size=3, stride=2, groups=between),
        conv(between, out_channels, kernel_size=1),
    )


def _normal_init(conv: nn.Module) -> None:
    """First weights of convolutions: small ones, without bias."""
    for layer in conv.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.normal_(layer.weight, mean=0.0, std=0.03)
            if layer.bias is not None:
                nn.init.constant_(layer.bias, 0.0)


class SSDLiteHead(nn.Module):
    """Offsets and logits of all boxes; arguments as of
    :class:`~rushlight_vision.models.detection.ssd.SSDHead`, and the normalisation."""

    def __init__(
        self, in_channels: list[int], num_anchors: list[int], num_classes: int, norm_layer: Norm
    ) -> None:
        super().__init__()
        self.classification_head = SSDLiteClassificationHead(
            in_channels, num_anchors, num_classes, norm_layer
        )
        self.regression_head = SSDLiteRegressionHead(in_channels, num_anchors, norm_layer)

    def forward(self, x: Tensors) -> dict[str, rl.Tensor]:
        """``bbox_regression`` (N, boxes, 4) and ``cls_logits`` (N, boxes, C)."""
        return {
            "bbox_regression": self.regression_head(x),
            "cls_logits": self.classification_head(x),
        }


def _layers(in_channels: list[int], outputs: list[int], norm_layer: Norm) -> nn.ModuleList:
    pairs = zip(in_channels, outputs, strict=True)
    layers = nn.ModuleList(_prediction_block(wide, out, 3, norm_layer) for wide, out in pairs)
    _normal_init(layers)
    return layers


class SSDLiteClassificationHead(SSDScoringHead):
    """Logits of all boxes."""

    def __init__(
        self, in_channels: list[int], num_anchors: list[int], num_classes: int, norm_layer: Norm
    ) -> None:
        outputs = [num_classes * each for each in num_anchors]
        super().__init__(_layers(in_channels, outputs, norm_layer), num_classes)


class SSDLiteRegressionHead(SSDScoringHead):
    """Offsets of all boxes."""

    def __init__(self, in_channels: list[int], num_anchors: list[int], norm_layer: Norm) -> None:
        super().__init__(_layers(in_channels, [4 * each for each in num_anchors], norm_layer), 4)


class SSDLiteFeatureExtractorMobileNet(nn.Module):
    """The maps of a MobileNet and of some layers more.

    Parameters
    ----------
    backbone : Module
        The features of a MobileNet.
    c4_pos : int
        The block whose wide result is the first map.
    norm_layer : callable
    width_mult : float, default 1.0
        Of the layers behind it.
    min_depth : int, default 16
        Their least width.
    """

    def __init__(
        self,
        backbone: Any,
        c4_pos: int,
        norm_layer: Norm,
        width_mult: float = 1.0,
        min_depth: int = 16,
    ) -> None:
        super().__init__()
        blocks = list(backbone)
        if blocks[c4_pos].use_res_connect:
            raise AssertionError(f"backbone[{c4_pos}].use_res_connect should be False")
        inner = blocks[c4_pos].block
        self.features = nn.Sequential(
            nn.Sequential(*blocks[:c4_pos], inner[0]),
            nn.Sequential(inner[1:], *blocks[c4_pos + 1 :]),
        )
        widths = [max(min_depth, int(depth * width_mult)) for depth in (512, 256, 256, 128)]
        before = [blocks[-1].out_channels, *widths[:-1]]
        pairs = zip(before, widths, strict=True)
        self.extra = nn.ModuleList(_extra_block(*pair, norm_layer) for pair in pairs)
        _normal_init(self.extra)

    def forward(self, x: rl.Tensor) -> dict[str, rl.Tensor]:
        """Maps by number, fine to coarse."""
        maps = OrderedDict()
        for number, block in enumerate([*self.features, *self.extra]):
            x = block(x)
            maps[str(number)] = x
        return maps


def _mobilenet_extractor(
    backbone: MobileNetV2 | MobileNetV3, trainable_layers: int, norm_layer: Norm
) -> SSDLiteFeatureExtractorMobileNet:
    """The maps of a MobileNet, of which the first stages are frozen."""
    features: Any = backbone.features
    stages = stages_of(features)
    freeze_stages(features, stages, trainable_layers)
    return SSDLiteFeatureExtractorMobileNet(features, stages[-2], norm_layer)


class SSDLite320_MobileNet_V3_Large_Weights(WeightsEnum):
    """Weights of :func:`ssdlite320_mobilenet_v3_large`."""

    COCO_V1 = published("SSDLite320_MobileNet_V3_Large_Weights.COCO_V1")
    DEFAULT = COCO_V1


@on_backbone(
    SSDLite320_MobileNet_V3_Large_Weights,
    MobileNet_V3_Large_Weights,
    COCO_CLASSES,
    SSDLite320_MobileNet_V3_Large_Weights.COCO_V1,
    MobileNet_V3_Large_Weights.IMAGENET1K_V1,
)
def ssdlite320_mobilenet_v3_large(
    *,
    weights: SSDLite320_MobileNet_V3_Large_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    weights_backbone: MobileNet_V3_Large_Weights | None = MobileNet_V3_Large_Weights.IMAGENET1K_V1,
    trainable_backbone_layers: int | None = None,
    norm_layer: Norm | None = None,
    **kwargs: Any,
) -> SSD:
    """SSDlite on a large MobileNetV3 for images of 320 pixels; `norm_layer` is batch normalisation
    with ``eps=0.001`` and ``momentum=0.03`` by default, other arguments as of
    :func:`~rushlight_vision.models.detection.ssd.ssd300_vgg16`, with 6 stages of the backbone."""
    trained = weights is not None or weights_backbone is not None
    layers = _validate_trainable_layers(trained, trainable_backbone_layers, 6, 6)
    plain = weights_backbone is None  # a tail of half the width, where it is not given
    norm = partial(nn.BatchNorm2d, eps=0.001, momentum=0.03) if norm_layer is None else norm_layer
    network = mobilenet_v3_large(
        weights=weights_backbone, progress=progress, norm_layer=norm, reduced_tail=plain
    )
    if plain:
        _normal_init(network)
    backbone = _mobilenet_extractor(network, layers, norm)
    generator = DefaultBoxGenerator([[2, 3] for _ in range(6)], min_ratio=0.2, max_ratio=0.95)
    channels = _utils.retrieve_out_channels(backbone, (_SIDE, _SIDE))
    anchors = generator.num_anchors_per_location()
    settings: dict[str, Any] = {
        "score_thresh": 0.001,
        "nms_thresh": 0.55,
        "detections_per_img": 300,
        "topk_candidates": 300,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        **without_size(kwargs),
    }
    head = SSDLiteHead(channels, anchors, num_classes or 0, norm)
    return SSD(backbone, generator, (_SIDE, _SIDE), num_classes or 0, head=head, **settings)
