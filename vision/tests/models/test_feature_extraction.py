"""Results from the inside of models."""

from __future__ import annotations

import copy

import pytest

import rushlight as rl
from rushlight import nn
from rushlight_vision import models
from rushlight_vision.models.feature_extraction import (
    create_feature_extractor,
    get_graph_node_names,
)


class TwoModes(nn.Module):
    """Dropout in training alone."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)
        self.d = nn.Dropout()

    def forward(self, x):
        y = x + self.l(x)
        y = y + y.relu()
        y = y + 1
        if self.training:
            y = self.d(y)
        return {"a": y, "b": y * 2}


def test_names_where_the_modes_differ():
    model = TwoModes()
    with pytest.warns(UserWarning, match="eval mode are a subsequence of those obtained in train"):
        train, evaluation = get_graph_node_names(model)
    assert train == ["x", "l", "add", "relu", "add_1", "add_2", "d", "mul"]
    assert evaluation == ["x", "l", "add", "relu", "add_1", "add_2", "mul"]
    assert model.training and model.d.training


def test_results_from_the_inside():
    model = models.resnet18(num_classes=3).eval()
    extractor = create_feature_extractor(model, {"layer1": "low", "layer4.1.relu_1": "high"})
    images = rl.randn(2, 3, 32, 32)
    out = extractor(images)
    stem = model.maxpool(model.relu(model.bn1(model.conv1(images))))
    low = model.layer1(stem)
    assert list(out) == ["low", "high"] and rl.equal(out["low"], low)
    assert rl.equal(out["high"], model.layer4(model.layer3(model.layer2(low))))
    assert not hasattr(extractor, "fc") and extractor.layer1 is not None
    assert not extractor.training and not model.training
    assert list(create_feature_extractor(model, ["layer2"])(images)) == ["layer2"]


def test_one_graph_for_each_mode():
    model = models.resnet18(num_classes=3)
    extractor = create_feature_extractor(
        model, train_return_nodes=["layer2"], eval_return_nodes=["layer1", "fc"]
    )
    images = rl.randn(2, 3, 32, 32)
    assert extractor.training and list(extractor(images)) == ["layer2"]
    extractor.eval()
    out = extractor(images)
    assert list(out) == ["layer1", "fc"] and rl.equal(out["fc"], model.eval()(images))
    copied = copy.deepcopy(extractor)
    assert rl.equal(copied(images)["fc"], out["fc"]) and not copied.training
    assert list(copied.train()(images)) == ["layer2"] and list(extractor(images)) == [*out]


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("googlenet", "fc"),
        ("swin_t", "head"),
        ("vit_b_32", "heads.head"),
        ("maxvit_t", "classifier.5"),
    ],
)
def test_the_last_node_is_the_result(name, last):
    options = {"init_weights": False} if name == "googlenet" else {}
    model = models.get_model(name, num_classes=3, **options).eval()
    extractor = create_feature_extractor(model, [last], suppress_diff_warning=True)
    images = rl.randn(1, 3, 224, 224)
    assert rl.equal(extractor(images)[last], model(images))


def test_gradients_reach_the_weights():
    model = models.squeezenet1_1(num_classes=3)
    create_feature_extractor(model, ["features.3"])(rl.randn(1, 3, 32, 32))[
        "features.3"
    ].sum().backward()
    assert (
        model.features[0].weight.grad is not None and model.features[12].squeeze.weight.grad is None
    )


def test_unfit_names_are_refused():
    model = models.squeezenet1_1()
    with pytest.raises(ValueError, match="node: 'nope' is not present in model. Hint"):
        create_feature_extractor(model, ["nope"])
    with pytest.raises(ValueError, match="together, should be specified"):
        create_feature_extractor(model)
    with pytest.raises(ValueError, match="then both should be specified"):
        create_feature_extractor(model, train_return_nodes=["features.1"])
