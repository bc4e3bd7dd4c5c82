"""A training that both sides write checkpoints of and go on from; `ci/lightning_checkpoints.py`
runs it.

Usage: python exchanged.py theirs|ours write FOLDER | resume FILE
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import warnings


def sides(name):
    """Trainer and tensors of a side."""
    if name == "theirs":
        import lightning.pytorch as L
        import torch

        return L, torch
    import lightning_lite as L
    import rushlight

    return L, rushlight


def make_model(L, rl, kind):
    """Two layers; `kind` chooses the scheduler."""
    nn, schedulers = rl.nn, rl.optim.lr_scheduler

    class Model(L.LightningModule):
        def __init__(self, kind="epoch"):
            super().__init__()
            self.save_hyperparameters()
            self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

        def training_step(self, batch, batch_idx):
            loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
            self.log("train_loss", loss)
            return loss

        def validation_step(self, batch, batch_idx):
            self.log("val_loss", nn.functional.mse_loss(self.net(batch[0]), batch[1]))

        def configure_optimizers(self):
            optimizer = rl.optim.Adam(self.parameters(), lr=0.02)
            if self.hparams.kind == "plateau":
                plateau = schedulers.ReduceLROnPlateau(optimizer, patience=0, threshold=0.5)
                return {
                    "optimizer": optimizer,
                    "lr_scheduler": plateau,
                    "monitor": "val_loss",
                }
            if self.hparams.kind == "step":
                step = schedulers.StepLR(optimizer, 4, 0.5)
                return [optimizer], [{"scheduler": step, "interval": "step"}]
            return [optimizer], [schedulers.StepLR(optimizer, 1, 0.7)]

    return Model(kind)


def make_loader(rl, count, seed):
    """Rows of a sum."""
    generator = rl.Generator().manual_seed(seed)
    x = rl.randn(count, 4, generator=generator)
    data = rl.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    return rl.utils.data.DataLoader(data, batch_size=4)


def make_trainer(L, folder, callbacks, **options):
    """A silent trainer."""
    stop = L.callbacks.EarlyStopping("val_loss", patience=50, check_on_train_epoch_end=False)
    return L.Trainer(
        default_root_dir=folder,
        callbacks=[stop, *callbacks],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
        num_sanity_val_steps=0,
        **options,
    )


KINDS = {
    "epoch": {"check_val_every_n_epoch": 1},
    "step": {"val_check_interval": 3},
    "plateau": {"check_val_every_n_epoch": 1},
}


def state(rl, trainer, model):
    """What must agree at the end."""
    weights = [each.detach().double().abs().sum().item() for each in model.parameters()]
    rate = round(trainer.optimizers[0].param_groups[0]["lr"], 9)
    return {
        "weights": weights,
        "rate": rate,
        "epoch": trainer.current_epoch,
        "step": trainer.global_step,
    }


def data(rl):
    return make_loader(rl, 30, 1), make_loader(rl, 10, 2)


def write(side, folder):
    """Train two epochs of each kind, with a checkpoint at every moment of interest; then, without
    a break, four: what these end with."""
    L, rl = sides(side)
    os.makedirs(folder, exist_ok=True)
    found = {}
    for kind, options in KINDS.items():

        class Moments(L.Callback):
            def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
                if trainer.global_step == 11:
                    trainer.save_checkpoint(os.path.join(folder, f"{kind}-batch.ckpt"))  # noqa: B023

            def on_validation_end(self, trainer, module):
                path = os.path.join(folder, f"{kind}-validation.ckpt")  # noqa: B023
                if trainer.global_step in (11, 14, 16) and not os.path.exists(path):
                    trainer.save_checkpoint(path)

        L.seed_everything(5, verbose=False)
        model = make_model(L, rl, kind)
        keeper = L.callbacks.ModelCheckpoint(
            folder, filename=f"{kind}-epoch", save_on_train_epoch_end=True, every_n_epochs=2
        )
        trainer = make_trainer(L, folder, [Moments(), keeper], max_epochs=2, **options)
        trainer.fit(model, *data(rl))
        trainer.save_checkpoint(os.path.join(folder, f"{kind}-over.ckpt"))
        found[kind] = unbroken(L, rl, kind, options)
    return found


def unbroken(L, rl, kind, options):
    """The end of four epochs without a break."""
    L.seed_everything(5, verbose=False)
    model = make_model(L, rl, kind)
    with tempfile.TemporaryDirectory() as folder:
        keeper = L.callbacks.ModelCheckpoint(folder, filename="x")
        trainer = make_trainer(L, folder, [keeper], max_epochs=4, **options)
        trainer.fit(model, *data(rl))
    return state(rl, trainer, model)


def resume(side, path):
    """Go on to the end of the fourth epoch."""
    L, rl = sides(side)
    kind = os.path.basename(path).split("-")[0]
    model = make_model(L, rl, kind)
    with tempfile.TemporaryDirectory() as folder:
        keeper = L.callbacks.ModelCheckpoint(folder, filename="x")
        trainer = make_trainer(L, folder, [keeper], max_epochs=4, **KINDS[kind])
        trainer.fit(model, *data(rl), ckpt_path=path)
    return state(rl, trainer, model)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in ("lightning.pytorch", "lightning_lite"):
        logging.getLogger(name).setLevel(logging.ERROR)
    print(json.dumps({"write": write, "resume": resume}[sys.argv[2]](sys.argv[1], sys.argv[3])))
