"""Ctrl-C: the state is kept whole, the trainer returns, and training goes on bit for bit."""

from __future__ import annotations

import os
import signal
import threading

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite.callbacks import Callback, ModelCheckpoint
from lightning_lite.errors import Interrupted
from rushlight.utils.data import DataLoader


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


class PressAt(Callback):
    """Presses Ctrl-C once, in a hook, at a batch of an epoch."""

    def __init__(self, hook, epoch=1, batch_idx=2):
        self.pressed = False
        self.exceptions = []

        def press(trainer, pl_module, *arguments):
            here = trainer.current_epoch == epoch and batch_idx in (None, arguments[-1])
            if here and not self.pressed and not trainer.sanity_checking:
                self.pressed = True
                press_ctrl_c()

        setattr(self, hook, press)

    def on_exception(self, trainer, pl_module, exception):
        self.exceptions.append(type(exception))


def loaders(noisy_data, **options):
    training = DataLoader(noisy_data(24), batch_size=4, shuffle=True, **options)
    return training, DataLoader(noisy_data(12), batch_size=4)


def train_whole(model_class, noisy_data, trainer):
    L.seed_everything(3, verbose=False)
    model = model_class(kind="epoch")
    whole = trainer(max_epochs=3)
    whole.fit(model, *loaders(noisy_data))
    return model, whole


@pytest.mark.parametrize(
    ("hook", "batch_idx"),
    [
        ("on_train_batch_start", 2),
        ("on_before_optimizer_step", None),
        ("on_train_batch_end", 2),
        ("on_train_batch_end", 5),
        ("on_validation_batch_end", 1),
    ],
)
def test_training_goes_on_bit_for_bit(
    model_class, noisy_data, trainer, tmp_path, same, hook, batch_idx
):
    model, whole = train_whole(model_class, noisy_data, trainer)
    L.seed_everything(3, verbose=False)
    press = PressAt(hook, batch_idx=batch_idx)
    keep = ModelCheckpoint(dirpath=tmp_path / "kept")
    first = trainer(max_epochs=3, callbacks=[press, keep])
    first.fit(model_class(kind="epoch"), *loaders(noisy_data))
    assert first.interrupted and press.pressed
    assert first.state.status == "interrupted"
    assert press.exceptions == [Interrupted]
    assert (tmp_path / "kept" / "interrupted.ckpt").is_file()
    assert first.current_epoch == 1
    L.seed_everything(77, verbose=False)
    again = model_class(kind="epoch")
    second = trainer(max_epochs=3, callbacks=[ModelCheckpoint(dirpath=tmp_path / "kept")])
    second.fit(again, *loaders(noisy_data), ckpt_path="last")
    assert not second.interrupted
    same(again.state_dict(), model.state_dict())
    same(second.optimizers[0].state_dict(), whole.optimizers[0].state_dict())
    same(rl.get_rng_state(), second_rng(model_class, noisy_data, trainer))


def second_rng(model_class, noisy_data, trainer):
    """The generator's state after an uninterrupted training."""
    train_whole(model_class, noisy_data, trainer)
    return rl.get_rng_state()


def test_worker_processes_may_end_by_the_same_ctrl_c(model_class, noisy_data, trainer, tmp_path):
    press = PressAt("on_train_batch_end")
    first = trainer(max_epochs=3, callbacks=[press, ModelCheckpoint(dirpath=tmp_path / "kept")])
    first.fit(model_class(), *loaders(noisy_data, num_workers=2))
    assert first.interrupted
    assert (tmp_path / "kept" / "interrupted.ckpt").is_file()


def test_a_loader_that_fails_by_ctrl_c_counts_as_interrupted(
    model_class, trainer, loader, tmp_path
):
    class Failing:
        def __len__(self):
            return 6

        def __iter__(self):
            for number, batch in enumerate(loader(batch_size=4)):
                if number == 3:
                    press_ctrl_c()
                    raise RuntimeError("worker exited")
                yield batch

    first = trainer(callbacks=[ModelCheckpoint(dirpath=tmp_path / "kept")])
    first.fit(model_class(), Failing(), loader(8))
    assert first.interrupted and first.global_step == 3
    assert (tmp_path / "kept" / "interrupted.ckpt").is_file()


def test_a_second_ctrl_c_stops_at_once(model_class, noisy_data, trainer, tmp_path, caplog):
    class Impatient(Callback):
        def on_before_optimizer_step(self, trainer, pl_module, optimizer):
            if trainer.global_step == 3:
                press_ctrl_c()
                press_ctrl_c()

    keep = ModelCheckpoint(dirpath=tmp_path / "kept", every_n_train_steps=2)
    first = trainer(callbacks=[Impatient(), keep])
    first.fit(model_class(), *loaders(noisy_data))
    assert first.interrupted and first.global_step == 3
    assert not (tmp_path / "kept" / "interrupted.ckpt").exists()
    assert os.path.basename(keep.last_written_path) == "epoch=0-step=2.ckpt"


def test_keyboard_interrupt_in_user_code_returns_too(model_class, noisy_data, trainer):
    class Stop(Callback):
        def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
            if batch_idx == 2:
                raise KeyboardInterrupt

    first = trainer(callbacks=[Stop()])
    first.fit(model_class(), *loaders(noisy_data))
    assert first.interrupted and first.global_step == 2


def test_without_checkpoints_nothing_is_written(model_class, noisy_data, trainer, tmp_path):
    first = trainer(callbacks=[PressAt("on_train_batch_end", epoch=0)], enable_checkpointing=False)
    first.fit(model_class(), *loaders(noisy_data))
    assert first.interrupted
    assert list(tmp_path.rglob("*.ckpt")) == []


def test_validation_by_itself_returns_none(model_class, loader, trainer):
    class Press(Callback):
        def on_validation_batch_end(self, trainer, *arguments):
            press_ctrl_c()

    first = trainer(callbacks=[Press()])
    assert first.validate(model_class(), loader(12)) is None
    assert first.interrupted


def test_the_signal_handler_is_given_back(model_class, noisy_data, trainer):
    before = signal.getsignal(signal.SIGINT)
    trainer().fit(model_class(), *loaders(noisy_data))
    assert signal.getsignal(signal.SIGINT) is before


def test_a_handler_of_the_program_is_left_alone(model_class, noisy_data, trainer):
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        first = trainer(callbacks=[PressAt("on_train_batch_end", epoch=0)])
        first.fit(model_class(), *loaders(noisy_data))
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]
    assert not first.interrupted


def test_other_threads_train_without_a_handler(model_class, noisy_data, trainer):
    first = trainer()
    arguments = (model_class(), *loaders(noisy_data))
    thread = threading.Thread(target=first.fit, args=arguments)
    thread.start()
    thread.join()
    assert first.state.finished and first.current_epoch == 1


def test_an_error_is_told_and_raised(model_class, noisy_data, trainer):
    class Broken(Callback):
        def __init__(self):
            self.seen = []

        def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
            raise ZeroDivisionError("broken")

        def on_exception(self, trainer, pl_module, exception):
            self.seen.append(str(exception))

    broken = Broken()
    first = trainer(callbacks=[broken])
    with pytest.raises(ZeroDivisionError):
        first.fit(model_class(), *loaders(noisy_data))
    assert broken.seen == ["broken"]
    assert first.state.status == "interrupted" and not first.interrupted


def test_sigterm_keeps_the_state_and_ends_with_its_code(
    model_class, noisy_data, trainer, tmp_path, same
):
    model, whole = train_whole(model_class, noisy_data, trainer)
    L.seed_everything(3, verbose=False)

    class End(Callback):
        def on_train_batch_end(self, run, pl_module, outputs, batch, batch_idx):
            if run.global_step == 9:
                os.kill(os.getpid(), signal.SIGTERM)
                assert run.received_sigterm

    keep = ModelCheckpoint(dirpath=tmp_path / "kept")
    with pytest.raises(SystemExit) as ended:
        first = trainer(max_epochs=3, callbacks=[End(), keep])
        first.fit(model_class(kind="epoch"), *loaders(noisy_data))
    assert ended.value.code == 143
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    again = model_class(kind="epoch")
    second = trainer(max_epochs=3, callbacks=[ModelCheckpoint(dirpath=tmp_path / "kept")])
    second.fit(again, *loaders(noisy_data), ckpt_path="last")
    same(again.state_dict(), model.state_dict())
    assert second.global_step == whole.global_step
