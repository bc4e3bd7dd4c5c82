"""What several detectors are constructed with: checks of their parts, poolers, pyramids."""

from __future__ import annotations

from typing import Any

from rushlight import nn
from rushlight_vision import ops
from rushlight_vision.models._api import WeightsEnum
from rushlight_vision.models.detection._utils import overwrite_eps
from rushlight_vision.models.detection.backbone_utils import (
    _resnet_fpn_extractor,
    _validate_trainable_layers,
)
from rushlight_vision.models.resnet import ResNet, ResNet50_Weights, resnet50
from rushlight_vision.ops import MultiScaleRoIAlign

IMAGE_MEAN, IMAGE_STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]  # of ImageNet
COCO_CLASSES = 91


def pooler(output_size: int) -> MultiScaleRoIAlign:
    """Pools the four finest maps of a pyramid."""
    return MultiScaleRoIAlign(["0", "1", "2", "3"], output_size=output_size, sampling_ratio=2)


def check_part(name: str, value: Any, kind: type) -> None:
    """TypeError for a part that is neither None nor of `kind`."""
    if value is not None and not isinstance(value, kind):
        raise TypeError(
            f"{name} should be of type {kind.__name__} or None instead of {type(value).__name__}"
        )


def check_backbone(backbone: Any) -> None:
    """ValueError for a backbone that does not say how many channels its maps have."""
    if not hasattr(backbone, "out_channels"):
        raise ValueError(
            "backbone should contain an attribute out_channels specifying the number of output "
            f"channels (assumed to be the same for all the levels), got {type(backbone).__name__}"
        )


def check_classes(num_classes: int | None, predictor: Any, name: str) -> None:
    """ValueError unless there is either a number of classes or a predictor, which has one."""
    if (num_classes is None) == (predictor is None):
        wrong = "neither is" if predictor is None else "both are"
        raise ValueError(f"num_classes should be None when {name} is specified; {wrong} given")


def _pyramid(backbone: ResNet, layers: int, **kwargs: Any) -> nn.Module:
    """The pyramid; `extra_blocks` is called when it is time to draw the weights of these."""
    if "extra_blocks" in kwargs:
        kwargs["extra_blocks"] = kwargs["extra_blocks"]()
    return _resnet_fpn_extractor(backbone, layers, **kwargs)


def resnet50_pyramid(
    weights: WeightsEnum | None,
    progress: bool,
    weights_backbone: ResNet50_Weights | None,
    trainable: int | None,
    **kwargs: Any,
) -> nn.Module:
    """ResNet-50 with a pyramid; its normalisation is frozen where it was trained."""
    trained = weights is not None or weights_backbone is not None
    layers = _validate_trainable_layers(trained, trainable, 5, 3)
    norm_layer = ops.FrozenBatchNorm2d if trained else nn.BatchNorm2d
    backbone = resnet50(weights=weights_backbone, progress=progress, norm_layer=norm_layer)
    return _pyramid(backbone, layers, **kwargs)


def resnet50_pyramid_v2(
    weights: WeightsEnum | None,
    progress: bool,
    weights_backbone: ResNet50_Weights | None,
    trainable: int | None,
    **kwargs: Any,
) -> nn.Module:
    """ResNet-50 with a pyramid, with batch normalisation that is trained."""
    trained = weights is not None or weights_backbone is not None
    layers = _validate_trainable_layers(trained, trainable, 5, 3)
    backbone = resnet50(weights=weights_backbone, progress=progress)
    return _pyramid(backbone, layers, **kwargs)


def forget_eps(model: nn.Module, weights: WeightsEnum | None, *entries: WeightsEnum) -> None:
    """Published weights of the first version were trained without `eps` in frozen normalisation."""
    if weights is not None and weights in entries:
        overwrite_eps(model, 0.0)
