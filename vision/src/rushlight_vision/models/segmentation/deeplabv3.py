"""DeepLabv3 (Chen et al., Rethinking atrous convolution for semantic image segmentation, 2017)."""

from __future__ import annotations

from collections.abc import Sequence
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
from rushlight_vision.models.resnet import (
    ResNet,
    ResNet50_Weights,
    ResNet101_Weights,
    resnet50,
    resnet101,
)
from rushlight_vision.models.segmentation._utils import (
    VOC_CLASSES,
    _SimpleSegmentationModel,
    enlarged,
    mobilenet_maps,
    with_auxiliary,
)
from rushlight_vision.models.segmentation.fcn import DILATED, FCNHead, resnet_maps

__all__ = [
    "DeepLabV3",
    "DeepLabV3_MobileNet_V3_Large_Weights",
    "DeepLabV3_ResNet101_Weights",
    "DeepLabV3_ResNet50_Weights",
    "deeplabv3_mobilenet_v3_large",
    "deeplabv3_resnet101",
    "deeplabv3_resnet50",
]


class DeepLabV3(_SimpleSegmentationModel):
    """DeepLabv3: a backbone, a head with dilated convolutions, and perhaps one more for training.

    Gives a dict of scores (N, classes, H, W) of images (N, 3, H, W): ``out``, and ``aux``.
    """


class DeepLabHead(nn.Sequential):
    """Scores of `num_classes` classes at every position of maps with `in_channels`.

    >>> DeepLabHead(8, 3, (2, 4)).eval()(rl.zeros(1, 8, 5, 5)).shape
    rushlight.Size([1, 3, 5, 5])
    """

    def __init__(
        self, in_channels: int, num_classes: int, atrous_rates: Sequence[int] = (12, 24, 36)
    ) -> None:
        super().__init__(
            ASPP(in_channels, atrous_rates),
            nn.Conv2d(256, 256, 3, padding=1, bias=False),
            nn.BatchNorm2d(256),
            nn.ReLU(),
            nn.Conv2d(256, num_classes, 1),
        )


class ASPPConv(nn.Sequential):
    """A 3x3 convolution with `dilation`, normalisation and activation."""

    def __init__(self, in_channels: int, out_channels: int, dilation: int) -> None:
        super().__init__(
            nn.Conv2d(
                in_channels, out_channels, 3, padding=dilation, dilation=dilation, bias=False
            ),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
        )


class ASPPPooling(nn.Sequential):
    """The mean of the whole map, through a 1x1 convolution, at every position."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(in_channels, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
        )

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """A map (N, `out_channels`, H, W) of one (N, `in_channels`, H, W)."""
        return enlarged(super().forward(x), x)


class ASPP(nn.Module):
    """Convolutions of several dilations side by side, and the mean of the map.

    Parameters
    ----------
    in_channels : int
    atrous_rates : sequence of int
        The dilations.
    out_channels : int, default 256
    """

    def __init__(
        self, in_channels: int, atrous_rates: Sequence[int], out_channels: int = 256
    ) -> None:
        super().__init__()
        plain = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
        )
        dilated = [ASPPConv(in_channels, out_channels, rate) for rate in tuple(atrous_rates)]
        self.convs = nn.ModuleList([plain, *dilated, ASPPPooling(in_channels, out_channels)])
        self.project = nn.Sequential(
            nn.Conv2d(len(self.convs) * out_channels, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
            nn.Dropout(0.5),
        )

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """A map (N, `out_channels`, H, W) of one (N, `in_channels`, H, W)."""
        return self.project(rl.cat([conv(x) for conv in self.convs], dim=1))


def _deeplabv3_resnet(backbone: ResNet, num_classes: int, aux: bool | None) -> DeepLabV3:
    maps, auxiliary = resnet_maps(backbone, num_classes, aux)
    return DeepLabV3(maps, DeepLabHead(2048, num_classes), auxiliary)


class DeepLabV3_ResNet50_Weights(WeightsEnum):
    """Weights of :func:`deeplabv3_resnet50`."""

    COCO_WITH_VOC_LABELS_V1 = published("DeepLabV3_ResNet50_Weights.COCO_WITH_VOC_LABELS_V1")
    DEFAULT = COCO_WITH_VOC_LABELS_V1


class DeepLabV3_ResNet101_Weights(WeightsEnum):
    """Weights of :func:`deeplabv3_resnet101`."""

    COCO_WITH_VOC_LABELS_V1 = published("DeepLabV3_ResNet101_Weights.COCO_WITH_VOC_LABELS_V1")
    DEFAULT = COCO_WITH_VOC_LABELS_V1


class DeepLabV3_MobileNet_V3_Large_Weights(WeightsEnum):
    """Weights of :func:`deeplabv3_mobilenet_v3_large`."""

    COCO_WITH_VOC_LABELS_V1 = published(
        "DeepLabV3_MobileNet_V3_Large_Weights.COCO_WITH_VOC_LABELS_V1"
    )
    DEFAULT = COCO_WITH_VOC_LABELS_V1


def _deeplabv3_mobilenetv3(backbone: MobileNetV3, num_classes: int, aux: bool | None) -> DeepLabV3:
    maps, channels = mobilenet_maps(backbone, {-1: "out", **({-4: "aux"} if aux else {})})
    auxiliary = FCNHead(channels[1], num_classes) if aux else None
    return DeepLabV3(maps, DeepLabHead(channels[0], num_classes), auxiliary)


@on_backbone(
    DeepLabV3_ResNet50_Weights,
    ResNet50_Weights,
    VOC_CLASSES,
    DeepLabV3_ResNet50_Weights.COCO_WITH_VOC_LABELS_V1,
    ResNet50_Weights.IMAGENET1K_V1,
)
def deeplabv3_resnet50(
    *,
    weights: DeepLabV3_ResNet50_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    aux_loss: bool | None = None,
    weights_backbone: ResNet50_Weights | None = ResNet50_Weights.IMAGENET1K_V1,
    **kwargs: Any,
) -> DeepLabV3:
    """DeepLabv3 on ResNet-50; arguments as of
    :func:`~rushlight_vision.models.segmentation.fcn.fcn_resnet50`."""
    backbone = resnet50(
        weights=weights_backbone, progress=progress, replace_stride_with_dilation=DILATED
    )
    return _deeplabv3_resnet(backbone, num_classes or 0, with_auxiliary(weights, aux_loss))


@on_backbone(
    DeepLabV3_ResNet101_Weights,
    ResNet101_Weights,
    VOC_CLASSES,
    DeepLabV3_ResNet101_Weights.COCO_WITH_VOC_LABELS_V1,
    ResNet101_Weights.IMAGENET1K_V1,
)
def deeplabv3_resnet101(
    *,
    weights: DeepLabV3_ResNet101_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    aux_loss: bool | None = None,
    weights_backbone: ResNet101_Weights | None = ResNet101_Weights.IMAGENET1K_V1,
    **kwargs: Any,
) -> DeepLabV3:
    """DeepLabv3 on ResNet-101; arguments as of
    :func:`~rushlight_vision.models.segmentation.fcn.fcn_resnet50`."""
    backbone = resnet101(
        weights=weights_backbone, progress=progress, replace_stride_with_dilation=DILATED
    )
    return _deeplabv3_resnet(backbone, num_classes or 0, with_auxiliary(weights, aux_loss))


@on_backbone(
    DeepLabV3_MobileNet_V3_Large_Weights,
    MobileNet_V3_Large_Weights,
    VOC_CLASSES,
    DeepLabV3_MobileNet_V3_Large_Weights.COCO_WITH_VOC_LABELS_V1,
    MobileNet_V3_Large_Weights.IMAGENET1K_V1,
)
def deeplabv3_mobilenet_v3_large(
    *,
    weights: DeepLabV3_MobileNet_V3_Large_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    aux_loss: bool | None = None,
    weights_backbone: MobileNet_V3_Large_Weights | None = MobileNet_V3_Large_Weights.IMAGENET1K_V1,
    **kwargs: Any,
) -> DeepLabV3:
    """DeepLabv3 on a large MobileNetV3; arguments as of
    :func:`~rushlight_vision.models.segmentation.fcn.fcn_resnet50`.

    >>> model = deeplabv3_mobilenet_v3_large(weights_backbone=None, num_classes=3).eval()
    >>> model(rl.zeros(1, 3, 40, 50))["out"].shape
    rushlight.Size([1, 3, 40, 50])
    """
    backbone = mobilenet_v3_large(weights=weights_backbone, progress=progress, dilated=True)
    return _deeplabv3_mobilenetv3(backbone, num_classes or 0, with_auxiliary(weights, aux_loss))
