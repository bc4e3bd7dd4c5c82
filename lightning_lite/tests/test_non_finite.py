"""Losses and weights that are NaN or infinite: told once, and no reason to lose good ones."""

from __future__ import annotations

import math
import warnings

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite.callbacks import ModelCheckpoint
from lightning_lite.finiteness import non_finite_parameter
from rushlight.utils.data import DataLoader, TensorDataset


class Breaking(L.LightningModule):
    """Its loss is `value` in the batches from `first` to `last` of all."""

    def __init__(self, first, last=10**9, value=float("nan"), manual=False):
        super().__init__()
        self.layer = rl.nn.Linear(2, 1)
        self.first, self.last, self.value, self.seen = first, last, value, 0
        self.automatic_optimization = not manual

    def training_step(self, batch, batch_idx):
        loss = self.layer(batch[0]).square().mean()
        if self.first <= self.seen <= self.last:
            loss = loss * self.value
        self.seen += 1
        if not self.automatic_optimization:
            optimizer = self.optimizers()
            optimizer.zero_grad()
            self.manual_backward(loss)
            optimizer.step()
        return loss

    def configure_optimizers(self):
        return rl.optim.SGD(self.parameters(), lr=0.01)


def fit(module, folder, *callbacks, epochs=3, **options):
    trainer = L.Trainer(
        max_epochs=epochs, callbacks=list(callbacks), logger=False, default_root_dir=folder,
        enable_progress_bar=False, enable_model_summary=False, **options,
    )  # fmt: skip
    data = DataLoader(TensorDataset(rl.ones(12, 2)), batch_size=4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trainer.fit(module, data)
    return trainer, [str(w.message) for w in caught if w.category is RuntimeWarning]


@pytest.mark.parametrize("manual", [False, True])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_is_told_once(tmp_path, value, manual):
    module = Breaking(4, value=value, manual=manual)
    trainer, told = fit(module, tmp_path, enable_checkpointing=False)
    assert trainer.global_step == 9  # training goes on
    (message,) = told
    assert message.startswith(f"the loss is {value} in epoch 1, batch 1, and ")
    assert "detect_anomaly=True" in message


def test_finite_losses_are_not_told(tmp_path):
    assert fit(Breaking(100), tmp_path)[1] == []


def test_good_weights_are_kept(tmp_path):
    keeper = ModelCheckpoint(tmp_path / "kept", filename="{epoch}", save_last=True)
    module = Breaking(5, 5)
    _, told = fit(module, tmp_path, keeper)
    assert sorted(p.name for p in (tmp_path / "kept").iterdir()) == ["epoch=0.ckpt", "last.ckpt"]
    for name in ("epoch=0.ckpt", "last.ckpt"):
        state = rl.load(tmp_path / "kept" / name)["state_dict"]
        assert all(rl.isfinite(value).all() for value in state.values())
    assert [m.split(":")[0].split(" ")[0] for m in told] == ["the", "ModelCheckpoint"]
    assert "layer.weight has NaN or infinite elements after 6 steps" in told[1]
    assert non_finite_parameter(module) == "layer.weight"


def test_frozen_parameters_may_hold_infinities(tmp_path):
    keeper = ModelCheckpoint(tmp_path / "kept", filename="{epoch}")
    module = Breaking(100)
    mask = rl.nn.Parameter(rl.full((2,), -math.inf), requires_grad=False)
    module.mask = mask
    assert fit(module, tmp_path, keeper)[1] == []
    assert [p.name for p in (tmp_path / "kept").iterdir()] == ["epoch=2.ckpt"]


def test_writing_them_all_the_same(tmp_path):
    keeper = ModelCheckpoint(tmp_path / "kept", filename="{epoch}", allow_non_finite=True)
    trainer, told = fit(Breaking(5, 5), tmp_path, keeper)
    assert [p.name for p in (tmp_path / "kept").iterdir()] == ["epoch=2.ckpt"] and len(told) == 1
    trainer.save_checkpoint(tmp_path / "asked.ckpt")
    assert rl.load(tmp_path / "asked.ckpt")["state_dict"]["layer.weight"].isnan().all()


def test_weights_that_recover_are_written_again(tmp_path):
    class Recovering(Breaking):
        def on_train_epoch_start(self):
            if self.current_epoch == 2:
                rl.nn.init.ones_(self.layer.weight)
                rl.nn.init.ones_(self.layer.bias)

    keeper = ModelCheckpoint(tmp_path / "kept", filename="{epoch}", save_top_k=-1)
    fit(Recovering(3, 3), tmp_path, keeper)
    assert sorted(p.name for p in (tmp_path / "kept").iterdir()) == ["epoch=0.ckpt", "epoch=2.ckpt"]


class Explodes(rl.nn.Module):
    """Gives infinity from the third call on."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", rl.zeros(()))

    def forward(self, x):
        self.calls += 1
        return x * float("inf") if float(self.calls) > 2 else x


def told(fit):
    with pytest.warns(RuntimeWarning) as warnings:
        fit()
    return str(warnings[0].message)


def test_the_module_that_gives_it_is_named(model_class, loader, trainer):
    model = model_class()
    model.net = rl.nn.Sequential(rl.nn.Linear(4, 3), Explodes(), rl.nn.Linear(3, 1))
    run = trainer(max_steps=3, limit_val_batches=0, enable_checkpointing=False)
    message = told(lambda: run.fit(model, loader()))
    assert "epoch 0, batch 2" in message and "output of net.1 (Explodes)" in message
    assert float(model.net[1].calls) == 3, "the search leaves buffers as they were"


def test_the_batch_or_the_weights_are_named(model_class, loader, trainer):
    data = loader(8)
    data.dataset.tensors[0][5, 2] = float("nan")
    run = trainer(limit_val_batches=0, enable_checkpointing=False)
    assert "is the batch[0]." in told(lambda: run.fit(model_class(), data))
    model = model_class()
    with rl.no_grad():
        model.net[2].bias.fill_(float("inf"))
    run = trainer(limit_val_batches=0, enable_checkpointing=False)
    assert "parameter net.2.bias" in told(lambda: run.fit(model, loader()))


def test_the_step_itself_is_named(model_class, loader, trainer, same):
    class Divides(model_class):
        def training_step(self, batch, batch_idx):
            loss = super().training_step(batch, batch_idx)
            return loss / 0.0 if batch_idx == 1 else loss

    run = trainer(max_steps=2, limit_val_batches=0, enable_checkpointing=False)
    assert "training_step itself" in told(lambda: run.fit(Divides(), loader()))
