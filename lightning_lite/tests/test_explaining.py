"""`Trainer.explain`, `Trainer.check` and the step budget say what is so."""

from __future__ import annotations

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite import profilers
from lightning_lite.demos.boring_classes import BoringDataModule, BoringModel
from lightning_lite.profilers.budget import kind_of


def noted(base, who, calls):
    """A class whose hooks note that they were called."""

    def hook_of(name):
        def hook(self, *args, **kwargs):
            calls.append((name, who))
            return getattr(super(made, self), name)(*args, **kwargs)

        return hook

    names = [n for n in dir(base) if n.startswith("on_") and "model" not in n]
    skipped = ("on_exception", "on_load_checkpoint", "on_save_checkpoint")
    names = [n for n in names if n not in skipped and "batch_transfer" not in n]
    names = [n for n in names if not n.startswith(("on_test", "on_predict"))]
    made = type(who, (base,), {name: hook_of(name) for name in names})
    return made


def test_the_loop_runs_as_it_was_explained(model_class, loader, trainer, capsys):
    calls = []
    Spy, Model = noted(L.Callback, "Spy", calls), noted(model_class, "Model", calls)
    run = trainer(callbacks=[Spy()], num_sanity_val_steps=0, enable_checkpointing=False)
    data = loader(4), loader(4)
    text = run.explain(Model(), *data)
    assert text in capsys.readouterr().out and not calls
    listed = []
    for line in text.splitlines():
        name, _, who = line.strip().partition(" ")
        if name.startswith("on_"):
            listed.extend((name, each) for each in who.strip().split(", ") if each)
    listed = [each for each in listed if "sanity" not in each[0]]
    run.fit(Model(), *data)
    assert listed == calls  # one epoch of one batch


def test_explained_options(model_class, loader, trainer):
    run = trainer(
        max_epochs=3, accumulate_grad_batches=2, val_check_interval=2, precision="bf16-mixed"
    )
    text = run.explain(model_class(), loader(), loader(9))
    assert "fit of Regression on cpu, precision bf16-mixed" in text
    assert "for each of 3 epochs" in text and "for each of 6 batches" in text
    assert "after every 2 batches: validation, 3 batches" in text
    assert "after every 2 batches: optimizer step" in text
    assert "ModelCheckpoint" in text.split("on_validation_end")[1].splitlines()[0]
    quiet = trainer(limit_val_batches=0).explain(model_class(), loader())
    assert "validation" not in quiet and "for each of 6 batches" in quiet
    with_module = trainer().explain(BoringModel(), datamodule=BoringDataModule())
    assert "for each of ? batches" in with_module and "BoringDataModule" in with_module


def test_a_model_that_learns_is_told(model_class, loader, trainer, same, capsys):
    model, run = model_class(lr=0.05), trainer(max_epochs=2)
    before = {name: each.clone() for name, each in model.state_dict().items()}
    report = run.check(model, loader())
    assert report.learns and len(report.losses) == 50 and report.without_gradient == []
    assert report.losses[-1] < 0.1 * report.losses[0]
    assert 1e-7 < report.learning_rate <= 1.0 and report.seconds_per_step > 0
    assert "the model learns it" in capsys.readouterr().out
    same(dict(model.state_dict()), before)
    assert run.global_step == 0 and run.max_epochs == 2 and run.callbacks


def test_a_model_that_does_not_learn_is_told(model_class, loader, trainer):
    class Stuck(model_class):
        def __init__(self):
            super().__init__(lr=0.0)
            self.idle = rl.nn.Linear(2, 2)

    report = trainer().check(Stuck(), loader(), steps=5)
    assert not report.learns and report.without_gradient == ["idle.bias", "idle.weight"]
    assert "NOT learn" in str(report) and "idle.weight" in str(report)


def test_check_with_a_datamodule(trainer):
    class Slow(BoringModel):
        def configure_optimizers(self):
            return rl.optim.SGD(self.parameters(), lr=0.01)

    report = trainer().check(Slow(), datamodule=BoringDataModule(), steps=10)
    assert len(report.losses) == 10 and report.losses[-1] < report.losses[0]


def test_step_budget(model_class, loader, trainer):
    budget = profilers.StepBudget()
    # without files, whose writing takes as long as the disk wishes
    options = {"max_epochs": 2, "enable_checkpointing": False}
    trainer(profiler=budget, **options).fit(model_class(), loader(), loader(8))
    shares = budget.shares()
    assert budget.steps == 12 and sum(shares.values()) == pytest.approx(1.0)
    assert all(shares[kind] > 0 for kind in ("data", "forward", "backward", "optimizer"))
    assert budget.summary().startswith("12 steps, ") and "forward" in budget.summary()
    assert kind_of("[Callback]Timer.on_train_batch_end") == "hooks"
    with pytest.raises(ValueError, match="did not begin"):
        profilers.StepBudget().stop("x")


def test_budget_by_name(model_class, loader, trainer):
    run = trainer(profiler="budget", limit_val_batches=0)
    run.fit(model_class(), loader())
    assert isinstance(run.profiler, profilers.StepBudget) and run.profiler.steps == 6
