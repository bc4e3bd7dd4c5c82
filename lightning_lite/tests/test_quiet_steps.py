"""Steps that nobody listens to take a shorter way: it has to end where the long one does."""

from __future__ import annotations

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite import loops
from lightning_lite.loggers import CSVLogger
from rushlight.utils.data import DataLoader, IterableDataset, TensorDataset


class Net(L.LightningModule):
    """A layer; `act` is called in every step with the module and the batch's number."""

    def __init__(self, act=lambda module, batch_idx: None):
        super().__init__()
        rl.manual_seed(5)
        self.layer, self.act, self.seen = rl.nn.Linear(3, 1), act, []

    def training_step(self, batch, batch_idx):
        trainer = self.trainer
        self.seen.append((batch_idx, trainer.global_step, trainer.is_last_batch))
        if self.act(self, batch_idx) == "skip":
            return None
        return (self.layer(batch[0]) - batch[1]).square().mean()

    def configure_optimizers(self):
        return rl.optim.Adam(self.parameters(), lr=0.1)


class Measured(Net):
    def validation_step(self, batch, batch_idx):
        self.log("val", (self.layer(batch[0]) - batch[1]).square().mean())


class Rows(IterableDataset):
    def __iter__(self):
        rl.manual_seed(7)
        return iter([(rl.randn(3), rl.randn(1)) for _ in range(14)])


def rows():
    rl.manual_seed(7)
    return TensorDataset(rl.randn(14, 3), rl.randn(14, 1))


def stop_at(number):
    def act(module, batch_idx):
        if module.trainer.global_step == number:
            module.trainer.should_stop = True

    return act


def log_some(module, batch_idx):
    if batch_idx % 2:
        module.log("loss", float(batch_idx))


def fewer_steps(module, batch_idx):
    if module.trainer.global_step == 4:
        module.trainer.fit_loop.max_steps = 6


def interrupt(module, batch_idx):
    if module.trainer.global_step == 5:
        module.trainer.interrupt.requested = True


def skip_some(module, batch_idx):
    return "skip" if batch_idx == 2 else None


CASES = {
    "plain": ({}, None, Net),
    "steps": ({"max_steps": 5}, None, Net),
    "limited": ({"limit_train_batches": 3}, None, Net),
    "stopped": ({}, stop_at(4), Net),
    "stopped later": ({"min_steps": 9}, stop_at(4), Net),
    "stopped, epochs": ({"min_epochs": 2}, stop_at(4), Net),
    "logged": ({"log_every_n_steps": 1}, log_some, Net),
    "fewer steps": ({}, fewer_steps, Net),
    "interrupted": ({}, interrupt, Net),
    "skipped": ({}, skip_some, Net),
    "validated": ({}, None, Measured),
    "validated and stopped": ({}, stop_at(4), Measured),
    "no epochs": ({"max_epochs": -1, "max_steps": 10}, None, Net),
}


def state_after(case, loader, folder):
    options, act, kind = CASES[case]
    module = kind(act) if act else kind()
    logger = CSVLogger(folder) if case == "logged" else False
    trainer = L.Trainer(
        **{"max_epochs": 3, **options}, logger=logger, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, accelerator="cpu",
    )  # fmt: skip
    more = {"val_dataloaders": DataLoader(rows(), 7)} if kind is Measured else {}
    trainer.fit(module, loader(), **more)
    progress = vars(trainer.state.progress)
    logged = (folder / "lightning_logs/version_0/metrics.csv") if logger else None
    return {
        "weights": module.layer.weight.flatten().tolist(),
        "seen": module.seen,
        "progress": {k: str(v) for k, v in progress.items()},
        "metrics": {k: float(v) for k, v in trainer.callback_metrics.items()},
        "logged": logged and logged.read_text(),
        "interrupted": trainer.interrupted,
    }


@pytest.mark.filterwarnings("ignore:training_step returned None")
@pytest.mark.parametrize("kind", ["sized", "unsized"])
@pytest.mark.parametrize("case", CASES)
def test_both_ways_end_alike(case, kind, tmp_path, monkeypatch):
    def loader():
        return DataLoader(rows() if kind == "sized" else Rows(), batch_size=2)

    quiet, real = [], loops.quiet_step

    def counted(trainer):
        found = real(trainer)
        return found and (lambda batch: quiet.append(found(batch)) or quiet[-1])

    monkeypatch.setattr(loops, "quiet_step", counted)
    found = state_after(case, loader, tmp_path / "short")
    assert True in quiet and (False in quiet or case == "interrupted")
    monkeypatch.setattr(loops, "quiet_step", lambda trainer: None)
    assert found == state_after(case, loader, tmp_path / "long")


class Listener(L.Callback):
    def on_train_batch_end(self, *_):
        pass


class Scheduled(Net):
    def configure_optimizers(self):
        optimizer = super().configure_optimizers()
        return [optimizer], [rl.optim.lr_scheduler.StepLR(optimizer, 1)]


@pytest.mark.parametrize(
    ("module", "options", "is_quiet"),
    [
        (Net, {}, True),
        (Measured, {}, True),
        (Net, {"callbacks": Listener()}, False),
        (Net, {"accumulate_grad_batches": 2}, False),
        (Net, {"gradient_clip_val": 1.0}, False),
        (Measured, {"val_check_interval": 2}, False),
        (Scheduled, {}, False),
    ],
)
def test_who_is_listened_to(module, options, is_quiet, monkeypatch):
    found, real = [], loops.quiet_step
    monkeypatch.setattr(loops, "quiet_step", lambda t: found.append(real(t)) or found[-1])
    trainer = L.Trainer(
        max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, accelerator="cpu", **options,
    )  # fmt: skip
    more = [DataLoader(rows(), 7)] if module is Measured else []
    trainer.fit(module(), DataLoader(rows(), 2), *more)
    assert [each is not None for each in found] == [is_quiet]
