"""Trials (`check`, the tuner) of modules that wait for validation, which trials leave out."""

from __future__ import annotations

import pytest

import rushlight as rl
from lightning_lite.callbacks import EarlyStopping, ModelCheckpoint
from lightning_lite.tuner import Tuner


@pytest.fixture
def waits_for_validation(model_class, loader, tmp_path):
    """A module whose scheduler and callbacks follow the validation loss; one batch an epoch."""

    class Waits(model_class):
        batch_size = 2

        def configure_optimizers(self):
            optimizer = super().configure_optimizers()
            plateau = rl.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
            return {"optimizer": optimizer, "lr_scheduler": plateau, "monitor": "val_loss"}

        def configure_callbacks(self):
            kept = ModelCheckpoint(monitor="val_loss", dirpath=tmp_path / "kept")
            return [EarlyStopping("val_loss"), kept]

        def train_dataloader(self):
            return loader(2)

        def val_dataloader(self):
            return loader(2)

    return Waits(lr=0.05)


TRIALS = {
    "check": lambda run, model: run.check(model, steps=20).losses[-1] < 1e9,
    "lr_find": lambda run, model: len(Tuner(run).lr_find(model, num_training=20).results["lr"]),
    "batch size": lambda run, model: Tuner(run).scale_batch_size(model, max_trials=2),
}


@pytest.mark.parametrize("name", TRIALS)
def test_a_trial_needs_no_validation(waits_for_validation, trainer, tmp_path, name):
    assert TRIALS[name](trainer(max_epochs=1), waits_for_validation)
    assert not (tmp_path / "kept").exists()


def test_a_fit_after_a_trial_has_scheduler_and_callbacks(waits_for_validation, trainer, tmp_path):
    run = trainer(max_epochs=1)
    run.check(waits_for_validation, steps=5)
    run.fit(waits_for_validation)
    assert len(run.lr_scheduler_configs) == 1
    assert len(list((tmp_path / "kept").iterdir())) == 1
