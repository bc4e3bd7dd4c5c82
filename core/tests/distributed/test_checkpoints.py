"""Checkpoints of several ranks: PyTorch reads ours and we read its, whole ones alone."""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys

import jobs
import pytest

import rushlight
import rushlight.distributed.checkpoint as dcp
from rushlight.distributed.checkpoint import format_utils, state_dict

# PyTorch's own, where it saves without a group.
pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
CASES = importlib.import_module("job").load(str(jobs.HERE / "checkpoint_cases.py"))
plain = importlib.import_module("job").plain


@pytest.mark.parametrize("name", sorted(CASES.CASES))
def test_ranks_load_what_pytorchs_load(name, job_outcomes):
    ours = job_outcomes("rushlight", "checkpoint_cases.py", 2)
    theirs = job_outcomes("torch", "checkpoint_cases.py", 2)
    for mine, other in zip(ours, theirs, strict=True):
        assert other[name][0] == "value", other[name]
        assert mine[name] == other[name]


@pytest.mark.parametrize("name", sorted(CASES.CASES))
def test_four_ranks_end_every_case(name, job_outcomes):
    found = job_outcomes("rushlight", "checkpoint_cases.py", 4)
    assert [outcome[name][0] for outcome in found] == ["value"] * 4


def _torch():
    torch = pytest.importorskip("torch")
    return torch, importlib.import_module("torch.distributed.checkpoint")


def test_pytorch_reads_ours(tmp_path):
    torch, theirs = _torch()
    dcp.save(CASES.state_of(rushlight, 3.0), checkpoint_id=tmp_path)
    state = CASES.state_of(torch, 0.0)
    theirs.load(state, checkpoint_id=tmp_path, no_dist=True)
    assert plain(state) == plain(CASES.state_of(torch, 3.0))


def test_we_read_pytorchs(tmp_path):
    torch, theirs = _torch()
    theirs.save(CASES.state_of(torch, 3.0), checkpoint_id=tmp_path, no_dist=True)
    state = CASES.state_of(rushlight, 0.0)
    dcp.load(state, checkpoint_id=tmp_path)
    assert plain(state) == plain(CASES.state_of(rushlight, 3.0))


def test_a_tensor_in_chunks_is_put_together(tmp_path):
    """What ranks of PyTorch write of a sharded tensor: one chunk each."""
    from rushlight.distributed.checkpoint.filesystem import FileSystemWriter
    from rushlight.distributed.checkpoint.metadata import (
        ChunkStorageMetadata,
        Metadata,
        MetadataIndex,
        TensorProperties,
        TensorStorageMetadata,
    )

    whole = rushlight.arange(20.0).reshape(5, 4)
    writer = FileSystemWriter(tmp_path)
    chunks, stored = [], {}
    for number, (start, end) in enumerate(((0, 2), (2, 5))):
        key = MetadataIndex("w", rushlight.Size([start, 0]), number)
        entries = writer.write(f"__{number}_0.distcp", [(key, whole[start:end].clone())])
        stored.update(entries)
        size = rushlight.Size([end - start, 4])
        chunks.append(ChunkStorageMetadata(rushlight.Size([start, 0]), size))
    entry = TensorStorageMetadata(TensorProperties(rushlight.float32), whole.shape, chunks)
    writer.finish(Metadata({"w": entry}, {"w": ("w",)}, stored))
    state = {"w": rushlight.zeros(5, 4)}
    dcp.load(state, checkpoint_id=tmp_path)
    assert rushlight.equal(state["w"], whole)
    if pytest.importorskip("torch"):
        torch, theirs = _torch()
        other = {"w": torch.zeros(5, 4)}
        theirs.load(other, checkpoint_id=tmp_path, no_dist=True)
        assert other["w"].tolist() == whole.tolist()


@pytest.mark.parametrize("when", ["first", "after", "last"])
def test_a_killed_saving_leaves_the_last_checkpoint(when, tmp_path):
    dcp.save({"x": rushlight.ones(4)}, checkpoint_id=tmp_path)
    program = jobs.HERE / "saving_program.py"
    ended = subprocess.run([sys.executable, str(program), str(tmp_path), when], check=False)
    assert ended.returncode == -9
    state = {"x": rushlight.zeros(4)}
    dcp.load(state, checkpoint_id=tmp_path)
    assert state["x"].tolist() == [1.0] * 4
    dcp.save({"x": rushlight.ones(4) * 3}, checkpoint_id=tmp_path)
    dcp.load(state, checkpoint_id=tmp_path)
    assert state["x"].tolist() == [3.0] * 4
    assert len([name for name in os.listdir(tmp_path) if name.endswith(".distcp")]) == 1


def test_a_folder_without_a_complete_checkpoint_is_an_error(tmp_path):
    (tmp_path / "__0_0.distcp").write_bytes(b"half")
    with pytest.raises(FileNotFoundError, match="no complete checkpoint"):
        dcp.load({"x": rushlight.ones(1)}, checkpoint_id=tmp_path)


def test_what_the_checkpoint_lacks_is_named(tmp_path):
    dcp.save({"a": rushlight.ones(2)}, checkpoint_id=tmp_path)
    with pytest.raises(dcp.CheckpointException, match="Missing key in checkpoint state_dict: b.x"):
        dcp.load({"b": {"x": rushlight.ones(2)}}, checkpoint_id=tmp_path)
    with pytest.raises(ValueError, match=r"Size mismatch between saved \(2,\) and current: \(3,\)"):
        dcp.load({"a": rushlight.ones(3)}, checkpoint_id=tmp_path)
    with pytest.raises(RuntimeError, match="pass checkpoint_id"):
        dcp.save({})
    with pytest.raises(NotImplementedError, match="leave planner out"):
        dcp.save({}, checkpoint_id=tmp_path, planner=object())
    with pytest.raises(RuntimeError, match="already exists"):
        dcp.save({}, storage_writer=dcp.FileSystemWriter(tmp_path, overwrite=False))


def test_hostile_metadata_is_refused(tmp_path):
    class Hostile:
        def __reduce__(self):
            return os.system, ("true",)

    with open(tmp_path / ".metadata", "wb") as file:
        pickle.dump(Hostile(), file)
    with pytest.raises(pickle.UnpicklingError, match="not allowed"):
        dcp.load({"x": rushlight.ones(1)}, checkpoint_id=tmp_path)


def test_files_outside_of_the_folder_are_refused(tmp_path):
    folder = tmp_path / "inner"
    dcp.save({"x": rushlight.ones(1)}, checkpoint_id=folder)
    reader = dcp.FileSystemReader(folder)
    (info,) = reader.read_metadata().storage_data.values()
    info.relative_path = "../other"
    with pytest.raises(ValueError, match="outside of it"):
        reader.read(info)


def test_checkpoints_become_files_and_back(tmp_path):
    dcp.save(CASES.state_of(rushlight, 2.0), checkpoint_id=tmp_path / "folder")
    format_utils.dcp_to_torch_save(tmp_path / "folder", tmp_path / "file.pt")
    found = rushlight.load(tmp_path / "file.pt")
    assert plain(found) == plain(CASES.state_of(rushlight, 2.0))
    format_utils.torch_save_to_dcp(tmp_path / "file.pt", tmp_path / "again")
    state = CASES.state_of(rushlight, 0.0)
    dcp.load(state, checkpoint_id=tmp_path / "again")
    assert plain(state) == plain(found)
    torch, _ = _torch()
    theirs = importlib.import_module("torch.distributed.checkpoint.format_utils")
    theirs.dcp_to_torch_save(tmp_path / "folder", tmp_path / "theirs.pt")
    assert plain(torch.load(tmp_path / "theirs.pt")) == plain(found)


@pytest.mark.parametrize("flat", [False, True])
def test_state_dicts_have_pytorchs_names(flat):
    torch, _ = _torch()
    theirs = importlib.import_module("torch.distributed.checkpoint.state_dict")
    found = []
    for framework, helpers in ((rushlight, state_dict), (torch, theirs)):
        model = framework.nn.Sequential(framework.nn.Linear(2, 2), framework.nn.BatchNorm1d(2))
        optimizer = framework.optim.AdamW(model.parameters(), lr=0.5)
        options = helpers.StateDictOptions(flatten_optimizer_state_dict=flat)
        of_model, of_optimizer = helpers.get_state_dict(model, optimizer, options=options)
        names = sorted(of_optimizer if flat else of_optimizer["state"])
        groups = None if flat else of_optimizer["param_groups"][0]["params"]
        found.append((sorted(of_model), names, groups, optimizer.param_groups[0]["lr"]))
        helpers.set_state_dict(
            model, optimizer, model_state_dict=of_model, optim_state_dict=of_optimizer,
            options=options,
        )  # fmt: skip
        assert optimizer.param_groups[0]["lr"] == 0.5
    assert found[0] == found[1]


def test_objects_save_and_load_themselves(tmp_path):
    layer, other = rushlight.nn.Linear(2, 2), rushlight.nn.Linear(2, 2)
    dcp.save({"layer": layer}, checkpoint_id=tmp_path)
    dcp.load({"layer": other}, checkpoint_id=tmp_path)
    assert rushlight.equal(layer.weight, other.weight)
    dcp.save_state_dict({"a": rushlight.ones(1)}, dcp.FileSystemWriter(tmp_path))
    state = {"a": rushlight.zeros(1)}
    dcp.load_state_dict(state, dcp.FileSystemReader(tmp_path))
    assert state["a"].item() == 1
