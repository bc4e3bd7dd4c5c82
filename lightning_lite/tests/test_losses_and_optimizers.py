"""fastai's losses and optimizers: recorded values, trainings, states."""

from __future__ import annotations

import importlib.util
import json
from functools import partial
from pathlib import Path

import pytest

import rushlight as rl
from lightning_lite import easy
from lightning_lite.easy.schedules import set_values

FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "fastai_losses.json").read_text())
_spec = importlib.util.spec_from_file_location("losses", FOLDER / "fastai_losses.py")
program = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(program)
QUIET = {"enable_progress_bar": False}


class Ours:
    """The names of `easy`, and how momentum is set here."""

    set_mom = staticmethod(lambda optimizer, value: set_values(optimizer, "mom", value))

    def __getattr__(self, name):
        return getattr(easy, name)


def test_losses_are_fastais():
    found = program.losses(rl, Ours())
    assert sorted(found) == sorted(RECORDED["losses"])
    for name, expected in RECORDED["losses"].items():
        for one, other in zip(found[name], expected, strict=True):
            assert one == pytest.approx(other, rel=1e-4, abs=1e-6), name


def test_optimizers_are_fastais():
    found = program.optimizers(rl, Ours())
    assert sorted(found) == sorted(RECORDED["optimizers"])
    for name, rows in RECORDED["optimizers"].items():
        for number, (one, other) in enumerate(zip(found[name], rows, strict=True)):
            assert one == pytest.approx(other, rel=2e-4, abs=2e-5), (name, number)


def data(count=32):
    x = rl.arange(count * 3.0).reshape(count, 3).sin()
    rows = rl.utils.data.TensorDataset(x, (x.sum(1) > 0).long())
    return rl.utils.data.DataLoader(rows, batch_size=8)


@pytest.mark.parametrize(
    "opt_func", [easy.ranger, easy.Lamb, easy.QHAdam, partial(easy.Larc, wd=0)]
)
def test_a_learner_learns_with_them(tmp_path, opt_func):
    rl.manual_seed(0)
    learn = easy.Learner(
        (data(), data()), rl.nn.Linear(3, 2), easy.LabelSmoothingCrossEntropyFlat(),
        opt_func=opt_func, path=tmp_path, **QUIET,
    )  # fmt: skip
    before = learn.validate()[0]
    learn.fit_one_cycle(3, 0.1)
    assert learn.validate()[0] < before
    learn.save("state")
    again = easy.Learner(
        (data(), data()), rl.nn.Linear(3, 2), easy.LabelSmoothingCrossEntropyFlat(),
        opt_func=opt_func, path=tmp_path, **QUIET,
    ).load("state")  # fmt: skip
    for each in (learn, again):
        each.fit(1, 0.05)
    for one, other in zip(learn.model.parameters(), again.model.parameters(), strict=True):
        assert rl.equal(one, other), "states go on where they were"


def test_losses_are_exported(tmp_path):
    loss = easy.FocalLossFlat(gamma=1.5, weight=rl.tensor([1.0, 2.0]))
    learn = easy.Learner((data(), data()), rl.nn.Linear(3, 2), loss, path=tmp_path, **QUIET)
    again = easy.load_learner(learn.export(), model=rl.nn.Linear(3, 2), **QUIET)
    x, y = next(iter(data()))
    outputs = learn.model(x).detach()
    assert rl.equal(again.loss_func(outputs, y), loss(outputs, y))
    assert float(loss(outputs, y)) < float(easy.CrossEntropyLossFlat()(outputs, y)) * 2


def test_misuse_is_named():
    with pytest.raises(ValueError, match="k=0; expected an optimizer and k >= 1"):
        easy.Lookahead(rl.optim.SGD([rl.nn.Parameter(rl.ones(1))], lr=1.0), k=0)
