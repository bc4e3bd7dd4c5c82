"""SqueezeNet (Iandola et al., SqueezeNet: AlexNet-level accuracy with 50x fewer parameters,
2016)."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._utils import built, classifier

__all__ = [
    "SqueezeNet",
    "SqueezeNet1_0_Weights",
    "SqueezeNet1_1_Weights",
    "squeezenet1_0",
    "squeezenet1_1",
]

# Channels and kernel size of the first convolution, and how many fire modules stand between the
# poolings.
_VERSIONS = {"1_0": (96, 7, (3, 4, 1)), "1_1": (64, 3, (2, 2, 4))}
_SQUEEZED = (16, 16, 32, 32, 48, 48, 64, 64)


class Fire(nn.Module):
    """A convolution of 1x1 to few channels, and two of 1x1 and 3x3 side by side to many."""

    def __init__(
        self, inplanes: int, squeeze_planes: int, expand1x1_planes: int, expand3x3_planes: int
    ) -> None:
        super().__init__()
        self.inplanes = inplanes
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, kernel_size=1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, kernel_size=1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, kernel_size=3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The channels of both convolutions."""
        x = self.squeeze_activation(self.squeeze(x))
        narrow = self.expand1x1_activation(self.expand1x1(x))
        wide = self.expand3x3_activation(self.expand3x3(x))
        return rl.cat([narrow, wide], 1)


class SqueezeNet(nn.Module):
    """Eight fire modules between two convolutions.

    `version` is "1_0" or "1_1", which needs less work. Input (N, 3, H, W) with sides of at least
    21 or 17, output (N, `num_classes`).
    """

    def __init__(self, version: str = "1_0", num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.num_classes = num_classes
        if version not in _VERSIONS:
            raise ValueError(f"Unsupported SqueezeNet version {version}: 1_0 or 1_1 expected")
        channels, kernel_size, counts = _VERSIONS[version]
        layers: list[nn.Module] = [
            nn.Conv2d(3, channels, kernel_size=kernel_size, stride=2), nn.ReLU(inplace=True)
        ]  # fmt: skip
        widths = iter(_SQUEEZED)
        for count in counts:
            layers.append(nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True))
            for squeezed in (next(widths) for _ in range(count)):
                layers.append(Fire(channels, squeezed, 4 * squeezed, 4 * squeezed))
                channels = 8 * squeezed
        self.features = nn.Sequential(*layers)
        last = nn.Conv2d(512, num_classes, kernel_size=1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), last, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1))
        )
        self._initialize(last)

    def _initialize(self, last: nn.Conv2d) -> None:
        for module in self.modules():
            if not isinstance(module, nn.Conv2d):
                continue
            if module is last:
                nn.init.normal_(module.weight, mean=0.0, std=0.01)
            else:
                nn.init.kaiming_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores of the classes."""
        return rl.flatten(self.classifier(self.features(x)), 1)


class SqueezeNet1_0_Weights(WeightsEnum):
    """Weights of :func:`squeezenet1_0`."""

    IMAGENET1K_V1 = published("SqueezeNet1_0_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class SqueezeNet1_1_Weights(WeightsEnum):
    """Weights of :func:`squeezenet1_1`."""

    IMAGENET1K_V1 = published("SqueezeNet1_1_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


@classifier(SqueezeNet1_0_Weights)
def squeezenet1_0(
    *, weights: SqueezeNet1_0_Weights | None = None, progress: bool = True, **kwargs: Any
) -> SqueezeNet:
    """SqueezeNet of the paper; keyword arguments go to :class:`SqueezeNet`."""
    return built(SqueezeNet, weights, progress, "1_0", **kwargs)


@classifier(SqueezeNet1_1_Weights)
def squeezenet1_1(
    *, weights: SqueezeNet1_1_Weights | None = None, progress: bool = True, **kwargs: Any
) -> SqueezeNet:
    """SqueezeNet 1.1, with 2.4 times less work; keyword arguments go to :class:`SqueezeNet`.

    >>> squeezenet1_1(num_classes=10)(rl.zeros(1, 3, 32, 32)).shape
    rushlight.Size([1, 10])
    """
    return built(SqueezeNet, weights, progress, "1_1", **kwargs)
