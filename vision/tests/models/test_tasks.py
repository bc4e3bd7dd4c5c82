"""Builders of networks for other tasks than classification: names, states and weights are
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

FOLDER = Path(__file__).parent
BUILDERS = json.loads((FOLDER / "task_builders.json").read_text())
NAMES = json.loads((FOLDER / "task_names.json").read_text())
PACKAGES = sorted({module.partition(".")[0] for module in NAMES})


def without_values(name):
    """The network on the meta device; detectors look at values while they are built."""
    builder = models.get_model_builder(name)
    options = {"weights": None, **measured.without_backbone_weights(builder)}
    with rl.device("cpu" if name.startswith("ssd") else "meta"):
        return builder(**options)


@pytest.mark.parametrize("package", PACKAGES)
def test_all_models_of_a_package_are_there(package):
    home = getattr(models, package)
    expected = [name for name, row in BUILDERS.items() if row["module"].startswith(f"{package}.")]
    assert models.list_models(module=home) == expected


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
    home = getattr(models, expected["module"].partition(".")[0])
    assert builder is getattr(home, name) is getattr(module, name)
    assert builder.__module__ == module.__name__
    assert list(inspect.signature(builder).parameters) == expected["signature"]
    weights = models.get_model_weights(name)
    assert weights is models.get_model_weights(builder) is getattr(module, weights.__name__)
    assert weights is getattr(home, weights.__name__)
    assert weights.__name__ == expected["weights"]
    assert list(weights.__members__) == expected["entries"]
    assert weights.DEFAULT.name == expected["default"]


@pytest.mark.parametrize("name", BUILDERS)
def test_every_entry_has_its_facts(name):
    for entry in models.get_model_weights(name):
        assert entry.url.startswith("https://download.pytorch.org/models/")
        assert entry.meta["num_params"] > 0 and entry.meta["recipe"].startswith("https://")
        assert entry is models.get_weight(str(entry))
        assert callable(entry.transforms())


@pytest.mark.parametrize("module", NAMES)
def test_names_of_a_file(module):
    home = importlib.import_module(f"rushlight_vision.models.{module}")
    for name, expected in NAMES[module].items():
        found = getattr(home, name)
        if isinstance(expected, list):
            assert measured.parameters(found) == expected, name
            continue
        for method, rows in expected.items():
            if not method.startswith("_"):
                assert measured.parameters(getattr(found, method)) == rows, f"{name}.{method}"
            else:  # inherited constructors have the same parameters
                assert measured.parameters(found.__init__) == rows, f"{name}.{method}"
