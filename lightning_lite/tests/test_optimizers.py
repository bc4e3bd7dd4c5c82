"""Every form that `configure_optimizers` may return, and manual optimization."""

from __future__ import annotations

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite.callbacks import LambdaCallback
from lightning_lite.optimizers import LightningOptimizer, parse
from rushlight import nn

F = nn.functional


@pytest.fixture
def parts():
    layer = nn.Linear(2, 2)
    optimizer = rl.optim.SGD(layer.parameters(), lr=0.1)
    return optimizer, rl.optim.lr_scheduler.StepLR(optimizer, 1)


def forms(optimizer, scheduler):
    config = {"scheduler": scheduler, "interval": "step", "frequency": 2, "name": "mine"}
    return {
        "optimizer": (optimizer, 1, 0),
        "list": ([optimizer], 1, 0),
        "tuple": ((optimizer,), 1, 0),
        "two lists": (([optimizer], [scheduler]), 1, 1),
        "two lists, config": (([optimizer], [config]), 1, 1),
        "list of two lists": ([[optimizer], []], 1, 0),
        "dictionary": ({"optimizer": optimizer}, 1, 0),
        "dictionary, scheduler": ({"optimizer": optimizer, "lr_scheduler": scheduler}, 1, 1),
        "dictionary, config": ({"optimizer": optimizer, "lr_scheduler": config}, 1, 1),
        "list of dictionaries": ([{"optimizer": optimizer, "lr_scheduler": config}], 1, 1),
        "none": (None, 0, 0),
    }


@pytest.mark.parametrize("name", list(forms(None, None)))
def test_forms(parts, name):
    returned, optimizers, schedulers = forms(*parts)[name]
    found, configs = parse(returned, automatic=True)
    assert len(found) == optimizers and len(configs) == schedulers
    if "config" in name:
        assert (configs[0].interval, configs[0].frequency, configs[0].name) == ("step", 2, "mine")


def test_several_dictionaries_in_manual_optimization(parts):
    optimizer, scheduler = parts
    entry = {"optimizer": optimizer, "lr_scheduler": scheduler}
    found, configs = parse([entry, {"optimizer": optimizer}], automatic=False)
    assert len(found) == 2 and len(configs) == 1


MISTAKES = [
    (lambda o, s: 3, "returned 3; expected an optimizer"),
    (lambda o, s: [o, 3], "expected an optimizer"),
    (lambda o, s: {"lr_scheduler": s}, "expected an optimizer"),
    (lambda o, s: [o, o], "2 optimizers need manual optimization"),
    (lambda o, s: ([o], [3]), "int given as a scheduler"),
    (lambda o, s: ([o], [{"interval": "step"}]), "no 'scheduler'"),
    (lambda o, s: ([o], [{"scheduler": s, "interval": "hour"}]), "interval 'hour'"),
    (lambda o, s: ([o], [{"scheduler": s, "frequency": 0}]), "frequency 0"),
]


@pytest.mark.parametrize(("make", "text"), MISTAKES)
def test_mistakes_are_named(parts, make, text):
    with pytest.raises(L.MisconfigurationException, match=text):
        parse(make(*parts), automatic=True)


def test_a_scheduler_of_another_optimizer_is_refused(parts):
    other = rl.optim.SGD(nn.Linear(1, 1).parameters(), lr=0.1)
    with pytest.raises(L.MisconfigurationException, match="belongs to an optimizer"):
        parse(([other], [parts[1]]), automatic=True)


def test_unknown_keys_warn(parts):
    optimizer, scheduler = parts
    with pytest.warns(RuntimeWarning, match="'when'"):
        parse(([optimizer], [{"scheduler": scheduler, "when": 1}]), automatic=True)
    with pytest.warns(RuntimeWarning, match="'scheduler'"):
        parse({"optimizer": optimizer, "scheduler": scheduler}, automatic=True)


def test_one_cycle_per_epoch_warns(parts):
    optimizer, _ = parts
    cycle = rl.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=10)
    with pytest.warns(UserWarning, match="once per epoch"):
        parse(([optimizer], [cycle]), automatic=True)


class Plateau:
    """A scheduler that follows a metric, as small as one can be."""

    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.seen = []

    def step(self, metric=None):
        self.seen.append(metric.item())

    def state_dict(self):
        return {"seen": list(self.seen)}

    def load_state_dict(self, state):
        self.seen = state["seen"]


def with_plateau(model_class, **options):
    class Follows(model_class):
        def validation_step(self, batch, batch_idx):
            self.log("val_loss", float(self.global_step))

        def configure_optimizers(self):
            optimizer = rl.optim.SGD(self.parameters(), lr=0.1)
            config = {"scheduler": Plateau(optimizer), "reduce_on_plateau": True, **options}
            return {"optimizer": optimizer, "lr_scheduler": config}

    return Follows()


def test_plateau_schedulers_get_the_metric_of_the_epoch(model_class, loader, trainer):
    run = trainer(max_epochs=2)
    run.fit(with_plateau(model_class, monitor="val_loss"), loader(24), loader(8))
    assert run.lr_scheduler_configs[0].scheduler.seen == [6.0, 12.0]


def test_plateau_schedulers_per_step(model_class, loader, trainer):
    run = trainer(val_check_interval=2)
    options = {"monitor": "val_loss", "interval": "step", "frequency": 2}
    run.fit(with_plateau(model_class, **options), loader(24), loader(8))
    assert run.lr_scheduler_configs[0].scheduler.seen == [2.0, 4.0, 6.0]


def test_plateau_without_its_metric(model_class, loader, trainer):
    with pytest.raises(L.MisconfigurationException, match="name it"):
        trainer().fit(with_plateau(model_class), loader(), loader(8))
    with pytest.raises(L.MisconfigurationException, match="'acc', which was not logged"):
        trainer().fit(with_plateau(model_class, monitor="acc"), loader(), loader(8))
    loose = with_plateau(model_class, monitor="acc", strict=False)
    with pytest.warns(RuntimeWarning, match="does not step now"):
        trainer().fit(loose, loader(), loader(8))


def test_overridden_steps_are_used(model_class, loader, trainer):
    class Warm(model_class):
        def optimizer_step(self, epoch, batch_idx, optimizer, optimizer_closure):
            for group in optimizer.param_groups:
                group["lr"] = 0.001 * (batch_idx + 1)
            optimizer.step(closure=optimizer_closure)

        def optimizer_zero_grad(self, epoch, batch_idx, optimizer):
            optimizer.zero_grad(set_to_none=True)

    run = trainer()
    run.fit(Warm(), loader(), loader(8))
    assert run.global_step == 6
    assert run.optimizers[0].param_groups[0]["lr"] == pytest.approx(0.006)


def test_no_optimizer(model_class, loader, trainer, tmp_path):
    """None: losses, hooks, steps and checkpoints as ever, and nothing is learnt."""

    class Without(model_class):
        def configure_optimizers(self):
            return None

    model = Without()
    begin = {name: value.clone() for name, value in model.state_dict().items()}
    saver = L.callbacks.ModelCheckpoint(tmp_path)
    run = trainer(callbacks=[saver], enable_checkpointing=True)
    with pytest.warns(UserWarning, match="end it with `return optimizer`"):
        run.fit(model, loader(), loader(8))
    assert run.global_step == len(loader()) * run.current_epoch > 0
    assert "val_loss" in run.callback_metrics
    assert all(rl.equal(value, begin[name]) for name, value in model.state_dict().items())
    again = trainer(max_epochs=run.current_epoch + 1)
    with pytest.warns(UserWarning, match="returned None"):
        again.fit(Without(), loader(), loader(8), ckpt_path=saver.best_model_path)
    assert again.global_step == run.global_step + len(loader())


def test_no_optimizers_of_a_list_are_refused(model_class, loader, trainer):
    class Without(model_class):
        def configure_optimizers(self):
            return []

    with pytest.raises(L.MisconfigurationException, match="returned no optimizer"):
        trainer().fit(Without(), loader(), loader(8))


def test_schedulers_take_what_optimizers_gives(loader, trainer):
    """`self.optimizers()` is an instance of the optimizer's class, as Lightning's is."""

    class Manual(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False
            self.layer, self.rates = nn.Linear(4, 1), []

        def training_step(self, batch, batch_idx):
            optimizer = self.optimizers()
            assert isinstance(optimizer, rl.optim.SGD) and not isinstance(optimizer, rl.optim.Adam)
            if batch_idx == 0:
                self.scheduler = rl.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
            optimizer.zero_grad()
            self.manual_backward(self.layer(batch[0]).square().mean())
            optimizer.step()
            self.scheduler.step()
            self.rates.append(optimizer.param_groups[0]["lr"])

        def configure_optimizers(self):
            return rl.optim.SGD(self.parameters(), lr=0.8)

    model = Manual()
    trainer(limit_train_batches=4, max_epochs=1).fit(model, loader())
    assert model.rates == [0.8, 0.4, 0.4, 0.2]


class Adversaries(L.LightningModule):
    """Two networks against each other, optimized by hand."""

    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.generator = nn.Linear(4, 4)
        self.critic = nn.Linear(4, 1)
        self.frozen = []

    def training_step(self, batch, batch_idx):
        x, _ = batch
        first, second = self.optimizers()
        self.toggle_optimizer(first)
        self.frozen.append([each.requires_grad for each in self.critic.parameters()])
        loss = -self.critic(self.generator(x)).mean()
        first.zero_grad()
        self.manual_backward(loss)
        self.clip_gradients(first, gradient_clip_val=0.5, gradient_clip_algorithm="norm")
        first.step()
        self.untoggle_optimizer(first)
        with self.toggled_optimizer(second):
            other = F.softplus(self.critic(self.generator(x).detach()) - self.critic(x)).mean()
            second.zero_grad()
            self.manual_backward(other)
            second.step()
        if self.trainer.is_last_batch:
            for scheduler in self.lr_schedulers():
                scheduler.step()
        self.log_dict({"generator": loss, "critic": other})

    def configure_optimizers(self):
        first = rl.optim.Adam(self.generator.parameters(), lr=0.01)
        second = rl.optim.SGD(self.critic.parameters(), lr=0.1)
        schedulers = [rl.optim.lr_scheduler.StepLR(each, 1, 0.1) for each in (first, second)]
        return [first, second], schedulers


def test_manual_optimization(loader, trainer):
    calls = []
    note = LambdaCallback(
        on_before_backward=lambda *arguments: calls.append("backward"),
        on_before_optimizer_step=lambda run, module, optimizer: calls.append(type(optimizer)),
    )
    run, model = trainer(max_epochs=2, callbacks=[note]), Adversaries()
    before = model.generator.weight.clone(), model.critic.weight.clone()
    run.fit(model, loader(8))
    assert run.global_step == 8  # two optimizers, two batches, two epochs
    assert calls[:4] == ["backward", rl.optim.Adam, "backward", rl.optim.SGD]
    assert model.frozen == [[False, False]] * 4
    assert all(each.requires_grad for each in model.parameters())
    assert not rl.equal(model.generator.weight, before[0])
    assert not rl.equal(model.critic.weight, before[1])
    assert run.optimizers[0].param_groups[0]["lr"] == pytest.approx(1e-4)
    assert {"generator", "critic"} <= set(run.callback_metrics)


def test_manual_optimization_goes_on_bit_for_bit(loader, trainer, tmp_path, same):
    L.seed_everything(1, verbose=False)
    whole = Adversaries()
    run = trainer(max_epochs=2)
    run.fit(whole, loader(24, shuffle=True))
    L.seed_everything(1, verbose=False)
    saved = tmp_path / "inside.ckpt"

    def save(run, module, *arguments):
        if run.global_step == 6:
            run.save_checkpoint(saved)

    first = trainer(max_epochs=2, callbacks=[LambdaCallback(on_train_batch_end=save)])
    first.fit(Adversaries(), loader(24, shuffle=True))
    again = Adversaries()
    second = trainer(max_epochs=2)
    second.fit(again, loader(24, shuffle=True), ckpt_path=saved)
    same(again.state_dict(), whole.state_dict())
    assert second.global_step == run.global_step == 24


def test_closures_work_in_manual_optimization(loader, trainer):
    class Closed(Adversaries):
        def training_step(self, batch, batch_idx):
            optimizer = self.optimizers()[0]

            def closure():
                loss = self.generator(batch[0]).pow(2).mean()
                optimizer.zero_grad()
                self.manual_backward(loss)
                return loss

            self.result = optimizer.step(closure=closure)

    model = Closed()
    trainer().fit(model, loader(8))
    assert model.result.item() > 0


def test_what_manual_optimization_refuses(model_class, loader, trainer):
    with pytest.raises(L.MisconfigurationException, match="clip_gradients in training_step"):
        trainer(gradient_clip_val=1.0).fit(Adversaries(), loader(8))
    with pytest.raises(L.MisconfigurationException, match="step every so many batches"):
        trainer(accumulate_grad_batches=2).fit(Adversaries(), loader(8))

    class Wrong(model_class):
        def training_step(self, batch, batch_idx):
            self.manual_backward(super().training_step(batch, batch_idx))

    with pytest.raises(L.MisconfigurationException, match="automatic_optimization = False"):
        trainer().fit(Wrong(), loader(), loader(8))


def test_wrapped_optimizers_pass_everything_on(model_class, loader, trainer):
    model = model_class()
    run = trainer(limit_train_batches=1)
    run.fit(model, loader(), loader(8))
    wrapped = model.optimizers()
    assert isinstance(wrapped, LightningOptimizer)
    assert wrapped.param_groups is run.optimizers[0].param_groups
    assert model.optimizers(use_pl_optimizer=False) is run.optimizers[0] is wrapped.optimizer
    assert "Adam" in repr(wrapped)
    assert model.lr_schedulers() is None
