"""Profilers measure the actions of a run, and leave the run as it is."""

from __future__ import annotations

import json

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite import profilers
from lightning_lite.profilers.instrument import METHODS
from rushlight import nn


def test_simple_profiler_counts_actions(model_class, loader, trainer, same):
    profiler = profilers.SimpleProfiler()
    model = model_class()
    timer = L.callbacks.Timer()
    run = trainer(profiler=profiler, max_epochs=2, callbacks=[timer])
    run.fit(model, loader(), loader(10, 2))
    counts = {name: len(times) for name, times in profiler.recorded_durations.items()}
    assert counts["[LightningModule]Regression.training_step"] == 12
    assert counts["[LightningModule]Regression.backward"] == 12
    assert counts["[LightningModule]Regression.optimizer_step"] == 12
    assert counts["[LightningModule]Regression.validation_step"] == 2 * 3 + 2
    assert counts["[Callback]Timer.on_train_batch_end"] == 12
    assert counts["[Feed].train_dataloader_next"] == 12
    report = profiler.summary()
    assert "Regression.training_step" in report and "share" in report
    assert not any(name in vars(model) for name in METHODS), "the module is as it was"
    L.seed_everything(0, verbose=False)
    plain = model_class()
    trainer(max_epochs=2).fit(plain, loader(), loader(10, 2))
    same(plain.state_dict(), model.state_dict())


def test_profiler_by_name_tells_its_report(model_class, loader, trainer, monkeypatch):
    told = []
    monkeypatch.setattr("lightning_lite.profilers.profiler.info", told.append)
    trainer(profiler="simple", limit_val_batches=0).fit(model_class(), loader())
    assert "Regression.training_step" in told[0]


def test_actions_that_do_not_match():
    profiler = profilers.SimpleProfiler(extended=False)
    with pytest.raises(ValueError, match="did not begin"):
        profiler.stop("x")
    profiler.start("x")
    with pytest.raises(ValueError, match="has not ended"):
        profiler.start("x")
    profiler.stop("x")
    assert list(profiler.profile_iterable([1, 2], "items")) == [1, 2]
    assert len(profiler.recorded_durations["items"]) == 3
    assert "share" not in profiler.summary()


def test_advanced_profiler_writes_its_report(model_class, loader, trainer, tmp_path):
    profiler = profilers.AdvancedProfiler(tmp_path / "p", "report", dump_stats=True)
    trainer(profiler=profiler, limit_val_batches=0).fit(model_class(), loader())
    text = (tmp_path / "p" / "fit-report.txt").read_text()
    assert "Profile of [LightningModule]Regression.optimizer_step" in text and "cumulative" in text
    assert list((tmp_path / "p").glob("fit-report-*optimizer_step.prof"))
    with pytest.raises(ValueError, match="did not begin"):
        profiler.stop("x")


def test_pytorch_profiler_has_operations_and_actions(model_class, loader, trainer, tmp_path):
    profiler = profilers.PyTorchProfiler(tmp_path, "ops", row_limit=-1)
    trainer(profiler=profiler, limit_val_batches=0).fit(model_class(), loader())
    text = (tmp_path / "fit-ops.txt").read_text()
    assert "[LightningModule]Regression.training_step" in text and "linear" in text
    events = json.loads((tmp_path / "fit-ops.json").read_text())["traceEvents"]
    assert any("training_step" in event.get("name", "") for event in events)
    with pytest.raises(NotImplementedError, match="emit_nvtx"):
        profilers.PyTorchProfiler(emit_nvtx=True)


def test_modules_by_name(model_class, loader, trainer, tmp_path):
    model = model_class()
    for record, expected in ((True, 12), (False, 0)):
        profiler = profilers.PyTorchProfiler(tmp_path, "ops", record_module_names=record)
        trainer(profiler=profiler, max_epochs=2, limit_val_batches=0).fit(model, loader())
        events = json.loads((tmp_path / "fit-ops.json").read_text())["traceEvents"]
        found = [each["name"] for each in events if each.get("name", "").startswith("[pl][module]")]
        assert len(found) == expected * sum(1 for name, _ in model.named_modules() if name)
        assert not any(each._forward_hooks for each in model.modules()), "as it was"


def test_calls_that_raise_end_their_ranges():
    from lightning_lite.profilers.pytorch import RegisterRecordFunction

    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(3, 2))
    with rl.profiler.profile() as found:
        for _ in range(2):
            with pytest.raises(RuntimeError), RegisterRecordFunction(model):
                model(rl.ones(1, 2))
    names = [event.key for event in found.key_averages() if "[pl]" in event.key]
    assert [name.split(": ")[1] for name in sorted(names)] == ["0", "1"]


def test_a_schedule_counts_the_steps_of_a_stage(model_class, loader, trainer, tmp_path):
    saved = []
    schedule = rl.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    profiler = profilers.PyTorchProfiler(
        tmp_path, "ops", row_limit=-1, schedule=schedule, export_to_chrome=False,
        on_trace_ready=lambda found: saved.append(
            sum(event.count for event in found.key_averages() if "training_step" in event.key)
        ),
    )  # fmt: skip
    trainer(profiler=profiler, limit_val_batches=0).fit(model_class(), loader())
    assert saved == [2]
    assert "training_step" in (tmp_path / "fit-ops.txt").read_text()
    never = rl.profiler.schedule(wait=100, warmup=1, active=1)
    profiler = profilers.PyTorchProfiler(tmp_path, "none", schedule=never)
    trainer(profiler=profiler, limit_val_batches=0).fit(model_class(), loader())
    assert "recorded no step" in (tmp_path / "fit-none.txt").read_text()


def test_a_schedules_stages():
    from lightning_lite.profilers.pytorch import ScheduleWrapper

    wrapper = ScheduleWrapper(rl.profiler.schedule(wait=1, warmup=1, active=1))
    wrapper.setup("on_fit_start")
    assert wrapper(0).name == "NONE", "before the first step"
    told = []
    for action in ("validation", "training", "training", "training", "training", "validation"):
        wrapper.pre_step(f"[LightningModule]Net.{action}_step")
        told.append((wrapper(0).name, wrapper.num_step))
    assert told == [
        ("NONE", 0), ("WARMUP", 1), ("RECORD_AND_SAVE", 2), ("NONE", 2), ("NONE", 2),
        ("WARMUP", 1),
    ]  # fmt: skip
    assert wrapper.is_validating and not wrapper.is_training and not wrapper.has_finished
    wrapper.reset()
    assert wrapper.num_step == 0
    with pytest.raises(TypeError, match="schedule is 3"):
        ScheduleWrapper(3)


def test_a_failing_run_gives_the_module_back(model_class, loader, trainer):
    class Broken(model_class):
        def training_step(self, batch, batch_idx):
            raise RuntimeError("broken")

    model = Broken()
    with pytest.raises(RuntimeError, match="broken"):
        trainer(profiler="simple", limit_val_batches=0).fit(model, loader())
    assert not any(name in vars(model) for name in METHODS)
