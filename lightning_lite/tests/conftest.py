"""Small models and data that the tests share."""

from __future__ import annotations

import logging
import random
import signal
import sys
from pathlib import Path

import pytest

import lightning_lite as L
import rushlight as rl
from rushlight import nn
from rushlight.utils.data import DataLoader, Dataset, TensorDataset

F = nn.functional
sys.path.insert(0, str(Path(__file__).parent))

# A shell's background job starts with Ctrl-C ignored; the tests here send it to themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Regression(L.LightningModule):
    """Two layers fitted to a sum; `kind` chooses the schedulers."""

    def __init__(self, lr: float = 0.01, kind: str = "none", width: int = 8):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.mse_loss(self(x), y)
        self.log("train_loss", loss, on_step=True, on_epoch=True, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", F.mse_loss(self(x), y), prog_bar=True)

    def test_step(self, batch, batch_idx):
        x, y = batch
        self.log_dict({"test_loss": F.mse_loss(self(x), y), "two": 2.0})

    def predict_step(self, batch, batch_idx):
        return self(batch[0])

    def configure_optimizers(self):
        optimizer = rl.optim.Adam(self.parameters(), lr=self.hparams.lr)
        schedulers = rl.optim.lr_scheduler
        if self.hparams.kind == "epoch":
            return [optimizer], [schedulers.StepLR(optimizer, 1, 0.5)]
        if self.hparams.kind == "step":
            total = self.trainer.estimated_stepping_batches
            cycle = schedulers.OneCycleLR(optimizer, 0.05, total_steps=total)
            return {
                "optimizer": optimizer,
                "lr_scheduler": {"scheduler": cycle, "interval": "step"},
            }
        return optimizer


class Noisy(Dataset):
    """Items with noise from the generators of Python and Rushlight, as augmentation makes it."""

    def __init__(self, length: int = 24):
        generator = rl.Generator().manual_seed(1)
        self.x = rl.randn(length, 4, generator=generator)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        x = self.x[index] + 0.1 * rl.randn(4) + 0.1 * random.random()
        return x, x.sum().reshape(1)


@pytest.fixture
def model_class():
    return Regression


@pytest.fixture
def noisy_data():
    return Noisy


@pytest.fixture
def loader():
    """Makes a loader of `count` rows of a sum."""

    def make(count: int = 22, seed: int = 1, batch_size: int = 4, shuffle: bool = False, **options):
        generator = rl.Generator().manual_seed(seed)
        x = rl.randn(count, 4, generator=generator)
        y = x.sum(1, keepdim=True)
        return DataLoader(TensorDataset(x, y), batch_size=batch_size, shuffle=shuffle, **options)

    return make


@pytest.fixture
def trainer(tmp_path):
    """Makes a silent trainer that writes into the test's own folder."""

    def make(**options):
        defaults = {
            "max_epochs": 1,
            "default_root_dir": tmp_path,
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "accelerator": "cpu",
            "logger": False,
        }
        if options.get("max_steps"):
            defaults.pop("max_epochs")
        return L.Trainer(**{**defaults, **options})

    return make


@pytest.fixture
def same():
    """Asserts that two nested structures are equal, tensors bit for bit."""

    def check(left, right, path="value"):
        assert type(left) is type(right), path
        if isinstance(left, dict):
            assert list(left) == list(right), path
            for key in left:
                check(left[key], right[key], f"{path}[{key!r}]")
        elif isinstance(left, list | tuple):
            assert len(left) == len(right), path
            for number, (a, b) in enumerate(zip(left, right, strict=True)):
                check(a, b, f"{path}[{number}]")
        elif isinstance(left, rl.Tensor):
            assert left.dtype is right.dtype and left.shape == right.shape, path
            assert rl.equal(left, right), path
        else:
            assert left == right, path

    return check


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """Fixed seeds, no chatter, and no seed left in the environment."""
    monkeypatch.delenv("PL_GLOBAL_SEED", raising=False)
    monkeypatch.setenv("PL_GLOBAL_SEED", "0")
    logging.getLogger("lightning_lite").setLevel(logging.WARNING)
    L.seed_everything(0, verbose=False)
    yield
    logging.getLogger("lightning_lite").setLevel(logging.INFO)
