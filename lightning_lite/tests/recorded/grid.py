"""The flags that say how much is trained and when validation runs, in all combinations.

`python grid.py` runs them with lightning and writes `grid.json`, to which `test_grid.py` compares:
at which steps validation ran, how many optimizer steps and epochs there were, what the learning
rate ended at, or that the combination is refused.
"""

from __future__ import annotations

import itertools
import json
import logging
import sys
import tempfile
import warnings
from pathlib import Path

FLAGS = {
    "limit_train_batches": (1.0, 4, 0.5),
    "val_check_interval": (1.0, 0.5, 3),
    "check_val_every_n_epoch": (1, 2, None),
    "accumulate_grad_batches": (1, 2),
    "sized": (True, False),
    "stop": ({"max_epochs": 2}, {"max_steps": 7}, {"max_epochs": 3, "min_steps": 8}),
}


def combinations():
    """Every combination, by a name."""
    for values in itertools.product(*FLAGS.values()):
        options = dict(zip(FLAGS, values, strict=True))
        yield "|".join(str(value) for value in values), options


def run(L, rl, options, folder):
    """What one combination does."""
    nn, options = rl.nn, dict(options)
    sized, stop = options.pop("sized"), options.pop("stop")
    seen = []

    class Rows(rl.utils.data.IterableDataset):
        def __iter__(self):
            return iter([(rl.full((4,), float(n)), rl.ones(1)) for n in range(12)])

    class Model(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 1)

        def training_step(self, batch, batch_idx):
            if "min_steps" in stop and self.global_step >= 3:
                self.trainer.should_stop = True
            return nn.functional.mse_loss(self.layer(batch[0]), batch[1])

        def validation_step(self, batch, batch_idx):
            pass

        def on_validation_start(self):
            seen.append([self.current_epoch, self.global_step])

        def configure_optimizers(self):
            optimizer = rl.optim.SGD(self.parameters(), lr=1e-4)
            return [optimizer], [rl.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)]

    data = Rows() if not sized else list(Rows())
    loader = rl.utils.data.DataLoader(data, batch_size=2)
    val = rl.utils.data.DataLoader(list(Rows())[:3], batch_size=1)
    try:
        trainer = L.Trainer(
            default_root_dir=folder,
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            enable_checkpointing=False,
            accelerator="cpu",
            num_sanity_val_steps=0,
            **options,
            **stop,
        )
        trainer.fit(Model(), loader, val)
    except Exception as error:
        return {"refused": type(error).__name__}
    return {
        "validations": seen,
        "epochs": trainer.current_epoch,
        "steps": trainer.global_step,
        "rate": round(trainer.optimizers[0].param_groups[0]["lr"] * 1e9),
    }


def record():
    """Run every combination with lightning and write what it did."""
    import lightning.pytorch as L
    import torch

    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        found = {name: run(L, torch, options, folder) for name, options in combinations()}
    rows = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()]
    text = "{\n" + ",\n".join(rows) + "\n}\n"
    Path(__file__).with_name("grid.json").write_text(text)


if __name__ == "__main__":
    sys.exit(record())
