"""Ranks by the variables that Slurm's srun sets; the variables are set here by hand."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rushlight import distributed
from rushlight.distributed.launching import slurm

PROGRAM = """
import rushlight
from rushlight import distributed as dist
dist.init_process_group("gloo")
x = rushlight.ones(2) * (dist.get_rank() + 1)
dist.all_reduce(x)
print(dist.get_rank(), dist.get_world_size(), dist.get_node_local_rank(), x.tolist(), flush=True)
dist.barrier()
dist.destroy_process_group()
"""
NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def _step(rank, size):
    """The variables of one task."""
    found = {"SLURM_PROCID": rank, "SLURM_LOCALID": rank, "SLURM_STEP_NUM_TASKS": size}
    found |= {"SLURM_STEP_NODELIST": "localhost", "SLURM_JOB_ID": os.getpid(), "SLURM_STEP_ID": 0}
    return {name: str(value) for name, value in found.items()}


@pytest.fixture
def task(monkeypatch):
    for name in [name for name in os.environ if name in NAMES or name.startswith("SLURM_")]:
        monkeypatch.delenv(name)
    for name, value in _step(1, 4).items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("alpha", "alpha"),
        ("alpha5,beta1", "alpha5"),
        ("alpha[5-7,9],beta1", "alpha5"),
        ("n-a[001-004]", "n-a001"),
        ("rack[0-1]node[2,4]", "rack0node2"),
    ],
)
def test_the_first_host_of_a_list(nodes, first):
    assert slurm.first_host(nodes) == first


def test_a_task_has_all_variables(task):
    task.setenv("SLURM_JOB_ID", "1000")
    expected = {"RANK": 1, "WORLD_SIZE": 4, "LOCAL_RANK": 1, "MASTER_ADDR": "localhost"}
    assert slurm.variables() == expected | {"MASTER_PORT": "24000"}
    assert distributed.get_node_local_rank() == 1


def test_a_batch_script_is_no_task(task):
    task.delenv("SLURM_STEP_NODELIST")
    assert slurm.variables() == {}


def test_another_launcher_inside_a_step_comes_first(task):
    task.setenv("RANK", "0")
    assert slurm.variables() == {}


def test_a_rank_that_is_no_number_is_named(task):
    task.setenv("SLURM_PROCID", "one")
    with pytest.raises(ValueError, match="SLURM_PROCID is 'one'; expected a number"):
        slurm.variables()


def test_two_tasks_make_one_job():
    pytest.importorskip("mpi4py")
    clean = {k: v for k, v in os.environ.items() if k not in NAMES and not k.startswith("SLURM_")}
    tasks = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env=clean | _step(rank, 2),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        shown = [task.communicate(timeout=60) for task in tasks]
    finally:
        for task in tasks:
            task.kill()
    assert [task.returncode for task in tasks] == [0, 0], shown
    assert [out.strip() for out, _ in shown] == ["0 2 0 [3.0, 3.0]", "1 2 1 [3.0, 3.0]"]
