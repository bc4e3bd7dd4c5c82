"""Utilities that programs import, beyond those compared with Lightning in `recorded/parts.py`."""

from __future__ import annotations

import random
import warnings

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite import hparams_files, migration, utilities
from lightning_lite.callbacks.progress.tqdm_progress import Tqdm, convert_inf
from lightning_lite.callbacks.timer import Interval, Timer
from lightning_lite.optimizers import do_nothing_closure
from lightning_lite.utilities import (
    apply_func,
    cloud_io,
    compile,
    data,
    enums,
    imports,
    memory,
    model_helpers,
    rank_zero,
    seed,
    types,
)
from lightning_lite.utilities.warnings import PossibleUserWarning
from rushlight import nn


def test_only_process_zero_speaks(monkeypatch):
    told = []
    say = rank_zero.rank_zero_only(lambda x: told.append(x) or x, default="nothing")
    assert say(3) == 3 and say.__name__ == "<lambda>"
    monkeypatch.setattr(rank_zero.rank_zero_only, "rank", 1)
    assert say(4) == "nothing" and told == [3]
    assert rank_zero.rank_prefixed_message("x", 2) == "[rank: 2] x"
    assert rank_zero.rank_prefixed_message("x", None) == "x"


def test_rank_of_launchers(monkeypatch):
    for name in rank_zero.RANK_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert rank_zero.rank_of_environment() == 0
    monkeypatch.setenv("SLURM_PROCID", "5")
    assert rank_zero.rank_of_environment() == 5
    monkeypatch.setenv("RANK", "2")
    assert rank_zero.rank_of_environment() == 2


def test_messages(monkeypatch):
    told = []
    monkeypatch.setattr(rank_zero, "info", told.append)
    utilities.rank_zero_info("a %s", "b")
    assert told == ["a b"]
    with pytest.warns(PossibleUserWarning, match="perhaps"):
        utilities.rank_zero_warn("perhaps", category=PossibleUserWarning)
    with pytest.warns(rank_zero.LightningDeprecationWarning, match="soon"):
        utilities.rank_zero_deprecation("soon")


def test_possible_warnings_can_be_switched_off():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        utilities.disable_possible_user_warnings()
        warnings.warn("perhaps", PossibleUserWarning, stacklevel=1)


def test_words_of_enumerations():
    kind = enums.GradClipAlgorithmType
    assert kind.from_str("NORM") is kind.NORM and kind.NORM == "norm" and kind("value") == "VALUE"
    assert kind.supported_types() == ["value", "norm"] and {kind.NORM: 1}["norm"] == 1
    with pytest.raises(ValueError, match="'size'; expected"):
        kind.from_str("size")
    assert Timer(interval=Interval.epoch)._interval == "epoch"


def test_containers():
    found = apply_func.apply_to_collection(
        {"a": [1, "x"], "b": (2, None)}, int, lambda x: None if x == 1 else x * 10,
        include_none=False,
    )  # fmt: skip
    assert found == {"a": ["x"], "b": (20,)}
    assert apply_func.apply_to_collection([1, True], int, str, wrong_dtype=bool) == ["1", True]
    with pytest.raises(ValueError, match="of 2 elements"):
        apply_func.convert_tensors_to_scalars(rl.ones(2))
    moved = utilities.move_data_to_device({"a": rl.ones(1)}, rl.device("cpu"))
    assert moved["a"].device.type == "cpu"


def test_memory():
    assert memory.is_oom_error(MemoryError())
    memory.garbage_collection_cuda()
    grown = rl.ones(1, requires_grad=True) * 2
    assert not memory.recursive_detach([grown], to_cpu=True)[0].requires_grad


def test_loaders():
    loader = rl.utils.data.DataLoader(range(5))
    assert data.has_len(loader) and data.has_len_all_ranks(loader)
    assert data.suggested_max_num_workers(1) >= 1
    with pytest.raises(ValueError, match="expected 1 or more"):
        data.suggested_max_num_workers(0)
    with pytest.raises(L.MisconfigurationException, match="no tensor"):
        data.extract_batch_size("text")
    assert utilities.is_shared_filesystem()


def test_questions_about_models():
    with pytest.raises(ValueError, match="give parent="):
        model_helpers.is_overridden("x", object())
    with pytest.raises(ValueError, match="no method 'nothing'"):
        model_helpers.is_overridden("nothing", L.LightningModule())
    assert not model_helpers.is_overridden("x", None)
    vision = pytest.importorskip("rushlight_vision")
    made = model_helpers.get_torchvision_model("resnet18", weights=None, num_classes=3)
    assert made.fc.out_features == 3 and vision


def test_compiled_modules(model_class):
    model = model_class()

    class Compiled:
        _orig_mod = model

    assert compile.from_compiled(Compiled()) is compile.to_uncompiled(Compiled()) is model
    assert compile.to_uncompiled(model) is model
    with pytest.raises(TypeError, match="not a compiled module"):
        compile.from_compiled(model)
    with pytest.raises(ValueError, match="not a LightningModule"):
        compile.to_uncompiled(nn.Linear(1, 1))


def test_file_systems(tmp_path):
    files = cloud_io.get_filesystem(tmp_path)
    files.makedirs(tmp_path / "a", exist_ok=True)
    with files.open(tmp_path / "a" / "b", "w") as file:
        file.write("x")
    assert files.ls(tmp_path / "a") == [str(tmp_path / "a" / "b")]
    assert files.isdir(tmp_path / "a") and files.isfile(tmp_path / "a" / "b")
    assert files.exists(tmp_path) and not files.exists(tmp_path / "c")
    with pytest.raises(L.MisconfigurationException, match="this machine only"):
        cloud_io.get_filesystem("s3://bucket/x")


def test_what_is_installed():
    assert imports._TORCHVISION_AVAILABLE in (True, False)
    with pytest.raises(AttributeError, match="_NOTHING"):
        _ = imports._NOTHING


def test_workers_get_seeds_of_their_own():
    rl.manual_seed(3)
    seed.pl_worker_init_function(0)
    first = random.random()
    rl.manual_seed(3)
    seed.pl_worker_init_function(0, rank=1)
    assert first != random.random()


def test_protocols():
    layer = nn.Linear(1, 1)
    optimizer = rl.optim.SGD(layer.parameters(), lr=0.1)
    assert isinstance(layer, types._Stateful) and isinstance(optimizer, types.Optimizable)
    assert isinstance(optimizer, types.Steppable) and not isinstance(3, types.Steppable)
    assert types.LRSchedulerConfig(optimizer).interval == "epoch"


def test_files_of_hyperparameters(tmp_path):
    with pytest.raises(NotADirectoryError, match="nowhere"):
        hparams_files.save_hparams_to_yaml(tmp_path / "nowhere" / "x.yaml", {})
    with pytest.raises(TypeError, match="expected a mapping"):
        hparams_files.save_hparams_to_yaml(tmp_path / "x.yaml", 3)
    with pytest.raises(NotADirectoryError, match="no folder"):
        hparams_files.save_hparams_to_tags_csv(tmp_path / "nowhere" / "x.csv", {})


def test_checkpoints_are_migrated(tmp_path, capsys):
    rl.save({"state_dict": {"w": rl.ones(1)}, "epoch": 3}, tmp_path / "x.ckpt")
    migration.main([str(tmp_path / "x.ckpt")])
    found, steps = migration.migrate_checkpoint(rl.load(tmp_path / "x.ckpt"))
    assert found["epoch"] == 3 and steps == {}


def test_small_ones():
    assert do_nothing_closure() is None
    assert convert_inf(float("inf")) is None and convert_inf(3) == 3
    assert list(Tqdm([1, 2], disable=True)) == [1, 2]
