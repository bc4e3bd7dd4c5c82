"""VGG (Simonyan and Zisserman, Very deep convolutional networks for large-scale image recognition,
2014)."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._initialize import draw
from rushlight_vision.models._utils import built, classifier

__all__ = [
    "VGG",
    "VGG11_BN_Weights",
    "VGG11_Weights",
    "VGG13_BN_Weights",
    "VGG13_Weights",
    "VGG16_BN_Weights",
    "VGG16_Weights",
    "VGG19_BN_Weights",
    "VGG19_Weights",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]

# Widths of the convolutions of 3x3 by their number with the linear layers; "M" halves the size.
cfgs: dict[str, list[str | int]] = {
    "A": [64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"],
    "B": [64, 64, "M", 128, 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"],
    "D": [
        *(64, 64, "M", 128, 128, "M", 256, 256, 256, "M"),
        *(512, 512, 512, "M", 512, 512, 512, "M"),
    ],
    "E": [
        *(64, 64, "M", 128, 128, "M", 256, 256, 256, 256, "M"),
        *(512, 512, 512, 512, "M", 512, 512, 512, 512, "M"),
    ],
}


class VGG(nn.Module):
    """`features`, whose result has 512 channels, and three linear layers.

    Input (N, 3, H, W) with sides of at least 32, output (N, `num_classes`). `init_weights` draws
    the weights as in the networks of He et al.; otherwise they are those of the layers.
    """

    def __init__(
        self,
        features: nn.Module,
        num_classes: int = 1000,
        init_weights: bool = True,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            draw(self)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores of the classes."""
        return self.classifier(rl.flatten(self.avgpool(self.features(x)), 1))


def make_layers(cfg: list[str | int], batch_norm: bool = False) -> nn.Sequential:
    """Convolutions of 3x3 of the widths in `cfg`, normalised if so wanted; "M" is a pooling."""
    layers: list[nn.Module] = []
    channels = 3
    for entry in cfg:
        if isinstance(entry, str):
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
            continue
        layers.append(nn.Conv2d(channels, entry, kernel_size=3, padding=1))
        if batch_norm:
            layers.append(nn.BatchNorm2d(entry))
        layers.append(nn.ReLU(inplace=True))
        channels = entry
    return nn.Sequential(*layers)


def _vgg(
    cfg: str, batch_norm: bool, weights: WeightsEnum | None, progress: bool, **kwargs: Any
) -> VGG:
    if weights is not None:
        kwargs["init_weights"] = False
    features = make_layers(cfgs[cfg], batch_norm=batch_norm)
    return built(VGG, weights, progress, features, **kwargs)


class VGG11_Weights(WeightsEnum):
    """Weights of :func:`vgg11`."""

    IMAGENET1K_V1 = published("VGG11_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class VGG11_BN_Weights(WeightsEnum):
    """Weights of :func:`vgg11_bn`."""

    IMAGENET1K_V1 = published("VGG11_BN_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class VGG13_Weights(WeightsEnum):
    """Weights of :func:`vgg13`."""

    IMAGENET1K_V1 = published("VGG13_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class VGG13_BN_Weights(WeightsEnum):
    """Weights of :func:`vgg13_bn`."""

    IMAGENET1K_V1 = published("VGG13_BN_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class VGG16_Weights(WeightsEnum):
    """Weights of :func:`vgg16`."""

    IMAGENET1K_V1 = published("VGG16_Weights.IMAGENET1K_V1")
    IMAGENET1K_FEATURES = published("VGG16_Weights.IMAGENET1K_FEATURES")
    DEFAULT = IMAGENET1K_V1


class VGG16_BN_Weights(WeightsEnum):
    """Weights of :func:`vgg16_bn`."""

    IMAGENET1K_V1 = published("VGG16_BN_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class VGG19_Weights(WeightsEnum):
    """Weights of :func:`vgg19`."""

    IMAGENET1K_V1 = published("VGG19_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class VGG19_BN_Weights(WeightsEnum):
    """Weights of :func:`vgg19_bn`."""

    IMAGENET1K_V1 = published("VGG19_BN_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


@classifier(VGG11_Weights)
def vgg11(*, weights: VGG11_Weights | None = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-11; keyword arguments go to :class:`VGG`."""
    return _vgg("A", False, weights, progress, **kwargs)


@classifier(VGG11_BN_Weights)
def vgg11_bn(
    *, weights: VGG11_BN_Weights | None = None, progress: bool = True, **kwargs: Any
) -> VGG:
    """VGG-11 with batch normalisation; keyword arguments go to :class:`VGG`."""
    return _vgg("A", True, weights, progress, **kwargs)


@classifier(VGG13_Weights)
def vgg13(*, weights: VGG13_Weights | None = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-13; keyword arguments go to :class:`VGG`."""
    return _vgg("B", False, weights, progress, **kwargs)


@classifier(VGG13_BN_Weights)
def vgg13_bn(
    *, weights: VGG13_BN_Weights | None = None, progress: bool = True, **kwargs: Any
) -> VGG:
    """VGG-13 with batch normalisation; keyword arguments go to :class:`VGG`."""
    return _vgg("B", True, weights, progress, **kwargs)


@classifier(VGG16_Weights)
def vgg16(*, weights: VGG16_Weights | None = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-16; keyword arguments go to :class:`VGG`."""
    return _vgg("D", False, weights, progress, **kwargs)


@classifier(VGG16_BN_Weights)
def vgg16_bn(
    *, weights: VGG16_BN_Weights | None = None, progress: bool = True, **kwargs: Any
) -> VGG:
    """VGG-16 with batch normalisation; keyword arguments go to :class:`VGG`."""
    return _vgg("D", True, weights, progress, **kwargs)


@classifier(VGG19_Weights)
def vgg19(*, weights: VGG19_Weights | None = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-19; keyword arguments go to :class:`VGG`."""
    return _vgg("E", False, weights, progress, **kwargs)


@classifier(VGG19_BN_Weights)
def vgg19_bn(
    *, weights: VGG19_BN_Weights | None = None, progress: bool = True, **kwargs: Any
) -> VGG:
    """VGG-19 with batch normalisation; keyword arguments go to :class:`VGG`."""
    return _vgg("E", True, weights, progress, **kwargs)
