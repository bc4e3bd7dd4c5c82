"""Models of images."""

from rushlight_vision.models.lenet import LeNet5, lenet
from rushlight_vision.models.resnet import (
    ResNet,
    resnet18,
    resnet34,
    resnet50,
    resnet101,
    resnet152,
)

__all__ = [
    "LeNet5",
    "ResNet",
    "lenet",
    "resnet101",
    "resnet152",
    "resnet18",
    "resnet34",
    "resnet50",
]
