"""What networks that segment share: a backbone, a head, and scores of the size of the images."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.models._utils import IntermediateLayerGetter, _ovewrite_value_param
from rushlight_vision.models.mobilenetv3 import MobileNetV3

VOC_CLASSES = 21


class _SimpleSegmentationModel(nn.Module):
    """A head on the map ``"out"`` of a backbone, and in training one more on ``"aux"``, if there is
    one.

    Parameters
    ----------
    backbone : Module
        Gives maps by name.
    classifier : Module
    aux_classifier : Module or None
    """

    def __init__(
        self,
        backbone: nn.Module,
        classifier: nn.Module,
        aux_classifier: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = classifier
        self.aux_classifier = aux_classifier

    def forward(self, x: rl.Tensor) -> dict[str, rl.Tensor]:
        """Scores (N, classes, H, W) of images (N, 3, H, W): ``out``, and ``aux``."""
        features = self.backbone(x)
        result = OrderedDict(out=enlarged(self.classifier(features["out"]), x))
        if self.aux_classifier is not None:
            result["aux"] = enlarged(self.aux_classifier(features["aux"]), x)
        return result


def enlarged(maps: rl.Tensor, like: rl.Tensor) -> rl.Tensor:
    """`maps` with the height and width of `like`."""
    return F.interpolate(maps, size=like.shape[-2:], mode="bilinear", align_corners=False)


def with_auxiliary(weights: Any, aux_loss: bool | None) -> bool:
    """Whether there is a second head: all published weights have one."""
    if weights is not None:
        aux_loss = _ovewrite_value_param("aux_loss", aux_loss, True)
    return bool(aux_loss)


def mobilenet_maps(
    backbone: MobileNetV3, names: dict[int, str]
) -> tuple[IntermediateLayerGetter, list[int]]:
    """Maps of a MobileNet by stages, counted from the end, and how many channels they have."""
    features: Any = backbone.features
    strided = [number for number, block in enumerate(features) if getattr(block, "_is_cn", False)]
    stages = [0, *strided, len(features) - 1]
    layers = {str(stages[stage]): name for stage, name in names.items()}
    channels = [features[stages[stage]].out_channels for stage in names]
    return IntermediateLayerGetter(features, return_layers=layers), channels
