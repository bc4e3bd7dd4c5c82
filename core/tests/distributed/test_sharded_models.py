"""Models and tensors that ranks share, compared with PyTorch and gloo, and with one process."""

from __future__ import annotations

import importlib
import pickle

import jobs
import pytest

import rushlight
from rushlight.distributed import fsdp
from rushlight.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from rushlight.distributed.tensor.placements import bounds

same = importlib.import_module("job").same
CASES = importlib.import_module("job").load(str(jobs.HERE / "fsdp_cases.py"))


@pytest.mark.parametrize("name", sorted(set(CASES.CASES) - CASES.OURS))
def test_ranks_get_what_pytorchs_get(name, job_outcomes):
    ours = job_outcomes("rushlight", "fsdp_cases.py", 2)
    theirs = job_outcomes("torch", "fsdp_cases.py", 2)
    for mine, other in zip(ours, theirs, strict=True):
        assert other[name][0] == "value", other[name]
        assert mine[name][0] == "value", mine[name]
        assert same(mine[name][1], other[name][1]), (mine[name], other[name])


@pytest.mark.parametrize("size", [2, 4])
def test_training_is_that_of_one_process(size, job_outcomes):
    for outcome in job_outcomes("rushlight", "fsdp_cases.py", size):
        for name in ("one_process_with_the_whole_batch", "shared_and_ignored_parameters"):
            assert outcome[name][0] == "value", outcome[name]
        assert outcome["one_process_with_the_whole_batch"][1] <= 1e-6
        difference, count = outcome["shared_and_ignored_parameters"][1]
        assert difference <= 1e-6 and count == 5


@pytest.mark.parametrize("name", sorted(CASES.CASES))
def test_four_ranks_end_every_case(name, job_outcomes):
    found = job_outcomes("rushlight", "fsdp_cases.py", 4)
    assert [outcome[name][0] for outcome in found] == ["value"] * 4, found[0][name]


def test_each_rank_holds_its_share_alone(job_outcomes):
    for outcome in job_outcomes("rushlight", "fsdp_cases.py", 4):
        kept, after, parameters, everything = outcome["memory"][1]
        assert not any(kept) and not any(after)
        assert parameters <= 0.26 and everything <= 0.3


def test_parts_are_consecutive_and_cover_all():
    for length in range(9):
        for size in range(1, 5):
            parts = [bounds(length, size, rank) for rank in range(size)]
            assert parts[0][0] == 0 and parts[-1][1] == length
            assert all(a[1] == b[0] for a, b in zip(parts, parts[1:], strict=False))


@pytest.fixture
def mesh():
    dist = rushlight.distributed
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield dist.init_device_mesh("cpu", (1,))
    dist.destroy_process_group()


def test_what_is_not_there_is_refused_by_name(mesh):
    x = distribute_tensor(rushlight.ones(4, 4), mesh, [Shard(0)])
    assert isinstance(x, DTensor) and "DTensor(local_tensor=" in repr(x)
    with pytest.raises(NotImplementedError, match="matmul.* of a DTensor .* use full_tensor"):
        rushlight.matmul(x, x)
    with pytest.raises(NotImplementedError, match="distributed.checkpoint"):
        pickle.dumps(x)
    with pytest.raises(ValueError, match="length: 2, and device_mesh.ndim: 1"):
        distribute_tensor(rushlight.ones(2), mesh, [Shard(0), Replicate()])
    grid = rushlight.distributed.init_device_mesh("cpu", (1, 1))
    with pytest.raises(NotImplementedError, match="one dimension of the mesh may divide"):
        distribute_tensor(rushlight.ones(2, 2), grid, [Shard(0), Shard(1)])
    with pytest.raises(NotImplementedError, match="shard_placement_fn"):
        fsdp.fully_shard(rushlight.nn.Linear(2, 2), mesh=mesh, shard_placement_fn=print)
    with pytest.raises(NotImplementedError, match="on meta"):
        fsdp.fully_shard(rushlight.nn.Linear(2, 2, device="meta"), mesh=mesh)
    scalar = rushlight.nn.Module()
    scalar.scale = rushlight.nn.Parameter(rushlight.tensor(1.0))
    with pytest.raises(ValueError, match="scalar parameters. Change scale"):
        fsdp.fully_shard(scalar, mesh=mesh)
    layer = fsdp.fully_shard(rushlight.nn.Linear(2, 2), mesh=mesh)
    with pytest.raises(ValueError, match="sharded already"):
        fsdp.fully_shard(layer, mesh=mesh)
