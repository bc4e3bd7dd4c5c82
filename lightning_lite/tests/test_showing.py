"""Batches and results as pictures; one item in words."""

from __future__ import annotations

import sys

import pytest

import rushlight as rl
from lightning_lite import easy
from rushlight import nn

PIL = pytest.importorskip("PIL.Image")


class Reddish(nn.Module):
    """Two outputs: how blue, and how red a picture is."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(rl.ones(()))

    def forward(self, x):
        means = x.mean((2, 3))
        return rl.stack([means[:, 2], means[:, 0]], 1) * self.scale


class PerPixel(Reddish):
    """The same of every pixel: `(N, 2, H, W)`."""

    def forward(self, x):
        return rl.stack([x[:, 2], x[:, 0]], 1) * self.scale


@pytest.fixture
def folder(tmp_path):
    for number in range(10):
        name = ("red", "blue")[number % 2]
        image = PIL.new("RGB", (12, 8), name)
        image.paste((255, 255, 0), (0, 0, 3, 3))
        image.save(tmp_path / f"{name}_{number}.png")
    return tmp_path


def loaders(folder, **options):
    return easy.ImageDataLoaders.from_name_re(
        folder, easy.get_image_files(folder), "^([a-z]+)_", valid_pct=0.4, seed=1, bs=4,
        item_tfms=easy.Resize(8), batch_tfms=easy.Normalize.from_stats([0.5] * 3, [0.25] * 3),
        **options,
    )  # fmt: skip


def learner(dls, model=None, loss=None):
    loss = loss or nn.CrossEntropyLoss()
    return easy.Learner(dls, model or Reddish(), loss, enable_progress_bar=False)


def titles(figure):
    return [each.get_title() for each in figure.axes]


@pytest.fixture
def pyplot():
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def test_show_batch(folder, pyplot):
    rl.manual_seed(0)
    figure = loaders(folder).show_batch(max_n=3)
    assert len(titles(figure)) == 3
    for ax in figure.axes:
        shown = ax.images[0].get_array()
        expected = (1, 0, 0) if ax.get_title() == "red" else (0, 0, 1)
        assert shown[7, 7].tolist() == pytest.approx(expected, abs=1e-6), "normalization is undone"


def test_show_results(folder, pyplot):
    figure = learner(loaders(folder)).show_results()
    found = [each.split("\n") for each in titles(figure) if each]
    assert len(found) == 4 and all(real == taken for real, taken in found)


def test_masks_beside_each_other(folder, pyplot):
    block = easy.DataBlock(
        (easy.ImageBlock, easy.MaskBlock(["no", "yes"])), get_items=easy.get_image_files,
        splitter=easy.EndSplitter(0.4), get_y=lambda file: PIL.new("L", (12, 8), 1),
        item_tfms=easy.Resize(8),
    )  # fmt: skip
    dls = block.dataloaders(folder, bs=4)
    assert dls.show_batch(2).axes[0].images[1].get_array().tolist() == [[1] * 8] * 8
    figure = learner(dls, PerPixel()).show_results(max_n=1)
    assert titles(figure) == ["actual", "predicted"]
    model, (x, _) = PerPixel(), next(iter(dls.valid))
    assert figure.axes[1].images[1].get_array().tolist() == model(x)[0].argmax(0).tolist()


def test_predict(folder):
    learn = learner(loaders(folder))
    for file in easy.get_image_files(folder):
        name, number, shares = learn.predict(file)
        assert file.name.startswith(name) and ["blue", "red"][int(number)] == name
        x = next(iter(learn.dls.test_dl([file])))[0]
        assert rl.allclose(shares, Reddish()(x).softmax(1)[0])
    outputs, targets = learn.get_preds(learn.dls.test_dl(easy.get_image_files(folder)))
    assert outputs.shape == (10, 2) and targets is None
    assert learn.get_preds()[1].shape == (4,)


def test_several_classes_and_numbers(folder):
    block = easy.DataBlock(
        (easy.ImageBlock, easy.MultiCategoryBlock), get_items=easy.get_image_files,
        get_y=lambda file: [file.name.split("_")[0], "square"], item_tfms=easy.Resize(8),
        splitter=easy.EndSplitter(),
    )  # fmt: skip
    model = nn.Sequential(Reddish(), nn.Linear(2, 3))
    with rl.no_grad():
        model[1].weight.copy_(rl.tensor([[20.0, 0], [0, 20], [0, 0]]))
        model[1].bias.copy_(rl.tensor([-10.0, -10, 5]))
    learn = learner(block.dataloaders(folder, bs=4), model, nn.BCEWithLogitsLoss())
    assert learn.predict(folder / "red_0.png")[0] == ["red", "square"]
    block = easy.DataBlock(
        (easy.ImageBlock, easy.RegressionBlock), get_items=easy.get_image_files,
        get_y=lambda file: [1.0, 2.0], item_tfms=easy.Resize(8),
    )  # fmt: skip
    learn = learner(block.dataloaders(folder, bs=4), None, nn.MSELoss())
    value, tensor, output = learn.predict(folder / "red_0.png")
    assert value == tensor.tolist() == output.tolist() and value[1] > 0.9


def test_what_cannot_be_shown_is_told(folder, monkeypatch):
    numbers = easy.DataBlock((easy.RegressionBlock, easy.RegressionBlock)).dataloaders(range(9))
    with pytest.raises(NotImplementedError, match="one picture or sound with one target, samples"):
        numbers.show_batch()
    dls = loaders(folder)
    with pytest.raises(TypeError, match="predict needs DataLoaders"):
        learner((dls.train, dls.valid)).predict("a")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ModuleNotFoundError, match="show_batch needs matplotlib"):
        dls.show_batch()
