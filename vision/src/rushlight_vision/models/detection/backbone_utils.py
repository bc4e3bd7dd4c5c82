"""Networks that classify as backbones of detectors, most with a feature pyramid on top."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision import ops
from rushlight_vision.models import mobilenet, resnet
from rushlight_vision.models._api import WeightsEnum, get_model_weights
from rushlight_vision.models._utils import IntermediateLayerGetter, handle_legacy_interface
from rushlight_vision.models.mobilenetv2 import MobileNetV2
from rushlight_vision.models.mobilenetv3 import MobileNetV3
from rushlight_vision.models.resnet import ResNet
from rushlight_vision.ops.feature_pyramid_network import (
    ExtraFPNBlock,
    FeaturePyramidNetwork,
    LastLevelMaxPool,
)

Norm = Callable[..., nn.Module]
_CHANNELS = 256  # of every map


class BackboneWithFPN(nn.Module):
    """Some of a network's children, and a feature pyramid of their results.

    Parameters
    ----------
    backbone : Module
    return_layers : dict of str
        Names of children of `backbone` and the names of their maps.
    in_channels_list : list of int
        Channels of these maps.
    out_channels : int
        Of every map of the pyramid; an attribute as well.
    extra_blocks : ExtraFPNBlock or None
        Default: one more map, by :class:`~rushlight_vision.ops.feature_pyramid_network
        .LastLevelMaxPool`.
    norm_layer : callable or None

    Example
    -------
    >>> network = resnet.resnet18()
    >>> backbone = BackboneWithFPN(network, {"layer3": "0", "layer4": "1"}, [256, 512], 8)
    >>> [(name, tuple(each.shape)) for name, each in backbone(rl.zeros(1, 3, 64, 64)).items()]
    [('0', (1, 8, 4, 4)), ('1', (1, 8, 2, 2)), ('pool', (1, 8, 1, 1))]
    """

    def __init__(
        self,
        backbone: nn.Module,
        return_layers: dict[str, str],
        in_channels_list: list[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        self.body = IntermediateLayerGetter(backbone, return_layers=return_layers)
        self.fpn = FeaturePyramidNetwork(
            in_channels_list,
            out_channels,
            extra_blocks=LastLevelMaxPool() if extra_blocks is None else extra_blocks,
            norm_layer=norm_layer,
        )
        self.out_channels = out_channels

    def forward(self, x: rl.Tensor) -> dict[str, rl.Tensor]:
        """Maps of the pyramid by name, fine to coarse."""
        return self.fpn(self.body(x))


def _first_weights(networks: Any) -> Callable[[dict[str, Any]], WeightsEnum]:
    """What ``pretrained=True`` stood for: the first recipe of the backbone's."""

    def entry(kwargs: dict[str, Any]) -> WeightsEnum:
        return get_model_weights(vars(networks)[kwargs["backbone_name"]])["IMAGENET1K_V1"]

    return entry


@handle_legacy_interface(weights=("pretrained", _first_weights(resnet)))
def resnet_fpn_backbone(
    *,
    backbone_name: str,
    weights: WeightsEnum | None,
    norm_layer: Norm = ops.FrozenBatchNorm2d,
    trainable_layers: int = 3,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
) -> BackboneWithFPN:
    """A residual network with a feature pyramid.

    Parameters
    ----------
    backbone_name : str
        A builder of `models.resnet`, such as ``"resnet50"``.
    weights : WeightsEnum or None
    norm_layer : callable, default `ops.FrozenBatchNorm2d`
    trainable_layers : int, default 3
        How many of the last parts are trained; 5 is all.
    returned_layers : list of int, default ``[1, 2, 3, 4]``
        The stages that the pyramid is made of.
    extra_blocks : ExtraFPNBlock or None

    Raises ValueError for other numbers of layers.

    >>> backbone = resnet_fpn_backbone(backbone_name="resnet18", weights=None)
    >>> list(backbone(rl.zeros(1, 3, 64, 64)))
    ['0', '1', '2', '3', 'pool']
    """
    backbone = vars(resnet)[backbone_name](weights=weights, norm_layer=norm_layer)
    return _resnet_fpn_extractor(backbone, trainable_layers, returned_layers, extra_blocks)


def _resnet_fpn_extractor(
    backbone: ResNet,
    trainable_layers: int,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
    norm_layer: Norm | None = None,
) -> BackboneWithFPN:
    """The pyramid of a residual network, whose first parts are frozen."""
    _check_range("Trainable layers", trainable_layers, 0, 5)
    trained = ["layer4", "layer3", "layer2", "layer1", "conv1"][:trainable_layers]
    if trainable_layers == 5:
        trained.append("bn1")
    for name, parameter in backbone.named_parameters():
        if not name.startswith(tuple(trained)):
            parameter.requires_grad_(False)
    stages = [1, 2, 3, 4] if returned_layers is None else returned_layers
    for stage in stages:
        _check_range("Each returned layer", stage, 1, 4)
    names = {f"layer{stage}": str(number) for number, stage in enumerate(stages)}
    widths = [backbone.inplanes // 8 * 2 ** (stage - 1) for stage in stages]
    return BackboneWithFPN(backbone, names, widths, _CHANNELS, extra_blocks, norm_layer)


def _check_range(name: str, value: int, first: int, last: int) -> None:
    if not first <= value <= last:
        raise ValueError(f"{name} should be in the range [{first},{last}], got {value}")


def _validate_trainable_layers(
    is_trained: bool,
    trainable_backbone_layers: int | None,
    max_value: int,
    default_value: int,
) -> int:
    """How many layers of a backbone are trained: all where nothing was."""
    if not is_trained:
        if trainable_backbone_layers is not None:
            warnings.warn(
                "Changing trainable_backbone_layers has no effect if neither pretrained nor "
                f"pretrained_backbone have been set to True, falling back to {max_value}: all "
                "layers are trained",
                stacklevel=3,
            )
        return max_value
    count = default_value if trainable_backbone_layers is None else trainable_backbone_layers
    _check_range("Trainable backbone layers", count, 0, max_value)
    return count


@handle_legacy_interface(weights=("pretrained", _first_weights(mobilenet)))
def mobilenet_backbone(
    *,
    backbone_name: str,
    weights: WeightsEnum | None,
    fpn: bool,
    norm_layer: Norm = ops.FrozenBatchNorm2d,
    trainable_layers: int = 2,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
) -> nn.Module:
    """A MobileNet as a backbone, with a feature pyramid if `fpn`, else with 256 channels.

    `backbone_name` is a builder of `models.mobilenet`; `returned_layers` are the stages that the
    pyramid is made of, by default the last two; other arguments as of :func:`resnet_fpn_backbone`.

    >>> backbone = mobilenet_backbone(backbone_name="mobilenet_v3_small", weights=None, fpn=False)
    >>> backbone(rl.zeros(1, 3, 64, 64)).shape
    rushlight.Size([1, 256, 2, 2])
    """
    backbone = vars(mobilenet)[backbone_name](weights=weights, norm_layer=norm_layer)
    return _mobilenet_extractor(backbone, fpn, trainable_layers, returned_layers, extra_blocks)


def stages_of(features: nn.Sequential) -> list[int]:
    """Where the stages of a MobileNet begin: the first, those with stride 2, and the last."""
    strided = [number for number, block in enumerate(features) if getattr(block, "_is_cn", False)]
    return [0, *strided, len(features) - 1]


def freeze_stages(features: nn.Sequential, stages: list[int], trainable: int) -> None:
    """Let only the last `trainable` of `stages` be trained."""
    _check_range("Trainable layers", trainable, 0, len(stages))
    first = len(features) if trainable == 0 else stages[len(stages) - trainable]
    for block in list(features)[:first]:
        for parameter in block.parameters():
            parameter.requires_grad_(False)


def _mobilenet_extractor(
    backbone: MobileNetV2 | MobileNetV3,
    fpn: bool,
    trainable_layers: int,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
    norm_layer: Norm | None = None,
) -> nn.Module:
    """The features of a MobileNet, of which the first stages are frozen."""
    features: Any = backbone.features
    stages = stages_of(features)
    freeze_stages(features, stages, trainable_layers)
    if not fpn:
        narrow = nn.Conv2d(features[-1].out_channels, _CHANNELS, 1)
        plain = nn.Sequential(features, narrow)
        plain.out_channels = _CHANNELS
        return plain
    count = len(stages)
    chosen = [count - 2, count - 1] if returned_layers is None else returned_layers
    for stage in chosen:
        _check_range("Each returned layer", stage, 0, count - 1)
    names = {str(stages[stage]): str(number) for number, stage in enumerate(chosen)}
    widths = [features[stages[stage]].out_channels for stage in chosen]
    return BackboneWithFPN(features, names, widths, _CHANNELS, extra_blocks, norm_layer)
