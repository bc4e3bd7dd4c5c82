"""metrics.csv after a killed run went on: each row once, as if nothing had happened."""

import csv
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lightning_lite.callbacks import Callback
from lightning_lite.loggers import CSVLogger

PROGRAM = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from conftest import Regression
import lightning_lite as L, rushlight as rl
from lightning_lite.callbacks import Callback, ModelCheckpoint
from lightning_lite.loggers import CSVLogger
from rushlight.utils.data import DataLoader, TensorDataset

folder, kill_at = Path(sys.argv[2]), int(sys.argv[3])

class Kill(Callback):
    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        if trainer.global_step == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

L.seed_everything(1, verbose=False)
x = rl.randn(24, 4)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4)
keep = ModelCheckpoint(folder, save_last=True, every_n_epochs=1)
run = L.Trainer(
    max_epochs=4, logger=CSVLogger(folder, version=0), callbacks=[keep, Kill()], accelerator="cpu",
    log_every_n_steps=1, enable_progress_bar=False, enable_model_summary=False,
)
last = folder / "last.ckpt"
run.fit(Regression(), loader, loader, ckpt_path=str(last) if last.exists() else None)
"""


def run(folder, kill_at=-1):
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent), str(folder), str(kill_at)]
    return subprocess.run(command, capture_output=True, text=True)


def rows(folder):
    with open(folder / "lightning_logs" / "version_0" / "metrics.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_a_killed_run_that_goes_on(tmp_path):
    whole = run(tmp_path / "whole")
    assert whole.returncode == 0, whole.stderr
    expected = rows(tmp_path / "whole")
    assert len(expected) == 4 * 8
    for kill_at in (8, 15):  # in the second and third epoch, rows after the checkpoint
        assert run(tmp_path / "killed", kill_at).returncode == -signal.SIGKILL
        assert len(rows(tmp_path / "killed")) > kill_at
    with open(tmp_path / "killed/lightning_logs/version_0/metrics.csv", "a") as file:
        file.write("2,0.1")  # a row that the kill cut off
    again = run(tmp_path / "killed")
    assert again.returncode == 0, again.stderr
    assert rows(tmp_path / "killed") == expected


class Often(Callback):
    """Writes a checkpoint at every moment at which callbacks write them."""

    def __init__(self, folder):
        self.folder, self.count = folder, 0

    def _write(self, trainer, *arguments):
        if not trainer.sanity_checking:
            self.count += 1
            trainer.save_checkpoint(self.folder / f"{self.count:02d}.ckpt")

    def on_train_batch_end(self, trainer, *arguments):
        self._write(trainer)

    def on_validation_end(self, trainer, *arguments):
        self._write(trainer)

    def on_train_epoch_end(self, trainer, *arguments):
        self._write(trainer)


def test_every_moment(model_class, loader, trainer, tmp_path):
    options = {"max_epochs": 2, "log_every_n_steps": 1, "enable_checkpointing": False}
    logger = CSVLogger(tmp_path, version=0)
    trainer(logger=logger, callbacks=[Often(tmp_path)], **options).fit(
        model_class(), loader(12), loader(8)
    )
    expected = rows(tmp_path)
    for path in sorted(tmp_path.glob("*.ckpt")):
        again = trainer(logger=CSVLogger(tmp_path, version=0), **options)
        again.fit(model_class(), loader(12), loader(8), ckpt_path=path)
        assert rows(tmp_path) == expected, path.name


def test_rows_of_another_run_stay(model_class, loader, trainer, tmp_path):
    first = trainer(logger=CSVLogger(tmp_path / "a", version=0), log_every_n_steps=1)
    first.fit(model_class(), loader(12), loader(4))
    first.save_checkpoint(tmp_path / "a.ckpt")
    other = CSVLogger(tmp_path / "b", version=0)
    for step in range(100, 120):
        other.log_metrics({"train_loss": 1.0}, step)
    other.save()
    again = trainer(max_epochs=2, logger=CSVLogger(tmp_path / "b", version=0), log_every_n_steps=1)
    with pytest.warns(UserWarning, match="row 5 of .*metrics.csv is not of step 2.*another run"):
        again.fit(model_class(), loader(12), loader(4), ckpt_path=tmp_path / "a.ckpt")
    assert len(rows(tmp_path / "b")) == 20 + 5


def test_flushing_never_is_refused(tmp_path):
    with pytest.raises(ValueError, match="flush_logs_every_n_steps=0: expected 1 or more"):
        CSVLogger(tmp_path, flush_logs_every_n_steps=0)
