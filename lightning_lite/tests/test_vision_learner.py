"""A network of pictures gets a new head, learns, and is fine-tuned by depth."""

from __future__ import annotations

import sys

import pytest

import rushlight as rl
from lightning_lite import easy
from lightning_lite.easy import heads, vision
from rushlight import nn
from rushlight.utils.data import DataLoader, TensorDataset


class Small(nn.Module):
    """A small network in the form of a ResNet's children."""

    def __init__(self, weights=None):
        super().__init__()
        self.one = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU())
        self.two = nn.Sequential(nn.Conv2d(8, 12, 3, 2, 1), nn.ReLU())
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(12, 5)


def pictures(count=120):
    """Pictures that are rather red or rather blue."""
    generator = rl.Generator().manual_seed(1)
    x = rl.rand(count, 3, 16, 16, generator=generator)
    target = rl.arange(count) % 2
    x[target == 0, 0] += 0.5
    x[target == 1, 2] += 0.5
    loaders = [DataLoader(TensorDataset(x[n::3], target[n::3]), batch_size=8) for n in (0, 1)]
    return loaders


def make(tmp_path, arch=Small, **options):
    return easy.vision_learner(
        pictures(), arch, 2, hidden=16, metrics=easy.accuracy, path=tmp_path,
        enable_progress_bar=False, **options,
    )  # fmt: skip


def test_parts_of_the_network(tmp_path):
    learn = make(tmp_path, weights="some")
    body, head = learn.model
    assert len(body) == 2 and vision.channels_of(body) == 12 and head[4].in_features == 24
    assert [len(group) for group in learn.module.groups()] == [4, 2, 6]
    needed = [each.requires_grad for each in body[0].parameters()]
    assert needed == [False, False, True, True], "batch normalization goes on learning"
    assert all(each.requires_grad for each in head.parameters())
    x = rl.rand(2, 3, 5, 5)
    pooled = heads.AdaptiveConcatPool2d()(x).flatten(1)
    assert rl.allclose(pooled, rl.cat([x.amax((2, 3)), x.mean((2, 3))], 1))
    with pytest.raises(ValueError, match="no pooling"):
        vision.create_body(nn.Sequential(nn.Linear(1, 1)))


def test_pictures_are_learnt(tmp_path):
    rl.manual_seed(0)
    learn = make(tmp_path)
    learn.fine_tune(6, 0.02)
    assert learn.validate()[1] > 0.85


def test_published_networks(tmp_path, monkeypatch):
    pytest.importorskip("rushlight_vision")
    learn = make(tmp_path, "resnet18")
    assert vision.channels_of(learn.model[0]) == 512
    output = learn.model.eval()(rl.rand(1, 3, 64, 64))
    assert output.shape == (1, 2) and len(learn.module.groups()) == 3
    monkeypatch.setitem(sys.modules, "rushlight_vision.models", None)
    with pytest.raises(ModuleNotFoundError, match="rushlight-vision"):
        make(tmp_path, "resnet18")


def drawn(tmp_path, block, get_y):
    """Twelve files of red and blue pictures as loaders."""
    images = pytest.importorskip("PIL.Image")
    for number in range(12):
        name = ("red", "blue")[number % 2]
        images.new("RGB", (16, 16), name).save(tmp_path / f"{name}_{number}.png")
    whole = easy.DataBlock(
        (easy.ImageBlock, block), get_items=easy.get_image_files, get_y=get_y,
        splitter=easy.RandomSplitter(1 / 3, seed=2),
    )  # fmt: skip
    return whole.dataloaders(tmp_path, bs=4, num_workers=2)


def test_data_says_outputs_and_loss(tmp_path):
    rl.manual_seed(0)
    dls = drawn(tmp_path, easy.CategoryBlock, easy.RegexLabeller("([a-z]+)_[0-9]+.png"))
    learn = easy.vision_learner(
        dls, Small, hidden=16, metrics=easy.accuracy, path=tmp_path, enable_progress_bar=False
    )
    learn.fit_one_cycle(8, 0.02)
    assert learn.validate()[1] == 1.0 and learn.predict(tmp_path / "red_0.png")[0] == "red"
    several = drawn(tmp_path, easy.MultiCategoryBlock, lambda file: ["a", "b", "c"])
    learn = easy.vision_learner(several, Small)
    assert isinstance(learn.module.loss_func, nn.BCEWithLogitsLoss)
    assert learn.model[1][-1].out_features == 3
    numbers = drawn(tmp_path, easy.RegressionBlock, lambda file: 1.0)
    with pytest.raises(ValueError, match="give n_out"):
        easy.vision_learner(numbers, Small)
