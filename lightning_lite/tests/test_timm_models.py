"""Networks of timm, U-Nets and normalization as fastai makes them (recorded values)."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

import rushlight as rl
from lightning_lite import easy
from lightning_lite.easy import vision
from rushlight import nn

FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "fastai_timm.json").read_text())
_spec = importlib.util.spec_from_file_location("fastai_timm", FOLDER / "fastai_timm.py")
fastai_timm = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fastai_timm)
QUIET = {"enable_progress_bar": False, "enable_model_summary": False}


@pytest.fixture
def told(monkeypatch):
    calls = []
    monkeypatch.setitem(sys.modules, "timm", fastai_timm.stand_in(rl, calls))
    return calls


def test_models(told):
    found = json.loads(json.dumps(fastai_timm.timm_models(easy.create_timm_model, rl, told)))
    assert len(found) == len(RECORDED["models"]) == 8
    for mine, theirs in zip(found, RECORDED["models"], strict=True):
        outputs, expected = mine.pop("outputs"), theirs.pop("outputs")
        assert mine == theirs
        assert rl.allclose(rl.tensor(outputs), rl.tensor(expected), rtol=1e-4, atol=1e-4)


def test_unets():
    found = json.loads(json.dumps(fastai_timm.unets(easy.create_unet_model, rl)))
    assert found == RECORDED["unets"]


def test_a_body_may_be_cut():
    model = nn.Sequential(nn.Conv2d(3, 2, 1), nn.ReLU(), nn.Flatten())
    model.default_cfg = {"pool_size": None}
    body = easy.TimmBody(model, cut=-1)
    assert not body.needs_pool and len(body.model) == 2
    assert body(rl.zeros(1, 3, 2, 2)).shape == (1, 2, 2, 2)


def colours(tmp_path, **options):
    """Twelve files of red and blue pictures as loaders."""
    images = pytest.importorskip("PIL.Image")
    for number in range(12):
        name = ("red", "blue")[number % 2]
        images.new("RGB", (16, 16), name).save(tmp_path / f"{name}_{number}.png")
    whole = easy.DataBlock(
        (easy.ImageBlock, easy.CategoryBlock), get_items=easy.get_image_files,
        get_y=easy.RegexLabeller("([a-z]+)_[0-9]+.png"),
        splitter=easy.RandomSplitter(1 / 3, seed=2), **options,
    )  # fmt: skip
    return whole.dataloaders(tmp_path, bs=4)


def test_a_learner_of_timms_name(told, tmp_path):
    dls = colours(tmp_path)
    before = dls.one_batch()[0]
    learn = easy.vision_learner(dls, "pooling", hidden=4, weights="DEFAULT", path=tmp_path, **QUIET)
    assert told == [["pooling", True, 0, 3, []]] and dls.normalizes
    groups = learn.module.groups()
    assert [len(group) for group in groups] == [2, 6]
    assert [each.requires_grad for each in groups[0]] == [False, False], "frozen"
    learn.fit(1, 0.01)
    mean, std = (rl.tensor(each).reshape(3, 1, 1) for each in ((0.5, 0.4, 0.3), (0.2, 0.3, 0.4)))
    valid = next(iter(dls.test_dl([tmp_path / "red_0.png"])))[0]
    red = rl.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1)
    assert before.amax() <= 1 and rl.allclose(valid[0, :, :1, :1], (red - mean) / std, atol=1e-5)
    with pytest.raises(ValueError, match="give 'DEFAULT'"):
        easy.vision_learner(dls, "flat", weights="IMAGENET1K_V2")


def test_a_learner_of_timms_name_is_exported(told, tmp_path):
    learn = easy.vision_learner(colours(tmp_path), "pooling", hidden=4, path=tmp_path, **QUIET)
    learn.fit(1, 0.01)
    learn.export("net.pkl")
    again = easy.load_learner(tmp_path / "net.pkl")
    file = tmp_path / "red_0.png"
    assert rl.allclose(again.predict(file)[2], learn.predict(file)[2], atol=1e-6)


def test_without_timm(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ModuleNotFoundError, match="'convnext_huge' is a name of timm's"):
        easy.create_timm_model("convnext_huge", 2)


def test_timm_on_another_framework(told, monkeypatch):
    monkeypatch.setattr(sys.modules["timm"], "create_model", lambda *args, **options: object())
    with pytest.raises(TypeError, match="rushlight run"):
        easy.create_timm_model("pooling", 2)


@pytest.mark.parametrize(
    ("options", "normalized"),
    [({}, True), ({"normalize": False}, False), ({"n_in": 1}, False)],
)
def test_pictures_of_published_weights_are_normalized(options, normalized, tmp_path, monkeypatch):
    models = pytest.importorskip("rushlight_vision.models")
    made = models.get_model
    monkeypatch.setattr(models, "get_model", lambda name, weights: made(name, weights=None))
    dls = colours(tmp_path)
    easy.vision_learner(dls, "resnet18", weights="DEFAULT", path=tmp_path, **options, **QUIET)
    assert dls.normalizes == normalized


def test_pictures_are_not_normalized_twice(tmp_path):
    dls = colours(tmp_path, batch_tfms=easy.Normalize.from_stats(*easy.imagenet_stats))
    vision.add_normalize(dls, easy.imagenet_stats, 3)
    assert len(dls.train.collate_fn.functions) == 1
    dls.add_tfms(lambda picture: picture + 1)
    assert len(dls.valid.collate_fn.functions) == 2
    with pytest.raises(ValueError, match="event='before_batch'"):
        dls.add_tfms([], "before_batch")


def test_transforms_of_samples_are_added(tmp_path):
    dls = colours(tmp_path)
    dls.add_tfms(easy.Resize(8), "after_item")
    assert dls.one_batch()[0].shape[-2:] == (8, 8)
    assert next(iter(dls.test_dl([tmp_path / "red_0.png"])))[0].shape[-2:] == (8, 8)


def test_weights_of_the_head_are_drawn_by_init(tmp_path):
    def net():
        return nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Linear(4, 2))

    learn = easy.vision_learner(
        colours(tmp_path), net, hidden=4, init=nn.init.ones_, path=tmp_path, **QUIET
    )
    assert all(
        bool((each.weight == 1).all()) for each in learn.model[1] if isinstance(each, nn.Linear)
    )
