"""Mistakes with a Learner, a table, Fabric and fine-tuning; and pictures that show all they say."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite import callbacks, easy
from lightning_lite.callbacks.curves import picture
from lightning_lite.errors import MisconfigurationException
from rushlight import nn

TABLE = {"kind": ["a", "b"] * 10, "hours": [1.0, 2.0] * 10, "price": [1, 2.5] * 10}


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("metrics[0]", {"metrics": "accuracy"}),
        ("opt_func", {"opt_func": "adam"}),
        ("splitter", {"splitter": 3}),
        ("loss_func", {"loss_func": "mse"}),
    ],
)
def test_words_for_functions(loader, name, given):
    options = {"loss_func": nn.MSELoss(), **given}
    expected = re.escape(f"Learner: {name} is {next(iter(given.values()))!r}; expected a function")
    with pytest.raises(TypeError, match=expected):
        easy.Learner((loader(), loader()), nn.Linear(4, 1), **options)


def test_columns_that_are_not_there():
    with pytest.raises(KeyError, match=r"no columns \['cost'\]; there are: \['kind', 'hours'"):
        easy.tabular_learner(TABLE, "cost", ["kind"], ["hours"])


def test_words_in_a_column_of_numbers():
    with pytest.raises(ValueError, match="column 'kind' holds '[ab]'; expected numbers"):
        easy.tabular_learner(TABLE, "price", [], ["kind"])


def test_whole_numbers_among_others_are_numbers():
    learn = easy.tabular_learner(TABLE, "price", ["kind"], ["hours"])
    assert learn.vocab is None and isinstance(learn.module.loss_func, nn.MSELoss)
    targets = rl.cat([batch[-1] for batch in learn.valid_dl])
    assert set(targets.flatten().tolist()) <= {1.0, 2.5}


@pytest.mark.parametrize("empty", [None, float("nan")])
def test_an_empty_target(empty):
    with pytest.raises(ValueError, match="1 cells of the target 'price' are empty"):
        easy.tabular_learner({**TABLE, "price": [empty, *TABLE["price"][1:]]}, "price", ["kind"])


def test_arguments_of_setup_in_another_order():
    model = nn.Linear(1, 1)
    with pytest.raises(TypeError, match="the first argument is a SGD; expected a Module"):
        L.Fabric(accelerator="cpu").setup(rl.optim.SGD(model.parameters(), lr=0.1), model)


def test_finetuning_without_a_backbone(model_class, loader, trainer):
    with pytest.raises(MisconfigurationException, match="Regression has no module in .*backbone"):
        trainer(callbacks=[callbacks.BackboneFinetuning()]).fit(model_class(), loader(), loader())


def test_a_curve_of_one_point_is_seen(model_class, loader, trainer, tmp_path):
    assert picture([(1, 2.0)]).count("<circle") == 1
    assert "<circle" not in picture([(1, 2.0), (2, 3.0)])
    trainer(max_epochs=1, callbacks=[callbacks.RunPage(tmp_path)]).fit(
        model_class(), loader(), loader()
    )
    assert "val_loss</figcaption><svg" in (tmp_path / "index.html").read_text()


@pytest.fixture
def told():
    outputs, targets = rl.eye(3), rl.tensor([0, 1, 1])
    losses = nn.functional.cross_entropy(outputs, targets, reduction="none")
    names = ["dog", "cat", "a name that is longer than others"]
    return easy.ClassificationInterpretation(outputs, targets, losses, names)


def test_all_names_are_inside_the_picture(told):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = told.plot_confusion_matrix()
    ax.figure.canvas.draw()
    whole = ax.figure.bbox
    texts = [*ax.get_xticklabels(), *ax.get_yticklabels(), ax.xaxis.label, ax.yaxis.label]
    for text in texts:
        box = text.get_window_extent()
        assert box.x0 >= whole.x0 and box.y0 >= whole.y0, text.get_text()
        assert box.x1 <= whole.x1 and box.y1 <= whole.y1, text.get_text()


def test_top_losses_of_a_number(told):
    with pytest.raises(TypeError, match="dataset is a int; expected the data set"):
        told.plot_top_losses(4)


def test_normalized_pictures_are_not_cut_off(told):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pictures = [
        rl.linspace(-2, 2, 48).reshape(3, 4, 4),
        rl.linspace(0, 0.5, 48).reshape(3, 4, 4),
        rl.full((3, 4, 4), 7.0),
    ]
    figure = told.plot_top_losses([(each, 0) for each in pictures], 3)
    shown = {}
    order = told.top_losses(3)[1].tolist()
    for position, ax in zip(order, figure.axes, strict=False):
        data = ax.get_images()[0].get_array()
        shown[position] = float(data.min()), float(data.max())
    assert shown[0] == pytest.approx((0.0, 1.0)) and shown[1] == pytest.approx((0.0, 0.5))
    assert shown[2] == (0.0, 0.0)


def test_rows_of_a_short_fabric_program_are_written(tmp_path):
    program = (
        "import lightning_lite as L\n"
        "def main():\n"
        f"    fabric = L.Fabric(loggers=L.loggers.CSVLogger({str(tmp_path)!r}, name=FABRIC))\n"
        "    for step in range(3):\n"
        "        fabric.log('loss', 0.5 + step, step=step)\n"
        "    return fabric\n"
    )
    for name, end in (("collected", "main()"), ("kept", "fabric = main()")):
        code = program.replace("FABRIC", repr(name)) + end
        subprocess.run([sys.executable, "-c", code], check=True)
        (path,) = (tmp_path / name).rglob("metrics.csv")
        rows = path.read_text().split()
        assert len(rows) == 4 and "2.5" in rows[-1]


def test_tensors_for_loaders(loader):
    with pytest.raises(TypeError, match="dls is a pair with a tensor; expected a pair of loaders"):
        easy.Learner((rl.zeros(4, 4), rl.zeros(4, 1)), nn.Linear(4, 1), nn.MSELoss())
    with pytest.raises(TypeError, match="dls is a DataLoader; expected a pair of loaders"):
        easy.Learner(loader(), nn.Linear(4, 1), nn.MSELoss())
