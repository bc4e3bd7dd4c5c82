"""AlexNet (Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014)."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._utils import built, classifier

__all__ = ["AlexNet", "AlexNet_Weights", "alexnet"]

# Channels, kernel size, stride and padding of the convolutions, and which are followed by pooling.
_CONVOLUTIONS = (
    (64, 11, 4, 2, True),
    (192, 5, 1, 2, True),
    (384, 3, 1, 1, False),
    (256, 3, 1, 1, False),
    (256, 3, 1, 1, True),
)


class AlexNet(nn.Module):
    """Five convolutions and three linear layers.

    Input (N, 3, H, W) with sides of at least 63, output (N, `num_classes`). `dropout` is the chance
    before the first two linear layers.
    """

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for width, kernel_size, stride, padding, pooled in _CONVOLUTIONS:
            layers += [nn.Conv2d(channels, width, kernel_size, stride, padding), nn.ReLU(True)]
            if pooled:
                layers.append(nn.MaxPool2d(kernel_size=3, stride=2))
            channels = width
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout),
            nn.Linear(channels * 6 * 6, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores of the classes."""
        return self.classifier(rl.flatten(self.avgpool(self.features(x)), 1))


class AlexNet_Weights(WeightsEnum):
    """Weights of :func:`alexnet`."""

    IMAGENET1K_V1 = published("AlexNet_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


@classifier(AlexNet_Weights)
def alexnet(
    *, weights: AlexNet_Weights | None = None, progress: bool = True, **kwargs: Any
) -> AlexNet:
    """AlexNet; keyword arguments go to :class:`AlexNet`.

    >>> alexnet(num_classes=10)(rl.zeros(1, 3, 64, 64)).shape
    rushlight.Size([1, 10])
    """
    return built(AlexNet, weights, progress, **kwargs)
