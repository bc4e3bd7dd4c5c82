"""Mistakes of newcomers: each is told by an error that names the argument and what to give."""

from __future__ import annotations

import re
import warnings

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite import callbacks
from lightning_lite.combined_loader import CombinedLoader
from lightning_lite.errors import MisconfigurationException
from lightning_lite.removed_hooks import GATHERED, RENAMED
from lightning_lite.tuner import Tuner
from lightning_lite.utilities.model_summary import ModelSummary
from rushlight import nn


@pytest.mark.parametrize("name", GATHERED)
def test_a_hook_that_gathered_outputs_is_refused(model_class, loader, trainer, name):
    old = type("Old", (model_class,), {name: lambda self, outputs: None})()
    with pytest.raises(NotImplementedError, match=f"Old.{name}: .*{GATHERED[name]}"):
        trainer().fit(old, loader(), loader())


@pytest.mark.parametrize("name", RENAMED)
def test_an_old_hook_is_told_at_the_users_line(model_class, loader, trainer, name):
    old = type("Old", (L.Callback,), {name: lambda self, *arguments: None})()
    with pytest.warns(UserWarning, match=f"Old.{name} is never called") as told:
        trainer(callbacks=[old], max_epochs=1).fit(model_class(), loader(), loader())
    assert {each.filename for each in told if "never called" in str(each.message)} == {__file__}


def test_new_hooks_warn_of_nothing(model_class, loader, trainer):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer(max_epochs=1).fit(model_class(), loader(), loader())


ENTRIES = {
    "Trainer.fit": lambda run, model, data: run.fit(model, data),
    "Trainer.check": lambda run, model, data: run.check(model, data),
    "Trainer.explain": lambda run, model, data: run.explain(model, data),
    "lr_find": lambda run, model, data: Tuner(run).lr_find(model, data),
    "scale_batch_size": lambda run, model, data: Tuner(run).scale_batch_size(model),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_something_else_than_a_module(model_class, loader, trainer, name):
    with pytest.raises(TypeError, match=f"{name}: model is a Linear; expected a LightningModule"):
        ENTRIES[name](trainer(), nn.Linear(1, 1), loader())
    with pytest.raises(TypeError, match=f"{name}: model is the class .* make one"):
        ENTRIES[name](trainer(), model_class, loader())


def test_the_class_of_a_callback(trainer):
    with pytest.raises(TypeError, match=r"the class EarlyStopping; give EarlyStopping\(\.\.\.\)"):
        trainer(callbacks=[callbacks.EarlyStopping])


def test_a_name_that_is_no_string(model_class, loader, trainer):
    class Numbers(model_class):
        def training_step(self, batch, batch_idx):
            self.log(5, 1.0)

    with pytest.raises(TypeError, match=r"log\(5\): the name is a int; expected a str"):
        trainer().fit(Numbers(), loader(), loader())


@pytest.mark.parametrize(
    "given", [{"num_training": 0}, {"min_lr": 0.0}, {"min_lr": 1, "max_lr": 0.1}]
)
def test_rates_of_lr_find(model_class, loader, trainer, given):
    with pytest.raises(ValueError, match=f"{next(iter(given))}={next(iter(given.values()))}"):
        Tuner(trainer()).lr_find(model_class(), loader(), **given)


OPTIONS = [
    {"max_epochs": True},
    {"max_epochs": "3"},
    {"min_steps": 0.5},
    {"num_sanity_val_steps": "x"},
    {"log_every_n_steps": -1},
    {"deterministic": "x"},
    {"inference_mode": "x"},
    {"enable_progress_bar": 3},
    {"max_time": {"hour": 1}},
]


@pytest.mark.parametrize("given", OPTIONS, ids=str)
def test_an_option_of_another_type(given):
    (value,) = given.values()
    with pytest.raises(MisconfigurationException, match=re.escape(f"{value!r}") + ".* expected"):
        L.Trainer(**given)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_step_without_a_loss_is_told_once(model_class, loader, trainer, accumulate):
    class Forgets(model_class):
        def training_step(self, batch, batch_idx):
            super().training_step(batch, batch_idx)

    run = trainer(max_epochs=2, accumulate_grad_batches=accumulate)
    with pytest.warns(UserWarning, match="training_step returned None for batch 0") as told:
        run.fit(Forgets(), loader(), loader())
    assert len([each for each in told if "returned None" in str(each.message)]) == 1


@pytest.mark.parametrize("mode", ["min_size", "max_size", "max_size_cycle", "sequential"])
def test_no_loaders_at_all(mode):
    loader = CombinedLoader([], mode)
    assert len(loader) == 0 and list(loader) == []


def test_an_empty_list_of_loaders(model_class, loader, trainer):
    run = trainer()
    run.fit(model_class(), [], loader())
    assert run.global_step == 0


BARE = [
    {"logger": True},
    {"enable_checkpointing": True},
    {"enable_progress_bar": True},
    {"enable_model_summary": True},
    {"num_sanity_val_steps": 2},
    {"log_every_n_steps": 5},
    {"fast_dev_run": True},
    {"detect_anomaly": True},
    {"profiler": "simple"},
]


@pytest.mark.parametrize("given", BARE, ids=str)
def test_barebones_with_what_it_switches_off(given):
    ((name, value),) = given.items()
    with pytest.raises(ValueError, match=re.escape(f"barebones=True, {name}={value!r}")):
        L.Trainer(barebones=True, max_epochs=1, **given)


@pytest.mark.parametrize("given", [{"logger": False}, {"num_sanity_val_steps": 0}], ids=str)
def test_barebones_with_what_is_off(given):
    assert L.Trainer(barebones=True, max_epochs=1, **given).barebones


def test_attributes_that_a_class_sets(model_class):
    class Sets(model_class):
        example_input_array = rl.zeros(2, 4)
        strict_loading = False

    module = Sets()
    assert module.example_input_array.shape == (2, 4) and not module.strict_loading
    assert module.to_torchscript(method="trace")(rl.zeros(5, 4)).shape == (5, 1)
    assert "[2, 4]" in str(ModelSummary(module))
