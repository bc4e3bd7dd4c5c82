"""Networks that segment give what torchvision's give with the same weights."""

from __future__ import annotations

from pathlib import Path

import measured
import preset_cases
import pytest
import trained

import rushlight as rl
from rushlight_vision import models
from rushlight_vision.transforms import _presets

RECORDED = measured.load(str(Path(__file__).with_name("segmentation.npz")))
NETWORKS = [name for name in RECORDED if ":" not in name]


@pytest.mark.parametrize("name", NETWORKS)
def test_network(name):
    found = trained.measure(rl, models, name)
    assert measured.differences(found, RECORDED[name]) == []


def test_presets():
    found = preset_cases.measure(rl, models, "presets")
    assert measured.differences(found, RECORDED["segmentation:presets"]) == []


def test_every_class_is_recorded():
    homes = {models.get_model_builder(name).__module__ for name in NETWORKS}
    every = models.list_models(module=models.segmentation)
    assert homes == {models.get_model_builder(name).__module__ for name in every}


def test_presets_show_themselves():
    for name in models.list_models(module=models.segmentation):
        preset = models.get_model_weights(name).DEFAULT.transforms()
        assert isinstance(preset, _presets.SemanticSegmentation) and preset.resize_size == [520]
        assert "resize_size=[520]" in repr(preset) and "520" in preset.describe()
    plain = models.detection.FCOS_ResNet50_FPN_Weights.DEFAULT.transforms()
    assert repr(plain) == "ObjectDetection()" and "0 ... 1" in plain.describe()


def test_classes():
    weights = models.segmentation.LRASPP_MobileNet_V3_Large_Weights.DEFAULT
    assert weights.meta["categories"][:2] == ["__background__", "aeroplane"]
    assert len(weights.meta["categories"]) == 21
    people = models.detection.KeypointRCNN_ResNet50_FPN_Weights.DEFAULT.meta
    assert people["categories"] == ["no person", "person"] and len(people["keypoint_names"]) == 17


def test_weights_decide_whether_there_is_a_second_head(monkeypatch):
    monkeypatch.setattr(models.WeightsEnum, "get_state_dict", lambda self, **options: {})
    monkeypatch.setattr(rl.nn.Module, "load_state_dict", lambda self, state: None)
    build = models.segmentation.deeplabv3_mobilenet_v3_large
    assert build(weights="DEFAULT").aux_classifier is not None
    assert build(weights_backbone=None).aux_classifier is None
    with pytest.raises(ValueError, match="'aux_loss' expected value True but got False"):
        build(weights="DEFAULT", aux_loss=False)
    with pytest.raises(NotImplementedError, match="use deeplabv3_mobilenet_v3_large"):
        models.segmentation.lraspp_mobilenet_v3_large(weights_backbone=None, aux_loss=True)
