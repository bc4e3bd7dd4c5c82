"""A training that may be killed at any moment and goes on from its last checkpoint.

Usage: python killed_training.py FOLDER map|iterable|stateful WORKERS
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import lightning_lite as L
import rushlight as rl
from lightning_lite.callbacks import ModelCheckpoint
from lightning_lite.loggers import CSVLogger
from rushlight.utils.data import DataLoader, Dataset, IterableDataset

STEPS = 24


class Rows(Dataset):
    """Rows with noise that the generator gives when they are read."""

    def __len__(self):
        return 20

    def __getitem__(self, index):
        return rl.full((4,), float(index)) / 20 + 0.1 * rl.randn(4)


class Stream(IterableDataset):
    """The same rows, one after another."""

    def __iter__(self):
        worker = rl.utils.data.get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        for index in range(first, 20, step):
            yield Rows()[index]


class Stateful:
    """A loader that says where it is, and goes on from there."""

    def __init__(self):
        self.position = self.first = 0

    def __len__(self):
        return 5

    def __iter__(self):
        first, self.first = self.first, 0
        for self.position in range(first + 1, 6):
            yield rl.full((4, 4), self.position / 5) + 0.1 * rl.randn(4, 4)

    def state_dict(self):
        return {"position": self.position}

    def load_state_dict(self, state):
        self.first = state["position"]


class Module(L.LightningModule):
    """A layer with dropout, whose losses are logged."""

    def __init__(self):
        super().__init__()
        self.layer = rl.nn.Sequential(rl.nn.Linear(4, 4), rl.nn.Dropout(0.3))

    def training_step(self, batch, batch_idx):
        time.sleep(0.02)
        loss = self.layer(batch).square().mean()
        self.log("loss", loss, on_step=True, on_epoch=False)
        return loss

    def configure_optimizers(self):
        return rl.optim.Adam(self.parameters(), lr=0.01)


def loader(kind: str, workers: int):
    """The loader of a kind."""
    if kind == "stateful":
        return Stateful()
    if kind == "iterable":
        return DataLoader(Stream(), batch_size=4, num_workers=workers)
    return DataLoader(Rows(), batch_size=4, shuffle=True, num_workers=workers)


def main(folder: Path, kind: str, workers: int) -> None:
    L.seed_everything(3, workers=True, verbose=False)
    keeper = ModelCheckpoint(
        folder, save_last=True, every_n_train_steps=1, enable_version_counter=False
    )
    trainer = L.Trainer(
        max_steps=STEPS,
        max_epochs=-1,
        callbacks=[keeper],
        logger=CSVLogger(folder, name="logs", version=0, flush_logs_every_n_steps=1),
        log_every_n_steps=1,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    module, there = Module(), (folder / "last.ckpt").exists()
    print("ready", flush=True)
    trainer.fit(module, loader(kind, workers), ckpt_path="last" if there else None)
    rl.save(module.state_dict(), folder / "final.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
