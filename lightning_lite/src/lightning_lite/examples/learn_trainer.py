"""The Trainer: a loop that logs, stops and resumes.

    rushlight examples run learn_trainer

A training loop is short when it is written, and long when it can stop and resume, log, keep the
best weights, stop early and run on other hardware. The Trainer is that long loop; you write what
differs from task to task. Here it learns how a pendulum with friction moves, and the network is
then let run by itself for ten seconds. Who knows PyTorch Lightning knows all of this already: names
and habits are the same. Read [modules and training](learn_modules.md) first. It takes fifteen
seconds, and leaves runs/learn_trainer/ with logs, checkpoints and a picture.
"""

# %% What is to be learnt
# The state of a pendulum is its angle and speed. A simulation in small steps says where it is a
# tenth of a second later, and from pairs of states before and after, a network is to learn the
# same.
import csv
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

import lightning_lite as L
import rushlight as rl
from lightning_lite.callbacks import EarlyStopping, ModelCheckpoint
from lightning_lite.loggers import CSVLogger
from lightning_lite.tuner import Tuner
from rushlight import nn
from rushlight.nn import functional as F
from rushlight.utils.data import DataLoader, TensorDataset


def swing(state: rl.Tensor, steps: int = 50) -> rl.Tensor:
    """States `[N, 2]` (angle, speed) a tenth of a second later, by small steps."""
    angle, speed = state.unbind(1)
    for _ in range(steps):
        speed = speed + (-9.81 * angle.sin() - 0.3 * speed) * (0.1 / steps)
        angle = angle + speed * (0.1 / steps)
    return rl.stack([angle, speed], dim=1)


start = rl.tensor([[2.5, 0.0]])
print("at", start[0].tolist(), "and then at", [round(x, 3) for x in swing(start)[0].tolist()])

# %% The module: a network with what is to be done with it
# A `LightningModule` is an `nn.Module`. `training_step` returns the loss of a batch,
# `configure_optimizers` the optimizer. There is no `zero_grad`, `backward` or `step`, no
# `.to(device)`, and no `eval()` around the validation: the Trainer does these, in the right order.
# `save_hyperparameters` keeps the arguments, so that a checkpoint can make the module again.


class Pendulum(L.LightningModule):
    """Predicts how a state changes in a tenth of a second."""

    def __init__(self, width: int = 64, lr: float = 3e-3) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.body = nn.Sequential(
            nn.Linear(3, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 2)
        )

    def forward(self, state: rl.Tensor) -> rl.Tensor:
        # Angles that are a full turn apart are the same to the network, as they are to a pendulum.
        angle, speed = state.unbind(1)
        return state + self.body(rl.stack([angle.sin(), angle.cos(), speed / 5], dim=1))

    def training_step(self, batch, batch_idx):
        before, after = batch
        loss = F.mse_loss(self(before), after)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        before, after = batch
        self.log("val_loss", F.mse_loss(self(before), after))

    def test_step(self, batch, batch_idx):
        before, after = batch
        self.log("test_error", (self(before) - after).abs().mean())

    def configure_optimizers(self):
        optimizer = rl.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        schedule = rl.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.trainer.max_epochs)
        return {"optimizer": optimizer, "lr_scheduler": schedule}


# %% The data: another module
# A `LightningDataModule` keeps how data are made apart from what is learnt. `setup` runs before the
# loaders are asked for. Training data are noisy here, as measurements are.


class Swings(L.LightningDataModule):
    """Pairs of states a tenth of a second apart."""

    def setup(self, stage: str) -> None:
        random = rl.Generator().manual_seed(0)
        scale = rl.tensor([3.14, 6.0])
        before = (2 * rl.rand(3000, 2, generator=random) - 1) * scale
        after = swing(before)
        after[:2000] += 0.01 * rl.randn(2000, 2, generator=random)
        self.parts = [
            TensorDataset(before[a:b], after[a:b])
            for a, b in ((0, 2000), (2000, 2500), (2500, 3000))
        ]

    def train_dataloader(self):
        return DataLoader(self.parts[0], batch_size=50, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.parts[1], batch_size=500)

    def test_dataloader(self):
        return DataLoader(self.parts[2], batch_size=500)


# %% Look before you train
# `check` takes one batch and says whether it can be learnt by heart and whether a parameter gets no
# gradient. Afterwards, everything is as before. `fast_dev_run=True` of a Trainer runs one batch of
# each loop, which finds the error in your `test_step` now and not after a night of training.
options: dict[str, Any] = dict(enable_progress_bar=False, enable_model_summary=False)
L.seed_everything(0, verbose=False)
data = Swings()
data.setup("fit")
# figures vary: the time of a step does
report = L.Trainer(max_epochs=1, logger=False, **options).check(Pendulum(), data.train_dataloader())
print("learns one batch:", report.learns, "- parameters without gradient:", report.without_gradient)
L.Trainer(fast_dev_run=True, **options).fit(Pendulum(), datamodule=data)

# %%
# The learning-rate test raises the rate step by step and watches the loss. It suggests a rate where
# the loss falls fast, well before it rises.
found = Tuner(L.Trainer(max_epochs=1, logger=False, **options)).lr_find(Pendulum(), datamodule=data)
if found is not None:  # which it is under `fast_dev_run`; figures vary
    print(f"suggested: {found.suggestion():.4f}")

# %% Train
# Callbacks watch: one keeps the weights of the best validation loss and the newest, one stops when
# it has not become better for some epochs. The logger writes what `self.log` was given. With a
# terminal you would leave the progress bar on.
out = Path("runs/learn_trainer")


def trainer(epochs: int, name: str) -> L.Trainer:
    """A trainer whose logs and checkpoints stand in a folder of that name."""
    keep = ModelCheckpoint(
        out / name,
        monitor="val_loss",
        filename="best",
        save_last=True,
        enable_version_counter=False,
    )
    patience = EarlyStopping("val_loss", patience=15)
    logger = CSVLogger(out, name=name, version="")
    return L.Trainer(max_epochs=epochs, callbacks=[keep, patience], logger=logger, **options)


L.seed_everything(1, verbose=False)
whole, model = trainer(60, "whole"), Pendulum()
whole.fit(model, datamodule=data)
with open(out / "whole" / "metrics.csv", newline="") as file:
    rows = [row for row in csv.DictReader(file) if row["val_loss"]]
for row in rows[9::25]:
    print(f"epoch {int(row['epoch']) + 1}: validation loss {float(row['val_loss']):.5f}")

# %%
# `test` asks the unseen third part, with the best weights. The baseline is the best linear map,
# found by least squares: what the network is worth is the difference.
[measured] = whole.test(model, datamodule=data, ckpt_path="best", verbose=False) or []
data.setup("test")
(before, after), (asked, truth) = (part.tensors for part in (data.parts[0], data.parts[2]))
linear = rl.linalg.lstsq(before, after).solution
error = (asked @ linear - truth).abs().mean().item()
print(f"mean error: network {measured['test_error']:.4f}, linear map {error:.4f}")

# %% Stop, and go on
# `ckpt_path` resumes: weights, optimizer, schedule, random states, the order of the data, and the
# count of the callbacks. Ctrl-C and SIGTERM write such a checkpoint, too. Here a training is ended
# after 20 epochs by force and gone on with; it arrives at the same weights, bit for bit.


class Interrupt(L.Callback):
    """Ends training after an epoch."""

    def on_train_epoch_end(self, trainer, pl_module):
        trainer.should_stop = trainer.current_epoch == 19


L.seed_everything(1, verbose=False)
first = trainer(60, "stopped")
first.callbacks.append(Interrupt())
first.fit(Pendulum(), datamodule=data)
print("stopped after epoch", first.current_epoch)

L.seed_everything(99, verbose=False)
resumed, second = trainer(60, "stopped"), Pendulum()
resumed.fit(second, datamodule=data, ckpt_path=out / "stopped" / "last.ckpt")
one, other = (rl.load(out / name / "last.ckpt")["state_dict"] for name in ("whole", "stopped"))
print("the same weights:", all(rl.equal(one[name], other[name]) for name in one))

# %% Use what was learnt
# `load_from_checkpoint` makes the module from the arguments that were saved, and puts the weights
# in. Let it run by itself now: each prediction is the next input, a hundred times, so that errors
# add up. This is a harder question than the test's, and the right one for a model of motion.
model = Pendulum.load_from_checkpoint(out / "whole" / "best.ckpt").eval()


@rl.no_grad()
def let_run(step, steps: int = 100) -> rl.Tensor:
    """Angles from the start on, by repeating a step."""
    states = [start]
    for _ in range(steps):
        states.append(step(states[-1]))
    return rl.cat(states)[:, 0]


truth = let_run(swing)
curves = {"network": let_run(model), "linear map": let_run(lambda state: state @ linear)}
figure, axis = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
seconds = rl.arange(101) / 10
axis.plot(seconds.numpy(), truth.numpy(), color="grey", linewidth=5, alpha=0.5, label="simulation")
for name, angles in curves.items():
    off = (angles - truth).abs().mean().item()
    print(f"{name:10} mean error of the angle over ten seconds {off:.2f}")
    axis.plot(seconds.numpy(), angles.numpy(), label=name)
axis.set(title="Let go at 2.5 radians", xlabel="seconds", ylabel="angle", ylim=(-3.2, 3.2))
axis.legend(loc="upper right")
figure.savefig(out / "swings.png", dpi=100)

# %% What next
# Gradients of several batches are added up with `accumulate_grad_batches=4`, clipped with
# `gradient_clip_val=1.0`, and computed in half precision with `precision="bf16-mixed"`: arguments
# of the Trainer, no change to the module. [The trainer: more than fit](trainer.md) has fine-tuning,
# averaging, and `explain`, which prints the loop that will run. A loop of your own with the
# Trainer's services is `Fabric`, on the same page. [Distributed training](distributed.md) is
# `devices=2`.
