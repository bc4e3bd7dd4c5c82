"""Resuming goes on bit for bit: from every moment at which a checkpoint can be written."""

from __future__ import annotations

import random

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite import random_state
from lightning_lite.callbacks import Callback, EarlyStopping, ModelCheckpoint, Timer
from lightning_lite.callbacks.checkpoint import Checkpoint
from rushlight import nn
from rushlight.utils.data import DataLoader, IterableDataset

F = nn.functional


class Everything(L.LightningModule):
    """Uses all that a checkpoint must bring back: dropout, buffers, averages, two schedulers."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, 1)
        )
        self.register_buffer("average", rl.zeros(1))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.mse_loss(self.net(x), y) + 0.01 * random.random()
        self.log("train_loss", loss, on_step=True, on_epoch=True)
        self.log("largest", loss, on_step=False, on_epoch=True, reduce_fx="max")
        return loss

    def on_train_batch_end(self, outputs, batch, batch_idx):
        self.average.mul_(0.9).add_(outputs["loss"] * 0.1)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", F.mse_loss(self.net(x), y) + 0.01 * rl.rand(()))

    def on_train_epoch_end(self):
        self.log("epoch_noise", rl.rand(()))

    def configure_optimizers(self):
        optimizer = rl.optim.AdamW(self.parameters(), lr=0.01)
        step = {
            "scheduler": rl.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=60),
            "interval": "step",
        }
        epoch = rl.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)
        return [optimizer], [step, epoch]


class Record(Callback):
    """Keeps what happened: losses, learning rates, validation values."""

    def __init__(self):
        self.steps = {}
        self.validations = {}
        self.epochs = {}

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        rate = trainer.optimizers[0].param_groups[0]["lr"]
        key = (trainer.current_epoch, batch_idx)
        self.steps[key] = (outputs["loss"].item(), rate, batch[0].sum().item())

    def on_validation_end(self, trainer, pl_module):
        if not trainer.sanity_checking:
            key = (trainer.current_epoch, trainer.global_step)
            self.validations[key] = trainer.callback_metrics["val_loss"].item()

    def on_train_epoch_end(self, trainer, pl_module):
        names = ("train_loss_epoch", "largest")
        values = {name: trainer.callback_metrics[name].item() for name in names}
        self.epochs[trainer.current_epoch] = values


class SaveAlways(Checkpoint):
    """Writes a checkpoint at every moment at which checkpoints are written."""

    def __init__(self, folder):
        self.folder = folder
        self.count = 0

    def _save(self, trainer, moment):
        if not trainer.sanity_checking:
            self.count += 1
            trainer.save_checkpoint(self.folder / f"{self.count:03d}-{moment}.ckpt")

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self._save(trainer, f"batch{batch_idx}")

    def on_validation_end(self, trainer, pl_module):
        self._save(trainer, "validation")

    def on_train_epoch_end(self, trainer, pl_module):
        self._save(trainer, "epoch")


def final_state(trainer, model):
    """Everything that must agree at the end."""
    return {
        "weights": model.state_dict(),
        "optimizer": trainer.optimizers[0].state_dict(),
        "schedulers": [config.scheduler.state_dict() for config in trainer.lr_scheduler_configs],
        "random": random_state.capture(),
        "metrics": {name: value.item() for name, value in sorted(trainer.callback_metrics.items())},
        "progress": trainer.state.progress.state_dict(),
    }


def scramble():
    """Leave every generator somewhere else."""
    L.seed_everything(987, verbose=False)
    rl.randn(17)


def check_every_moment(make_loaders, trainer, folder, same, every=1, **options):
    folder.mkdir()
    L.seed_everything(3, verbose=False)
    record, model = Record(), Everything()
    whole = trainer(callbacks=[record, SaveAlways(folder)], enable_checkpointing=True, **options)
    whole.fit(model, *make_loaders())
    expected = final_state(whole, model)
    paths = sorted(folder.iterdir())
    assert len(paths) > 10
    for path in paths[::every]:
        scramble()
        again, other = Record(), Everything()
        resumed = trainer(callbacks=[again], enable_checkpointing=False, **options)
        resumed.fit(other, *make_loaders(), ckpt_path=path)
        same(final_state(resumed, other), expected, path.name)
        for name in ("steps", "validations", "epochs"):
            seen, wanted = getattr(again, name), getattr(record, name)
            assert seen == {key: wanted[key] for key in seen}, (path.name, name)


def loaders_of(noisy_data, **options):
    def make():
        training = DataLoader(noisy_data(24), batch_size=4, shuffle=True, **options)
        return training, DataLoader(noisy_data(8), batch_size=4)

    return make


@pytest.mark.parametrize(
    "options",
    [
        {"max_epochs": 3, "val_check_interval": 0.5},
        {"max_epochs": 2, "accumulate_grad_batches": 4, "gradient_clip_val": 0.5},
        {"max_epochs": 3, "val_check_interval": 4, "check_val_every_n_epoch": None},
        {"max_epochs": 4, "limit_train_batches": 3},
    ],
    ids=["validation-inside", "accumulate", "across-epochs", "limited"],
)
def test_every_moment(noisy_data, trainer, tmp_path, same, options):
    check_every_moment(loaders_of(noisy_data), trainer, tmp_path / "saved", same, **options)


def test_every_moment_with_a_generator_of_its_own(noisy_data, trainer, tmp_path, same):
    def make():
        generator = rl.Generator().manual_seed(5)
        return loaders_of(noisy_data, generator=generator)()

    check_every_moment(make, trainer, tmp_path / "saved", same, every=2, max_epochs=2)


def test_every_moment_with_worker_processes(noisy_data, trainer, tmp_path, same):
    make = loaders_of(noisy_data, num_workers=2)
    check_every_moment(make, trainer, tmp_path / "saved", same, every=6, max_epochs=2)


class Stream(IterableDataset):
    """Data without a length, random at every pass."""

    def __iter__(self):
        for _ in range(22):
            x = rl.randn(4)
            yield x, x.sum().reshape(1)


def test_every_moment_of_a_loader_without_length(noisy_data, trainer, tmp_path, same):
    def make():
        return DataLoader(Stream(), batch_size=4), DataLoader(noisy_data(8), batch_size=4)

    check_every_moment(make, trainer, tmp_path / "saved", same, every=2, max_epochs=2)


class Counting:
    """A loader that writes its own position down."""

    def __init__(self):
        self.position = 0
        self.resumed_at = None
        self._start = 0

    def __len__(self):
        return 6

    def __iter__(self):
        start, self._start = self._start, 0
        for number in range(start, 6):
            self.position = number + 1
            x = rl.full((2, 4), float(number))
            yield x, x.sum(1, keepdim=True)

    def state_dict(self):
        return {"position": self.position}

    def load_state_dict(self, state):
        self._start = self.resumed_at = state["position"]


def test_a_loader_that_knows_its_position_is_asked(noisy_data, trainer, tmp_path, same):
    validation = DataLoader(noisy_data(8), batch_size=4)
    folder = tmp_path / "saved"
    folder.mkdir()
    record, model = Record(), Everything()
    whole = trainer(callbacks=[record, SaveAlways(folder)], max_epochs=2)
    whole.fit(model, Counting(), validation)
    path = min(folder.glob("*batch3.ckpt"))
    scramble()
    again, other, source = Record(), Everything(), Counting()
    resumed = trainer(callbacks=[again], max_epochs=2)
    resumed.fit(other, source, validation, ckpt_path=path)
    assert source.resumed_at == 4
    same(final_state(resumed, other), final_state(whole, model))
    assert again.steps == {key: record.steps[key] for key in again.steps}
    assert min(again.steps) == (0, 4)


@pytest.mark.parametrize("limit", [None, 3])
def test_positions_of_an_epochs_end_stay_in_it(noisy_data, trainer, tmp_path, same, limit):
    """Also where the resumed run need not read the loader any more in that epoch."""
    validation = DataLoader(noisy_data(8), batch_size=4)
    (tmp_path / "saved").mkdir()
    model, options = Everything(), {"max_epochs": 3, "limit_train_batches": limit}
    whole = trainer(callbacks=[SaveAlways(tmp_path / "saved")], **options)
    whole.fit(model, Counting(), validation)
    paths = sorted((tmp_path / "saved").glob("*.ckpt"))
    assert len(paths) > 3
    for path in paths:
        scramble()
        other = Everything()
        resumed = trainer(**options)
        resumed.fit(other, Counting(), validation, ckpt_path=path)
        same(final_state(resumed, other), final_state(whole, model))


def test_more_epochs_after_the_end(noisy_data, trainer, tmp_path, same):
    make = loaders_of(noisy_data)
    L.seed_everything(3, verbose=False)
    model = Everything()
    whole = trainer(max_epochs=4)
    whole.fit(model, *make())
    L.seed_everything(3, verbose=False)
    first = Everything()
    short = trainer(max_epochs=2)
    short.fit(first, *make())
    short.save_checkpoint(tmp_path / "after.ckpt")
    scramble()
    second = Everything()
    longer = trainer(max_epochs=4)
    longer.fit(second, *make(), ckpt_path=tmp_path / "after.ckpt")
    same(final_state(longer, second), final_state(whole, model))


@pytest.mark.parametrize("moment", ["in the last hooks", "after fit"])
def test_more_steps_after_a_limit_inside_an_epoch(noisy_data, trainer, tmp_path, same, moment):
    make = loaders_of(noisy_data)
    L.seed_everything(3, verbose=False)
    record, model = Record(), Everything()
    whole = trainer(max_steps=15, callbacks=[record])
    whole.fit(model, *make())
    L.seed_everything(3, verbose=False)
    keep = ModelCheckpoint(dirpath=tmp_path / "kept", save_on_train_epoch_end=True)
    short = trainer(max_steps=8, callbacks=[keep])
    short.fit(Everything(), *make())
    assert short.global_step == 8
    path = keep.best_model_path
    if moment == "after fit":
        path = tmp_path / "after.ckpt"
        short.save_checkpoint(path)
    scramble()
    again, second = Record(), Everything()
    longer = trainer(max_steps=15, callbacks=[again])
    longer.fit(second, *make(), ckpt_path=path)
    assert min(again.steps) == (1, 2)
    assert again.steps == {key: record.steps[key] for key in again.steps}
    same(second.state_dict(), model.state_dict())


def test_callbacks_go_on(noisy_data, trainer, tmp_path):
    make = loaders_of(noisy_data)
    stop = EarlyStopping("val_loss", patience=50)
    keep = ModelCheckpoint(dirpath=tmp_path / "kept", monitor="val_loss", save_last=True)
    first = trainer(max_epochs=3, callbacks=[stop, keep, Timer()])
    first.fit(Everything(), *make())
    stop_again = EarlyStopping("val_loss", patience=50)
    keep_again = ModelCheckpoint(dirpath=tmp_path / "kept", monitor="val_loss", save_last=True)
    timer = Timer()
    second = trainer(max_epochs=3, callbacks=[stop_again, keep_again, timer])
    second.fit(Everything(), *make(), ckpt_path="last")
    assert stop_again.state_dict() == stop.state_dict()
    assert keep_again.best_model_path == keep.best_model_path
    assert keep_again.best_model_score == keep.best_model_score
    assert list(keep_again.best_k_models) == list(keep.best_k_models)
    assert timer.time_elapsed() > 0


def test_other_data_are_refused(noisy_data, trainer, tmp_path):
    folder = tmp_path / "saved"
    folder.mkdir()
    trainer(callbacks=[SaveAlways(folder)]).fit(Everything(), *loaders_of(noisy_data)())
    path = min(folder.glob("*batch4.ckpt"))
    short = DataLoader(noisy_data(8), batch_size=4, shuffle=True)
    validation = DataLoader(noisy_data(8), batch_size=4)
    with pytest.raises(L.MisconfigurationException, match="ends after 2 batches"):
        trainer().fit(Everything(), short, validation, ckpt_path=path)


def test_weights_alone_are_refused(noisy_data, trainer, tmp_path):
    make = loaders_of(noisy_data)
    first = trainer()
    first.fit(Everything(), *make())
    first.save_checkpoint(tmp_path / "weights.ckpt", weights_only=True)
    with pytest.raises(L.MisconfigurationException, match="holds weights only"):
        trainer().fit(Everything(), *make(), ckpt_path=tmp_path / "weights.ckpt")


def test_fewer_epochs_than_the_checkpoint_are_refused(noisy_data, trainer, tmp_path):
    make = loaders_of(noisy_data)
    first = trainer(max_epochs=3)
    first.fit(Everything(), *make())
    first.save_checkpoint(tmp_path / "three.ckpt")
    with pytest.raises(L.MisconfigurationException, match="beyond max_epochs=2"):
        trainer(max_epochs=2).fit(Everything(), *make(), ckpt_path=tmp_path / "three.ckpt")


def test_a_missing_checkpoint_is_named(noisy_data, trainer, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.ckpt does not exist"):
        trainer().fit(Everything(), *loaders_of(noisy_data)(), ckpt_path=tmp_path / "nowhere.ckpt")


@pytest.mark.parametrize(("before", "after"), [(0, 2), (2, 0), (2, 1)])
def test_another_number_of_workers(model_class, loader, trainer, tmp_path, same, before, after):
    def fit(workers, **more):
        keeper = L.callbacks.ModelCheckpoint(
            tmp_path, filename="{step}", every_n_train_steps=8, save_top_k=-1
        )
        run = trainer(max_epochs=2, callbacks=[keeper], limit_val_batches=0)
        model = model_class()
        run.fit(model, loader(shuffle=True, num_workers=workers), **more)
        return dict(model.state_dict())

    L.seed_everything(3, verbose=False)
    whole = fit(before)
    L.seed_everything(5, verbose=False)
    same(fit(after, ckpt_path=tmp_path / "step=8.ckpt"), whole)
