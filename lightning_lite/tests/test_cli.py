"""LightningCLI: objects and runs from command lines and files of settings."""

from __future__ import annotations

import pytest

pytest.importorskip("jsonargparse")
pytest.importorskip("yaml")

import lightning_lite as L
import rushlight as rl
from lightning_lite import cli
from lightning_lite.demos.boring_classes import BoringDataModule, BoringModel
from lightning_lite.errors import MisconfigurationException


class Model(BoringModel):
    """A model with arguments, and no optimizer of its own."""

    configure_optimizers = L.LightningModule.configure_optimizers

    def __init__(self, width: int = 3, name: str = "x"):
        super().__init__()
        self.save_hyperparameters()


class OwnOptimizer(BoringModel):
    """A model that brings its optimizer."""

    def __init__(self, lr: float = 0.1):
        super().__init__()
        self.lr = lr

    def configure_optimizers(self):
        return rl.optim.SGD(self.parameters(), lr=self.lr)


class Data(BoringDataModule):
    """Data with an argument."""

    def __init__(self, size: int = 4):
        super().__init__()
        self.size = size


def words(tmp_path, *more):
    return [
        *(f"--trainer.default_root_dir={tmp_path}", "--trainer.logger=false"),
        *("--trainer.enable_progress_bar=false", "--trainer.enable_checkpointing=false"),
        *("--trainer.limit_train_batches=2", "--trainer.limit_val_batches=1"),
        "--trainer.max_epochs=1",
        *("--trainer.accelerator=cpu", "--trainer.enable_model_summary=false", *more),
    ]


def test_objects_without_a_run(tmp_path):
    made = cli.LightningCLI(
        Model, Data, run=False, args=words(tmp_path, "--model.width=7", "--data.size=9")
    )
    assert made.model.hparams.width == 7
    assert made.datamodule.size == 9 and made.trainer.limits.train == 2
    assert made.config["seed_everything"] == 0


def test_fit_with_a_chosen_optimizer(tmp_path):
    args = words(
        tmp_path, "--trainer.max_epochs=2", "--model.name=first", "--optimizer=Adam",
        "--optimizer.lr=0.02", "--lr_scheduler=StepLR", "--lr_scheduler.step_size=1",
    )  # fmt: skip
    made = cli.LightningCLI(Model, Data, args=["fit", *args])
    (optimizer,) = made.trainer.optimizers
    assert type(optimizer) is rl.optim.Adam and made.trainer.global_step == 4
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.02 * 0.1**2)
    assert made.model.hparams.name == "first"


def test_settings_are_kept_and_read_again(tmp_path):
    args = words(tmp_path, "--trainer.max_epochs=1", "--model.lr=0.25")
    cli.LightningCLI(OwnOptimizer, Data, args=["fit", *args])
    path = tmp_path / "config.yaml"
    assert "lr: 0.25" in path.read_text()
    again = cli.LightningCLI(
        OwnOptimizer,
        Data,
        args=["fit", "--config", str(path), "--model.lr=0.5"],
        save_config_kwargs={"overwrite": True},
    )
    assert again.model.lr == 0.5 and again.trainer.max_epochs == 1
    with pytest.raises(RuntimeError, match="config.yaml exists"):
        cli.LightningCLI(OwnOptimizer, Data, args=["fit", "--config", str(path)])


def test_other_subcommands_and_moments(tmp_path):
    moments = []

    class Own(cli.LightningCLI):
        def before_test(self):
            moments.append("before")

        def after_test(self):
            moments.append(self.trainer.num_test_batches)

    args = words(tmp_path, "--trainer.limit_test_batches=3", "--verbose=false")
    Own(OwnOptimizer, Data, args=["test", *args], save_config_callback=None)
    assert moments == ["before", [3]]


def test_models_by_class_path(tmp_path):
    made = cli.LightningCLI(
        BoringModel,
        run=False,
        subclass_mode_model=True,
        args=words(tmp_path, "--model=lightning_lite.demos.boring_classes.ManualOptimBoringModel"),
    )
    assert type(made.model).__name__ == "ManualOptimBoringModel" and made.datamodule is None


def test_callbacks_from_settings(tmp_path):
    config = {
        "trainer": {
            "callbacks": [
                {
                    "class_path": "lightning_lite.callbacks.EarlyStopping",
                    "init_args": {"monitor": "loss", "patience": 7},
                }
            ],
            "logger": False,
            "max_epochs": 1,
            "default_root_dir": str(tmp_path),
        }
    }
    made = cli.LightningCLI(OwnOptimizer, run=False, args=config)
    assert made.trainer.early_stopping_callback.patience == 7


def test_arguments_of_ones_own(tmp_path):
    class Own(cli.LightningCLI):
        def add_arguments_to_parser(self, parser):
            parser.add_lightning_class_args(L.callbacks.EarlyStopping, "stop")
            parser.set_defaults({"stop.monitor": "x"})
            parser.add_optimizer_args(rl.optim.SGD)
            parser.link_arguments("stop.patience", "model.width")

    made = Own(Model, run=False, args=words(tmp_path, "--stop.patience=9", "--optimizer.lr=0.5"))
    assert made.trainer.early_stopping_callback.patience == 9 == made.model.hparams.width
    optimizer = made.model.configure_optimizers()
    assert type(optimizer) is rl.optim.SGD and optimizer.param_groups[0]["lr"] == 0.5


def test_plateau_scheduler_names_its_metric():
    layer = rl.nn.Linear(1, 1)
    optimizer = rl.optim.SGD(layer.parameters(), lr=0.1)
    plateau = cli.ReduceLROnPlateau(optimizer, "val_loss", patience=3)
    found = cli.LightningCLI.configure_optimizers(None, optimizer, plateau)
    assert found["lr_scheduler"] == {"scheduler": plateau, "monitor": "val_loss"}
    assert plateau.patience == 3


def test_single_objects():
    made = cli.instantiate_class(
        [rl.nn.Linear(1, 1).weight],
        {"class_path": "rushlight.optim.SGD", "init_args": {"lr": 0.3}},
    )
    assert made.param_groups[0]["lr"] == 0.3
    assert cli.instantiate_module(Model, {"width": 5}).hparams.width == 5
    with pytest.raises(MisconfigurationException, match="names no module"):
        cli.instantiate_class((), {"class_path": "SGD"})


def test_wrong_words_end_the_program(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.LightningCLI(Model, Data, args=["fit", *words(tmp_path, "--model.hight=3")])
    assert ended.value.code == 2 and "hight" in capsys.readouterr().err
