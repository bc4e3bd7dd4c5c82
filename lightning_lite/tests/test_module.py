"""LightningModule, hyper-parameters, data modules, seeds and combined loaders."""

from __future__ import annotations

import copy
import os
import random
from argparse import Namespace

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite import random_state
from lightning_lite.batches import move_to_device
from lightning_lite.hyperparameters import AttributeDict
from rushlight import nn
from rushlight.utils.data import TensorDataset


class Base(L.LightningModule):
    def __init__(self, width, depth=2, **options):
        super().__init__()
        self.save_hyperparameters()


class Derived(Base):
    def __init__(self, width, rate=0.1, *, flavour="plain"):
        super().__init__(width * 2, depth=5, extra=True)


class Chosen(L.LightningModule):
    def __init__(self, a, b, c=3):
        super().__init__()
        b = b * 10
        self.save_hyperparameters("a", "b")


class Ignoring(L.LightningModule):
    def __init__(self, a, network=None):
        super().__init__()
        self.save_hyperparameters(ignore=["network"])


class Given(L.LightningModule):
    def __init__(self, options):
        super().__init__()
        self.save_hyperparameters(options)


def test_arguments_of_the_constructor_are_kept():
    found = Base(3, colour="red").hparams
    assert found == {"width": 3, "depth": 2, "colour": "red"}
    assert found.width == 3


def test_a_subclass_gives_its_own_arguments():
    found = Derived(3, flavour="salty").hparams
    assert found == {"width": 3, "depth": 5, "extra": True, "rate": 0.1, "flavour": "salty"}


def test_some_are_chosen_or_ignored():
    assert Chosen(1, 2).hparams == {"a": 1, "b": 20}
    assert Ignoring(1, network=nn.Linear(1, 1)).hparams == {"a": 1}
    assert Given({"lr": 1}).hparams == {"lr": 1}
    assert Given(Namespace(lr=2)).hparams == {"lr": 2}


def test_unknown_names_are_refused():
    class Unknown(L.LightningModule):
        def __init__(self, a):
            super().__init__()
            self.save_hyperparameters("b")

    with pytest.raises(ValueError, match=r"\['b'\] given, the constructor has \['a'\]"):
        Unknown(1)


def test_modules_among_them_warn():
    with pytest.warns(UserWarning, match=r"ignore=\['width'\]"):
        Base(nn.Linear(1, 1))


def test_initial_ones_stay():
    module = Base(3)
    module.hparams.width = 4
    assert module.hparams_initial == {"width": 3, "depth": 2}
    assert module.hparams["width"] == 4


def test_what_cannot_be_kept_is_named(model_class, loader, trainer, tmp_path):
    class Odd(model_class):
        def __init__(self, function=len, lr=0.5):
            super().__init__(lr=lr)
            self.save_hyperparameters()

    run = trainer(enable_checkpointing=False)
    run.fit(Odd(), loader(), loader(8))
    with pytest.warns(UserWarning, match=r"function \(builtin_function_or_method\)"):
        run.save_checkpoint(tmp_path / "odd.ckpt")
    assert rl.load(tmp_path / "odd.ckpt")["hyper_parameters"]["lr"] == 0.5


def test_missing_attributes_are_named():
    with pytest.raises(AttributeError, match="no hyper-parameter 'c'; there are: a, b"):
        _ = AttributeDict(a=1, b=2).c


def test_a_module_without_a_trainer(model_class):
    module = model_class()
    assert (module.current_epoch, module.global_step) == (0, 0)
    assert module.device == rl.device("cpu") and module.dtype is rl.float32
    assert module.logger is None and module.loggers == []
    with pytest.raises(RuntimeError, match="not attached to a Trainer"):
        _ = module.trainer
    assert module(rl.zeros(2, 4)).shape == (2, 1)


def test_freezing(model_class):
    module = model_class()
    module.freeze()
    assert not module.training
    assert not any(each.requires_grad for each in module.parameters())
    module.unfreeze()
    assert module.training
    assert all(each.requires_grad for each in module.parameters())


def test_nested_modules_share_the_trainer(model_class, loader, trainer):
    class Outer(model_class):
        def __init__(self):
            super().__init__()
            self.inner = Base(2)

    outer, run = Outer(), trainer(limit_train_batches=1)
    run.fit(outer, loader(), loader(8))
    assert outer.inner.trainer is run


class Numbers(L.LightningDataModule):
    def __init__(self, rows=24, batch_size=4):
        super().__init__()
        self.save_hyperparameters()
        self.calls = []
        self.seen = 0

    def prepare_data(self):
        self.calls.append("prepare")

    def setup(self, stage):
        self.calls.append(f"setup {stage}")
        generator = rl.Generator().manual_seed(1)
        self.x = rl.randn(self.hparams.rows, 4, generator=generator)

    def _loader(self):
        data = TensorDataset(self.x, self.x.sum(1, keepdim=True))
        return rl.utils.data.DataLoader(data, batch_size=self.hparams.batch_size)

    def train_dataloader(self):
        self.calls.append("train")
        return self._loader()

    def val_dataloader(self):
        return self._loader()

    def test_dataloader(self):
        return self._loader()

    def predict_dataloader(self):
        return self._loader()

    def on_after_batch_transfer(self, batch, dataloader_idx):
        self.seen += 1
        return batch

    def teardown(self, stage):
        self.calls.append(f"teardown {stage}")

    def state_dict(self):
        return {"seen": self.seen}

    def load_state_dict(self, state_dict):
        self.seen = state_dict["seen"]


def test_a_data_module_gives_everything(model_class, trainer, tmp_path):
    numbers, run, model = Numbers(), trainer(), model_class()
    run.fit(model, datamodule=numbers)
    assert numbers.calls == ["prepare", "setup fit", "train", "teardown fit"]
    assert numbers.seen == 6 + 6 + 2
    assert numbers.trainer is run
    run.save_checkpoint(tmp_path / "data.ckpt")
    assert run.test(model, numbers, verbose=False)[0]["two"] == 2.0
    assert len(run.predict(model, datamodule=numbers)) == 6
    again = Numbers.load_from_checkpoint(tmp_path / "data.ckpt", batch_size=8)
    assert again.hparams == {"rows": 24, "batch_size": 8} and again.seen == 14


def test_data_are_given_once(model_class, trainer, loader):
    with pytest.raises(L.MisconfigurationException, match="not both"):
        trainer().fit(model_class(), loader(), datamodule=Numbers())
    with pytest.raises(TypeError, match="expected a LightningDataModule"):
        trainer().fit(model_class(), datamodule=3)


def test_a_data_module_from_data_sets(model_class, trainer):
    x = rl.randn(8, 4)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    made = L.LightningDataModule.from_datasets(data, [data, data], data, batch_size=4)
    run = trainer()

    class Two(model_class):
        def validation_step(self, batch, batch_idx, dataloader_idx=0):
            self.log("val_loss", 1.0)

    run.fit(Two(), datamodule=made)
    assert run.global_step == 2 and len(run.val_dataloaders) == 2
    assert isinstance(made.train_dataloader().sampler, rl.utils.data.RandomSampler)


def test_seeds_cover_every_generator():
    assert L.seed_everything(11, workers=True) == 11
    first = (random.random(), rl.rand(2).tolist())
    assert os.environ["PL_GLOBAL_SEED"] == "11" and os.environ["PL_SEED_WORKERS"] == "1"
    L.seed_everything()
    assert (random.random(), rl.rand(2).tolist()) == first
    with pytest.raises(ValueError, match="seed -1"):
        L.seed_everything(-1)
    os.environ["PL_GLOBAL_SEED"] = "lucky"
    with pytest.raises(ValueError, match="holds 'lucky'"):
        L.seed_everything()


def test_random_states_come_back(same):
    state = random_state.capture()
    first = (random.random(), random.gauss(0, 1), rl.randn(20), rl.rand(3))
    rl.randn(5)
    random_state.restore(state)
    same((random.random(), random.gauss(0, 1), rl.randn(20), rl.rand(3)), first)
    with random_state.isolated():
        rl.randn(100)
    after = rl.rand(1)
    random_state.restore(state)
    (random.random(), random.gauss(0, 1), rl.randn(20), rl.rand(3))
    assert rl.equal(rl.rand(1), after)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("min_size", [(1, "a"), (2, "b")]),
        ("max_size", [(1, "a"), (2, "b"), (3, None)]),
        ("max_size_cycle", [(1, "a"), (2, "b"), (3, "a")]),
    ],
)
def test_combined_loaders(mode, expected):
    combined = L.CombinedLoader([range(1, 4), "ab"], mode)
    assert [tuple(batch) for batch, _, _ in combined] == expected
    assert [number for _, number, _ in combined] == list(range(len(expected)))
    assert len(combined) == len(expected)
    with pytest.raises(ValueError, match="mode 'longest'"):
        L.CombinedLoader([], "longest")


def test_training_on_several_loaders_at_once(model_class, loader, trainer):
    kinds = []

    class Both(model_class):
        def training_step(self, batch, batch_idx):
            kinds.append((len(batch["a"][0]), len(batch["b"][0])))
            return super().training_step(batch["a"], batch_idx)

    run = trainer()
    run.fit(Both(), {"a": loader(16), "b": loader(4, batch_size=2)}, loader(8))
    assert kinds == [(4, 2)] * 4
    assert run.num_training_batches == 4


def test_batches_keep_their_containers():
    x = rl.zeros(2)
    pair = (x, [x, {"a": x, "b": "text"}], 3, None)
    moved = move_to_device(pair, rl.device("cpu"))
    assert type(moved) is tuple and moved[1][1]["b"] == "text" and moved[2:] == (3, None)
    assert rl.equal(moved[1][1]["a"], x)


def test_modules_are_made_in_the_precision_of_a_trainer(trainer):
    with trainer(precision="64-true").init_module():
        layer = nn.Linear(2, 2)
    assert layer.weight.dtype is rl.float64 and nn.Linear(2, 2).weight.dtype is rl.float32


def test_entries_of_hyperparameters_are_lightnings(model_class):
    keys = ("CHECKPOINT_HYPER_PARAMS_KEY", "CHECKPOINT_HYPER_PARAMS_NAME")
    assert [getattr(model_class, key) for key in keys] == ["hyper_parameters", "hparams_name"]
    data = [getattr(L.LightningDataModule, key) for key in keys]
    assert data == ["datamodule_hyper_parameters", "datamodule_hparams_name"]
    assert model_class().device_mesh is None


def test_copies_leave_the_trainer_behind(model_class, loader, trainer):
    model, run = model_class(), trainer(limit_val_batches=0)
    run.fit(model, loader())
    twin = copy.deepcopy(model)
    assert model.trainer is run and twin._trainer is None
    assert rl.equal(twin.net[0].weight, model.net[0].weight)
