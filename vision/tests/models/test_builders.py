"""All builders: their names, the states of their networks, and the nodes of their graphs are
torchvision's, which `ci/vision_model_facts.py` wrote down."""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path

import measured
import pytest

import rushlight as rl
from rushlight_vision import models
from rushlight_vision.models.feature_extraction import get_graph_node_names

BUILDERS = json.loads(Path(__file__).with_name("builders.json").read_text())
# MaxViT's graph has other helper operations; the ones here are small enough to be traced each time.
TRACED = (
    "alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "efficientnet_v2_s", "googlenet",
    "inception_v3", "mnasnet0_5", "mobilenet_v2", "mobilenet_v3_small", "regnet_x_400mf",
    "regnet_y_400mf", "resnet18", "shufflenet_v2_x0_5", "squeezenet1_0", "swin_t", "swin_v2_t",
    "vgg11_bn", "vit_b_32",
)  # fmt: skip


NAMES = json.loads(Path(__file__).with_name("names.json").read_text())


def without_values(name):
    """The network on the meta device."""
    options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    with rl.device("meta"):
        return models.get_model(name, **options)


def test_all_models_are_there():
    assert models.list_models(module=models) == list(BUILDERS)


@pytest.mark.parametrize("name", BUILDERS)
def test_state(name):
    expected = BUILDERS[name]
    model = without_values(name)
    state = model.state_dict()
    assert type(model).__name__ == expected["class"]
    assert len(state) == expected["entries_of_state"]
    assert measured.fingerprint(state) == expected["state"]
    assert sum(each.numel() for each in model.parameters()) == expected["parameters"]


@pytest.mark.parametrize("name", BUILDERS)
def test_builder_and_weights(name):
    expected = BUILDERS[name]
    builder = models.get_model_builder(name)
    module = importlib.import_module(f"rushlight_vision.models.{expected['module']}")
    assert builder is getattr(models, name) is getattr(module, name)
    assert builder.__module__ == module.__name__
    assert list(inspect.signature(builder).parameters) == expected["signature"]
    weights = models.get_model_weights(name)
    assert weights is models.get_model_weights(builder) is getattr(module, weights.__name__)
    assert weights is getattr(models, weights.__name__)
    assert weights.__name__ == expected["weights"]
    assert list(weights.__members__) == expected["entries"]
    assert weights.DEFAULT.name == expected["default"]
    sizes = {entry.meta["num_params"] for entry in weights}
    # GoogLeNet's figure leaves out the classifiers that only training has.
    assert expected["parameters"] in sizes or name == "googlenet"


@pytest.mark.parametrize("module", NAMES)
def test_names_of_a_file(module):
    home = importlib.import_module(f"rushlight_vision.models.{module}")
    for name, expected in NAMES[module].items():
        found = getattr(home, name)
        if isinstance(expected, list):
            assert measured.parameters(found) == expected, name
            continue
        for method, rows in expected.items():
            assert measured.parameters(getattr(found, method)) == rows, f"{name}.{method}"


@pytest.mark.parametrize("name", TRACED)
def test_nodes_of_graphs(name):
    names = get_graph_node_names(without_values(name), suppress_diff_warning=True)
    assert [*map(len, names), measured.digest([*names[0], "", *names[1]])] == BUILDERS[name][
        "nodes"
    ]
