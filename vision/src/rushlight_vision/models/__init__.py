"""Models of images: torchvision's networks that classify, by its names, and LeNet.

`get_model` builds one by its name, `list_models` names them; published weights are in enums such as
`ResNet50_Weights`.
"""

from rushlight_vision.models._api import (
    Weights,
    WeightsEnum,
    get_model,
    get_model_builder,
    get_model_weights,
    get_weight,
    list_models,
)
from rushlight_vision.models.alexnet import (
    AlexNet,
    AlexNet_Weights,
    alexnet,
)
from rushlight_vision.models.lenet import (
    LeNet5,
    lenet,
)
from rushlight_vision.models.resnet import (
    ResNet,
    ResNet18_Weights,
    ResNet34_Weights,
    ResNet50_Weights,
    ResNet101_Weights,
    ResNet152_Weights,
    ResNeXt50_32X4D_Weights,
    ResNeXt101_32X8D_Weights,
    ResNeXt101_64X4D_Weights,
    Wide_ResNet50_2_Weights,
    Wide_ResNet101_2_Weights,
    resnet18,
    resnet34,
    resnet50,
    resnet101,
    resnet152,
    resnext50_32x4d,
    resnext101_32x8d,
    resnext101_64x4d,
    wide_resnet50_2,
    wide_resnet101_2,
)

__all__ = [
    "AlexNet",
    "AlexNet_Weights",
    "LeNet5",
    "ResNeXt101_32X8D_Weights",
    "ResNeXt101_64X4D_Weights",
    "ResNeXt50_32X4D_Weights",
    "ResNet",
    "ResNet101_Weights",
    "ResNet152_Weights",
    "ResNet18_Weights",
    "ResNet34_Weights",
    "ResNet50_Weights",
    "Weights",
    "WeightsEnum",
    "Wide_ResNet101_2_Weights",
    "Wide_ResNet50_2_Weights",
    "alexnet",
    "get_model",
    "get_model_builder",
    "get_model_weights",
    "get_weight",
    "lenet",
    "list_models",
    "resnet101",
    "resnet152",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnext101_32x8d",
    "resnext101_64x4d",
    "resnext50_32x4d",
    "wide_resnet101_2",
    "wide_resnet50_2",
]
