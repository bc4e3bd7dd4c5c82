"""Lite R-ASPP (Howard et al., Searching for MobileNetV3, 2019, section 6.4)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._downstream import on_backbone
from rushlight_vision.models.mobilenetv3 import (
    MobileNet_V3_Large_Weights,
    MobileNetV3,
    mobilenet_v3_large,
)
from rushlight_vision.models.segmentation._utils import VOC_CLASSES, enlarged, mobilenet_maps

__all__ = ["LRASPP", "LRASPP_MobileNet_V3_Large_Weights", "lraspp_mobilenet_v3_large"]


class LRASPP(nn.Module):
    """A light head on two maps of a backbone.

    Parameters
    ----------
    backbone : Module
        Gives the maps ``"low"``, early and fine, and ``"high"``.
    low_channels, high_channels : int
    num_classes : int
    inter_channels : int, default 128
    """

    def __init__(
        self,
        backbone: nn.Module,
        low_channels: int,
        high_channels: int,
        num_classes: int,
        inter_channels: int = 128,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = LRASPPHead(low_channels, high_channels, num_classes, inter_channels)

    def forward(self, input: rl.Tensor) -> dict[str, rl.Tensor]:
        """Scores (N, classes, H, W) of images (N, 3, H, W): ``out``."""
        return OrderedDict(out=enlarged(self.classifier(self.backbone(input)), input))


class LRASPPHead(nn.Module):
    """Scores of both maps, added; the channels of the coarse one are scaled by what its mean says.

    Arguments as of :class:`LRASPP`.
    """

    def __init__(
        self, low_channels: int, high_channels: int, num_classes: int, inter_channels: int
    ) -> None:
        super().__init__()
        self.cbr = nn.Sequential(
            nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.BatchNorm2d(inter_channels),
            nn.ReLU(inplace=True),
        )
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.Sigmoid(),
        )
        self.low_classifier = nn.Conv2d(low_channels, num_classes, 1)
        self.high_classifier = nn.Conv2d(inter_channels, num_classes, 1)

    def forward(self, input: dict[str, rl.Tensor]) -> rl.Tensor:
        """Scores (N, classes, h, w) of the size of the map ``"low"``."""
        low, high = input["low"], input["high"]
        scaled = enlarged(self.cbr(high) * self.scale(high), low)
        return self.low_classifier(low) + self.high_classifier(scaled)


def _lraspp_mobilenetv3(backbone: MobileNetV3, num_classes: int) -> LRASPP:
    maps, (low, high) = mobilenet_maps(backbone, {-4: "low", -1: "high"})
    return LRASPP(maps, low, high, num_classes)


class LRASPP_MobileNet_V3_Large_Weights(WeightsEnum):
    """Weights of :func:`lraspp_mobilenet_v3_large`."""

    COCO_WITH_VOC_LABELS_V1 = published("LRASPP_MobileNet_V3_Large_Weights.COCO_WITH_VOC_LABELS_V1")
    DEFAULT = COCO_WITH_VOC_LABELS_V1


@on_backbone(
    LRASPP_MobileNet_V3_Large_Weights,
    MobileNet_V3_Large_Weights,
    VOC_CLASSES,
    LRASPP_MobileNet_V3_Large_Weights.COCO_WITH_VOC_LABELS_V1,
    MobileNet_V3_Large_Weights.IMAGENET1K_V1,
)
def lraspp_mobilenet_v3_large(
    *,
    weights: LRASPP_MobileNet_V3_Large_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    weights_backbone: MobileNet_V3_Large_Weights | None = MobileNet_V3_Large_Weights.IMAGENET1K_V1,
    **kwargs: Any,
) -> LRASPP:
    """Lite R-ASPP on a large MobileNetV3; arguments as of
    :func:`~rushlight_vision.models.segmentation.fcn.fcn_resnet50`, without a second head.

    Raises NotImplementedError for ``aux_loss=True``.
    """
    if kwargs.pop("aux_loss", False):
        raise NotImplementedError(
            "lraspp_mobilenet_v3_large: aux_loss=True: it has no second head; use "
            "deeplabv3_mobilenet_v3_large"
        )
    backbone = mobilenet_v3_large(weights=weights_backbone, progress=progress, dilated=True)
    return _lraspp_mobilenetv3(backbone, num_classes or 0)
