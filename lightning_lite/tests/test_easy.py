"""fastai's ways to train: schedules, groups by depth, mixtures; compared with fastai's own."""

from __future__ import annotations

import importlib.util
import json
from functools import partial
from pathlib import Path

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite import easy
from lightning_lite.easy.module import LearnerModule, group_rates, one_group
from lightning_lite.errors import MisconfigurationException
from rushlight import nn
from rushlight.utils.data import DataLoader, TensorDataset

FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "fastai.json").read_text())["runs"]
_spec = importlib.util.spec_from_file_location("curves", FOLDER / "fastai_curves.py")
curves = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(curves)

Adam = partial(rl.optim.AdamW, betas=(0.9, 0.99), eps=1e-5, weight_decay=0.0)


class Noting(L.Callback):
    """Notes rates and momentum of every batch."""

    def __init__(self):
        self.rows = []

    def on_before_optimizer_step(self, trainer, pl_module, optimizer):
        groups = optimizer.param_groups
        self.rows.append(([group["lr"] for group in groups], groups[-1]["betas"][0]))


def make_learner(tmp_path, **options):
    model = options.pop("model", None) or curves.make_model(nn)
    data = curves.make_loader(rl, 24, 1), curves.make_loader(rl, 8, 2)
    options = {"splitter": curves.groups, "opt_func": Adam, "train_bn": False} | options
    loss = options.pop("loss_func", None) or nn.MSELoss()
    return easy.Learner(
        options.pop("dls", data),
        model,
        loss,
        path=tmp_path,
        enable_progress_bar=False,
        accelerator="cpu",
        **options,
    )


@pytest.mark.parametrize("name", RECORDED)
def test_rates_momenta_and_weights_are_fastais(name, tmp_path):
    method, args, kwargs = curves.RUNS[name]
    rl.manual_seed(5)
    noting = Noting()
    learn = make_learner(tmp_path, cbs=noting)
    getattr(learn, method)(*args, **kwargs)
    expected = RECORDED[name]
    assert len(noting.rows) == len(expected["rates"])
    for (rates, momentum), wanted, mom in zip(
        noting.rows, expected["rates"], expected["momenta"], strict=True
    ):
        assert rates == pytest.approx(wanted, rel=1e-4, abs=1e-9)
        assert momentum == pytest.approx(mom, rel=1e-4)
    assert curves.sums(learn.model) == pytest.approx(expected["weights"], rel=2e-4)
    assert learn.validate()[0] == pytest.approx(expected["valid"], rel=1e-3)


def test_freezing_by_groups(tmp_path):
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    learn = make_learner(tmp_path, model=model, train_bn=True)

    def learns():
        return [layer.weight.requires_grad for layer in model]

    learn.freeze()
    assert learns() == [False, True, True]
    learn.train_bn = False
    learn.freeze()
    assert learns() == [False, False, True]
    learn.freeze_to(1)
    assert learns() == [False, True, True]
    learn.unfreeze()
    assert learns() == [True, True, True]
    with pytest.raises(ValueError, match="3 parameter groups"):
        learn.freeze_to(7)


def test_frozen_groups_stay(tmp_path):
    learn = make_learner(tmp_path)
    before = [each.detach().clone() for each in learn.model.parameters()]
    learn.freeze()
    learn.fit(1, 0.1)
    same = [rl.equal(a, b) for a, b in zip(before, learn.model.parameters(), strict=True)]
    assert same == [True] * 4 + [False] * 2


def test_rates_of_groups():
    assert group_rates(0.1, 2) == [0.1, 0.1]
    assert group_rates(slice(1e-4, 1e-2), 3) == pytest.approx([1e-4, 1e-3, 1e-2])
    assert group_rates(slice(1e-4, 1e-2), 1) == [1e-2]
    with pytest.raises(ValueError, match="2 rates for 3"):
        group_rates([1, 2], 3)


def test_schedules_that_do_not_fit():
    with pytest.raises(ValueError, match="shares"):
        easy.combine_scheds([0.3, 0.3], [easy.SchedLin(0, 1)] * 2)
    assert easy.SchedExp([1.0, 2.0], [4.0, 8.0])(0.5) == pytest.approx([2.0, 4.0])
    assert easy.SchedPoly(0, 8, 3)(0.5) == 1.0


def test_lr_find_suggests_and_restores(tmp_path, same):
    learn = make_learner(tmp_path)
    learn.fit(1, 0.01)
    before = {name: each.clone() for name, each in learn.model.state_dict().items()}
    optimizer = learn.opt.state_dict()
    found = learn.lr_find(num_it=60, suggest_funcs=("valley", "minimum", "steep", "slide"))
    assert found._fields == ("valley", "minimum", "steep", "slide")
    assert all(1e-7 <= rate <= 10 for rate in found)
    same(dict(learn.model.state_dict()), before)
    same(learn.opt.state_dict()["param_groups"], optimizer["param_groups"])
    assert learn.lr_find(num_it=60).valley == found.valley
    steepest, least = learn.lr_find(num_it=60, suggest_funcs=(easy.steep, easy.minimum))
    assert (steepest, least) == (found.steep, found.minimum)


def accuracy(output, target):
    return (output.argmax(1) == target).float().mean()


def blobs(count=48, seed=0):
    """Two clouds of points."""
    generator = rl.Generator().manual_seed(seed)
    target = rl.arange(count) % 2
    x = rl.randn(count, 4, generator=generator) + 3.0 * target.reshape(-1, 1)
    return DataLoader(TensorDataset(x, target), batch_size=8)


def test_a_classifier_in_five_lines(tmp_path):
    rl.manual_seed(0)
    dls = blobs(), blobs(24, 1)
    learn = make_learner(
        tmp_path,
        dls=dls,
        model=nn.Linear(4, 2),
        loss_func=nn.CrossEntropyLoss(label_smoothing=0.1),
        metrics=accuracy,
        splitter=lambda model: [list(model.parameters())],
        cbs=easy.MixUp(0.4),
    )
    learn.fit_one_cycle(6, 0.1)
    assert learn.recorder.names == ["train_loss", "valid_loss", "accuracy"]
    assert learn.recorder.values[-1][2] > 0.9 and len(learn.recorder.lrs) == 36
    loss, share = learn.validate()
    outputs, targets = learn.get_preds()
    assert outputs.shape == (24, 2) and share == pytest.approx(float(accuracy(outputs, targets)))
    assert loss == pytest.approx(learn.recorder.values[-1][1], rel=1e-5)


def test_mixup_is_a_weighted_mean():
    rl.manual_seed(3)
    x = rl.randn(6, 2, 3)
    mixed, order, share = easy.MixUp(0.4).mix(x)
    assert bool((share >= 0.5).all()) and sorted(order.tolist()) == list(range(6))
    weights = share.reshape(-1, 1, 1)
    assert rl.allclose(mixed, x * weights + x[order] * (1 - weights))


def test_cutmix_takes_a_rectangle():
    rl.manual_seed(3)
    x = rl.arange(4.0).reshape(4, 1, 1, 1).expand(4, 2, 10, 12).clone()
    for _ in range(20):
        mixed, order, share = easy.CutMix().mix(x)
        for number in range(4):
            other = float(order[number])
            changed = (mixed[number] == other).float().mean().item()
            if other != number:
                assert changed == pytest.approx(1 - share, abs=1e-6)
    with pytest.raises(ValueError, match="N, C, H, W"):
        easy.CutMix().mix(rl.ones(3, 2))


def test_mixed_losses_are_weighted():
    kind = partial(LearnerModule, nn.Identity(), opt_func=Adam, splitter=one_group, metrics=[])
    module = kind(loss_func=nn.CrossEntropyLoss())
    output, own, other = rl.randn(5, 3), rl.tensor([0, 1, 2, 0, 1]), rl.tensor([1, 1, 0, 2, 2])
    share = rl.rand(5)
    one_hot = nn.functional.one_hot
    soft = one_hot(own, 3) * share.reshape(-1, 1) + one_hot(other, 3) * (1 - share).reshape(-1, 1)
    expected = nn.functional.cross_entropy(output, soft)
    assert float(module._mixed_loss(output, own, other, share)) == pytest.approx(float(expected))
    assert module.loss_func.reduction == "mean"
    module = kind(loss_func=nn.functional.cross_entropy)
    with pytest.raises(TypeError, match="cross_entropy has no `reduction`"):
        module._mixed_loss(output, own, other, share)


def test_mixing_needs_a_learner(model_class, loader, trainer):
    with pytest.raises(MisconfigurationException, match="easy.Learner"):
        trainer(callbacks=[easy.MixUp()]).fit(model_class(), loader(), loader(4))
    with pytest.raises(ValueError, match="alpha=0"):
        easy.MixUp(0)


def test_the_best_weights_are_kept(tmp_path):
    rl.manual_seed(5)
    best = easy.SaveModel(path=tmp_path, fname="best")
    learn = make_learner(tmp_path, cbs=best)
    learn.fit(2, 0.05)
    learn.fit(1, 50.0)
    assert best.best_epoch == 1 and best.best == pytest.approx(learn.validate()[0], rel=1e-5)
    assert (tmp_path / "best.pt").is_file()
    with pytest.raises(ValueError, match="comp='more'"):
        easy.SaveModel(comp="more")


def test_saving_and_loading(tmp_path, same):
    learn = make_learner(tmp_path)
    learn.fit(1, 0.05)
    path = learn.save("first")
    assert path == tmp_path / "models" / "first.pt"
    other = make_learner(tmp_path).load("first")
    same(other.model.state_dict(), learn.model.state_dict())
    same(other.opt.state_dict(), learn.opt.state_dict())


def test_precision_and_summary(tmp_path):
    learn = make_learner(tmp_path).to_bf16()
    learn.fit(1, 0.01)
    assert learn.trainer.precision == "bf16-mixed"
    assert learn.to_fp32()._options["precision"] == "32-true"
    assert "Linear" in learn.summary() and "parameters in all" in learn.summary()
    with pytest.raises(TypeError, match="pair of loaders"):
        easy.Learner(3, nn.Linear(1, 1), nn.MSELoss())


def test_losses_as_a_picture(tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    learn = make_learner(tmp_path)
    learn.fit(2, 0.02)
    axes = learn.recorder.plot_loss(skip_start=2)
    assert [line.get_label() for line in axes.lines] == ["train", "valid"]
    assert list(axes.lines[0].get_ydata()) == learn.recorder.losses[2:]
    assert list(axes.lines[1].get_xdata()) == [6, 12]


def classifier(tmp_path, **options):
    x = rl.arange(60.0).reshape(20, 3).sin()
    data = rl.utils.data.TensorDataset(x, (x.sum(1) > 0).long())
    loaders = [
        rl.utils.data.DataLoader(rl.utils.data.Subset(data, rows), batch_size=4)
        for rows in (range(14), range(14, 20))
    ]
    model = rl.nn.Linear(3, 2)
    loss = rl.nn.CrossEntropyLoss()
    return easy.Learner(
        loaders, model, loss, path=tmp_path, enable_progress_bar=False, **options
    ), data.tensors


def test_predictions_with_more(tmp_path):
    """fastai's arguments of `get_preds`."""
    learn, (x, y) = classifier(tmp_path)
    outputs, targets, decided, losses = learn.get_preds(with_decoded=True, with_loss=True)
    assert rl.equal(targets, y[14:]) and rl.allclose(outputs, learn.model(x[14:]))
    assert rl.equal(decided, outputs.argmax(1))
    each = rl.nn.functional.cross_entropy(outputs, targets, reduction="none")
    assert rl.allclose(losses, each) and learn.loss_func.reduction == "mean"
    shares, seen = learn.get_preds(ds_idx=0, act=rl.nn.Softmax(1))
    assert rl.equal(seen, y[:14]) and rl.allclose(shares.sum(1), rl.ones(14))
    assert rl.equal(learn.get_preds(0)[1], y[:14])
    with pytest.raises(ValueError, match="ds_idx=2"):
        learn.get_preds(ds_idx=2)
    learn.loss_func = rl.nn.functional.cross_entropy
    with pytest.raises(TypeError, match="no `reduction`"):
        learn.get_preds(with_loss=True)
    with pytest.raises(TypeError, match="loss_func is 3"):
        learn.loss_func = 3


def test_callbacks_come_and_go(tmp_path):
    learn, _ = classifier(tmp_path)
    mixed = easy.MixUp()
    assert learn.add_cb(mixed).add_cbs([easy.CutMix()]).cbs[0] is mixed
    assert learn.remove_cb(easy.CutMix).cbs == [mixed] and learn.remove_cb(mixed).cbs == []
    learn._options["enable_progress_bar"] = True
    with learn.no_bar():
        learn.fit(1)
        assert not learn._options["enable_progress_bar"]
    assert learn._options["enable_progress_bar"]


def test_the_rate_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    learn, _ = classifier(tmp_path)
    learn.fit_one_cycle(2, 0.1)
    (line,) = learn.recorder.plot_sched().lines
    assert line.get_ydata().tolist() == learn.recorder.lrs and max(learn.recorder.lrs) <= 0.1
