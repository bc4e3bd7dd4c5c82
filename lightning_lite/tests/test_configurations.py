"""save_hyperparameters(configuration), and the module that load_from_checkpoint makes of it."""

import dataclasses
from argparse import Namespace
from collections.abc import MutableMapping, MutableSequence
from typing import Any

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite.configuration import AttributeDict
from rushlight import nn


class Config(MutableMapping):
    """A mapping with attributes, nested, like OmegaConf's: no part of it is a dict."""

    def __init__(self, values):
        object.__setattr__(self, "_values", {k: Config.of(v) for k, v in values.items()})

    @staticmethod
    def of(value):
        return (
            Config(value)
            if isinstance(value, dict)
            else Items(value)
            if isinstance(value, list)
            else value
        )

    def __getattr__(self, name):
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, name):
        return self._values[name]

    def __setitem__(self, name, value):
        self._values[name] = value

    def __delitem__(self, name):
        del self._values[name]

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)


class Items(MutableSequence):
    """A list that is no list."""

    def __init__(self, items):
        self._items = list(items)

    def __getitem__(self, index):
        return self._items[index]

    def __setitem__(self, index, value):
        self._items[index] = value

    def __delitem__(self, index):
        del self._items[index]

    def __len__(self):
        return len(self._items)

    def insert(self, index, value):
        self._items.insert(index, value)


@dataclasses.dataclass
class Optimization:
    lr: float = 0.1
    betas: tuple[float, float] = (0.9, 0.99)


@dataclasses.dataclass
class Options:
    width: int = 4
    optimization: Optimization = dataclasses.field(default_factory=Optimization)


class Whole(L.LightningModule):
    """Keeps one configuration; its width makes the layer."""

    def __init__(self, cfg: Any):
        super().__init__()
        self.save_hyperparameters(cfg)
        self.cfg = cfg
        self.layer = nn.Linear(self.hparams.width, 1)


class Typed(L.LightningModule):
    def __init__(self, options: Options | None = None, depth: int = 1):
        super().__init__()
        self.save_hyperparameters()
        self.layer = nn.Linear(self.hparams.options.width, depth)


def again(module, tmp_path, **given):
    """The module that a checkpoint of this one makes, loaded without running code."""
    run = L.Trainer(max_epochs=1, accelerator="cpu", logger=False, default_root_dir=tmp_path)
    run.lightning_module = module
    run.save_checkpoint(tmp_path / "a.ckpt", weights_only=True)
    loaded = type(module).load_from_checkpoint(tmp_path / "a.ckpt", **given)
    assert rl.equal(loaded.layer.weight, module.layer.weight)
    return loaded


VALUES = {"width": 3, "optimization": {"lr": 0.5, "betas": [0.9, 0.99]}, "name": "x"}


def test_dictionaries(tmp_path):
    loaded = again(Whole(dict(VALUES)), tmp_path)
    assert type(loaded.cfg) is dict and loaded.cfg == VALUES and loaded.hparams == VALUES
    assert rl.load(tmp_path / "a.ckpt")["hparams_name"] == "cfg"


def test_namespaces(tmp_path):
    given = Namespace(width=3, optimization=Namespace(lr=0.5), name="x")
    loaded = again(Whole(given), tmp_path)
    assert isinstance(loaded.cfg, Namespace) and loaded.cfg.width == 3
    assert vars(loaded.cfg) == {"width": 3, "optimization": {"lr": 0.5}, "name": "x"}
    assert loaded.hparams.name == "x"


def test_attribute_dictionaries_and_mappings_of_others(tmp_path):
    for given in (Config(VALUES), AttributeDict(VALUES)):
        loaded = again(Whole(given), tmp_path)
        assert loaded.cfg.optimization.lr == 0.5 and loaded.cfg["optimization"]["betas"][1] == 0.99
        assert loaded.cfg == VALUES
        assert loaded.hparams.optimization == VALUES["optimization"]


def test_dataclasses(tmp_path):
    given = Options(3, Optimization(0.5, (0.1, 0.2)))
    loaded = again(Whole(given), tmp_path)
    assert (
        loaded.cfg.width == 3 and loaded.cfg.optimization.lr == 0.5
    )  # no annotation: by attributes

    class Annotated(Whole):
        def __init__(self, cfg: Options):
            super().__init__(cfg)

    assert again(Annotated(given), tmp_path).cfg == given


def test_configurations_among_arguments(tmp_path):
    given = Options(3, Optimization(0.5, (0.1, 0.2)))
    loaded = again(Typed(given, 2), tmp_path)
    assert loaded.hparams.options == given and loaded.hparams.depth == 2
    assert rl.load(tmp_path / "a.ckpt")["hparams_name"] == "kwargs"
    namespace = again(Typed(Namespace(width=2)), tmp_path)
    assert namespace.hparams.options == Namespace(width=2)
    mapping = again(Typed(Config(VALUES)), tmp_path)
    assert mapping.hparams.options.optimization.lr == 0.5


def test_values_given_now_win(tmp_path):
    module = Whole(Namespace(width=3, lr=0.1))
    assert again(module, tmp_path, lr=0.5).cfg == Namespace(width=3, lr=0.5)
    other = Namespace(width=3, lr=7)
    assert again(module, tmp_path, cfg=other).cfg is other


def test_a_configuration_that_is_no_argument(tmp_path):
    class Made(L.LightningModule):
        def __init__(self, width: int, depth: int = 1):
            super().__init__()
            self.save_hyperparameters({"width": width, "kind": "made"})
            self.layer = nn.Linear(width, depth)

    loaded = again(Made(5), tmp_path)
    assert loaded.hparams == {"width": 5, "kind": "made"}
    assert rl.load(tmp_path / "a.ckpt")["hparams_name"] is None


def test_a_copy_of_the_argument_is_the_argument(tmp_path):
    class Copies(L.LightningModule):
        def __init__(self, cfg):
            super().__init__()
            self.save_hyperparameters(dict(cfg))
            self.layer = nn.Linear(cfg["width"], 1)

    assert again(Copies(VALUES), tmp_path).hparams == VALUES


def test_subclasses_and_calls_add_up(tmp_path):
    class Extended(Whole):
        def __init__(self, cfg, extra=1):
            super().__init__(cfg)
            self.save_hyperparameters("extra", "cfg")

    loaded = again(Extended(dict(VALUES), extra=9), tmp_path)
    assert loaded.hparams.extra == 9 and loaded.hparams.cfg == VALUES and loaded.cfg == VALUES


def test_a_module_that_is_a_dataclass(tmp_path):
    @dataclasses.dataclass(eq=False)
    class Fields(L.LightningModule):
        width: int
        depth: int = 2

        def __post_init__(self):
            super().__init__()
            self.save_hyperparameters()
            self.layer = nn.Linear(self.width, self.depth)

    loaded = again(Fields(3), tmp_path)
    assert loaded.hparams == {"width": 3, "depth": 2}


def test_data_modules(tmp_path, model_class, loader):
    class Data(L.LightningDataModule):
        def __init__(self, cfg):
            super().__init__()
            self.save_hyperparameters(cfg)

        def train_dataloader(self):
            return loader(self.hparams.rows)

        def val_dataloader(self):
            return loader(4)

    run = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        default_root_dir=tmp_path,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    run.fit(model_class(), datamodule=Data(Namespace(rows=12)))
    run.save_checkpoint(tmp_path / "b.ckpt")
    assert Data.load_from_checkpoint(tmp_path / "b.ckpt").hparams == {"rows": 12}
    assert model_class.load_from_checkpoint(tmp_path / "b.ckpt").hparams.lr == 0.01


def test_what_checkpoints_cannot_hold_is_said(tmp_path):
    module = Whole({"width": 2, "function": len})
    with pytest.warns(UserWarning, match=r"left out of the checkpoint: function \(builtin_func"):
        loaded = again(module, tmp_path)
    assert loaded.cfg == {"width": 2}
