"""Points and boxes are fastai's, go along with pictures, and are learnt; tables; summary."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import rushlight as rl
from lightning_lite import easy
from lightning_lite.easy.losses import MSELossFlat
from rushlight import nn

PIL = pytest.importorskip("PIL.Image")
FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "fastai_points.json").read_text())
_spec = importlib.util.spec_from_file_location("points", FOLDER / "fastai_points.py")
program = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(program)
QUIET = {"enable_progress_bar": False}


def test_points_and_boxes_are_fastais(tmp_path):
    program.draw(tmp_path)
    found = program.answers(easy, tmp_path)
    for name in ("points", "boxes"):
        assert found[name] == pytest.approx(RECORDED[name], abs=2e-5)
    assert [found["labels"], found["vocab"]] == [RECORDED["labels"], RECORDED["vocab"]]


def dots(folder, count=48):
    """Pictures of a bright dot by its position."""
    made = {}
    for number in range(count):
        left, top = 3 + number * 7 % 24, 2 + number * 5 % 20
        image = PIL.new("RGB", (32, 28))
        image.paste((255, 200, 90), (left, top, left + 5, top + 5))
        image.save(folder / f"{number}.png")
        made[number] = [left + 2.5, top + 2.5]
    return made


class Ramps(nn.Module):
    """Pictures beside themselves times row and column, so that their means say where they are."""

    def forward(self, x):
        row, column = (rl.linspace(-1, 1, size) for size in x.shape[-2:])
        return rl.cat([x, x * row[:, None], x * column], 1)


class Dots(nn.Module):
    """A small network in the form of a ResNet's children."""

    def __init__(self, weights=None):
        super().__init__()
        self.one, self.two = nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU()), Ramps()
        self.pool = nn.AdaptiveAvgPool2d(1)


def block(folder, made, **options):
    return easy.DataBlock(
        (easy.ImageBlock, easy.PointBlock), get_items=easy.get_image_files,
        get_y=lambda file: made[int(file.stem)], splitter=easy.RandomSplitter(0.25, seed=1),
        item_tfms=easy.Resize(28, "squish"), **options,
    )  # fmt: skip


def test_points_go_along(tmp_path):
    made = dots(tmp_path)
    augment = easy.aug_transforms(flip_vert=True, max_rotate=20, p_affine=1.0, max_lighting=0)
    dls = block(tmp_path, made, batch_tfms=augment).dataloaders(tmp_path, bs=12)
    seen = 0
    for x, y in dls.train:
        column, row = ((y[:, 0] + 1) / 2 * 27).round().to(rl.int64).clamp(0, 27).unbind(1)
        inside = y[:, 0].abs().amax(1) < 0.9
        bright = x[rl.arange(len(x)), 0, row, column]
        assert bool((bright[inside] > 0.5).all()), "the dot is where its point is"
        seen += int(inside.sum())
    assert seen > 20


def test_points_are_learnt(tmp_path):
    made = dots(tmp_path)
    dls = block(tmp_path, made).dataloaders(tmp_path, bs=6)
    rl.manual_seed(0)
    learn = easy.vision_learner(
        dls, Dots, hidden=32, ps=0.0, y_range=(-1, 1), init=None, path=tmp_path, **QUIET
    )
    assert isinstance(learn.module.loss_func, MSELossFlat)
    learn.fit_one_cycle(20, 0.03)
    outputs, targets = learn.get_preds()
    targets = targets.reshape(-1, 2)
    guess = float((targets - targets.mean(0)).abs().mean())
    assert float((outputs - targets).abs().mean()) < 0.6 * guess
    point, _, output = learn.predict(tmp_path / "3.png")
    assert point.shape == (1, 2) and rl.equal(point.reshape(-1), output)
    again = easy.load_learner(learn.export(), model=learn.model, **QUIET)
    assert rl.equal(again.predict(tmp_path / "3.png")[0], point)


def test_two_targets(tmp_path):
    program.draw(tmp_path)
    whole = easy.DataBlock(
        (easy.ImageBlock, easy.BBoxBlock, easy.BBoxLblBlock), n_inp=1,
        get_items=easy.get_image_files, splitter=lambda items: (range(4), range(4)),
        get_y=[program.of_file(program.BOXES), program.of_file(program.LABELS)],
    )  # fmt: skip
    dls = whole.dataloaders(tmp_path, bs=2, val_bs=4)
    model = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 4))

    def loss(output, boxes, labels):
        return (output - boxes.mean(1)).square().mean() + 0.0 * labels.sum()

    learn = easy.Learner(dls, model, loss, **QUIET)
    learn.fit(1)
    outputs, (boxes, labels) = learn.get_preds()
    assert outputs.shape == (4, 4) and boxes.shape == (4, 3, 4) and labels.shape == (4, 3)


def test_pictures_with_points_and_boxes(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    made = dots(tmp_path, 8)
    figure = block(tmp_path, made).dataloaders(tmp_path, bs=4).show_batch(2)
    (x, y), scatter = figure.axes[0].collections[0].get_offsets()[0], figure.axes[0].images[0]
    assert scatter.get_array()[int(y), int(x), 0] > 0.9
    folder = tmp_path / "boxes"
    folder.mkdir()
    program.draw(folder)
    whole = easy.DataBlock(
        (easy.ImageBlock, easy.BBoxBlock, easy.BBoxLblBlock), n_inp=1,
        get_items=easy.get_image_files, splitter=lambda items: (range(4), range(4)),
        get_y=[program.of_file(program.BOXES), program.of_file(program.LABELS)],
    )  # fmt: skip
    figure = whole.dataloaders(folder, bs=4).show_batch(4)
    assert sorted(ax.get_title() for ax in figure.axes[:4]) == sorted(map(";".join, program.LABELS))
    plt.close("all")


def test_tables_of_files(tmp_path):
    pandas = pytest.importorskip("pandas")
    dots(tmp_path, 8)
    table = pandas.DataFrame(
        {"name": list(range(8)), "kind": ["a", "b"] * 4, "tags": ["x y", "y"] * 4,
         "held": [n > 5 for n in range(8)]}
    )  # fmt: skip
    options = {"suff": ".png", "bs": 2}
    dls = easy.ImageDataLoaders.from_df(table, tmp_path, valid_col="held", **options)
    assert dls.vocab == ["a", "b"] and [len(dls.train_ds), len(dls.valid_ds)] == [6, 2]
    assert rl.equal(dls.valid_ds[0][1], rl.tensor(0))
    table.to_csv(tmp_path / "labels.csv", index=False)
    several = easy.ImageDataLoaders.from_csv(
        tmp_path, label_col="tags", label_delim=" ", seed=1, **options
    )
    assert several.vocab == ["x", "y"] and several.one_batch()[1].shape == (2, 2)
    (x,) = next(iter(several.test_dl([tmp_path / "3.png"])))
    assert x.shape == (1, 3, 28, 32), "a file instead of a row"


def test_lists_say_their_kind(tmp_path):
    dots(tmp_path, 6)
    names = [f"{number}.png" for number in range(6)]
    of = easy.ImageDataLoaders.from_lists
    numbers = of(tmp_path, names, [0.5] * 6, bs=2)
    assert numbers.one_batch()[1].dtype == rl.float32
    several = of(tmp_path, names, [["a", "b"], ["b", "c"]] * 3, bs=2)
    assert several.vocab == ["a", "b", "c"]
    (x,) = next(iter(numbers.test_dl([tmp_path / "1.png"])))
    assert x.shape == (1, 3, 28, 32), "a file instead of a pair"


def test_summary(tmp_path, capsys):
    made = dots(tmp_path, 8)
    whole = block(tmp_path, made, batch_tfms=easy.Flip())
    whole.summary(tmp_path, bs=2)
    said = capsys.readouterr().out
    for part in (
        "6 items train, 2 validate", "Part 1, target of kind 'points'", "as_points",
        "PointScaler", "Resize", "Transforms of batches: Flip", "(2, 3, 28, 28)",
    ):  # fmt: skip
        assert part in said, part
    whole.getters[1] = lambda file: made["missing"]
    with pytest.raises(KeyError) as caught:
        whole.summary(tmp_path)
    assert "DataBlock.summary: " in caught.value.__notes__[0]


def test_misuse_is_named(tmp_path):
    program.draw(tmp_path)
    lone = easy.DataBlock((easy.RegressionBlock, easy.PointBlock), get_y=lambda item: [[1, 2]])
    with pytest.raises(ValueError, match="need an ImageBlock"):
        lone.dataloaders(range(8), bs=2).one_batch()
    boxes = easy.DataBlock(
        (easy.ImageBlock, easy.BBoxBlock, easy.BBoxLblBlock), n_inp=1,
        get_items=easy.get_image_files, splitter=lambda items: (range(4), range(4)),
        get_y=[program.of_file(program.BOXES), lambda file: ["cat"]],
    )  # fmt: skip
    with pytest.raises(ValueError, match="1 labels for 2 boxes"):
        next(iter(boxes.dataloaders(tmp_path, bs=4).valid))
