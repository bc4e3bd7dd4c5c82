"""LightningCLI: a program's command line from its model, data module and Trainer, by jsonargparse.

# program.py
from lightning_lite.cli import LightningCLI
LightningCLI(Model, Data)

python program.py fit --config config.yaml --model.lr 0.1 --trainer.max_epochs 3
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import rushlight as rl
from lightning_lite.callbacks.callback import Callback
from lightning_lite.errors import MisconfigurationException
from lightning_lite.hooks import overrides
from lightning_lite.messages import warn
from lightning_lite.module import LightningModule
from lightning_lite.random_state import seed_everything
from lightning_lite.trainer import Trainer

try:
    import jsonargparse
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "LightningCLI needs jsonargparse: pip install rushlight-lightning-lite[cli]",
        name="jsonargparse",
    ) from error

ModuleType = TypeVar("ModuleType", bound=rl.nn.Module)
# The arguments of the entry points that the command line does not have.
SUBCOMMANDS = {
    "fit": {"model", "train_dataloaders", "val_dataloaders", "datamodule"},
    "validate": {"model", "dataloaders", "datamodule"},
    "test": {"model", "dataloaders", "datamodule"},
    "predict": {"model", "dataloaders", "datamodule"},
}


class ReduceLROnPlateau(rl.optim.lr_scheduler.ReduceLROnPlateau):
    """The plateau scheduler with the name of the metric that it follows, for the command line."""

    def __init__(self, optimizer: rl.optim.Optimizer, monitor: str, *args: Any, **kwargs: Any):
        super().__init__(optimizer, *args, **kwargs)
        self.monitor = monitor


class LightningArgumentParser(jsonargparse.ArgumentParser):
    """jsonargparse's parser, with arguments for modules, data modules, callbacks and optimizers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.callback_keys: list[str] = []
        self.automatic: dict[str, tuple[type, ...]] = {}

    def add_lightning_class_args(
        self, lightning_class: Any, nested_key: str, subclass_mode: bool = False, **options: Any
    ) -> Any:
        """Add the constructor's arguments of a class under a name; with `subclass_mode` those of
        any subclass, which `class_path` names."""
        if isinstance(lightning_class, type) and issubclass(lightning_class, Callback):
            self.callback_keys.append(nested_key)
        options = {"fail_untyped": False, **options}
        if subclass_mode:
            return self.add_subclass_arguments(
                lightning_class, nested_key, **{"required": True, **options}
            )
        return self.add_class_arguments(lightning_class, nested_key, sub_configs=True, **options)

    def add_optimizer_args(
        self,
        optimizer_class: Any = (rl.optim.Optimizer,),
        nested_key: str = "optimizer",
    ) -> None:
        """Add the arguments of an optimizer; one class, or any subclass of several."""
        self._add_automatic(optimizer_class, nested_key, {"params"})

    def add_lr_scheduler_args(
        self,
        lr_scheduler_class: Any = (rl.optim.lr_scheduler.LRScheduler, ReduceLROnPlateau),
        nested_key: str = "lr_scheduler",
    ) -> None:
        """Add the arguments of a scheduler; one class, or any subclass of several."""
        self._add_automatic(lr_scheduler_class, nested_key, {"optimizer"})

    def _add_automatic(self, kinds: Any, nested_key: str, skip: set[str]) -> None:
        _load_all(rl.optim)
        _load_all(rl.optim.lr_scheduler)
        several = isinstance(kinds, tuple)
        self.automatic[nested_key] = kinds if several else (kinds,)
        options: Any = {"skip": skip, "instantiate": False, "fail_untyped": False}
        if several:
            self.add_subclass_arguments(kinds, nested_key, required=False, **options)
        else:
            self.add_class_arguments(kinds, nested_key, sub_configs=True, **options)


class SaveConfigCallback(Callback):
    """Writes the configuration of a run into its folder, as `config.yaml`, before it begins.

    RuntimeError where there is one already, unless `overwrite`.
    """

    def __init__(
        self,
        parser: LightningArgumentParser,
        config: Mapping[str, Any],
        config_filename: str = "config.yaml",
        overwrite: bool = False,
        multifile: bool = False,
        save_to_log_dir: bool = True,
    ) -> None:
        self.parser, self.config = parser, config
        self.config_filename, self.overwrite = config_filename, overwrite
        self.multifile, self.save_to_log_dir = multifile, save_to_log_dir
        self.already_saved = False

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Write it."""
        if self.already_saved or trainer.fast_dev_run:
            return
        if self.save_to_log_dir and trainer.log_dir is not None:
            path = Path(trainer.log_dir, self.config_filename)
            if path.exists() and not self.overwrite:
                raise RuntimeError(
                    f"SaveConfigCallback: {path} exists; give another folder, or "
                    "LightningCLI(save_config_kwargs={'overwrite': True})"
                )
            path.parent.mkdir(parents=True, exist_ok=True)
            self.parser.save(self.config, path, overwrite=True, multifile=self.multifile)
        self.save_config(trainer, pl_module, stage)
        self.already_saved = True

    def save_config(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Keep the configuration elsewhere too, such as in a logger; for subclasses."""


class LightningCLI:
    """Makes model, data module and Trainer from the command line, and runs a method of the Trainer.

    `model_class`, `datamodule_class`: classes, or functions that make them; None takes any by
    `class_path`, as `subclass_mode_model` and `subclass_mode_data` do for subclasses.
    `trainer_class`, `trainer_defaults`: the Trainer and what it is given by default.
    `seed_everything_default`: the seed (True: 0, False: none). `save_config_callback` with
    `save_config_kwargs` keeps the configuration; None keeps none. `parser_kwargs` go to the parser,
    by subcommand or for all. `args`: the command line, by default the program's, as a list of words
    or a dictionary. `run=False` makes the objects (`model`, `datamodule`, `trainer`) and runs
    nothing, without subcommands. With `auto_configure_optimizers`, `--optimizer` and
    `--lr_scheduler` choose them where the module does not.
    """

    def __init__(
        self,
        model_class: Callable[..., Any] | None = None,
        datamodule_class: Callable[..., Any] | None = None,
        save_config_callback: type[SaveConfigCallback] | None = SaveConfigCallback,
        save_config_kwargs: dict[str, Any] | None = None,
        trainer_class: Callable[..., Trainer] = Trainer,
        trainer_defaults: dict[str, Any] | None = None,
        seed_everything_default: bool | int = True,
        parser_kwargs: dict[str, Any] | None = None,
        parser_class: type[LightningArgumentParser] = LightningArgumentParser,
        subclass_mode_model: bool = False,
        subclass_mode_data: bool = False,
        args: Sequence[str] | Mapping[str, Any] | None = None,
        run: bool = True,
        auto_configure_optimizers: bool = True,
    ) -> None:
        self.save_config_callback = save_config_callback
        self.save_config_kwargs = save_config_kwargs or {}
        self.trainer_class, self.trainer_defaults = trainer_class, trainer_defaults or {}
        self.seed_everything_default = seed_everything_default
        self.parser_class, self.parser_kwargs = parser_class, parser_kwargs or {}
        self.auto_configure_optimizers = auto_configure_optimizers
        self._model_class = model_class or LightningModule
        self._data_class = datamodule_class
        self.subclass_mode_model = subclass_mode_model or model_class is None
        self.subclass_mode_data = subclass_mode_data
        self.subparsers: dict[str, Any] = {}
        self.parser = self._make_parser(run)
        self.parse_arguments(self.parser, args)
        self.subcommand = self.config["subcommand"] if run else None
        self._seed()
        self.before_instantiate_classes()
        self.instantiate_classes()
        if self.subcommand is not None:
            self._run_subcommand(self.subcommand)

    # -- the parser -----------------------------------------------------------------------------

    def _make_parser(self, run: bool) -> Any:
        if not run:
            return self._complete_parser(self.init_parser(**self.parser_kwargs))
        parser = self.init_parser()
        commands = parser.add_subcommands(required=True, dest="subcommand")
        for name, skipped in self.subcommands().items():
            own = self.parser_kwargs.get(name)
            options = own if isinstance(own, dict) else {}
            subparser = self._complete_parser(self.init_parser(**options))
            subparser.add_method_arguments(
                self.trainer_class, name, skip=set(skipped), fail_untyped=False
            )
            self.subparsers[name] = subparser
            commands.add_subcommand(name, subparser)
        return parser

    def init_parser(self, **kwargs: Any) -> Any:
        """A parser with `--config`."""
        parser = self.parser_class(**kwargs)
        parser.add_argument("-c", "--config", action="config", help="a file of settings")
        return parser

    def _complete_parser(self, parser: Any) -> Any:
        default = 0 if self.seed_everything_default is True else self.seed_everything_default
        parser.add_argument(
            "--seed_everything", type=bool | int, default=default, help="the seed; False: none"
        )
        parser.add_lightning_class_args(self.trainer_class, "trainer", instantiate=False)
        parser.set_defaults({f"trainer.{name}": v for name, v in self.trainer_defaults.items()})
        parser.add_lightning_class_args(
            self._model_class, "model", subclass_mode=self.subclass_mode_model
        )
        if self._data_class is not None:
            parser.add_lightning_class_args(
                self._data_class, "data", subclass_mode=self.subclass_mode_data
            )
        self.add_arguments_to_parser(parser)
        if self.auto_configure_optimizers:
            if "optimizer" not in parser.automatic:
                parser.add_optimizer_args()
            if "lr_scheduler" not in parser.automatic:
                parser.add_lr_scheduler_args()
        return parser

    @staticmethod
    def subcommands() -> dict[str, set[str]]:
        """The Trainer's methods on the command line, with the arguments that it does not have."""
        return SUBCOMMANDS

    def add_arguments_to_parser(self, parser: Any) -> None:
        """Add arguments of the program's own, or link some; for subclasses."""

    def parse_arguments(self, parser: Any, args: Any) -> None:
        """Read the command line into `config`."""
        if isinstance(args, dict | jsonargparse.Namespace):
            self.config = parser.parse_object(args)
        else:
            self.config = parser.parse_args(args)

    # -- the objects ----------------------------------------------------------------------------

    def _get(self, config: Any, key: str, default: Any = None) -> Any:
        """An entry of the subcommand's settings."""
        if config.get("subcommand") is not None:
            config = config[config["subcommand"]]
        return config.get(key, default)

    def _seed(self) -> None:
        seed = self._get(self.config, "seed_everything")
        if seed is not False and seed is not None:
            seed_everything(None if seed is True else int(seed), workers=True)

    def before_instantiate_classes(self) -> None:
        """Change `config` before anything is made; for subclasses."""

    def instantiate_classes(self) -> None:
        """Make model, data module and Trainer."""
        self.config_init = _instantiate(self.parser, self.config)
        self.datamodule = self._get(self.config_init, "data")
        self.model = self._get(self.config_init, "model")
        if isinstance(self.datamodule, dict | jsonargparse.Namespace):
            self.datamodule = None
        self._add_configure_optimizers()
        self.trainer = self.instantiate_trainer()

    @property
    def _active_parser(self) -> Any:
        return self.subparsers.get(self.config.get("subcommand"), self.parser)

    def instantiate_trainer(self, **kwargs: Any) -> Any:
        """Make the Trainer, with the callbacks that the parser has and the one that keeps the
        configuration; `kwargs` win over the settings."""
        settings = {**dict(self._get(self.config_init, "trainer")), **kwargs}
        callbacks = settings.get("callbacks") or []
        callbacks = list(callbacks) if isinstance(callbacks, list | tuple) else [callbacks]
        callbacks += [self._get(self.config_init, key) for key in self._active_parser.callback_keys]
        if self.save_config_callback is not None and not settings.get("fast_dev_run"):
            command = self.config.get("subcommand")
            config = self.config if command is None else self.config[command]
            callbacks.append(
                self.save_config_callback(self._active_parser, config, **self.save_config_kwargs)
            )
        return self.trainer_class(**{**settings, "callbacks": callbacks})

    def _add_configure_optimizers(self) -> None:
        """Give the module what `--optimizer` and `--lr_scheduler` say."""
        parser = self._active_parser
        if not self.auto_configure_optimizers or "optimizer" not in parser.automatic:
            return
        chosen = {key: self._get(self.config_init, key) for key in ("optimizer", "lr_scheduler")}
        if not chosen["optimizer"]:
            return
        if overrides(self.model, LightningModule, "configure_optimizers"):
            warn(
                f"{type(self.model).__name__} defines configure_optimizers, which gives way to "
                "--optimizer"
            )
        kinds = parser.automatic
        make = _maker(chosen["optimizer"], kinds["optimizer"])
        schedule = chosen["lr_scheduler"] and _maker(chosen["lr_scheduler"], kinds["lr_scheduler"])

        def configure_optimizers() -> Any:
            optimizer = make(self.model.parameters())
            return self.configure_optimizers(
                self.model, optimizer, schedule(optimizer) if schedule else None
            )

        object.__setattr__(self.model, "configure_optimizers", configure_optimizers)

    @staticmethod
    def configure_optimizers(module: Any, optimizer: Any, lr_scheduler: Any = None) -> Any:
        """What the module's `configure_optimizers` returns; for subclasses."""
        if lr_scheduler is None:
            return optimizer
        if isinstance(lr_scheduler, ReduceLROnPlateau):
            plan = {"scheduler": lr_scheduler, "monitor": lr_scheduler.monitor}
            return {"optimizer": optimizer, "lr_scheduler": plan}
        return [optimizer], [lr_scheduler]

    def _run_subcommand(self, name: str) -> None:
        """Run a method of the Trainer, with `before_fit` and `after_fit` around it, where they
        are."""
        skipped = self.subcommands()[name]
        settings = self.config_init[name]
        own = set(inspect.signature(getattr(self.trainer_class, name)).parameters) - skipped
        given = {key: settings[key] for key in own if key in settings}
        given["model"] = self.model
        if self.datamodule is not None:
            given["datamodule"] = self.datamodule
        getattr(self, f"before_{name}", lambda: None)()
        getattr(self.trainer, name)(**given)
        getattr(self, f"after_{name}", lambda: None)()


def _instantiate(parser: Any, config: Any) -> Any:
    """The settings with objects in the places of classes; jsonargparse 4.49 renamed the method."""
    make = parser.instantiate if hasattr(parser, "instantiate") else parser.instantiate_classes
    return make(config)


def _load_all(module: Any) -> None:
    """Import all classes of a module that does so at first use, for subclasses to be found."""
    for name in module.__all__:
        getattr(module, name)


def _maker(settings: Any, kinds: tuple[type, ...]) -> Callable[[Any], Any]:
    """A function that makes an optimizer or scheduler from its settings and its first argument."""
    settings = settings.as_dict() if hasattr(settings, "as_dict") else dict(settings)
    if "class_path" not in settings:
        return lambda first: kinds[0](first, **settings)
    return lambda first: instantiate_class((first,), settings)


def instantiate_class(args: object, init: dict[str, Any]) -> Any:
    """An object from `{"class_path": "package.Class", "init_args": {...}}`, with `args` (one, or a
    tuple) before.

    >>> instantiate_class((), {"class_path": "fractions.Fraction", "init_args": {"numerator": 3}})
    Fraction(3, 1)
    """
    args = args if isinstance(args, tuple) else (args,)
    module, _, name = init["class_path"].rpartition(".")
    if not module:
        raise MisconfigurationException(f"class_path {init['class_path']!r} names no module")
    made = getattr(importlib.import_module(module), name)
    return made(*args, **dict(init.get("init_args") or {}))


def instantiate_module(module_class: type | tuple[type, ...], config: dict[str, Any]) -> Any:
    """A module of a class, or of the subclass that `class_path` names, from its settings."""
    parser = LightningArgumentParser(exit_on_error=False)
    if "class_path" in config:
        parser.add_subclass_arguments(module_class, "module", fail_untyped=False)
    else:
        parser.add_class_arguments(module_class, "module", fail_untyped=False)
    found = _instantiate(parser, parser.parse_object({"module": config}))
    return found["module"]
