"""DenseNet (Huang et al., Densely connected convolutional networks, 2016)."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._utils import built, classifier

__all__ = [
    "DenseNet",
    "DenseNet121_Weights",
    "DenseNet161_Weights",
    "DenseNet169_Weights",
    "DenseNet201_Weights",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
]


class _DenseLayer(nn.Module):
    """Convolutions of 1x1 and 3x3, both after normalisation, of all maps before them."""

    def __init__(
        self,
        num_input_features: int,
        growth_rate: int,
        bn_size: int,
        drop_rate: float,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        between = bn_size * growth_rate
        self.norm1 = nn.BatchNorm2d(num_input_features)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_input_features, between, kernel_size=1, bias=False)
        self.norm2 = nn.BatchNorm2d(between)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(between, growth_rate, kernel_size=3, padding=1, bias=False)
        self.drop_rate = float(drop_rate)
        self.memory_efficient = memory_efficient

    def bn_function(self, *inputs: rl.Tensor) -> rl.Tensor:
        """The first convolution of the maps, one after the other."""
        return self.conv1(self.relu1(self.norm1(rl.cat(inputs, 1))))

    def forward(self, input: rl.Tensor | list[rl.Tensor]) -> rl.Tensor:
        """`growth_rate` new maps."""
        inputs = [input] if isinstance(input, rl.Tensor) else input
        if self.memory_efficient and any(each.requires_grad for each in inputs):
            recomputed = rl.utils.checkpoint.checkpoint
            between = recomputed(self.bn_function, *inputs, use_reentrant=False)
        else:
            between = self.bn_function(*inputs)
        new = self.conv2(self.relu2(self.norm2(between)))
        if self.drop_rate > 0:
            new = nn.functional.dropout(new, p=self.drop_rate, training=self.training)
        return new


class _DenseBlock(nn.ModuleDict):
    """Layers that each see the maps of all before them."""

    _version = 2

    def __init__(
        self,
        num_layers: int,
        num_input_features: int,
        bn_size: int,
        growth_rate: int,
        drop_rate: float,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        for number in range(num_layers):
            width = num_input_features + number * growth_rate
            layer = _DenseLayer(width, growth_rate, bn_size, drop_rate, memory_efficient)
            self.add_module(f"denselayer{number + 1}", layer)

    def forward(self, init_features: rl.Tensor) -> rl.Tensor:
        """The input's maps and those of all layers."""
        features = [init_features]
        for layer in self.values():
            features.append(layer(features))
        return rl.cat(features, 1)


class _Transition(nn.Sequential):
    """Fewer maps of half the size."""

    def __init__(self, num_input_features: int, num_output_features: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(num_input_features)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(num_input_features, num_output_features, kernel_size=1, bias=False)
        self.pool = nn.AvgPool2d(kernel_size=2, stride=2)


class DenseNet(nn.Module):
    """Dense blocks with transitions between them, and a linear layer.

    Parameters
    ----------
    growth_rate : int, default 32
        Maps that each layer adds.
    block_config : tuple of int
        Layers of the blocks.
    num_init_features : int, default 64
        Maps of the first convolution.
    bn_size : int, default 4
        Maps between the two convolutions of a layer, divided by `growth_rate`.
    drop_rate : float, default 0
        Chance of dropout after each layer.
    num_classes : int, default 1000
    memory_efficient : bool, default False
        Compute the first half of each layer again in the backward pass instead of keeping it.
    """

    def __init__(
        self,
        growth_rate: int = 32,
        block_config: tuple[int, int, int, int] = (6, 12, 24, 16),
        num_init_features: int = 64,
        bn_size: int = 4,
        drop_rate: float = 0,
        num_classes: int = 1000,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        width = num_init_features
        self.features = nn.Sequential(
            OrderedDict(
                conv0=nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3, bias=False),
                norm0=nn.BatchNorm2d(width),
                relu0=nn.ReLU(inplace=True),
                pool0=nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
            )
        )
        for number, layers in enumerate(block_config, 1):
            if number > 1:
                self.features.add_module(f"transition{number - 1}", _Transition(width, width // 2))
                width //= 2
            block = _DenseBlock(layers, width, bn_size, growth_rate, drop_rate, memory_efficient)
            self.features.add_module(f"denseblock{number}", block)
            width += layers * growth_rate
        self.features.add_module(f"norm{len(block_config) + 1}", nn.BatchNorm2d(width))
        self.classifier = nn.Linear(width, num_classes)
        self._initialize()

    def _initialize(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores (N, `num_classes`) of images (N, 3, H, W)."""
        x = nn.functional.relu(self.features(x), inplace=True)
        return self.classifier(rl.flatten(nn.functional.adaptive_avg_pool2d(x, (1, 1)), 1))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Take the names of the published files, too, such as ``denselayer1.norm.1``."""
        for key in [key for key in state_dict if key.startswith(prefix)]:
            new = re.sub(r"(denselayer\d+\.(?:norm|conv))\.([12])\.", r"\1\2.", key)
            if new != key:
                state_dict[new] = state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, *rest)


def _densenet(
    growth_rate: int,
    block_config: tuple[int, int, int, int],
    num_init_features: int,
    weights: WeightsEnum | None,
    progress: bool,
    **kwargs: Any,
) -> DenseNet:
    shape = (growth_rate, block_config, num_init_features)
    return built(DenseNet, weights, progress, *shape, **kwargs)


class DenseNet121_Weights(WeightsEnum):
    """Weights of :func:`densenet121`."""

    IMAGENET1K_V1 = published("DenseNet121_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class DenseNet161_Weights(WeightsEnum):
    """Weights of :func:`densenet161`."""

    IMAGENET1K_V1 = published("DenseNet161_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class DenseNet169_Weights(WeightsEnum):
    """Weights of :func:`densenet169`."""

    IMAGENET1K_V1 = published("DenseNet169_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class DenseNet201_Weights(WeightsEnum):
    """Weights of :func:`densenet201`."""

    IMAGENET1K_V1 = published("DenseNet201_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


@classifier(DenseNet121_Weights)
def densenet121(
    *, weights: DenseNet121_Weights | None = None, progress: bool = True, **kwargs: Any
) -> DenseNet:
    """DenseNet-121; keyword arguments go to :class:`DenseNet`.

    >>> densenet121(num_classes=10)(rl.zeros(2, 3, 32, 32)).shape
    rushlight.Size([2, 10])
    """
    return _densenet(32, (6, 12, 24, 16), 64, weights, progress, **kwargs)


@classifier(DenseNet161_Weights)
def densenet161(
    *, weights: DenseNet161_Weights | None = None, progress: bool = True, **kwargs: Any
) -> DenseNet:
    """DenseNet-161; keyword arguments go to :class:`DenseNet`."""
    return _densenet(48, (6, 12, 36, 24), 96, weights, progress, **kwargs)


@classifier(DenseNet169_Weights)
def densenet169(
    *, weights: DenseNet169_Weights | None = None, progress: bool = True, **kwargs: Any
) -> DenseNet:
    """DenseNet-169; keyword arguments go to :class:`DenseNet`."""
    return _densenet(32, (6, 12, 32, 32), 64, weights, progress, **kwargs)


@classifier(DenseNet201_Weights)
def densenet201(
    *, weights: DenseNet201_Weights | None = None, progress: bool = True, **kwargs: Any
) -> DenseNet:
    """DenseNet-201; keyword arguments go to :class:`DenseNet`."""
    return _densenet(32, (6, 12, 48, 32), 64, weights, progress, **kwargs)
