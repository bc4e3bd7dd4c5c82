"""Loggers of tracking services, on clients that note what they are told."""

from __future__ import annotations

import sys
import types

import pytest

import lightning_lite as L
from lightning_lite import loggers
from lightning_lite.errors import MisconfigurationException
from lightning_lite.loggers.client import flattened


class Noting:
    """Notes every call of any method, and gives what it was told to."""

    def __init__(self, **answers):
        self.__dict__["calls"] = []
        self.__dict__.update(answers)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*args, **kwargs):
            self.calls.append((name, args, kwargs))

        return call

    def told(self, name):
        return [(args, kwargs) for called, args, kwargs in self.calls if called == name]


@pytest.fixture
def wandb(monkeypatch):
    run = Noting(id="abc", config=Noting())
    module = types.ModuleType("wandb")
    module.run, module.begun, module.made = None, [], []
    module.init = lambda **options: module.begun.append(options) or run
    module.Table = lambda **options: ("table", options)
    module.Image = lambda item, **options: ("image", item, options)

    class Artifact:
        def __init__(self, **options):
            self.options, self.files = options, []
            module.made.append(self)

        def add_file(self, path, **options):
            self.files.append((path, options))

    module.Artifact = Artifact
    module.the_run = run
    monkeypatch.setitem(sys.modules, "wandb", module)
    return module


def test_wandb(wandb, model_class, loader, trainer, tmp_path):
    log = loggers.WandbLogger(
        "first", tmp_path / "w", project="digits", log_model=True, prefix="p", tags=["a"]
    )
    keeper = L.callbacks.ModelCheckpoint(tmp_path, monitor="val_loss", filename="{epoch}")
    run = trainer(logger=log, callbacks=[keeper], max_epochs=2, log_every_n_steps=3)
    run.fit(model_class(kind="epoch"), loader(), loader(10, 2))
    begun = wandb.begun[0]
    assert len(wandb.begun) == 1 and begun["name"] == "first" and begun["tags"] == ["a"]
    assert begun["project"] == log.name == "digits" and log.version == "abc"
    (update,) = wandb.the_run.config.told("update")
    assert update[0][0] == {"lr": 0.01, "kind": "epoch", "width": 8}
    rows = [args[0] for args, _ in wandb.the_run.told("log")]
    assert [row["trainer/global_step"] for row in rows if "p-train_loss_step" in row] == [
        2,
        5,
        8,
        11,
    ]
    assert all(isinstance(each, int | float) for row in rows for each in row.values())
    (made,) = wandb.made
    assert made.options["name"] == "model-abc" and made.options["metadata"]["score"] > 0
    assert made.files[0][0] == keeper.best_model_path
    assert wandb.the_run.told("log_artifact")[0][1]["aliases"] == ["latest", "best"]


def test_wandb_media_and_misuse(wandb):
    log = loggers.WandbLogger(experiment=wandb.the_run)
    log.log_image("pictures", [1, 2], step=3, caption=["a", "b"])
    log.log_table("rows", ["x"], [[1]])
    told = [args[0] for args, _ in wandb.the_run.told("log")]
    assert told[0]["pictures"] == [("image", 1, {"caption": "a"}), ("image", 2, {"caption": "b"})]
    assert told[0]["trainer/global_step"] == 3 and told[1]["rows"][0] == "table"
    assert not wandb.begun
    with pytest.raises(TypeError, match="expected a list"):
        log.log_image("pictures", 1)
    with pytest.raises(ValueError, match="2 items, 1 caption"):
        log.log_image("pictures", [1, 2], caption=["a"])
    with pytest.raises(MisconfigurationException, match="offline"):
        loggers.WandbLogger(offline=True, log_model="all")


@pytest.fixture
def mlflow(monkeypatch):
    info = types.SimpleNamespace(run_id="r1", experiment_id="e1")
    client = Noting()
    client.__dict__.update(
        get_experiment_by_name=lambda name: None,
        create_experiment=lambda **options: client.calls.append(("create", (), options)) or "e1",
        create_run=lambda **options: (
            client.calls.append(("run", (), options)) or types.SimpleNamespace(info=info)
        ),
        get_run=lambda run_id: types.SimpleNamespace(info=info),
    )
    tracking = types.ModuleType("mlflow.tracking")
    tracking.MlflowClient = lambda uri: client.calls.append(("uri", (uri,), {})) or client
    package = types.ModuleType("mlflow")
    package.tracking = tracking
    monkeypatch.setitem(sys.modules, "mlflow", package)
    monkeypatch.setitem(sys.modules, "mlflow.tracking", tracking)
    return client


def test_mlflow(mlflow, model_class, loader, trainer, tmp_path):
    log = loggers.MLFlowLogger("digits", "first", save_dir=str(tmp_path / "m"), log_model="all")
    keeper = L.callbacks.ModelCheckpoint(tmp_path, monitor="val_loss", filename="{epoch}")
    run = trainer(logger=log, callbacks=[keeper], log_every_n_steps=3)
    run.fit(model_class(), loader(), loader(10, 2))
    assert mlflow.told("uri")[0][0][0] == f"file:{tmp_path / 'm'}" and log.save_dir
    assert mlflow.told("create")[0][1]["name"] == "digits"
    assert mlflow.told("run")[0][1]["tags"] == {"mlflow.runName": "first"}
    assert [args for args, _ in mlflow.told("log_param")] == [
        ("r1", "lr", "0.01"), ("r1", "kind", "none"), ("r1", "width", "8")
    ]  # fmt: skip
    steps = [args[3] if len(args) > 3 else kw["step"] for args, kw in mlflow.told("log_metric")
             if args[1] == "train_loss_step"]  # fmt: skip
    assert steps == [2, 5]
    (sent,) = mlflow.told("log_artifact")
    assert sent[0] == ("r1", keeper.best_model_path, "model/checkpoints/epoch=0")
    assert mlflow.told("set_terminated")[0][0] == ("r1", "FINISHED")
    assert log.version == "r1" and log.name == "e1"


def test_mlflow_names_and_values(mlflow):
    log = loggers.MLFlowLogger(run_id="r1")
    log.log_metrics({"a@b": 1.0})
    assert mlflow.told("log_metric")[0][0][1] == "a_b"
    with pytest.warns(UserWarning, match="7000 characters"):
        log.log_hyperparams({"long": "x" * 7000})
    assert len(mlflow.told("log_param")[0][0][2]) == 6000
    with pytest.warns(UserWarning, match="is a string"):
        log.log_metrics({"word": "x"})
    log.finalize("failed")
    assert mlflow.told("set_terminated")[0][0] == ("r1", "FAILED")


def test_comet(monkeypatch, model_class, loader, trainer):
    experiment = Noting(get_key=lambda: "k1")
    module = types.ModuleType("comet_ml")
    module.begun = []
    module.start = lambda **options: module.begun.append(options) or experiment
    module.ExperimentConfig = lambda **options: options
    monkeypatch.setitem(sys.modules, "comet_ml", module)
    log = loggers.CometLogger(project="digits", name="first", log_model=False)
    assert log.version is None
    trainer(logger=log, log_every_n_steps=3, limit_val_batches=0).fit(model_class(), loader())
    assert module.begun[0]["project"] == log.name == "digits" and log.version == "k1"
    assert module.begun[0]["experiment_config"] == {"name": "first"}
    assert experiment.told("log_parameters")[0][0][0]["lr"] == 0.01
    steps = [kw for args, kw in experiment.told("log_metrics") if "train_loss_step" in args[0]]
    assert steps == [{"step": 2, "epoch": 0}, {"step": 5, "epoch": 0}]
    assert experiment.told("flush")


@pytest.mark.parametrize(
    ("name", "module"),
    [("WandbLogger", "wandb"), ("MLFlowLogger", "mlflow"), ("CometLogger", "comet_ml")],
)
def test_a_client_that_is_not_installed(name, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, f"{module}.tracking", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install rushlight-lightning-lite\["):
        getattr(loggers, name)()


def test_a_client_without_an_extra_is_named_itself(monkeypatch):
    monkeypatch.setitem(sys.modules, "litlogger", None)
    with pytest.raises(ModuleNotFoundError, match="needs litlogger: pip install litlogger$"):
        loggers.LitLogger()


def test_nested_hyperparameters_are_flattened():
    nested = {"a": {"b": 1, "c": {"d": (2, 3)}}, "e": None}
    assert flattened(nested) == {"a/b": 1, "a/c/d": (2, 3), "e": None}
