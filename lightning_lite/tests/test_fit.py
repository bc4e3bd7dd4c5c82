"""Training: order of hooks, limits, accumulation, clipping, precision, schedulers."""

from __future__ import annotations

import sys

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite.callbacks import Callback, EarlyStopping, LambdaCallback
from lightning_lite.errors import MisconfigurationException
from rushlight import nn
from rushlight.utils.data import DataLoader, TensorDataset

F = nn.functional


def test_a_line_is_learnt(trainer):
    class Line(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(1, 1)

        def training_step(self, batch):
            x, y = batch
            return F.mse_loss(self.layer(x), y)

        def configure_optimizers(self):
            return rl.optim.SGD(self.parameters(), lr=0.3)

    x = rl.linspace(-1, 1, 64).reshape(-1, 1)
    line = Line()
    data = DataLoader(TensorDataset(x, 3 * x + 1), batch_size=8, shuffle=True)
    trainer(max_epochs=10).fit(line, data)
    assert line.layer.weight.item() == pytest.approx(3, abs=0.05)
    assert line.layer.bias.item() == pytest.approx(1, abs=0.05)


def traced(base, label, calls):
    """A subclass whose hooks note that they were called."""
    steps = ("setup", "teardown", "prepare_data", "configure_model", "configure_optimizers")
    names = [name for name in dir(base) if name.startswith("on_") or name in steps]
    names += ["training_step", "validation_step", "backward", "optimizer_step"]
    names += ["optimizer_zero_grad", "lr_scheduler_step", "configure_gradient_clipping"]
    skipped = ("on_gpu", "on_before_batch_transfer", "on_after_batch_transfer")

    def noting(name):
        def method(self, *arguments, **keywords):
            calls.append(f"{label}.{name}")
            return getattr(base, name)(self, *arguments, **keywords)

        return method

    methods = {
        name: noting(name)
        for name in names
        if name not in skipped and callable(getattr(base, name, None))
    }
    return type(f"Traced{base.__name__}", (base,), methods)


def both(name):
    return [f"callback.{name}", f"module.{name}"]


def validation_hooks(batches):
    hooks = ["module.on_validation_model_eval"]
    hooks += both("on_validation_start") + both("on_validation_epoch_start")
    for _ in range(batches):
        hooks += both("on_validation_batch_start") + ["module.validation_step"]
        hooks += both("on_validation_batch_end")
    hooks += both("on_validation_epoch_end") + both("on_validation_end")
    return [*hooks, "module.on_validation_model_train"]


GRADIENT = both("on_before_backward") + ["module.backward"] + both("on_after_backward")
CLEAR = both("on_before_zero_grad") + ["module.optimizer_zero_grad"]
STEP = both("on_before_optimizer_step") + ["module.configure_gradient_clipping"]


def training_batch(first, steps, last=False):
    """The hooks of one batch, in Lightning's order."""
    hooks = both("on_train_batch_start")
    hooks += ["module.optimizer_step"] if steps else []
    hooks += ["module.training_step"] + (CLEAR if first else []) + GRADIENT
    hooks += STEP if steps else []
    hooks += ["module.lr_scheduler_step"] if last else []
    return hooks + both("on_train_batch_end")


def test_hooks_run_in_lightnings_order(model_class, loader, trainer):
    calls = []
    module = traced(model_class, "module", calls)(kind="epoch")
    callback = traced(Callback, "callback", calls)()
    run = trainer(
        callbacks=[callback],
        accumulate_grad_batches=2,
        gradient_clip_val=1.0,
        enable_checkpointing=False,
    )
    run.fit(module, loader(6, batch_size=2), loader(6, batch_size=2))
    expected = ["module.prepare_data", *both("setup"), "module.configure_model"]
    expected += ["module.configure_optimizers", *both("on_fit_start")]
    expected += ["callback.on_sanity_check_start", *validation_hooks(2)]
    expected += ["callback.on_sanity_check_end"]
    expected += both("on_train_start") + both("on_train_epoch_start")
    expected += training_batch(first=True, steps=False)
    expected += training_batch(first=False, steps=True)
    expected += training_batch(first=True, steps=True, last=True)
    expected += ["module.on_validation_model_zero_grad", *validation_hooks(3)]
    expected += both("on_train_epoch_end") + both("on_train_end") + both("on_fit_end")
    expected += both("teardown")
    assert calls == expected


def train(model_class, loader, trainer, rows=24, batch_size=4, **options):
    L.seed_everything(5, verbose=False)
    model = model_class()
    run = trainer(**options)
    run.fit(model, loader(rows, batch_size=batch_size), loader(8))
    return run, model


def test_accumulated_batches_equal_a_large_one(model_class, loader, trainer):
    _, large = train(model_class, loader, trainer, batch_size=12, max_epochs=3)
    run, small = train(
        model_class, loader, trainer, batch_size=4, max_epochs=3, accumulate_grad_batches=3
    )
    assert run.global_step == 6
    for left, right in zip(large.parameters(), small.parameters(), strict=True):
        rl.testing.assert_close(left, right, rtol=1e-4, atol=1e-5)


def test_the_last_batch_of_an_epoch_always_steps(model_class, loader, trainer):
    run, _ = train(model_class, loader, trainer, max_epochs=2, accumulate_grad_batches=4)
    assert run.global_step == 4


@pytest.mark.parametrize("algorithm", ["norm", "value"])
def test_gradients_are_clipped(model_class, loader, trainer, algorithm):
    largest = []

    class Look(model_class):
        def configure_gradient_clipping(self, optimizer, **options):
            super().configure_gradient_clipping(optimizer, **options)
            gradients = rl.cat([each.grad.flatten() for each in self.parameters()])
            size = gradients.norm() if algorithm == "norm" else gradients.abs().max()
            largest.append(size.item())

    run = trainer(gradient_clip_val=0.01, gradient_clip_algorithm=algorithm)
    run.fit(Look(), loader(), loader(8))
    assert len(largest) == 6
    assert all(size <= 0.01 + 1e-6 for size in largest)
    assert max(largest) > 0.009


def test_max_steps_ends_training_inside_an_epoch(model_class, loader, trainer):
    run, _ = train(model_class, loader, trainer, max_steps=8)
    assert run.global_step == 8
    assert run.current_epoch == 2


def test_min_epochs_holds_off_a_wish_to_stop(model_class, loader, trainer):
    def stop(run, module):
        run.should_stop = True

    run = trainer(max_epochs=9, min_epochs=4, callbacks=[LambdaCallback(on_train_epoch_end=stop)])
    run.fit(model_class(), loader(), loader(8))
    assert run.current_epoch == 4


def test_min_steps_holds_off_a_wish_to_stop(model_class, loader, trainer):
    def stop(run, module, *arguments):
        run.should_stop = True

    run = trainer(max_epochs=9, min_steps=8, callbacks=[LambdaCallback(on_train_batch_end=stop)])
    run.fit(model_class(), loader(24), loader(8))
    assert run.global_step == 8


def test_minus_one_from_batch_start_ends_the_epoch(model_class, loader, trainer):
    class Short(model_class):
        def on_train_batch_start(self, batch, batch_idx):
            return -1 if batch_idx == 2 else None

    run = trainer(max_epochs=2)
    run.fit(Short(), loader(24), loader(8))
    assert run.global_step == 4
    assert run.current_epoch == 2


@pytest.mark.filterwarnings("ignore:training_step returned None")
def test_none_from_training_step_skips_the_batch(model_class, loader, trainer):
    class Picky(model_class):
        def training_step(self, batch, batch_idx):
            return None if batch_idx else super().training_step(batch, batch_idx)

    L.seed_everything(5, verbose=False)
    picky = Picky()
    trainer().fit(picky, loader(24), loader(8))
    L.seed_everything(5, verbose=False)
    once = model_class()
    trainer(limit_train_batches=1).fit(once, loader(24), loader(8))
    for left, right in zip(picky.parameters(), once.parameters(), strict=True):
        assert rl.equal(left, right)


@pytest.mark.parametrize(
    ("precision", "dtype"),
    [("64-true", "float64"), ("bf16-true", "bfloat16"), ("32-true", "float32"), (64, "float64")],
)
def test_precision_sets_weights_inputs_and_new_tensors(
    model_class, loader, trainer, precision, dtype
):
    seen = set()

    class Look(model_class):
        def training_step(self, batch, batch_idx):
            seen.update([batch[0].dtype, self(batch[0]).dtype, rl.zeros(1).dtype])
            return super().training_step(batch, batch_idx)

    look = Look()
    run = trainer(precision=precision)
    run.fit(look, loader(), loader(8))
    assert seen == {getattr(rl, dtype)}
    assert {each.dtype for each in look.parameters()} == {getattr(rl, dtype)}
    assert rl.get_default_dtype() is rl.float32


def scaled_by(run, scale):
    """Let a Trainer scale losses by another factor from its first step on."""
    scaler = run.precision_settings.scaler
    scaler.load_state_dict(scaler.state_dict() | {"scale": scale})


# Gradients that overflow are what the scaler is for; NumPy warns of products and sums of them.
overflows = pytest.mark.filterwarnings("ignore:(invalid value|overflow) encountered")


@overflows
@pytest.mark.parametrize(
    ("precision", "name"),
    [("16-mixed", "float16"), ("bf16-mixed", "bfloat16"), (16, "float16"), ("bf16", "bfloat16")],
)
def test_mixed_precision(model_class, loader, trainer, precision, name):
    """Products run in the low dtype, weights and their gradients stay float32, the loss falls."""
    seen, losses = set(), []

    class Look(model_class):
        def training_step(self, batch, batch_idx):
            seen.add((self.layer(batch[0]) if hasattr(self, "layer") else self(batch[0])).dtype)
            loss = super().training_step(batch, batch_idx)
            losses.append(float(loss if not isinstance(loss, dict) else loss["loss"]))
            return loss

    look = Look()
    run = trainer(max_epochs=3, precision=precision, gradient_clip_val=100.0)
    run.fit(look, loader(32), loader(8))
    assert seen == {getattr(rl, name)}
    assert {each.dtype for each in look.parameters()} == {rl.float32}
    assert run.precision == f"{str(precision).removesuffix('-mixed')}-mixed"
    assert losses[-1] < losses[0]
    assert not rl.is_autocast_cpu_enabled()


@overflows
def test_an_overflow_skips_the_step_and_halves_the_scale(model_class, loader, trainer):
    module = model_class()
    run = trainer(max_epochs=1, precision="16-mixed", limit_train_batches=1)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    scaled_by(run, 2.0**127)
    run.fit(module, loader(8), loader(8))
    assert all(rl.equal(value, before[name]) for name, value in module.state_dict().items())
    assert run.precision_settings.scaler.get_scale() == 2.0**126


@overflows
def test_the_scale_is_kept_in_checkpoints(model_class, loader, trainer, tmp_path):
    run = trainer(max_epochs=1, precision="16-mixed")
    scaled_by(run, 1024.0)
    run.fit(model_class(), loader(8), loader(8))
    run.save_checkpoint(tmp_path / "x.ckpt")
    assert rl.load(tmp_path / "x.ckpt", weights_only=False)["MixedPrecision"]["scale"] == 1024.0
    again = trainer(max_epochs=1, precision="16-mixed")
    again.fit(model_class(), loader(8), loader(8), ckpt_path=tmp_path / "x.ckpt")
    assert again.precision_settings.scaler.get_scale() == 1024.0


def test_unknown_precisions_are_refused():
    with pytest.raises(MisconfigurationException, match="'transformer-engine': expected one of"):
        L.Trainer(max_epochs=1, precision="transformer-engine")


def test_validation_runs_at_shares_of_an_epoch(model_class, loader, trainer):
    at = []

    def note(run, module):
        if not run.sanity_checking:
            at.append((run.current_epoch, run.global_step))

    note_steps = LambdaCallback(on_validation_start=note)
    run = trainer(max_epochs=2, val_check_interval=0.25, callbacks=[note_steps])
    run.fit(model_class(), loader(32), loader(8))
    assert at == [(e, 8 * e + s) for e in (0, 1) for s in (2, 4, 6, 8)]


def test_validation_counts_batches_over_epochs(model_class, loader, trainer):
    at = []
    note = LambdaCallback(on_validation_start=lambda run, module: at.append(run.global_step))
    run = trainer(
        max_epochs=3,
        val_check_interval=4,
        check_val_every_n_epoch=None,
        callbacks=[note],
        num_sanity_val_steps=0,
    )
    run.fit(model_class(), loader(24), loader(8))
    assert at == [4, 8, 12, 16]


def test_validation_every_second_epoch(model_class, loader, trainer):
    at = []
    note = LambdaCallback(on_validation_start=lambda run, module: at.append(run.current_epoch))
    run = trainer(max_epochs=5, check_val_every_n_epoch=2, callbacks=[note], num_sanity_val_steps=0)
    run.fit(model_class(), loader(), loader(8))
    assert at == [1, 3]


def test_sanity_check_leaves_no_trace(model_class, loader, trainer):
    class Random(model_class):
        def validation_step(self, batch, batch_idx):
            rl.randn(3)
            self.log("val_loss", rl.rand(()))

    def weights(steps):
        L.seed_everything(5, verbose=False)
        model = Random()
        run = trainer(num_sanity_val_steps=steps, limit_val_batches=2)
        counts = []
        run.callbacks.append(
            LambdaCallback(
                on_train_start=lambda run, module: counts.append(len(run.callback_metrics))
            )
        )
        run.fit(model, loader(24, shuffle=True), loader(8))
        assert counts == [0]
        return model.net[0].weight

    assert rl.equal(weights(0), weights(-1))


def test_fast_dev_run_uses_few_batches_and_writes_nothing(model_class, loader, trainer, tmp_path):
    counts = {"train": 0, "val": 0}

    def count(kind):
        def add(*arguments):
            counts[kind] += 1

        return add

    note = LambdaCallback(on_train_batch_end=count("train"), on_validation_batch_end=count("val"))
    run = trainer(fast_dev_run=2, max_epochs=50, callbacks=[note], logger=True)
    run.fit(model_class(), loader(), loader(16))
    assert counts == {"train": 2, "val": 2}
    assert run.max_epochs == 1
    assert list(tmp_path.rglob("*")) == []


def test_overfitting_repeats_the_same_batches(model_class, loader, trainer):
    seen = []

    def note(run, module, outputs, batch, batch_idx):
        seen.append(batch[0].sum().item())

    run = trainer(
        max_epochs=2, overfit_batches=2, callbacks=[LambdaCallback(on_train_batch_end=note)]
    )
    with pytest.warns(UserWarning, match="taken in order"):
        run.fit(model_class(), loader(24, shuffle=True), loader(8))
    assert len(seen) == 4
    assert seen[:2] == seen[2:]


def test_step_schedulers_follow_the_number_of_steps(model_class, loader, trainer):
    rates = []

    def note(run, module, *arguments):
        rates.append(run.optimizers[0].param_groups[0]["lr"])

    run = trainer(max_epochs=2, callbacks=[LambdaCallback(on_train_batch_end=note)])
    run.fit(model_class(kind="step"), loader(), loader(8))
    assert run.estimated_stepping_batches == 12
    assert max(rates) == pytest.approx(0.05, rel=0.05)
    assert rates.index(max(rates)) < 5 and min(rates) < 1e-3


def test_reload_asks_for_new_loaders(model_class, loader, trainer):
    class Reloading(model_class):
        asked = 0

        def train_dataloader(self):
            self.asked += 1
            return loader()

        def val_dataloader(self):
            return loader(8)

    model = Reloading()
    trainer(max_epochs=5, reload_dataloaders_every_n_epochs=2).fit(model)
    assert model.asked == 3


def test_fit_again_goes_on_with_more_epochs(model_class, loader, trainer):
    run = trainer(max_epochs=2)
    model = model_class()
    run.fit(model, loader(), loader(8))
    run.fit(model, loader(), loader(8))
    assert run.current_epoch == 2
    run.fit_loop.max_epochs = 3
    run.fit(model, loader(), loader(8))
    assert run.current_epoch == 3 and run.global_step == 18


def test_max_time_ends_training(model_class, loader, trainer):
    run = trainer(max_epochs=-1, max_time={"seconds": 0})
    run.fit(model_class(), loader(), loader(8))
    assert run.current_epoch <= 1


def test_callbacks_of_the_module_replace_those_of_the_same_type(model_class, loader, trainer):
    own = EarlyStopping("val_loss", patience=7)

    class Brings(model_class):
        def configure_callbacks(self):
            return [own]

    run = trainer(callbacks=[EarlyStopping("train_loss")])
    run.fit(Brings(), loader(), loader(8))
    assert run.early_stopping_callbacks == [own]


def test_batches_are_changed_before_and_after_transfer(model_class, loader, trainer):
    order = []

    class Changing(model_class):
        def on_before_batch_transfer(self, batch, dataloader_idx):
            order.append("before")
            return batch

        def transfer_batch_to_device(self, batch, device, dataloader_idx):
            order.append(device.type)
            return super().transfer_batch_to_device(batch, device, dataloader_idx)

        def on_after_batch_transfer(self, batch, dataloader_idx):
            order.append("after")
            return batch[0] * 0, batch[1]

        def training_step(self, batch, batch_idx):
            assert batch[0].abs().sum().item() == 0
            return super().training_step(batch, batch_idx)

    trainer(limit_train_batches=1, limit_val_batches=0).fit(Changing(), loader(), loader(8))
    assert order == ["before", "cpu", "after"]


def test_detect_anomaly_is_on_only_while_training(model_class, loader, trainer):
    seen = []
    note = LambdaCallback(on_train_start=lambda *arguments: seen.append(rl.is_anomaly_enabled()))
    trainer(detect_anomaly=True, callbacks=[note]).fit(model_class(), loader(), loader(8))
    assert seen == [True]
    assert not rl.is_anomaly_enabled()


MISTAKES = [
    ({"max_epochs": -2}, L.MisconfigurationException, "max_epochs=-2"),
    ({"limit_train_batches": 1.5}, L.MisconfigurationException, "limit_train_batches=1.5"),
    ({"limit_val_batches": -1}, L.MisconfigurationException, "limit_val_batches=-1"),
    ({"val_check_interval": "00:00:10:00"}, NotImplementedError, "times are not supported"),
    ({"check_val_every_n_epoch": None}, L.MisconfigurationException, "must be an int"),
    ({"strategy": "deepspeed"}, NotImplementedError, "'fsdp'"),
    ({"devices": 0}, L.MisconfigurationException, "devices=0"),
    ({"devices": 4, "strategy": "single_device"}, L.MisconfigurationException, "one process"),
    ({"num_nodes": 0}, L.MisconfigurationException, "num_nodes=0"),
    ({"profiler": "neat"}, ValueError, "simple"),
    ({"accelerator": "tpu"}, NotImplementedError, "'cpu'"),
    ({"precision": "8-true"}, L.MisconfigurationException, "expected one of"),
    ({"accumulate_grad_batches": 0}, ValueError, "accumulate_grad_batches=0"),
    ({"gradient_clip_algorithm": "max"}, L.MisconfigurationException, "'norm' or 'value'"),
    ({"gradient_clip_val": "1"}, TypeError, "expected a number"),
    ({"num_sanity_val_steps": -3}, L.MisconfigurationException, "num_sanity_val_steps=-3"),
    ({"callbacks": [3]}, TypeError, "expected a Callback, got 3"),
    ({"val_check_interval": 0}, L.MisconfigurationException, "val_check_interval=0: expected"),
    ({"val_check_interval": 0.0}, L.MisconfigurationException, "limit_val_batches=0 switches"),
    ({"min_epochs": 5}, L.MisconfigurationException, "more than max_epochs=1"),
    ({"logger": "csv"}, TypeError, "no log_metrics"),
]


@pytest.mark.parametrize(("options", "error", "text"), MISTAKES, ids=lambda value: str(value)[:40])
def test_mistaken_options_are_named(options, error, text):
    with pytest.raises(error, match=text):
        L.Trainer(**{"max_epochs": 1, **options})


def test_a_share_below_one_batch_is_refused(model_class, loader, trainer):
    with pytest.raises(L.MisconfigurationException, match="less than one"):
        trainer(limit_train_batches=0.1).fit(model_class(), loader(8), loader(8))


def test_validation_more_rarely_than_an_epoch_is_refused(model_class, loader, trainer):
    with pytest.raises(ValueError, match="more than the 6 batches"):
        trainer(val_check_interval=7).fit(model_class(), loader(), loader(8))


def test_incomplete_modules_are_named(loader, trainer):
    class Empty(L.LightningModule):
        pass

    class Half(Empty):
        def training_step(self, batch, batch_idx):
            return None

    with pytest.raises(L.MisconfigurationException, match=r"Empty does not define training_step"):
        trainer().fit(Empty(), loader())
    with pytest.raises(L.MisconfigurationException, match="define configure_optimizers"):
        trainer().fit(Half(), loader())
    with pytest.raises(TypeError, match="model is a Linear"):
        trainer().fit(nn.Linear(1, 1), loader())


def test_missing_data_are_named(model_class, loader, trainer):
    with pytest.raises(L.MisconfigurationException, match="no training data"):
        trainer().fit(model_class())
    with pytest.warns(UserWarning, match="no validation data"):
        trainer().fit(model_class(), loader())
    with pytest.raises(TypeError, match="the train loader is a int"):
        trainer().fit(model_class(), 3, loader())


def test_an_empty_iterable_is_named(model_class, trainer, loader):
    class Empty:
        def __iter__(self):
            return iter(())

    with pytest.raises(L.MisconfigurationException, match="gave no batch"):
        trainer(max_epochs=-1).fit(model_class(), Empty(), loader(8))


@pytest.mark.parametrize(
    ("output", "text"), [({"acc": 1}, "expected a 'loss'"), (3.0, "returned float")]
)
def test_strange_outputs_of_training_step_are_named(model_class, loader, trainer, output, text):
    class Strange(model_class):
        def training_step(self, batch, batch_idx):
            return output

    with pytest.raises(L.MisconfigurationException, match=text):
        trainer().fit(Strange(), loader(), loader(8))


def test_unset_max_epochs_warns():
    with pytest.warns(UserWarning, match="1000 epochs"):
        run = L.Trainer()
    assert run.max_epochs == 1000


def test_barebones_switches_everything_off(model_class, loader):
    run = L.Trainer(max_epochs=1, barebones=True, accelerator="cpu")
    assert run.callbacks == [] and run.loggers == []
    run.fit(model_class(), loader(), loader(8))
    assert run.global_step == 6


def calls_of_the_trainer(steps):
    """How many Python functions of the Trainer a fit of so many steps calls."""
    counted = 0

    class Model(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(1, 1)

        def training_step(self, batch, batch_idx):
            return self.layer(batch[0]).sum()

        def configure_optimizers(self):
            return rl.optim.SGD(self.parameters(), lr=0.1)

    def count(frame, event, argument):
        nonlocal counted
        if event == "call":
            counted += frame.f_globals.get("__name__", "").startswith("lightning_lite")

    loader = DataLoader(TensorDataset(rl.zeros(steps, 1)), batch_size=1)
    run = L.Trainer(
        max_epochs=1, logger=False, enable_progress_bar=False, enable_checkpointing=False,
        enable_model_summary=False, accelerator="cpu",
    )  # fmt: skip
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run.fit(Model(), loader)
    finally:
        sys.setprofile(before)
    return counted


def test_a_step_that_asks_for_nothing_costs_few_calls():
    """6 functions a step where nobody logs, clips, validates or has hooks."""
    per_step = (calls_of_the_trainer(150) - calls_of_the_trainer(50)) / 100
    assert 1 < per_step <= 6


def test_loaders_are_asked_for_in_order(trainer):
    """As by Lightning 2.6.6: those of validation inside of the sanity check, whose draws leave no
    trace, then those of training; without a check, training first."""
    calls = []

    class Model(L.demos.BoringModel):
        def train_dataloader(self):
            calls.append(("train", int(rl.rand(1) * 1000)))
            return super().train_dataloader()

        def val_dataloader(self):
            calls.append(("val", int(rl.rand(1) * 1000)))
            return super().val_dataloader()

    class Noting(L.Callback):
        def on_sanity_check_start(self, trainer, pl_module):
            calls.append((trainer.num_training_batches, list(trainer.num_val_batches)))

        def on_sanity_check_end(self, trainer, pl_module):
            calls.append((trainer.num_training_batches, list(trainer.num_val_batches)))

    limits = {"limit_train_batches": 2, "limit_val_batches": 1, "max_epochs": 1}
    rl.manual_seed(4)
    drawn = int(rl.rand(1) * 1000)
    model = Model()
    rl.manual_seed(4)
    trainer(callbacks=[Noting()], num_sanity_val_steps=2, **limits).fit(model)
    infinite = float("inf")
    assert calls == [(infinite, []), ("val", drawn), (infinite, [1]), ("train", drawn)]
    calls.clear()
    trainer(callbacks=[Noting()], num_sanity_val_steps=0, **limits).fit(model)
    assert [name for name, _ in calls] == ["train", "val"]
