"""Small trainings that Lightning and lightning_lite must agree on.

`python scenarios.py` runs them with pytorch-lightning and writes `lightning.json`, which
`test_like_lightning.py` compares with. Neither package is needed for the comparison.
"""

from __future__ import annotations

import csv
import json
import logging
import sys
import tempfile
import warnings
from pathlib import Path

SCENARIOS = {
    "plain": {"max_epochs": 3, "log_every_n_steps": 2, "kind": "epoch"},
    "accumulate": {"max_epochs": 3, "log_every_n_steps": 2, "accumulate_grad_batches": 3},
    "clip norm": {"max_epochs": 2, "gradient_clip_val": 0.1, "log_every_n_steps": 3},
    "clip value": {
        "max_epochs": 2,
        "gradient_clip_val": 0.01,
        "gradient_clip_algorithm": "value",
        "log_every_n_steps": 3,
    },
    "validate twice": {"max_epochs": 2, "val_check_interval": 0.5, "kind": "batch"},
    "validate every 2": {"max_epochs": 2, "val_check_interval": 2, "log_every_n_steps": 2},
    "validate across": {
        "max_epochs": 3,
        "val_check_interval": 5,
        "check_val_every_n_epoch": None,
        "log_every_n_steps": 5,
    },
    "every second epoch": {"max_epochs": 4, "check_val_every_n_epoch": 2, "kind": "cycle"},
    "max steps": {"max_steps": 8, "log_every_n_steps": 2, "kind": "cycle"},
    "limits": {"max_epochs": 2, "limit_train_batches": 3, "limit_val_batches": 0.5},
    "shuffled": {"max_epochs": 3, "log_every_n_steps": 2, "shuffle": True},
    "double": {"max_epochs": 2, "precision": "64-true", "log_every_n_steps": 3},
    "no sanity check": {"max_epochs": 1, "num_sanity_val_steps": 0, "log_every_n_steps": 1},
    "stop early": {"max_epochs": 20, "callback": "stop", "kind": "cycle"},
    "stop early inside": {"max_epochs": 20, "callback": "stop", "val_check_interval": 2},
    "best two": {"max_epochs": 5, "callback": "best"},
    "every 2 steps": {"max_epochs": 2, "callback": "steps"},
    "rates": {"max_epochs": 2, "callback": "rates", "kind": "batch", "log_every_n_steps": 2},
    "accumulate later": {"max_epochs": 4, "callback": "accumulate", "log_every_n_steps": 2},
}


def make_model(L, rl, kind):
    """Two layers with the schedulers of a kind."""
    nn = rl.nn
    schedulers = rl.optim.lr_scheduler

    class Model(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))

        def training_step(self, batch, batch_idx):
            x, y = batch
            loss = nn.functional.mse_loss(self.net(x), y)
            self.log("train_loss", loss, on_step=True, on_epoch=True, prog_bar=True)
            self.log("largest", float(batch_idx), on_step=False, on_epoch=True, reduce_fx="max")
            return loss

        def validation_step(self, batch, batch_idx):
            x, y = batch
            loss = nn.functional.mse_loss(self.net(x), y)
            self.log("val_loss", loss, prog_bar=True)
            self.log("each", loss, on_step=True, on_epoch=True)

        def on_train_epoch_end(self):
            self.log("number", float(self.current_epoch))

        def configure_optimizers(self):
            optimizer = rl.optim.Adam(self.parameters(), lr=0.01)
            if kind == "epoch":
                return [optimizer], [schedulers.StepLR(optimizer, 1, 0.5)]
            if kind == "batch":
                step = schedulers.StepLR(optimizer, 3, 0.9)
                config = {"scheduler": step, "interval": "step", "frequency": 2}
                return {"optimizer": optimizer, "lr_scheduler": config}
            if kind == "cycle":
                total = self.trainer.estimated_stepping_batches
                cycle = schedulers.OneCycleLR(optimizer, 0.1, total_steps=total)
                config = {"scheduler": cycle, "interval": "step"}
                return {"optimizer": optimizer, "lr_scheduler": config}
            return optimizer

    return Model()


def make_callbacks(L, name):
    """The callback that a scenario is about."""
    kit = L.callbacks
    makers = {
        "stop": lambda: kit.EarlyStopping("val_loss", patience=2, min_delta=0.3),
        "best": lambda: kit.ModelCheckpoint(
            monitor="val_loss", save_top_k=2, filename="{epoch:02d}-{val_loss:.2f}", save_last=True
        ),
        "steps": lambda: kit.ModelCheckpoint(every_n_train_steps=2, save_top_k=-1),
        "rates": lambda: kit.LearningRateMonitor(log_momentum=True),
        "accumulate": lambda: kit.GradientAccumulationScheduler({1: 2, 3: 4}),
    }
    return [makers[name]()] if name else None


def make_loader(rl, count, seed, shuffle=False):
    """Rows of a sum."""
    generator = rl.Generator().manual_seed(seed)
    x = rl.randn(count, 4, generator=generator)
    data = rl.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    return rl.utils.data.DataLoader(data, batch_size=4, shuffle=shuffle)


def numbers(values):
    """Plain, rounded numbers by name, sorted."""
    return {name: round(float(values[name]), 6) for name in sorted(values)}


def run(L, rl, name, folder):
    """Run a scenario in a folder; return everything that must agree."""
    options = dict(SCENARIOS[name])
    kind, shuffle = options.pop("kind", "none"), options.pop("shuffle", False)
    callbacks = make_callbacks(L, options.pop("callback", None))
    L.seed_everything(7, verbose=False)
    model = make_model(L, rl, kind)
    trainer = L.Trainer(
        default_root_dir=folder,
        callbacks=callbacks,
        logger=L.loggers.CSVLogger(folder),
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
        **options,
    )
    trainer.fit(model, make_loader(rl, 22, 1, shuffle), make_loader(rl, 10, 2))
    rows = []
    for path in Path(folder).rglob("metrics.csv"):
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                rows.append(numbers({k: v for k, v in row.items() if v != ""}))
    weights = [each.detach().double().abs().sum().item() for each in model.parameters()]
    keep = trainer.checkpoint_callback
    return {
        "epoch": trainer.current_epoch,
        "step": trainer.global_step,
        "weights": [round(weight, 6) for weight in weights],
        "rate": round(trainer.optimizers[0].param_groups[0]["lr"], 9),
        "callback_metrics": numbers(trainer.callback_metrics),
        "logged_metrics": numbers(trainer.logged_metrics),
        "progress_bar_metrics": numbers(trainer.progress_bar_metrics),
        "rows": rows,
        "files": sorted(path.name for path in Path(folder).rglob("*.ckpt")),
        "best": Path(keep.best_model_path).name,
        "last": Path(keep.last_model_path).name,
    }


def record():
    """Run every scenario with pytorch-lightning and write what it gave."""
    import pytorch_lightning
    import torch

    warnings.simplefilter("ignore")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    found = {}
    for name in SCENARIOS:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = run(pytorch_lightning, torch, name, folder)
    versions = {"pytorch-lightning": pytorch_lightning.__version__, "torch": torch.__version__}
    text = json.dumps({"versions": versions, "scenarios": found}, indent=None)
    text = text.replace('{"epoch"', '\n{"epoch"').replace('"rows": [', '"rows": [\n')
    Path(__file__).with_name("lightning.json").write_text(text + "\n")


if __name__ == "__main__":
    sys.exit(record())
