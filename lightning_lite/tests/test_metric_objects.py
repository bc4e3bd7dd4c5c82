"""Metrics that gather by themselves are logged as objects; torchmetrics runs so."""

from __future__ import annotations

import csv
import importlib.util
import subprocess
import sys

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite import metric_objects
from rushlight import nn


class Mean(nn.Module):
    """A mean over everything, as torchmetrics' classes behave."""

    def __init__(self):
        super().__init__()
        self._defaults = {"total": rl.zeros(()), "count": rl.zeros(())}
        self.resets = 0
        self.reset()

    def reset(self):
        self.total, self.count = rl.zeros(()), rl.zeros(())
        self._forward_cache, self._update_count = None, 0
        self.resets += 1

    def update(self, values):
        self.total = self.total + values.detach().sum()
        self.count = self.count + values.numel()
        self._update_count += 1

    @property
    def update_called(self):
        return self._update_count > 0

    def compute(self):
        return self.total / self.count

    def forward(self, values):
        self.update(values)
        self._forward_cache = values.detach().mean()
        return self._forward_cache


@pytest.fixture
def measured(model_class):
    class Measured(model_class):
        def __init__(self):
            super().__init__()
            self.train_mean, self.val_mean = Mean(), Mean()

        def training_step(self, batch, batch_idx):
            self.train_mean(batch[1])
            self.log("mean", self.train_mean, on_step=True, on_epoch=True, prog_bar=True)
            return super().training_step(batch, batch_idx)

        def validation_step(self, batch, batch_idx):
            self.val_mean.update(batch[1])
            self.log("val_mean", self.val_mean)

    return Measured


def test_values_of_steps_and_epochs(measured, loader, trainer, tmp_path):
    data, val = loader(22), loader(10, 2)
    model = measured()
    log = L.loggers.CSVLogger(tmp_path)
    run = trainer(max_epochs=2, logger=log, log_every_n_steps=1)
    run.fit(model, data, val)
    targets = [batch[1] for batch in data]
    whole, last = rl.cat(targets).mean().item(), targets[-1].mean().item()
    assert float(run.callback_metrics["mean_epoch"]) == pytest.approx(whole)
    assert float(run.callback_metrics["mean_step"]) == pytest.approx(last)
    expected = rl.cat([batch[1] for batch in val]).mean().item()
    assert float(run.callback_metrics["val_mean"]) == pytest.approx(expected)
    with open(log.metrics_file_path, newline="") as file:
        steps = [float(row["mean_step"]) for row in csv.DictReader(file) if row["mean_step"]]
    assert steps == pytest.approx([each.mean().item() for each in targets] * 2)
    assert model.train_mean.resets == 3 and model.val_mean.resets == 4
    assert run.validate(model, val, verbose=False) == [{"val_mean": pytest.approx(expected)}]


def test_what_was_gathered_stands_in_checkpoints(measured, loader, trainer, tmp_path, same):
    def fit(path=None, stop=False):
        keeper = L.callbacks.ModelCheckpoint(
            tmp_path, filename="{step}", every_n_train_steps=3, save_top_k=-1
        )
        run = trainer(max_epochs=2, callbacks=[keeper])
        run.fit(measured(), loader(22), loader(10, 2), ckpt_path=path)
        return {name: each for name, each in run.callback_metrics.items()}

    L.seed_everything(3, verbose=False)
    whole = fit()
    saved = rl.load(tmp_path / "step=9.ckpt")["loops"]["fit_loop"]["metrics"]
    assert float(saved["train_mean"]["count"]) == 12.0
    again = fit(tmp_path / "step=9.ckpt")
    same(dict(sorted(again.items())), dict(sorted(whole.items())))


def test_metrics_that_are_no_numbers(measured, loader, trainer):
    class Several(Mean):
        def compute(self):
            return rl.ones(2)

    model = measured()
    model.val_mean = Several()
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        trainer().fit(model, loader(), loader(4))
    assert metric_objects.computed(Mean()) is None
    assert not metric_objects.is_metric(nn.Linear(1, 1))
    assert metric_objects.path_of(model, model.train_mean) == "train_mean"


PROGRAM = """
import torch, torchmetrics, lightning.pytorch as pl
from torch.utils.data import DataLoader, TensorDataset

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)
        kit = torchmetrics.classification
        self.metrics = torchmetrics.MetricCollection({
            "acc": kit.MulticlassAccuracy(3, average="micro"), "f1": kit.MulticlassF1Score(3)
        })

    def training_step(self, batch, batch_idx):
        return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

    def validation_step(self, batch, batch_idx):
        self.metrics.update(self.layer(batch[0]), batch[1])
        self.log_dict(self.metrics)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.1)

torch.manual_seed(0)
x = torch.randn(60, 4)
data = DataLoader(TensorDataset(x, x[:, :3].argmax(1)), batch_size=7)
model = Model()
trainer = pl.Trainer(max_epochs=5, logger=False, enable_progress_bar=False, accelerator="cpu")
trainer.fit(model, data, data)
output = model.layer(x).argmax(1)
print(float(trainer.callback_metrics["acc"]), float((output == x[:, :3].argmax(1)).float().mean()))
print(trainer.callback_metrics["f1"].item() > 0.5)
"""


def test_torchmetrics(tmp_path):
    if importlib.util.find_spec("torchmetrics") is None:
        pytest.skip("torchmetrics is not installed")
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "rushlight", "run", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()[-2:]
    given, expected = map(float, first.split())
    assert given == pytest.approx(expected) and second == "True"
