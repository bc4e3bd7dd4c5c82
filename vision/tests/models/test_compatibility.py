"""Programs written for torchvision find models, weights and inner paths by its names."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import rushlight.compat
rushlight.compat.install()
import torch
import torchvision
from torchvision.models import ResNet50_Weights, get_model, list_models
from torchvision.models._api import WeightsEnum, register_model
from torchvision.models._meta import _IMAGENET_CATEGORIES
from torchvision.models._utils import IntermediateLayerGetter, _make_divisible
from torchvision.models.feature_extraction import create_feature_extractor
from torchvision.models.mobilenet import MobileNetV2, mobilenet_v3_small
from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet
from torchvision.transforms._presets import ImageClassification

assert torchvision.models.__dict__["squeezenet1_1"] is torchvision.models.squeezenet1_1
assert len(list_models(module=torchvision.models)) == 80
assert isinstance(ResNet50_Weights.DEFAULT.transforms(), ImageClassification)
model = ResNet(BasicBlock, [1, 1, 1, 1], num_classes=3)
body = IntermediateLayerGetter(model, {"layer2": "a", "layer4": "b"})
found = body(torch.zeros(2, 3, 32, 32))
assert {name: tuple(value.shape) for name, value in found.items()} == {
    "a": (2, 128, 4, 4),
    "b": (2, 512, 1, 1),
}
print("fine")
"""


def test_a_program_for_torchvision():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "fine\n", done.stderr
