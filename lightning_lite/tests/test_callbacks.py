"""Each callback: what it does, when, and what it refuses."""

from __future__ import annotations

import logging
import math
import time
from datetime import timedelta

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite.callbacks import (
    Callback,
    EarlyStopping,
    GradientAccumulationScheduler,
    LambdaCallback,
    LearningRateMonitor,
    ModelSummary,
    Timer,
)
from lightning_lite.callbacks.early_stopping import EarlyStoppingReason
from lightning_lite.callbacks.timer import duration_of
from lightning_lite.loggers import CSVLogger


def scripted(model_class, values, name="val_loss"):
    """A module whose validation value in epoch n is values[n]."""

    class Scripted(model_class):
        def validation_step(self, batch, batch_idx):
            self.log(name, values[self.current_epoch])

    return Scripted()


@pytest.fixture
def stopped_at(model_class, loader, trainer):
    """Number of epochs that an EarlyStopping lets a script of values run."""

    def run(values, monitor="val_loss", **options):
        stop = EarlyStopping(monitor, **options)
        made = trainer(max_epochs=len(values), callbacks=[stop])
        made.fit(scripted(model_class, values), loader(), loader(8))
        return made.current_epoch, stop

    return run


def test_early_stopping_waits_for_patience(stopped_at):
    epochs, stop = stopped_at([5.0, 4.0, 4.1, 4.2, 4.3, 1.0], patience=2)
    assert epochs == 4
    assert stop.stopped_epoch == 3 and stop.wait_count == 2 and stop.best_score == 4.0
    assert "did not improve in 2 checks" in stop.stopping_reason_message


def test_early_stopping_counts_only_improvements_above_min_delta(stopped_at):
    assert stopped_at([5.0, 4.9, 4.8, 4.0], patience=2, min_delta=0.5)[0] == 3


def test_early_stopping_by_the_largest(stopped_at):
    assert stopped_at([0.1, 0.5, 0.4, 0.4, 0.9], mode="max", patience=2)[0] == 4


def test_early_stopping_at_a_value_that_is_not_finite(stopped_at):
    epochs, stop = stopped_at([1.0, float("nan"), 0.5])
    assert epochs == 2 and "nan" in stop.stopping_reason_message
    assert stopped_at([1.0, float("nan"), 0.5], check_finite=False)[0] == 3


def test_early_stopping_at_thresholds(stopped_at):
    assert stopped_at([3.0, 0.9, 0.5], stopping_threshold=1.0)[0] == 2
    assert stopped_at([3.0, 99.0, 0.5], divergence_threshold=50.0)[0] == 2


def test_early_stopping_names_a_missing_value(stopped_at):
    with pytest.raises(RuntimeError, match=r"'accuracy' was not logged; there are.*val_loss"):
        stopped_at([1.0], monitor="accuracy")
    with pytest.warns(RuntimeWarning, match="'accuracy' was not logged"):
        assert stopped_at([1.0], monitor="accuracy", strict=False)[0] == 1


def test_early_stopping_inside_an_epoch(model_class, loader, trainer):
    class Worse(model_class):
        def validation_step(self, batch, batch_idx):
            self.log("val_loss", float(self.global_step))

    run = trainer(
        max_epochs=5, val_check_interval=2, callbacks=[EarlyStopping("val_loss", patience=2)]
    )
    run.fit(Worse(), loader(40), loader(8))
    assert run.global_step == 6


def test_early_stopping_refuses_strange_modes():
    with pytest.raises(L.MisconfigurationException, match="mode 'least'"):
        EarlyStopping("val_loss", mode="least")


def test_learning_rates_are_logged(model_class, loader, trainer, tmp_path):
    monitor = LearningRateMonitor(log_momentum=True, log_weight_decay=True)
    logger = CSVLogger(tmp_path, name="", version="v")
    run = trainer(max_epochs=3, callbacks=[monitor], logger=logger)
    run.fit(model_class(kind="epoch"), loader(), loader(8))
    assert monitor.lrs["lr-Adam"] == pytest.approx([0.01, 0.005, 0.0025])
    assert monitor.lrs["lr-Adam-momentum"] == [0.9] * 3
    assert run.callback_metrics["lr-Adam"].item() == pytest.approx(0.0025)
    text = (tmp_path / "v" / "metrics.csv").read_text()
    assert "lr-Adam-weight_decay" in text.splitlines()[0]


def test_learning_rates_of_steps(model_class, loader, trainer):
    monitor = LearningRateMonitor(logging_interval="step")
    run = trainer(max_epochs=2, callbacks=[monitor], logger=True, log_every_n_steps=3)
    run.fit(model_class(kind="step"), loader(), loader(8))
    assert len(monitor.lrs["lr-Adam"]) == 4


def test_learning_rates_of_groups_and_several_optimizers(model_class, loader, trainer):
    class Several(model_class):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False

        def training_step(self, batch, batch_idx):
            return None

        def configure_optimizers(self):
            first, last = self.net[0], self.net[2]
            groups = [{"params": first.parameters(), "name": "first"}]
            groups += [{"params": last.parameters(), "lr": 0.5}]
            return rl.optim.SGD(groups, lr=0.1), rl.optim.SGD(last.parameters(), lr=0.2)

    monitor = LearningRateMonitor()
    trainer(callbacks=[monitor], logger=True).fit(Several(), loader(), loader(8))
    assert monitor.lrs == {"lr-SGD/first": [0.1], "lr-SGD/pg2": [0.5], "lr-SGD-2": [0.2]}


def test_learning_rates_need_a_logger(model_class, loader, trainer):
    with pytest.raises(L.MisconfigurationException, match="no logger"):
        trainer(callbacks=[LearningRateMonitor()]).fit(model_class(), loader(), loader(8))
    with pytest.raises(L.MisconfigurationException, match="logging_interval 'hour'"):
        LearningRateMonitor("hour")


def test_accumulation_changes_with_the_epoch(model_class, loader, trainer):
    steps = []
    note = LambdaCallback(on_train_epoch_end=lambda run, module: steps.append(run.global_step))
    schedule = GradientAccumulationScheduler({1: 2, 3: 4})
    run = trainer(max_epochs=4, callbacks=[schedule, note])
    run.fit(model_class(), loader(32), loader(8))
    assert steps == [8, 12, 16, 18]
    assert schedule.going_to_accumulate_grad_batches()
    assert run.accumulate_grad_batches == 1


def test_accumulation_refuses_contradictions(model_class, loader, trainer):
    with pytest.raises(TypeError, match="is empty"):
        GradientAccumulationScheduler({})
    with pytest.raises(L.MisconfigurationException, match="-1"):
        GradientAccumulationScheduler({-1: 2})
    run = trainer(accumulate_grad_batches=2, callbacks=[GradientAccumulationScheduler({0: 2})])
    with pytest.raises(L.MisconfigurationException, match="leave accumulate_grad_batches"):
        run.fit(model_class(), loader(), loader(8))


def test_timer_measures_and_stops(model_class, loader, trainer):
    class Slow(model_class):
        def on_train_batch_start(self, batch, batch_idx):
            time.sleep(0.02)

    timer = Timer(duration=timedelta(seconds=0.1), verbose=False)
    run = trainer(max_epochs=-1, callbacks=[timer])
    run.fit(Slow(), loader(), loader(8))
    assert run.should_stop
    assert timer.time_elapsed() >= 0.1
    assert timer.time_remaining() <= 0
    assert timer.start_time() < timer.end_time()
    assert timer.time_elapsed("test") == 0.0
    state = timer.state_dict()
    assert state["time_elapsed"]["train"] == timer.time_elapsed()


def test_timer_goes_on_where_it_stood(model_class, loader, trainer):
    timer = Timer(duration="00:00:00:10")
    timer.load_state_dict({"time_elapsed": {"train": 20.0}})
    run = trainer(max_epochs=50, callbacks=[timer])
    run.fit(model_class(), loader(), loader(8))
    assert run.global_step == 0


def test_durations():
    assert duration_of("01:02:03:04") == timedelta(days=1, hours=2, minutes=3, seconds=4)
    assert duration_of({"minutes": 2}) == timedelta(minutes=2)
    with pytest.raises(L.MisconfigurationException, match="DD:HH:MM:SS"):
        duration_of("10 minutes")
    with pytest.raises(L.MisconfigurationException, match="interval 'batch'"):
        Timer(interval="batch")


def test_functions_as_a_callback(model_class, loader, trainer):
    calls = []
    callback = LambdaCallback(
        setup=lambda run, module, stage: calls.append(stage),
        on_train_end=lambda run, module: calls.append("end"),
    )
    trainer(callbacks=[callback]).fit(model_class(), loader(), loader(8))
    assert calls == ["fit", "end"]
    with pytest.raises(L.MisconfigurationException, match="on_lunch"):
        LambdaCallback(on_lunch=print)


def test_the_state_of_callbacks_is_kept(model_class, loader, trainer, tmp_path):
    class Counter(Callback):
        def __init__(self):
            self.count = 0
            self.loaded = []

        def on_train_batch_end(self, *arguments):
            self.count += 1

        def state_dict(self):
            return {"count": self.count}

        def load_state_dict(self, state_dict):
            self.count = state_dict["count"]

        def on_save_checkpoint(self, trainer, pl_module, checkpoint):
            checkpoint["note"] = "hello"

        def on_load_checkpoint(self, trainer, pl_module, checkpoint):
            self.loaded.append(checkpoint["note"])

    first = trainer(max_epochs=2, callbacks=[Counter()])
    first.fit(model_class(), loader(), loader(8))
    first.save_checkpoint(tmp_path / "two.ckpt")
    counter = Counter()
    second = trainer(max_epochs=3, callbacks=[counter])
    second.fit(model_class(), loader(), loader(8), ckpt_path=tmp_path / "two.ckpt")
    assert counter.count == 18 and counter.loaded == ["hello"]


def test_two_callbacks_with_one_state_key_are_refused():
    with pytest.raises(RuntimeError, match="state key"):
        L.Trainer(max_epochs=1, callbacks=[EarlyStopping("a"), EarlyStopping("a")])
    L.Trainer(max_epochs=1, callbacks=[EarlyStopping("a"), EarlyStopping("b")])


def test_the_summary_lists_layers(model_class, loader, trainer, caplog):
    logger = logging.getLogger("lightning_lite")
    logger.setLevel(logging.INFO)
    logger.addHandler(caplog.handler)
    model = model_class()
    model.net[2].weight.requires_grad = False
    try:
        run = trainer(enable_model_summary=None, callbacks=[ModelSummary(max_depth=2)])
        run.fit(model, loader(), loader(8))
    finally:
        logger.removeHandler(caplog.handler)
    text = caplog.text
    assert "net.0" in text and "Linear" in text
    assert "41 trainable, 8 frozen parameters" in text
    assert "49 parameters in all" in text


def test_switches_contradict_callbacks():
    with pytest.raises(L.MisconfigurationException, match="enable_model_summary=False"):
        L.Trainer(max_epochs=1, enable_model_summary=False, callbacks=[ModelSummary()])


def stopping(scores, trainer, model_class, loader, others=(), **options):
    """Epochs that run where EarlyStopping sees these scores."""

    class Scores(Callback):
        def on_train_epoch_end(self, trainer, pl_module):
            pl_module.log("score", scores[trainer.current_epoch])

    stop = EarlyStopping("score", **options)
    run = trainer(max_epochs=len(scores), min_epochs=5, callbacks=[Scores(), *others, stop])
    run.fit(model_class(), loader(), loader(4))
    return run.current_epoch, stop


def test_a_value_that_recovers_before_min_epochs(trainer, model_class, loader):
    fit = lambda scores, *others, **options: stopping(
        scores, trainer, model_class, loader, others, **options
    )
    epochs, stop = fit([5.0, 6.0, 7.0, 4.0, 3.0, 2.0, 1.0, 0.5], patience=2)
    assert epochs == 8 and stop.stopping_reason_message is None and stop.stopped_epoch == 0
    epochs, stop = fit([5.0, 6.0, 7.0, 4.0, 3.0, 3.5, 3.6, 0.5], patience=2)
    assert epochs == 7 and "did not improve in 2" in stop.stopping_reason_message
    assert stop.stopped_epoch == 6
    epochs, _ = fit([5.0, 6.0, 7.0, 8.0, 9.0, 2.0], patience=2)
    assert epochs == 5
    epochs, _ = fit([5.0, math.nan, 4.0, 3.0, 2.0, 1.0], patience=2)
    assert epochs == 6
    epochs, _ = fit([5.0, 99.0, 4.0, 3.0, 2.0, 1.0], patience=9, divergence_threshold=50.0)
    assert epochs == 6

    def wish(run, module):
        run.should_stop = run.should_stop or run.current_epoch == 1

    # another's wish stays, whoever was first
    other = LambdaCallback(on_train_epoch_end=wish)
    epochs, _ = fit([5.0, 6.0, 7.0, 4.0, 3.0, 2.0, 1.0], other, patience=1)
    assert epochs == 5
    other = EarlyStopping("score", mode="max", patience=1)
    epochs, _ = fit([5.0, 6.0, 7.0, 4.0, 3.0, 2.0, 1.0], other, patience=2)
    assert epochs == 5


def test_reason_of_stopping_is_kept(model_class, loader, trainer):
    """Names, numbers and the entries of a checkpoint are Lightning's."""
    stop = EarlyStopping("val_loss", stopping_threshold=1e9)
    trainer(max_epochs=3, callbacks=[stop]).fit(model_class(), loader(), loader(8))
    state = stop.state_dict()
    assert state["stopping_reason"] == 1 and "val_loss" in state["stopping_reason_message"]
    again = EarlyStopping("val_loss")
    again.load_state_dict(state)
    assert again.stopping_reason is EarlyStoppingReason.STOPPING_THRESHOLD
    assert again.stopping_reason_message == stop.stopping_reason_message
    old = {name: value for name, value in state.items() if not name.startswith("stopping")}
    again.load_state_dict(old)
    assert again.stopping_reason is EarlyStoppingReason.NOT_STOPPED
    assert EarlyStoppingReason(4).name == "NON_FINITE_METRIC"
