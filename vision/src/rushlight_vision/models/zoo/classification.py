"""Small networks that classify: handwritten digits, and coloured shapes."""

from __future__ import annotations

import functools
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._utils import built
from rushlight_vision.models.zoo._layers import SmallPicture, block
from rushlight_vision.models.zoo._packaged import PackagedWeights, packaged, zoo_model


class SmallCNN(nn.Module):
    """Five convolutions, the mean of the last maps, and a linear layer.

    Input (N, `in_channels`, H, W) with values from 0 to 1 and sides of at least 8; output
    (N, `num_classes`).
    """

    def __init__(self, num_classes: int = 10, in_channels: int = 1, width: int = 16) -> None:
        super().__init__()
        self.features = nn.Sequential(
            block(in_channels, width),
            block(width, 2 * width, 2),
            block(2 * width, 2 * width),
            block(2 * width, 4 * width, 2),
            block(4 * width, 4 * width),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(4 * width, num_classes))

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores of the classes."""
        return self.classifier(self.features(x - 0.5))


class Digits_CNN_Weights(PackagedWeights):
    """Weights of :func:`digits_cnn`."""

    DIGITS_V1 = packaged("digits_cnn", functools.partial(SmallPicture, channels=1, size=28))
    DEFAULT = DIGITS_V1


@zoo_model(Digits_CNN_Weights)
def digits_cnn(
    *, weights: Digits_CNN_Weights | None = None, progress: bool = True, **kwargs: Any
) -> SmallCNN:
    """Handwritten digits, white on black, 28 x 28 pixels; arguments go to :class:`SmallCNN`.

    >>> from rushlight_vision.datasets import DigitsSample
    >>> weights = Digits_CNN_Weights.DEFAULT
    >>> model, prepare = digits_cnn(weights=weights).eval(), weights.transforms()
    >>> image, label = DigitsSample(split="test")[0]
    >>> int(model(prepare(image).unsqueeze(0)).argmax()) == label
    True
    """
    return built(SmallCNN, weights, progress, **kwargs)


class Shapes_Classifier_Weights(PackagedWeights):
    """Weights of :func:`shapes_classifier`."""

    SHAPES_V1 = packaged("shapes_classifier", functools.partial(SmallPicture, channels=3, size=32))
    DEFAULT = SHAPES_V1


@zoo_model(Shapes_Classifier_Weights)
def shapes_classifier(
    *, weights: Shapes_Classifier_Weights | None = None, progress: bool = True, **kwargs: Any
) -> SmallCNN:
    """One coloured shape in a picture of 32 x 32 pixels; arguments go to :class:`SmallCNN`.

    >>> shapes_classifier(num_classes=3)(rl.zeros(2, 3, 32, 32)).shape
    rushlight.Size([2, 3])
    """
    kwargs.setdefault("in_channels", 3)
    if weights is None:
        kwargs.setdefault("num_classes", 5)
    return built(SmallCNN, weights, progress, **kwargs)
