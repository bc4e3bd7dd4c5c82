"""Learning rate tests and batch sizes: what they suggest, and that they leave no trace."""

from __future__ import annotations

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite import callbacks, random_state
from lightning_lite.errors import MisconfigurationException
from lightning_lite.tuner import Tuner, suggestions
from lightning_lite.tuner.lr_finder import _LRFinder
from rushlight.utils.data import DataLoader, TensorDataset


def everything(model, trainer, loader):
    """What a trial must not change."""
    return {
        "weights": {name: each.clone() for name, each in model.state_dict().items()},
        "gradients": [each.grad for each in model.parameters()],
        "needed": [each.requires_grad for each in model.parameters()],
        "modes": [each.training for each in model.modules()],
        "random": random_state.capture(),
        "loader": loader.generator.get_state() if loader.generator is not None else None,
        "step": trainer.global_step,
        "epochs": trainer.max_epochs,
        "callbacks": list(trainer.callbacks),
        "module": trainer.lightning_module,
        "limits": trainer.limits,
    }


@pytest.mark.filterwarnings("ignore:Trainer.fit. 1 modules are in eval mode")
def test_lr_find_leaves_no_trace_bit_for_bit(model_class, loader, trainer, same):
    data = loader(shuffle=True, generator=rl.Generator().manual_seed(5))
    model, run = model_class(), trainer(max_epochs=2)
    model.net[0].weight.requires_grad_(False)
    model.net[1].eval()
    before = everything(model, run, data)
    options = {"num_training": 20, "update_attr": False, "early_stop_threshold": None}
    test = Tuner(run).lr_find(model, data, **options)
    same(everything(model, run, data), before)
    assert len(test.results["lr"]) == len(test.results["loss"]) == 20
    again = Tuner(run).lr_find(model, data, **options)
    assert again.results == test.results


def test_training_after_lr_find_is_as_without_it(model_class, loader, trainer, same):
    def weights(look):
        L.seed_everything(3, verbose=False)
        model, run, data = model_class(lr=0.02), trainer(limit_val_batches=0), loader(shuffle=True)
        if look:
            Tuner(run).lr_find(model, data, num_training=10, update_attr=False)
        run.fit(model, data)
        return model.state_dict()

    same(weights(True), weights(False))


def test_lr_find_sets_the_attribute(model_class, loader, trainer):
    model, run = model_class(), trainer()
    test = Tuner(run).lr_find(model, loader(), num_training=40, min_lr=1e-4, max_lr=1.0)
    assert model.hparams.lr == test.suggestion() != 0.01
    with pytest.raises(AttributeError, match="pace"):
        Tuner(run).lr_find(model, loader(), attr_name="pace")
    with pytest.raises(MisconfigurationException, match="only 'fit'"):
        Tuner(run).lr_find(model, loader(), method="test")
    with pytest.raises(MisconfigurationException, match="mode 'steps'"):
        Tuner(run).lr_find(model, loader(), mode="steps")


def test_lr_find_ends_where_losses_explode(model_class, loader, trainer):
    found = Tuner(trainer()).lr_find(model_class(), loader(), max_lr=1e6, num_training=60)
    assert len(found.results["loss"]) < 60
    assert found.results["loss"][-1] > 4 * min(found.results["loss"][1:])


def test_too_few_losses_suggest_nothing():
    finder = _LRFinder("exponential", 1e-3, 1.0, 5)
    finder.results = {"lr": [0.1, 0.2, 0.3], "loss": [1.0, float("nan"), 2.0]}
    with pytest.warns(UserWarning, match="finite losses"):
        assert finder.suggestion(skip_begin=0) is None


def curve():
    """A typical curve: flat, falling, flat, rising."""
    rates = [1e-5 * 10 ** (n / 12) for n in range(60)]
    losses = []
    for n in range(60):
        falling = 2.0 / (1 + 2.718 ** ((n - 25) / 3)) + 0.5
        losses.append(falling + (max(0, n - 48) ** 2) * 0.02 + 0.01 * ((n * 7) % 3))
    return rates, losses


# Given by fastai 2.8.12 for this curve (`valley`, `slide`, `minimum`, `steep`).
FASTAI = {"valley": 0.00261016, "slide": 1e-05, "minimum": 0.01, "steep": 0.000825404}


@pytest.mark.parametrize("rule", FASTAI)
def test_suggestions_are_fastais(rule):
    assert suggestions.suggest(*curve(), rule) == pytest.approx(FASTAI[rule], rel=1e-4)


def test_unknown_suggestion():
    with pytest.raises(ValueError, match="guess"):
        suggestions.suggest(*curve(), "guess")


def test_plot(model_class, loader, trainer):
    pytest.importorskip("matplotlib").use("agg")
    test = Tuner(trainer()).lr_find(model_class(), loader(), num_training=40, update_attr=False)
    figure = test.plot(suggest="valley")
    axes = figure.axes[0]
    assert axes.get_xscale() == "log" and "valley" in axes.get_title()
    assert list(axes.lines[0].get_ydata()) == test.results["loss"]
    assert axes.lines[1].get_xdata()[0] == test.results["lr"][test._optimal_idx]


class Sized(L.LightningModule):
    """A module that makes its loader, and needs too much memory beyond a batch size."""

    def __init__(self, most):
        super().__init__()
        self.batch_size, self.most = 2, most
        self.layer = rl.nn.Linear(3, 1)

    def training_step(self, batch, batch_idx):
        if len(batch[0]) > self.most:
            raise MemoryError("too large")
        return self.layer(batch[0]).square().mean()

    validation_step = training_step

    def configure_optimizers(self):
        return rl.optim.SGD(self.parameters(), lr=0.1)

    def train_dataloader(self):
        return DataLoader(TensorDataset(rl.ones(200, 3)), batch_size=self.batch_size)

    val_dataloader = train_dataloader


@pytest.mark.parametrize(
    ("mode", "most", "expected"),
    [("power", 24, 16), ("binsearch", 24, 24), ("power", 1000, 256), ("binsearch", 2, 2)],
)
def test_scale_batch_size(mode, most, expected, trainer):
    model = Sized(most)
    weight = model.layer.weight.detach().clone()
    assert Tuner(trainer()).scale_batch_size(model, mode=mode) == expected == model.batch_size
    assert rl.equal(model.layer.weight, weight)


def test_scale_batch_size_options(trainer):
    assert Tuner(trainer()).scale_batch_size(Sized(1000), max_val=50) == 50
    assert Tuner(trainer()).scale_batch_size(Sized(60), mode="binsearch", margin=0.1) == 54
    assert Tuner(trainer()).scale_batch_size(Sized(30), method="validate") == 16
    with pytest.raises(MisconfigurationException, match="loaders were given"):
        Tuner(trainer()).scale_batch_size(Sized(3), DataLoader(range(3)))
    with pytest.raises(MisconfigurationException, match="size_of_batch"):
        Tuner(trainer()).scale_batch_size(Sized(3), batch_arg_name="size_of_batch")


def test_batch_size_finder_trains_with_what_it_found(trainer):
    seen = []

    class Counting(Sized):
        def on_train_batch_end(self, outputs, batch, batch_idx):
            seen.append(len(batch[0]))

    finder = callbacks.BatchSizeFinder()
    trainer(callbacks=[finder], limit_val_batches=0).fit(Counting(40))
    assert finder.optimal_batch_size == 32 and seen[-7:] == [32] * 6 + [8]
    finder = callbacks.BatchSizeFinder()
    model = Sized(20)
    trainer(callbacks=[finder]).validate(model, verbose=False)
    assert finder.optimal_batch_size == model.batch_size == 16


def test_errors_of_a_trial_are_not_swallowed(trainer):
    class Broken(Sized):
        def training_step(self, batch, batch_idx):
            raise RuntimeError("broken")

    run = trainer()
    with pytest.raises(RuntimeError, match="broken"):
        Tuner(run).scale_batch_size(Broken(9))
    assert run.callbacks and run.lightning_module is None
