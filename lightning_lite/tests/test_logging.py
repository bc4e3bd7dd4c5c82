"""What `log` does: names, means, who sees what and when, and the CSV file."""

from __future__ import annotations

import csv
import json

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite.callbacks import Callback
from lightning_lite.loggers import CSVLogger, Logger

# Many modules here only log.
pytestmark = pytest.mark.filterwarnings("ignore:training_step returned None")


def rows_of(path):
    with open(path, newline="") as file:
        return [{k: float(v) for k, v in row.items() if v != ""} for row in csv.DictReader(file)]


class Keep(Logger):
    """Keeps what it is given."""

    def __init__(self):
        self.rows = []
        self.status = None
        self.hparams = None

    name = "keep"
    version = 3

    def log_metrics(self, metrics, step=None):
        self.rows.append((step, dict(metrics)))

    def log_hyperparams(self, params):
        self.hparams = dict(params)

    def finalize(self, status):
        self.status = status


@pytest.fixture
def logged(model_class, loader, trainer):
    """Trains with a `training_step` that logs, and returns the trainer and its logger."""

    def run(training_step=None, rows=24, **options):
        keep = Keep()
        hooks = {"training_step": training_step} if training_step else {}
        model = type("Logging", (model_class,), hooks)()
        made = trainer(logger=keep, **options)
        made.fit(model, loader(rows), loader(8))
        return made, keep

    return run


def test_steps_are_logged_every_so_many(logged):
    _, keep = logged(max_epochs=2, log_every_n_steps=4)
    steps = [step for step, row in keep.rows if "train_loss_step" in row]
    assert steps == [3, 7, 11]


def test_a_name_on_both_is_split(logged):
    run, keep = logged(log_every_n_steps=1)
    assert {"train_loss", "train_loss_step", "train_loss_epoch"} <= set(run.callback_metrics)
    last_step, last = keep.rows[-1]
    assert last_step == 5 and set(last) == {"train_loss_epoch", "epoch"}
    mean = sum(row["train_loss_step"] for _, row in keep.rows if "train_loss_step" in row) / 6
    assert last["train_loss_epoch"] == pytest.approx(mean, rel=1e-6)


def test_validation_is_logged_at_the_step_it_ran(logged):
    _, keep = logged(max_epochs=2, val_check_interval=0.5, log_every_n_steps=100)
    assert [step for step, row in keep.rows if "val_loss" in row] == [2, 5, 8, 11]


def test_means_are_weighted_by_the_batch_size(logged):
    def training_step(self, batch, batch_idx):
        self.log("number", float(batch_idx), on_step=False, on_epoch=True)
        self.log("given", float(batch_idx), on_step=False, on_epoch=True, batch_size=1)

    run, _ = logged(training_step, rows=10)  # batches of 4, 4 and 2
    assert run.callback_metrics["number"].item() == pytest.approx((0 * 4 + 1 * 4 + 2 * 2) / 10)
    assert run.callback_metrics["given"].item() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [("sum", 15.0), ("max", 5.0), ("min", 0.0), (lambda values: values.max() - values[1], 4.0)],
)
def test_reductions(logged, reduction, expected):
    def training_step(self, batch, batch_idx):
        value = float(batch_idx)
        self.log("number", value, on_step=False, on_epoch=True, reduce_fx=reduction)

    run, _ = logged(training_step)
    assert run.callback_metrics["number"].item() == expected


def test_who_sees_what(logged):
    def training_step(self, batch, batch_idx):
        self.log("bar", 1.0, prog_bar=True, logger=False)
        self.log("file", 2.0)

    run, keep = logged(training_step, log_every_n_steps=1)
    assert run.progress_bar_metrics["bar"] == 1.0
    assert "file" not in run.progress_bar_metrics
    assert "bar" not in run.logged_metrics and "file" in run.logged_metrics
    assert all("bar" not in row for _, row in keep.rows)


def test_a_logged_step_replaces_the_number(logged):
    def training_step(self, batch, batch_idx):
        self.log_dict({"loss": 1.0, "step": 100.0 + batch_idx})

    _, keep = logged(training_step, log_every_n_steps=1)
    assert [step for step, row in keep.rows if "loss" in row] == list(range(100, 106))


def test_callbacks_may_log_by_the_module(model_class, loader, trainer):
    class Logs(Callback):
        def on_train_epoch_end(self, trainer, pl_module):
            pl_module.log("from_callback", 7)

    run = trainer(callbacks=[Logs()])
    run.fit(model_class(), loader(), loader(8))
    assert run.callback_metrics["from_callback"].item() == 7.0


def test_half_precision_values_are_summed_in_single(logged):
    def training_step(self, batch, batch_idx):
        value = rl.tensor(1.0 + batch_idx / 64, dtype=rl.bfloat16)
        self.log("half", value, on_step=False, on_epoch=True)

    run, _ = logged(training_step)
    assert run.callback_metrics["half"].dtype is rl.float32
    assert run.callback_metrics["half"].item() == pytest.approx(1 + 2.5 / 64, rel=1e-6)


MISTAKES = [
    (lambda m: m.log("x", rl.zeros(3)), ValueError, r"log\('x'\).*shape \(3,\)"),
    (lambda m: m.log("x", "high"), TypeError, r"log\('x'\).*got str"),
    (lambda m: m.log("x", 1.0, reduce_fx="median"), L.MisconfigurationException, "median"),
    (lambda m: m.log("x/dataloader_idx_0", 1.0), L.MisconfigurationException, "trainer's own"),
]


@pytest.mark.parametrize(("call", "error", "text"), MISTAKES)
def test_mistakes_are_named(logged, call, error, text):
    def training_step(self, batch, batch_idx):
        call(self)

    with pytest.raises(error, match=text):
        logged(training_step)


def test_changing_arguments_are_refused(logged):
    def training_step(self, batch, batch_idx):
        self.log("x", 1.0, prog_bar=batch_idx > 0)

    with pytest.raises(L.MisconfigurationException, match="must not change"):
        logged(training_step)


def test_hooks_without_a_place_to_log_are_named(model_class, loader, trainer):
    class Late(model_class):
        def on_fit_start(self):
            self.log("x", 1.0)

    with pytest.raises(L.MisconfigurationException, match="cannot be called in on_fit_start"):
        trainer().fit(Late(), loader(), loader(8))


def test_epoch_hooks_have_no_steps(model_class, loader, trainer):
    class Wrong(model_class):
        def on_train_epoch_end(self):
            self.log("x", 1.0, on_step=True)

    with pytest.raises(L.MisconfigurationException, match="has no steps"):
        trainer().fit(Wrong(), loader(), loader(8))


def test_logging_without_a_trainer_warns(model_class):
    with pytest.warns(UserWarning, match="not attached"):
        model_class().log("x", 1.0)


def test_csv_file(model_class, loader, trainer, tmp_path):
    run = trainer(max_epochs=2, logger=True, log_every_n_steps=2)
    run.fit(model_class(lr=0.02), loader(24), loader(8))
    folder = tmp_path / "lightning_logs" / "version_0"
    assert run.log_dir == str(folder)
    rows = rows_of(folder / "metrics.csv")
    assert [row["step"] for row in rows if "train_loss_step" in row] == [1, 3, 5, 7, 9, 11]
    assert [row["step"] for row in rows if "val_loss" in row] == [5, 11]
    assert [row["epoch"] for row in rows if "train_loss_epoch" in row] == [0, 1]
    assert json.loads((folder / "hparams.yaml").read_text())["lr"] == 0.02
    assert not list(folder.glob(".*"))


def test_csv_versions_count_on(tmp_path):
    for expected in (0, 1, 2):
        logger = CSVLogger(tmp_path, name="runs")
        assert logger.version == expected
        logger.log_metrics({"a": 1.0}, step=0)
        logger.save()


def test_csv_columns_that_come_later_are_added(tmp_path):
    logger = CSVLogger(tmp_path, name="", version="here")
    logger.log_metrics({"a": 1.0}, step=0)
    logger.save()
    logger.log_metrics({"b": rl.tensor(2.0)}, step=1)
    logger.save()
    logger.log_metrics({"a": 3.0, "b": 4.0}, step=2)
    logger.finalize("success")
    assert rows_of(tmp_path / "here" / "metrics.csv") == [
        {"a": 1.0, "step": 0},
        {"b": 2.0, "step": 1},
        {"a": 3.0, "b": 4.0, "step": 2},
    ]


def test_csv_rows_are_added_to_a_given_version(tmp_path):
    for value in (1.0, 2.0):
        logger = CSVLogger(tmp_path, name="", version="here", prefix="run")
        logger.log_metrics({"a": value})
        logger.save()
    assert [row["run-a"] for row in rows_of(tmp_path / "here" / "metrics.csv")] == [1.0, 2.0]


def test_csv_names_with_commas_and_quotes_survive(tmp_path):
    logger = CSVLogger(tmp_path, name="", version="here")
    logger.log_metrics({'a,"b"': 1.0}, step=0)
    logger.save()
    assert rows_of(tmp_path / "here" / "metrics.csv") == [{'a,"b"': 1.0, "step": 0}]


def test_several_loggers_hear_everything(model_class, loader, trainer):
    first, second = Keep(), Keep()
    run = trainer(logger=[first, second], log_every_n_steps=1)
    run.fit(model_class(lr=0.5), loader(), loader(8))
    assert first.rows == second.rows != []
    assert first.status == second.status == "success"
    assert first.hparams["lr"] == 0.5
    assert run.logger is first


def test_a_failed_run_is_told_to_loggers(model_class, loader, trainer):
    class Broken(model_class):
        def training_step(self, batch, batch_idx):
            raise ZeroDivisionError

    keep = Keep()
    with pytest.raises(ZeroDivisionError):
        trainer(logger=keep).fit(Broken(), loader(), loader(8))
    assert keep.status == "failed"
