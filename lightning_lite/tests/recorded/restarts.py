"""Restarts: what the loops' flags say in a run that is fresh, or goes on from a checkpoint.

`python restarts.py` runs every case with lightning and writes `restarts.json`, which
`test_restarts.py` compares with.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

FLAGS = {
    "fit_loop": (
        "restarting",
        "is_resuming",
        "restarted_on_epoch_start",
        "restarted_mid_epoch",
        "restarted_on_epoch_end",
        "resumed_on_epoch_end",
    ),
    "epoch_loop": (
        "restarting",
        "is_resuming",
        "restarted_on_train_batch_end",
        "restarted_on_last",
    ),
    "val_loop": ("is_resuming", "restarted_mid_evaluation"),
}
HOOKS = (
    "on_train_start",
    "on_train_epoch_start",
    "on_train_batch_start",
    "on_train_batch_end",
    "on_validation_start",
    "on_validation_batch_end",
    "on_validation_end",
    "on_train_epoch_end",
    "on_train_end",
)
# Name of a case -> the hook and the epoch and number of batches at which the checkpoint is
# written (None: after the run), options of the first trainer, options of the one that goes on.
CASES = {
    "fresh": (None, {}, {}),
    "batch_end": (("on_train_batch_end", 0, 2), {"max_epochs": 1}, {"max_epochs": 2}),
    "epoch_end": (("on_train_epoch_end", 0, 4), {"max_epochs": 1}, {"max_epochs": 3}),
    "run_end": (None, {"max_epochs": 1}, {"max_epochs": 2}),
    "nothing_left": (None, {"max_epochs": 1}, {"max_epochs": 1}),
    "validation_end": (
        ("on_validation_end", 0, 2),
        {"max_epochs": 1, "val_check_interval": 2},
        {"max_epochs": 2, "val_check_interval": 2},
    ),
    "batch_end_steps": (
        ("on_train_batch_end", 0, 2),
        {"max_steps": 3},
        {"max_steps": 6},
    ),
    "epoch_end_steps": (
        ("on_train_epoch_end", 0, 4),
        {"max_steps": 4},
        {"max_steps": 6},
    ),
}


def flags(trainer):
    """The names of the flags that are set."""
    fit = trainer.fit_loop
    loops = {"fit_loop": fit, "epoch_loop": fit.epoch_loop, "val_loop": fit.epoch_loop.val_loop}
    return [
        f"{name}.{flag}"
        for name, loop in loops.items()
        for flag in FLAGS[name]
        if getattr(loop, flag)
    ]


def make_callbacks(Callback, at, path):
    """One that writes a checkpoint at a moment, one that notes the flags at every hook."""

    class Save(Callback):
        def __init__(self):
            self.batches = 0

        def reached(self, trainer, hook):
            moment = (hook, trainer.current_epoch, self.batches)
            if not trainer.sanity_checking and at is not None and moment == tuple(at):
                trainer.save_checkpoint(path)

        def on_train_batch_end(self, trainer, *rest):
            self.batches = rest[-1] + 1
            self.reached(trainer, "on_train_batch_end")

        def on_validation_end(self, trainer, module):
            self.reached(trainer, "on_validation_end")

        def on_train_epoch_end(self, trainer, module):
            self.reached(trainer, "on_train_epoch_end")

    class Note(Callback):
        def __init__(self):
            self.rows = []

    def noting(hook):
        def note(self, trainer, *rest):
            if not trainer.sanity_checking:
                self.rows.append([hook, flags(trainer)])

        return note

    for hook in HOOKS:
        setattr(Note, hook, noting(hook))
    return Save(), Note()


def run(L, rl, name, folder):
    """The rows of one case, and the flags after the run."""
    nn, data = rl.nn, rl.utils.data
    at, first, then = CASES[name]
    path = str(Path(folder) / "here.ckpt")

    class Model(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 1)

        def training_step(self, batch, batch_idx):
            return self.layer(batch[0]).pow(2).mean()

        def validation_step(self, batch, batch_idx):
            return None

        def configure_optimizers(self):
            return rl.optim.SGD(self.parameters(), lr=0.1)

    def trainer(callback, options):
        return L.Trainer(
            callbacks=[callback],
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,  # Lightning's sanity check clears flags of validation
            **options,
        )

    values = rl.arange(16.0).reshape(8, 2)
    loaders = [data.DataLoader(data.TensorDataset(values), batch_size=2) for _ in range(2)]
    if name == "fresh":
        path, then = None, {"max_epochs": 2}
    else:
        save, _ = make_callbacks(L.Callback, at, path)
        runner = trainer(save, first)
        runner.fit(Model(), *loaders)
        if at is None:
            runner.save_checkpoint(path)
    _, note = make_callbacks(L.Callback, at, path)
    runner = trainer(note, then)
    runner.fit(Model(), *loaders, ckpt_path=path)
    return {"rows": note.rows, "after": flags(runner)}


def main():
    """Record every case with lightning."""
    import lightning as L
    import torch

    found = {}
    for name in CASES:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = run(L, torch, name, folder)
    stages = {}
    from lightning.pytorch.loops import evaluation_loop, fit_loop, training_epoch_loop

    for module in (evaluation_loop, fit_loop, training_epoch_loop):
        names = vars(module.RestartStage).items()
        stages[module.__name__] = {key: value for key, value in names if key.isupper()}
    recorded = {"version": L.__version__, "stages": stages, "cases": found}
    Path(__file__).with_suffix(".json").write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
