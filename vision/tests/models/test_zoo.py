"""Networks of the zoo: their files, what is known of them, and their figures, reached again."""

from __future__ import annotations

import importlib
import importlib.util
import socket
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import rushlight as rl
from rushlight_vision import models
from rushlight_vision.models import zoo

NAMES = models.list_models(module=zoo)
FOLDER = Path(__file__).parents[2] / "zoo"
MOST_BYTES = 2_000_000


@pytest.fixture(scope="module")
def figures():
    """The module that measures the networks, from the folder of their recipes."""
    path = FOLDER / "figures.py"
    if not path.exists():
        pytest.skip("the recipes are not part of this distribution")
    spec = importlib.util.spec_from_file_location("zoo_figures", path)
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def recipes(monkeypatch):
    """The module that trains the networks."""
    if not FOLDER.exists():
        pytest.skip("the recipes are not part of this distribution")
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("recipes")


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """Nothing may be fetched."""

    def refuse(*args, **kwargs):
        raise AssertionError("a network was asked for")

    monkeypatch.setattr(socket, "socket", refuse)


def test_the_list():
    assert NAMES == [
        "denoiser", "digits_autoencoder", "digits_cnn", "shapes_classifier", "shapes_detector",
        "shapes_segmenter",
    ]  # fmt: skip
    assert not set(NAMES) & set(models.list_models(module=models))  # that lists torchvision's
    sizes = [models.get_model_weights(name).DEFAULT.path.stat().st_size for name in NAMES]
    assert sum(sizes) <= MOST_BYTES


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_reached_again(name, figures):
    weights = models.get_model_weights(name).DEFAULT
    model = models.get_model(name, weights="DEFAULT")
    assert weights.meta["num_params"] == sum(each.numel() for each in model.parameters())
    for where, expected in figures.measured(name, model).items():
        assert expected == pytest.approx(weights.meta["_metrics"][where], abs=0.3)


@pytest.mark.parametrize(
    ("name", "figure", "least"),
    [
        ("digits_cnn", "acc@1", 98.0),
        ("shapes_classifier", "acc@1", 97.0),
        ("shapes_detector", "box_map_50", 90.0),
        ("shapes_segmenter", "miou", 85.0),
        ("denoiser", "psnr", 28.0),
        ("digits_autoencoder", "psnr", 18.0),
    ],
)
def test_figures_are_good(name, figure, least):
    (values,) = models.get_model_weights(name).DEFAULT.meta["_metrics"].values()
    assert values[figure] >= least
    for before, after in (("psnr_before", "psnr"), ("psnr_pca_16", "psnr")):
        if before in values:
            assert values[after] > values[before] + 2.0


@pytest.mark.parametrize("name", NAMES)
def test_facts(name):
    weights = models.get_model_weights(name).DEFAULT
    assert weights.meta["recipe"].endswith(name) and "licence" in weights.meta
    assert weights.meta["data"] and weights.meta["date"] >= "2026"
    assert weights.url.startswith("file:") and models.get_weight(repr(weights)) is weights
    if FOLDER.exists():
        assert (FOLDER / "pictures" / f"{name}.png").stat().st_size < 100_000
        assert f"## `{name}`" in (FOLDER / "CARDS.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_prepared(name):
    prepare = models.get_model_weights(name).DEFAULT.transforms()
    photo = np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)
    from_pil = prepare(Image.fromarray(photo))
    from_tensor = prepare(rl.from_numpy(photo).permute(2, 0, 1))
    assert from_pil.dtype == from_tensor.dtype == rl.float32 and from_pil.shape == from_tensor.shape
    assert float((from_pil - from_tensor).abs().max()) < 3 / 255  # Pillow rounds to bytes between
    grey = prepare(Image.fromarray(photo[..., 0]))
    assert grey.shape == from_pil.shape and 0.0 <= float(grey.min()) <= float(grey.max()) <= 1.0
    model = models.get_model(name, weights="DEFAULT").eval()
    with rl.no_grad():
        model(from_pil.unsqueeze(0) if name != "shapes_detector" else [from_pil])


@pytest.mark.parametrize("name", NAMES)
def test_recipes_lower_the_loss(name, recipes):
    rl.manual_seed(0)
    model, recipe = models.get_model(name), recipes.RECIPES[name]
    batch = next(recipe.batches())
    before = recipe.loss(model, *batch).item()
    recipes.train(name, model, 20)
    assert recipe.loss(model, *batch).item() < before


def test_refusals(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="'num_classes' expected value 10 but got 3"):
        zoo.digits_cnn(weights="DEFAULT", num_classes=3)
    with pytest.raises(TypeError, match="expected Digits_CNN_Weights"):
        zoo.digits_cnn(weights=zoo.Denoiser_Weights.DEFAULT)
    with pytest.raises(ValueError, match="expected pictures of 1 or 3 channels"):
        zoo.Denoiser_Weights.DEFAULT.transforms()(rl.zeros(4, 8, 8))
    with pytest.raises(ValueError, match=r"Autoencoder: expected pictures .* got \(1, 1, 8, 8\)"):
        zoo.digits_autoencoder()(rl.zeros(1, 1, 8, 8))
    with pytest.raises(ValueError, match="depth 1; expected 2"):
        zoo.denoiser(depth=1)


def test_a_damaged_file_is_refused(tmp_path, monkeypatch):
    from rushlight_vision.models.zoo import _packaged

    weights = zoo.Denoiser_Weights.DEFAULT
    data = bytearray(weights.path.read_bytes())
    data[-1] ^= 1
    (tmp_path / weights.path.name).write_bytes(data)
    monkeypatch.setattr(_packaged, "FOLDER", tmp_path)
    with pytest.raises(RuntimeError, match="denoiser.safetensors is damaged: SHA-256"):
        zoo.denoiser(weights="DEFAULT")
