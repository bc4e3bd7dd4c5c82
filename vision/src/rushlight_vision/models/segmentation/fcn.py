"""Fully convolutional networks (Long et al., Fully convolutional networks for semantic
segmentation, 2015)."""

from __future__ import annotations

from typing import Any

from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._downstream import on_backbone
from rushlight_vision.models._utils import IntermediateLayerGetter
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
    with_auxiliary,
)

__all__ = ["FCN", "FCN_ResNet101_Weights", "FCN_ResNet50_Weights", "fcn_resnet101", "fcn_resnet50"]

DILATED = [False, True, True]  # the last two stages of a residual network keep the size


class FCN(_SimpleSegmentationModel):
    """A fully convolutional network: a backbone, a head, and perhaps one more for training.

    Gives a dict of scores (N, classes, H, W) of images (N, 3, H, W): ``out``, and ``aux``.
    """


class FCNHead(nn.Sequential):
    """Scores of `channels` classes at every position of maps with `in_channels`."""

    def __init__(self, in_channels: int, channels: int) -> None:
        between = in_channels // 4
        super().__init__(
            nn.Conv2d(in_channels, between, 3, padding=1, bias=False),
            nn.BatchNorm2d(between),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Conv2d(between, channels, 1),
        )


def resnet_maps(
    backbone: ResNet, num_classes: int, aux: bool | None
) -> tuple[IntermediateLayerGetter, FCNHead | None]:
    """The maps of a residual network, and a head for the auxiliary one if there is one."""
    layers = {"layer4": "out", **({"layer3": "aux"} if aux else {})}
    head = FCNHead(1024, num_classes) if aux else None
    return IntermediateLayerGetter(backbone, return_layers=layers), head


def _fcn_resnet(backbone: ResNet, num_classes: int, aux: bool | None) -> FCN:
    maps, auxiliary = resnet_maps(backbone, num_classes, aux)
    return FCN(maps, FCNHead(2048, num_classes), auxiliary)


class FCN_ResNet50_Weights(WeightsEnum):
    """Weights of :func:`fcn_resnet50`."""

    COCO_WITH_VOC_LABELS_V1 = published("FCN_ResNet50_Weights.COCO_WITH_VOC_LABELS_V1")
    DEFAULT = COCO_WITH_VOC_LABELS_V1


class FCN_ResNet101_Weights(WeightsEnum):
    """Weights of :func:`fcn_resnet101`."""

    COCO_WITH_VOC_LABELS_V1 = published("FCN_ResNet101_Weights.COCO_WITH_VOC_LABELS_V1")
    DEFAULT = COCO_WITH_VOC_LABELS_V1


@on_backbone(
    FCN_ResNet50_Weights,
    ResNet50_Weights,
    VOC_CLASSES,
    FCN_ResNet50_Weights.COCO_WITH_VOC_LABELS_V1,
    ResNet50_Weights.IMAGENET1K_V1,
)
def fcn_resnet50(
    *,
    weights: FCN_ResNet50_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    aux_loss: bool | None = None,
    weights_backbone: ResNet50_Weights | None = ResNet50_Weights.IMAGENET1K_V1,
    **kwargs: Any,
) -> FCN:
    """A fully convolutional network on ResNet-50.

    Parameters
    ----------
    weights : FCN_ResNet50_Weights or None
        Of the whole network.
    progress : bool, default True
        Show how far a download is.
    num_classes : int or None
        Default: 21, or what `weights` have.
    aux_loss : bool or None
        Whether there is a second head, on earlier maps; `weights` have one.
    weights_backbone : ResNet50_Weights or None
        Of the backbone, where there are no `weights`.

    Example
    -------
    >>> import rushlight as rl
    >>> model = fcn_resnet50(weights_backbone=None, num_classes=3).eval()
    >>> model(rl.zeros(1, 3, 40, 50))["out"].shape
    rushlight.Size([1, 3, 40, 50])
    """
    backbone = resnet50(
        weights=weights_backbone, progress=progress, replace_stride_with_dilation=DILATED
    )
    return _fcn_resnet(backbone, num_classes or 0, with_auxiliary(weights, aux_loss))


@on_backbone(
    FCN_ResNet101_Weights,
    ResNet101_Weights,
    VOC_CLASSES,
    FCN_ResNet101_Weights.COCO_WITH_VOC_LABELS_V1,
    ResNet101_Weights.IMAGENET1K_V1,
)
def fcn_resnet101(
    *,
    weights: FCN_ResNet101_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    aux_loss: bool | None = None,
    weights_backbone: ResNet101_Weights | None = ResNet101_Weights.IMAGENET1K_V1,
    **kwargs: Any,
) -> FCN:
    """A fully convolutional network on ResNet-101; arguments as of :func:`fcn_resnet50`."""
    backbone = resnet101(
        weights=weights_backbone, progress=progress, replace_stride_with_dilation=DILATED
    )
    return _fcn_resnet(backbone, num_classes or 0, with_auxiliary(weights, aux_loss))
