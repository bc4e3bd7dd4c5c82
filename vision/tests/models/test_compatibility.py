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
from torchvision.models.detection import FasterRCNN, MaskRCNN
from torchvision.models.detection._utils import BoxCoder, Matcher
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.backbone_utils import resnet_fpn_backbone
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor
from torchvision.models.detection.mask_rcnn import MaskRCNNPredictor
from torchvision.models.feature_extraction import create_feature_extractor
from torchvision.models.mobilenet import MobileNetV2, mobilenet_v3_small
from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet
from torchvision.models.segmentation.deeplabv3 import DeepLabHead
from torchvision.models.video.resnet import BasicStem, VideoResNet
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
detector = torchvision.models.detection.maskrcnn_resnet50_fpn(
    weights=None, weights_backbone=None, min_size=64
)
width = detector.roi_heads.box_predictor.cls_score.in_features
detector.roi_heads.box_predictor = FastRCNNPredictor(width, 2)
width = detector.roi_heads.mask_predictor.conv5_mask.in_channels
detector.roi_heads.mask_predictor = MaskRCNNPredictor(width, 256, 2)
masks = torch.zeros(1, 64, 64, dtype=torch.uint8)
masks[0, 10:30, 10:30] = 1
target = {"boxes": torch.tensor([[10.0, 10, 30, 30]]), "labels": torch.tensor([1]), "masks": masks}
losses = detector([torch.rand(3, 64, 64)], [target])
sum(losses.values()).backward()
assert set(detector.eval()([torch.rand(3, 64, 64)])[0]) == {"boxes", "labels", "scores", "masks"}
print("fine")
"""


def test_a_program_for_torchvision():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "fine\n", done.stderr
