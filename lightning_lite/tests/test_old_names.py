"""Names of Lightning's earlier versions that programs still import: what they do here."""

from __future__ import annotations

import csv
import signal

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite.errors import MisconfigurationException
from lightning_lite.interrupt import SignalConnector
from lightning_lite.loggers import TestTubeLogger
from lightning_lite.plugins import DDPPlugin
from lightning_lite.strategies import DDPStrategy, SingleDeviceStrategy


# ------------------------------------------------------------------------------- TestTubeLogger
def test_a_run_in_the_folders_of_test_tube(model_class, loader, trainer, tmp_path):
    log = TestTubeLogger(tmp_path, name="digits", prefix="a")
    log.log_hyperparams({"rate": 0.1, "layers": 3})

    class Model(model_class):
        def training_step(self, batch, batch_idx):
            loss = super().training_step(batch, batch_idx)
            self.log("loss", loss)
            return loss

    trainer(logger=log, log_every_n_steps=1, max_steps=3).fit(Model(), loader(), loader())
    assert log.log_dir == str(tmp_path / "digits" / "version_0")
    with open(tmp_path / "digits/version_0/metrics.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["a-loss"]]
    assert [row["step"] for row in rows] == ["0", "1", "2"]
    assert all(row["created_at"][:2] == "20" for row in rows)
    with open(tmp_path / "digits/version_0/meta_tags.csv", newline="") as file:
        tags = dict(csv.reader(file))
    assert tags["key"] == "value" and tags["rate"] == "0.1" and tags["layers"] == "3"
    events = list((tmp_path / "digits/version_0/tf").iterdir())
    assert len(events) == 1 and b"a-loss" in events[0].read_bytes()
    assert TestTubeLogger(tmp_path, name="digits").version == 1


def test_a_debugging_run_writes_nothing(tmp_path):
    log = TestTubeLogger(tmp_path, debug=True)
    log.log_hyperparams({"rate": 0.1})
    log.log_metrics({"loss": 1.0}, 0)
    log.finalize("success")
    assert list(tmp_path.iterdir()) == [] and log.hparams == {"rate": 0.1}


def test_the_graph_goes_to_tensorboard(tmp_path):
    model = rl.nn.Linear(2, 3)
    for asked in (True, False):
        log = TestTubeLogger(tmp_path, log_graph=asked)
        log.log_graph(model, rl.ones(1, 2))
        log.log_metrics({"loss": 1.0})
        log.finalize("success")
        (events,) = (tmp_path / "default" / f"version_{log.version}" / "tf").iterdir()
        assert (b"Linear" in events.read_bytes()) == asked


def test_tags_of_git_are_refused(tmp_path):
    with pytest.raises(NotImplementedError, match=r"create_git_tag=True.*tag the commit yourself"):
        TestTubeLogger(tmp_path, create_git_tag=True)


# ------------------------------------------------------------------------------------ DDPPlugin
def test_a_strategy_among_the_plugins(trainer):
    given = DDPPlugin(find_unused_parameters=True)
    assert isinstance(given, DDPStrategy)
    assert trainer(plugins=given).strategy is given
    assert trainer(plugins=[SingleDeviceStrategy()]).strategy.strategy_name == "single_device"


@pytest.mark.parametrize(
    "options",
    [{"strategy": "ddp", "plugins": DDPPlugin()}, {"plugins": [DDPPlugin(), DDPPlugin()]}],
)
def test_two_strategies_are_refused(trainer, options):
    with pytest.raises(MisconfigurationException, match="'DDPStrategy'.*give one strategy"):
        trainer(**options)


# ------------------------------------------------------------------------------ SignalConnector
class Watched(L.Callback):
    """Who handles SIGTERM in a batch."""

    def __init__(self):
        self.handlers = []

    def on_train_batch_start(self, trainer, *_):
        self.handlers.append(signal.getsignal(signal.SIGTERM))


def test_a_run_listens_to_signals(model_class, loader, trainer):
    watched = Watched()
    made = trainer(callbacks=watched, max_steps=1)
    assert type(made._signal_connector) is SignalConnector
    made.fit(model_class(), loader(), loader())
    assert watched.handlers == [made.interrupt._handle]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_programs_take_the_signals_for_themselves(model_class, loader, trainer, monkeypatch):
    monkeypatch.setattr(SignalConnector, "register_signal_handlers", lambda self: None)
    watched = Watched()
    trainer(callbacks=watched, max_steps=1).fit(model_class(), loader(), loader())
    assert watched.handlers == [signal.SIG_DFL]


def test_signals_are_given_back_after_a_failure(model_class, loader, trainer):
    class Failing(L.Callback):
        def on_train_batch_start(self, *_):
            raise KeyError("in the middle")

    with pytest.raises(KeyError, match="in the middle"):
        trainer(callbacks=Failing()).fit(model_class(), loader(), loader())
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_program_says_that_it_was_told_to_end(model_class, loader, trainer):
    class Told(L.Callback):
        def on_train_batch_end(self, trainer, *_):
            trainer._signal_connector.received_sigterm = True

    made = trainer(callbacks=Told(), max_steps=3)
    with pytest.raises(SystemExit) as caught:
        made.fit(model_class(), loader(), loader())
    assert caught.value.code == 128 + signal.SIGTERM
    assert made.received_sigterm and made.global_step == 1
