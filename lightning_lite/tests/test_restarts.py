"""The flags of a training that goes on from a checkpoint are Lightning's (recorded values)."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite import lightning_loops
from lightning_lite.restarts.fit_loop import RestartStage
from lightning_lite.state import Next, Progress
from lightning_lite.tuner.snapshot import quieten, untouched

FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "restarts.json").read_text())
_spec = importlib.util.spec_from_file_location("restarts", FOLDER / "restarts.py")
restarts = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(restarts)


def expected(name):
    """Lightning's rows, but for the hooks that run at other times here."""
    rows = copy.deepcopy(RECORDED["cases"][name]["rows"])
    if name == "epoch_end_steps":
        # Lightning calls the hooks of the finished epoch's end again; here nothing runs twice.
        assert rows.pop(1)[0] == "on_train_epoch_end"
    return rows


@pytest.mark.parametrize("name", list(restarts.CASES))
def test_flags_at_every_hook(name, tmp_path):
    found = restarts.run(L, rl, name, tmp_path)
    assert found["after"] == RECORDED["cases"][name]["after"]
    if name == "nothing_left":
        # Lightning skips the hooks of a training that has nothing to do.
        assert [hook for hook, _ in found["rows"]] == ["on_train_start", "on_train_end"]
    else:
        assert found["rows"] == expected(name)


@pytest.mark.parametrize("name", list(RECORDED["stages"]))
def test_stages(name):
    home = f"lightning_lite.restarts.{name.rpartition('.')[2]}"
    found = vars(importlib.import_module(home).RestartStage).items()
    assert {key: value for key, value in found if key.isupper()} == RECORDED["stages"][name]


def test_lightnings_paths(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "from lightning.pytorch.loops import evaluation_loop, training_epoch_loop\n"
        "from pytorch_lightning.loops.fit_loop import RestartStage\n"
        "print(evaluation_loop.RestartStage.RESTARTED_MID_EVALUATION)\n"
        "print(training_epoch_loop.RestartStage.RESTARTED_ON_LAST)\n"
        "print(RestartStage.NONE)\n"
    )
    command = [sys.executable, "-m", "rushlight", "run", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["restarted_mid_evaluation", "restarted_on_last", "none"]


def fresh_trainer(**options):
    return L.Trainer(logger=False, enable_checkpointing=False, **options)


@pytest.mark.parametrize("max_steps", [-1, 9])
def test_epoch_that_a_limit_cut_short(max_steps):
    """Where the limit is gone, training goes on inside of the epoch, and the flag says so."""
    from lightning_lite.reentry import set_restart_flags

    trainer = fresh_trainer(max_epochs=3, max_steps=max_steps)
    trainer.state.progress = Progress(epoch=1, batch=2, total_batches=2, cut_short=True)
    set_restart_flags(trainer, None)
    assert trainer.fit_loop.restarted_mid_epoch and trainer.fit_loop.restarting
    assert trainer.state.progress.next is Next.EPOCH  # the run itself stands there later


def test_counters_before_the_hooks_of_an_epoch():
    """Only Lightning writes a checkpoint there."""
    counters = lightning_loops.fit_loop(Progress())
    counters["epoch_progress"]["total"]["ready"] = 1
    counters["epoch_progress"]["current"]["ready"] = 1
    trainer = fresh_trainer(max_epochs=1)
    trainer.fit_loop.load_counters(counters, counts_steps=False)
    assert trainer.fit_loop.restarted_on_epoch_start
    assert trainer.fit_loop._stage == RestartStage.RESTARTED_ON_EPOCH_START


def test_trial_leaves_the_flags_alone():
    trainer = fresh_trainer(max_epochs=1)
    trainer.fit_loop.load_counters(lightning_loops.fit_loop(Progress()), counts_steps=True)
    with untouched(trainer, L.LightningModule()):
        quieten(trainer, 1, [])
        trainer.fit_loop.clear()
        assert not trainer.fit_loop.is_resuming
    assert trainer.fit_loop.is_resuming and trainer.fit_loop.epoch_loop.restarted_on_last
