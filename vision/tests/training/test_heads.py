"""Every network gets a head for other classes."""

from __future__ import annotations

import warnings

import pytest

import rushlight as rl
from rushlight import nn
from rushlight_vision import models

pytest.importorskip("lightning_lite")

from rushlight_vision import training
from rushlight_vision.training import heads, tasks

COUNT = 7
DETECTORS = [
    "fasterrcnn_mobilenet_v3_large_320_fpn", "maskrcnn_resnet50_fpn", "retinanet_resnet50_fpn",
    "fcos_resnet50_fpn", "ssdlite320_mobilenet_v3_large",
]  # fmt: skip


def built(name: str, **options) -> nn.Module:
    """A network without numbers in it."""
    with rl.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # GoogLeNet and Inception speak of their initialisation
        return models.get_model(name, **options)


@pytest.mark.parametrize("name", models.list_models(module=models))
def test_classifiers(name):
    model = built(name)
    sizes = {key: each.shape for key, each in model.state_dict().items()}
    found = heads.replace_head(model, "classification", COUNT)
    assert all(model.get_submodule(each) is not None for each in found)
    changed = {key for key, each in model.state_dict().items() if each.shape != sizes[key]}
    assert {key.rpartition(".")[0] for key in changed} == set(found)
    least = models.get_model_weights(name).DEFAULT.meta["min_size"]
    side = 224 if name.startswith(("vit", "maxvit")) else max(*least, 64)
    with rl.device("meta"):
        assert model.eval()(rl.zeros(2, 3, side, side)).shape == (2, COUNT)


@pytest.mark.parametrize("name", models.list_models(module=models.segmentation))
def test_segmenters(name):
    model = built(name, weights_backbone=None, num_classes=21)
    heads.replace_head(model, "segmentation", COUNT)
    with rl.device("meta"):
        found = model.train()(rl.zeros(2, 3, 64, 64))
    assert {each.shape for each in found.values()} == {(2, COUNT, 64, 64)}


@pytest.mark.parametrize("name", DETECTORS)
def test_detectors(name):
    rl.manual_seed(0)
    sizes = {} if "320" in name else {"min_size": 64, "max_size": 64}
    model = models.get_model(name, weights_backbone=None, **sizes)
    found = heads.replace_head(model, "detection", COUNT)
    target = {
        "boxes": rl.tensor([[8.0, 8.0, 50.0, 40.0]]), "labels": rl.tensor([COUNT - 1]),
        "masks": rl.ones(1, 64, 64, dtype=rl.uint8),
    }  # fmt: skip
    batch = [rl.rand(3, 64, 64), rl.rand(3, 64, 64)], [target, target]
    loss = tasks.Detection(training.Settings(), []).loss(model, batch)
    loss.backward()
    for each in found:
        for parameter in model.get_submodule(each).parameters():
            assert bool(parameter.grad.isfinite().all())
    with rl.no_grad():
        labels = model.eval()(batch[0])[0]["labels"]
    assert not len(labels) or int(labels.max()) < COUNT


def test_auxiliary_classifiers_are_trained():
    model = models.googlenet(init_weights=False, num_classes=5)
    found = heads.replace_head(model, "classification", 3)
    assert found == ("aux1.fc2", "aux2.fc2", "fc")
    task = tasks.Classification(training.Settings(), ["a", "b", "c"])
    task.loss(model, (rl.rand(2, 3, 64, 64), rl.tensor([0, 2]))).backward()
    assert all(float(model.get_submodule(name).weight.grad.abs().sum()) > 0 for name in found)


def test_refusals():
    with pytest.raises(NotImplementedError, match="Linear is no Faster or Mask R-CNN"):
        heads.replace_head(nn.Linear(2, 2), "detection", 3)
    with pytest.raises(ValueError, match="ReLU has no linear layer or convolution"):
        heads.replace_head(nn.ReLU(), "classification", 3)
    with pytest.raises(ValueError, match="ReLU has no `classifier` with a convolution"):
        heads.replace_head(nn.ReLU(), "segmentation", 3)
