"""Checkpoint files: what they hold; a killed writer leaves the old or the new one whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite import checkpoint

KEYS = {
    "epoch",
    "global_step",
    "lightning_lite_version",
    "state_dict",
    "loops",
    "callbacks",
    "optimizer_states",
    "lr_schedulers",
    "random_states",
    "hparams_name",
    "hyper_parameters",
    "pytorch-lightning_version",
}


@pytest.fixture
def saved(model_class, loader, trainer, tmp_path):
    run = trainer(max_epochs=2)
    run.fit(model_class(kind="epoch"), loader(), loader(8))
    path = tmp_path / "saved.ckpt"
    run.save_checkpoint(path)
    return path


def test_keys_are_lightnings(saved):
    found = rl.load(saved)  # without running code
    assert set(found) == KEYS
    assert found["epoch"] == 2 and found["global_step"] == 12
    assert found["lightning_lite_version"] == L.__version__
    assert found["hyper_parameters"] == {"lr": 0.01, "kind": "epoch", "width": 8}


def test_a_module_from_a_checkpoint(model_class, saved):
    model = model_class.load_from_checkpoint(saved)
    expected = rl.load(saved)["state_dict"]
    assert model.hparams.kind == "epoch"
    for name, value in model.state_dict().items():
        assert rl.equal(value, expected[name])
    assert model_class.load_from_checkpoint(saved, lr=0.5).hparams.lr == 0.5


def test_names_that_do_not_fit_are_refused_unless_told(model_class, saved):
    class Grown(model_class):
        def __init__(self, **options):
            super().__init__(**options)
            self.extra = rl.nn.Linear(1, 1)

    with pytest.raises(RuntimeError, match="extra"):
        Grown.load_from_checkpoint(saved)
    assert Grown.load_from_checkpoint(saved, strict=False).extra is not None


def test_the_module_may_add_to_a_checkpoint(model_class, loader, trainer, tmp_path):
    class Adds(model_class):
        def on_save_checkpoint(self, checkpoint):
            checkpoint["mine"] = [1, 2]

        def on_load_checkpoint(self, checkpoint):
            self.mine = checkpoint["mine"]

    run = trainer()
    run.fit(Adds(), loader(), loader(8))
    run.save_checkpoint(tmp_path / "mine.ckpt")
    assert Adds.load_from_checkpoint(tmp_path / "mine.ckpt").mine == [1, 2]


def test_saving_without_a_model_is_refused(trainer, tmp_path):
    with pytest.raises(AttributeError, match="no model yet"):
        trainer().save_checkpoint(tmp_path / "none.ckpt")


def test_files_that_are_no_checkpoints_are_named(model_class, tmp_path):
    rl.save([1, 2], tmp_path / "list.pt")
    with pytest.raises(L.MisconfigurationException, match="no checkpoint of a trainer"):
        model_class.load_from_checkpoint(tmp_path / "list.pt")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        model_class.load_from_checkpoint(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        model_class.load_from_checkpoint(tmp_path / "none.ckpt")


def test_lightnings_weights_alone_give_no_resume(model_class, loader, trainer, saved, tmp_path):
    found = rl.load(saved)
    foreign = {"pytorch-lightning_version": "2.6.0", "state_dict": found["state_dict"], "loops": {}}
    rl.save(foreign, tmp_path / "foreign.ckpt")
    assert model_class.load_from_checkpoint(tmp_path / "foreign.ckpt") is not None
    with pytest.raises(L.MisconfigurationException, match="lacks .'optimizer_states"):
        trainer().fit(model_class(), loader(), loader(8), ckpt_path=tmp_path / "foreign.ckpt")


def test_a_full_disk_is_told_and_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "kept.ckpt"
    checkpoint.write({"state_dict": {}, "number": 1}, path)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="checkpoint not written: No space left on device"):
        checkpoint.write({"state_dict": {}, "number": 2}, path)
    monkeypatch.undo()
    assert checkpoint.read(path)["number"] == 1
    assert [each.name for each in tmp_path.iterdir()] == ["kept.ckpt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_that_must_not_be_written_is_named(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(OSError, match="checkpoint not written"):
            checkpoint.write({"state_dict": {}}, tmp_path / "kept.ckpt")
    finally:
        tmp_path.chmod(0o700)


WRITER = """
import sys
import rushlight as rl
from lightning_lite import checkpoint
path = sys.argv[1]
number = 0
while True:
    number += 1
    weights = {"w": rl.full((50000,), float(number))}
    checkpoint.write({"state_dict": weights, "number": number}, path)
    print(number, flush=True)
"""


def test_a_killed_writer_leaves_a_whole_checkpoint(tmp_path):
    path = tmp_path / "kept.ckpt"
    killed = 0
    for round_number in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        process.stdout.readline()
        time.sleep(0.003 * round_number)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        killed += 1
        found = checkpoint.read(path)
        assert rl.equal(found["state_dict"]["w"], rl.full((50000,), float(found["number"])))
    assert killed == 3
    checkpoint.write({"state_dict": {}}, path)
    assert [each.name for each in tmp_path.iterdir()] == ["kept.ckpt"]


def test_many_kills_at_every_moment_of_writing(tmp_path):
    """Fifty writers, each killed a little later, in processes that are already up."""
    path = tmp_path / "kept.ckpt"
    checkpoint.write({"state_dict": {"w": rl.zeros(50000)}, "number": 0}, path)
    for number in range(1, 51):
        child = os.fork()
        if child == 0:
            try:
                while True:
                    weights = {"w": rl.full((50000,), float(number))}
                    checkpoint.write({"state_dict": weights, "number": number}, path)
            finally:
                os._exit(1)
        time.sleep(0.0004 * number)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status)
        found = checkpoint.read(path)
        assert rl.equal(found["state_dict"]["w"], rl.full((50000,), float(found["number"])))
    checkpoint.write({"state_dict": {}}, path)
    assert [each.name for each in tmp_path.iterdir()] == ["kept.ckpt"]
