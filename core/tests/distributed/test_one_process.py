"""A group of one process needs no MPI and answers like PyTorch's."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import jobs
import pytest

import rushlight
from rushlight import distributed as dist

CASES = importlib.import_module("job").load(str(jobs.HERE / "collective_cases.py"))
NAMES = sorted(name for name in CASES.CASES if CASES.fits(name, 1))


@pytest.fixture
def alone():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize("name", NAMES)
def test_cases_of_one_process(name, job_outcomes):
    (found,) = job_outcomes("rushlight", "collective_cases.py", 1)
    (expected,) = job_outcomes("torch", "collective_cases.py", 1)
    if expected[name][0] == "error":
        assert found[name][0] == "error" or "gloo refuses" in expected[name][2]
    else:
        assert found[name] == expected[name]


@pytest.mark.parametrize("method", ["env", "tcp", "file", "mpi"])
def test_every_way_to_start(method, tmp_path, monkeypatch):
    port = jobs.free_port()
    for name, value in {**jobs.environment(0, 1, port)}.items():
        monkeypatch.setenv(name, value)
    if method == "env":
        dist.init_process_group()
    elif method == "tcp":
        dist.init_process_group(init_method=f"tcp://127.0.0.1:{port}", rank=0, world_size=1)
    elif method == "file":
        dist.init_process_group(
            "cpu:gloo,cuda:nccl", f"file://{tmp_path}/store", rank=0, world_size=1
        )
    else:
        monkeypatch.delenv("RANK")
        monkeypatch.delenv("WORLD_SIZE")
        dist.init_process_group("mpi")
    try:
        assert (dist.get_rank(), dist.get_world_size()) == (0, 1)
        with pytest.raises(ValueError, match="twice"):
            dist.init_process_group()
    finally:
        dist.destroy_process_group()


def test_one_process_loads_no_mpi():
    text = (
        "import sys, rushlight as torch, rushlight.distributed as d\n"
        "d.init_process_group('gloo', store=d.HashStore(), rank=0, world_size=1)\n"
        "x = torch.ones(2); d.all_reduce(x); d.barrier()\n"
        "print('mpi4py' in sys.modules, x.tolist())"
    )
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert found.stdout == "False [1.0, 1.0]\n"


@pytest.mark.parametrize(
    "arguments, error, match",
    [
        ({"backend": "nccl"}, RuntimeError, "doesn't have NCCL"),
        ({"backend": "carrier pigeon"}, ValueError, "Invalid backend"),
        ({"backend": 3}, ValueError, "must be a string"),
        ({"init_method": "tcp://127.0.0.1:1"}, ValueError, "rank parameter missing"),
        ({"init_method": "smoke://hill"}, RuntimeError, "No rendezvous handler for smoke"),
        ({"timeout": 3}, TypeError, "datetime.timedelta"),
        ({}, ValueError, "environment variable RANK expected, but not set"),
    ],
)
def test_arguments_that_do_not_fit(arguments, error, match, monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(error, match=match):
        dist.init_process_group(**arguments)
    assert not dist.is_initialized()


def test_tensors_that_are_not_in_memory_are_refused(alone):
    with pytest.raises(NotImplementedError, match=r"is on meta; .* send `tensor.cpu\(\)`"):
        dist.all_reduce(rushlight.ones(2, device="meta"))
    with pytest.raises(NotImplementedError, match="values and indices"):
        dist.all_reduce(rushlight.ones(2).to_sparse())


def test_a_group_that_was_destroyed_is_refused(alone):
    group = dist.new_group([0])
    dist.destroy_process_group(group)
    with pytest.raises(ValueError, match="was destroyed"):
        dist.all_reduce(rushlight.ones(1), group=group)


def test_names_that_are_not_there_refuse_when_used():
    with pytest.raises(NotImplementedError, match="shrink_group"):
        dist.shrink_group([0])
    assert "RANK" not in os.environ or os.environ["RANK"]
