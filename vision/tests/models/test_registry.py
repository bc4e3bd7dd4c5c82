"""Models and weights by name, and the ways to ask for weights, today's and the former."""

from __future__ import annotations

import functools
import warnings

import pytest

from rushlight import nn
from rushlight_vision import models
from rushlight_vision.models import _api, _utils
from rushlight_vision.models.resnet import ResNet, ResNet18_Weights, resnet18
from rushlight_vision.transforms._presets import ImageClassification
from rushlight_vision.transforms.interpolation import InterpolationMode

FORMER = (
    "The parameter 'pretrained' is deprecated since 0.13 and may be removed in the future, please "
    "use 'weights' instead."
)
NOT_AN_ENTRY = (
    "Arguments other than a weight enum or `None` for 'weights' are deprecated since 0.13 and may "
    "be removed in the future. The current behavior is equivalent to passing `weights={}`."
)
NEWEST = " You can also use `weights=ResNet18_Weights.DEFAULT` to get the most up-to-date weights."
BY_POSITION = (
    "Using {} as positional parameter(s) is deprecated since 0.13 and may be removed in the "
    "future. Please use keyword parameter(s) instead."
)
FIRST = NOT_AN_ENTRY.format("ResNet18_Weights.IMAGENET1K_V1") + NEWEST
NONE = NOT_AN_ENTRY.format("None")


@pytest.fixture
def fetched(monkeypatch):
    """The entries whose state was asked for, and how; every state is empty."""
    asked = []

    def state(self, *args, **kwargs):
        asked.append((self, kwargs))
        return {}

    monkeypatch.setattr(_api.WeightsEnum, "get_state_dict", state)
    monkeypatch.setattr(nn.Module, "load_state_dict", lambda self, state: None)
    return asked


@pytest.mark.parametrize(
    ("args", "kwargs", "expected", "messages"),
    [
        ((), {}, None, []),
        ((), {"weights": None}, None, []),
        ((), {"weights": ResNet18_Weights.IMAGENET1K_V1}, "IMAGENET1K_V1", []),
        ((), {"weights": "DEFAULT"}, "IMAGENET1K_V1", []),
        ((), {"weights": "ResNet18_Weights.DEFAULT"}, "IMAGENET1K_V1", []),
        ((), {"pretrained": True}, "IMAGENET1K_V1", [FORMER, FIRST]),
        ((), {"pretrained": False}, None, [FORMER, NONE]),
        ((), {"weights": True}, "IMAGENET1K_V1", [FIRST]),
        ((None,), {}, None, [BY_POSITION.format("'weights'")]),
        ((True,), {}, "IMAGENET1K_V1", [BY_POSITION.format("'weights'"), FIRST]),
        ((False, True), {}, None, [BY_POSITION.format("'weights' and 'progress'"), NONE]),
    ],
)
def test_ways_to_ask_for_weights(fetched, args, kwargs, expected, messages):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert isinstance(resnet18(*args, **kwargs), ResNet)
    assert [str(each.message) for each in caught] == messages
    assert {(each.category, each.filename) for each in caught} <= {(UserWarning, __file__)}
    wanted = [] if expected is None else [ResNet18_Weights[expected]]
    assert [entry for entry, _ in fetched] == wanted
    assert all(options == {"progress": True, "check_hash": True} for _, options in fetched)


@pytest.mark.parametrize(
    ("kwargs", "error", "text"),
    [
        ({"weights": "X"}, KeyError, "'X'"),
        ({"weights": models.ResNet34_Weights.DEFAULT}, TypeError, "expected ResNet18_Weights but"),
        (
            {"weights": "DEFAULT", "num_classes": 10},
            ValueError,
            "'num_classes' expected value 1000",
        ),
        ({"nonsense": 1}, TypeError, "nonsense"),
    ],
)
def test_unfit_weights_are_refused(fetched, kwargs, error, text):
    with pytest.raises(error, match=text):
        resnet18(**kwargs)


def test_models_without_weights_of_the_first_recipe():
    with pytest.raises(ValueError, match="No weights available for model vit_h_14"):
        models.vit_h_14(pretrained=True)


def test_weights_decide_arguments(fetched):
    small = {"image_size": 32}
    with pytest.raises(ValueError, match="'image_size' expected value 224 but got 32 instead"):
        models.vit_b_16(weights="DEFAULT", **small)
    with pytest.raises(ValueError, match=r"'input_size' expected value \(224, 224\)"):
        models.maxvit_t(weights="DEFAULT", input_size=(32, 32))
    with pytest.raises(ValueError, match="'aux_logits' expected value True but got False"):
        models.inception_v3(weights="DEFAULT", aux_logits=False)
    model = models.googlenet(weights="DEFAULT")
    assert model.transform_input and model.aux1 is None and not model.aux_logits
    with pytest.warns(UserWarning, match="auxiliary heads in the pretrained googlenet"):
        assert models.googlenet(weights="DEFAULT", aux_logits=True).aux1 is not None
    assert models.inception_v3(weights="DEFAULT").transform_input
    features = models.VGG16_Weights.IMAGENET1K_FEATURES  # without names of classes
    assert features.meta["categories"] is None


def test_names_of_models():
    assert models.get_model_builder("ResNet18") is resnet18
    assert isinstance(models.get_model("resnet18", num_classes=3), ResNet)
    assert models.list_models(include="resnet*") == [
        "resnet101", "resnet152", "resnet18", "resnet34", "resnet50",
    ]  # fmt: skip
    listed = models.list_models(include=["resnet*", "vit*"], exclude="*1*")
    assert listed == ["resnet34", "resnet50", "vit_b_32", "vit_l_32"]
    assert models.list_models(include=[]) == models.list_models(exclude=[]) == models.list_models()
    assert models.list_models(module=_api) == models.list_models(module=models.resnet) == []
    for function in (models.get_model, models.get_model_weights, models.get_model_builder):
        with pytest.raises(ValueError, match="Unknown model x"):
            function("x")
    with pytest.raises(ValueError, match="missing the 'weights' argument"):
        models.get_model_weights(len)


def test_registering(monkeypatch):
    monkeypatch.setattr(_api, "BUILTIN_MODELS", dict(_api.BUILTIN_MODELS))

    @_api.register_model()
    def tiny(weights=None):
        return nn.Identity()

    assert models.get_model("tiny") is not None and "tiny" in models.list_models()
    assert _api.register_model("other")(tiny) is tiny and models.get_model_builder("other") is tiny
    with pytest.raises(ValueError, match="already registered under the name 'resnet18'"):
        _api.register_model("resnet18")(tiny)
    with pytest.raises(ValueError, match="couldn't be retrieved"):
        models.get_model_weights("tiny")


def test_names_of_weights():
    assert models.get_weight("ResNet18_Weights.DEFAULT") is ResNet18_Weights.IMAGENET1K_V1
    for name in ("a", "a.b.c"):
        with pytest.raises(ValueError, match=f"Invalid weight name provided: '{name}'"):
            models.get_weight(name)
    with pytest.raises(ValueError, match="The weight enum 'A' for the specific method"):
        models.get_weight("A.b")
    with pytest.raises(KeyError, match="b"):
        models.get_weight("ResNet18_Weights.b")


def test_an_entry():
    entry = models.EfficientNet_V2_L_Weights.DEFAULT
    assert repr(entry) == "EfficientNet_V2_L_Weights.IMAGENET1K_V1"
    assert entry.url == "https://download.pytorch.org/models/efficientnet_v2_l-59c71312.pth"
    assert len(entry.meta["categories"]) == 1000 and entry.meta["categories"][0] == "tench"
    assert entry.meta["num_params"] == 118515272 and entry.meta["min_size"] == (33, 33)
    assert set(entry.meta["_metrics"]["ImageNet-1K"]) == {"acc@1", "acc@5"}
    assert {"recipe", "_ops", "_file_size"} <= set(entry.meta)
    preset = entry.transforms()
    assert isinstance(preset, ImageClassification)
    assert (preset.crop_size, preset.resize_size) == ([480], [480])
    assert preset.interpolation is InterpolationMode.BICUBIC and preset.mean == [0.5, 0.5, 0.5]


def test_every_entry_has_its_facts():
    for name in models.list_models(module=models):
        for entry in models.get_model_weights(name):
            assert entry.url.startswith("https://download.pytorch.org/models/")
            stem, _, digest = entry.url.rpartition(".")[0].rpartition("-")
            assert stem and len(digest) in (8, 10) and int(digest, 16) >= 0
            assert isinstance(entry.transforms(), ImageClassification)
            assert entry.meta["num_params"] > 0 and entry.meta["recipe"].startswith("https://")


def test_weights_are_equal_by_value():
    first = models.Weights("a", functools.partial(ImageClassification, crop_size=3), {"b": 1})
    same = models.Weights("a", functools.partial(ImageClassification, crop_size=3), {"b": 1})
    other = models.Weights("a", functools.partial(ImageClassification, crop_size=4), {"b": 1})
    assert first == same and first != other and first != 3
    assert first != models.Weights("c", first.transforms, {"b": 1})


def test_helpers():
    assert [_utils._make_divisible(v, 8) for v in (1, 8, 11.9, 12, 13, 36, 37)] == [
        8, 8, 16, 16, 16, 40, 40,
    ]  # fmt: skip
    assert [_utils._make_divisible(v, 8, 16) for v in (1, 30)] == [16, 32]
    kwargs = {"a": 1}
    _utils._ovewrite_named_param(kwargs, "b", 2)
    assert kwargs == {"a": 1, "b": 2} and _utils._ovewrite_value_param("a", None, 2) == 2
    with pytest.raises(ValueError, match="The parameter 'a' expected value 2 but got 1 instead"):
        _utils._ovewrite_named_param(kwargs, "a", 2)
    with pytest.raises(ValueError, match="return_layers are not present in model"):
        _utils.IntermediateLayerGetter(nn.Sequential(nn.ReLU()), {"nope": "a"})
