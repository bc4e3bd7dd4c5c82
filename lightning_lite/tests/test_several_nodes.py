"""Training on two machines of two processes each: they are programs of one machine here, started as
a launcher, a person or Slurm starts them on several."""

from __future__ import annotations

import importlib.util
import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from several_processes import LIMIT, check_close, environment

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None, reason="several processes need rushlight[mpi]"
)
PROGRAM = Path(__file__).with_name("nodes_program.py")
NODES = 2


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def launched(devices: int):
    """One launcher for each machine, as `torchrun` is used."""
    port = free_port()
    for node in range(NODES):
        launcher = f"-m rushlight launch --nnodes {NODES} --nproc-per-node {devices}".split()
        launcher += f"--node-rank {node} --master-addr 127.0.0.1 --master-port {port}".split()
        yield launcher, {}


def by_hand(devices: int):
    """One program for each machine, which starts the other processes there."""
    port = free_port()
    for node in range(NODES):
        yield [], {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "NODE_RANK": str(node)}


def by_slurm(devices: int):
    """One program for each task, with the variables that `srun` sets."""
    tasks, port = NODES * devices, free_port()
    for rank in range(tasks):
        yield [], {
            "SLURM_JOB_ID": "4711", "SLURM_JOB_NAME": "train", "SLURM_NTASKS": str(tasks),
            "SLURM_NTASKS_PER_NODE": str(devices), "SLURM_NNODES": str(NODES),
            "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank % devices),
            "SLURM_NODEID": str(rank // devices), "SLURM_NODELIST": "localhost",
            "SLURM_JOB_NODELIST": "localhost", "MASTER_PORT": port,
        }  # fmt: skip


def run(file, strategy: str, devices: int, nodes: int, programs):
    """What every process found, by its rank; all programs of a run end well."""
    started = []
    for launcher, variables in programs:
        line = [sys.executable, *launcher, PROGRAM, strategy, devices, nodes, file]
        started.append(
            subprocess.Popen(
                list(map(str, line)),
                env={**environment(), **variables},
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
        )
    try:
        printed = [each.communicate(timeout=LIMIT)[0] for each in started]
    finally:
        for each in started:
            each.kill()
    return [each.returncode for each in started], printed


def found_by_all(file, strategy, devices, nodes, programs):
    codes, printed = run(file, strategy, devices, nodes, programs)
    assert not any(codes), printed
    paths = sorted(file.parent.glob(f"{file.name}.*"))
    assert len(paths) == devices * nodes
    return [json.loads(path.read_text()) for path in paths]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What one process finds with the whole batch."""
    (found,) = found_by_all(tmp_path_factory.mktemp("alone") / "one", "auto", 1, 1, [([], {})])
    return found


@pytest.mark.parametrize(
    ("strategy", "devices", "start", "name"),
    [
        ("ddp", 2, launched, "TorchElasticEnvironment"),
        ("ddp", 2, by_hand, "LightningEnvironment"),
        ("ddp", 2, by_slurm, "SLURMEnvironment"),
        ("fsdp", 1, launched, "TorchElasticEnvironment"),
        ("fsdp", 2, by_slurm, "SLURMEnvironment"),
        ("hybrid_shard", 2, by_slurm, "SLURMEnvironment"),
        ("no_shard", 2, launched, "TorchElasticEnvironment"),
    ],
)
def test_machines_are_one_process(strategy, devices, start, name, alone, tmp_path):
    found = found_by_all(tmp_path / "several", strategy, devices, NODES, start(devices))
    world = devices * NODES
    for rank, each in enumerate(found):
        assert each["ranks"] == [rank, rank // devices, rank % devices, world]
        assert each["zero"] is (rank == 0)
        assert each["sampler"] == {"num_replicas": world, "rank": rank}
        assert each["environment"] == name
        check_close(each["weights"], alone["weights"])
    rows = {"fsdp": world, "hybrid_shard": devices}.get(strategy, 1)
    assert found[0]["held"][0] == -(-alone["held"][0] // rows)
    # Each process has every so many-th row of the batches of one.
    assert [each["seen"][0] for each in found] != [alone["seen"][0]] * world
    assert found[0]["seen"] == alone["seen"]


@pytest.mark.parametrize(
    ("devices", "nodes", "said"), [(1, 2, "devices=1.*ntasks-per-node=2"), (2, 1, "num_nodes=1")]
)
def test_settings_that_are_not_the_job_s(devices, nodes, said, tmp_path):
    programs = [next(by_slurm(2))]
    (code,), (printed,) = run(tmp_path / "several", "ddp", devices, nodes, programs)
    assert code
    last = printed.strip().splitlines()[-1]
    assert last.startswith("ValueError: ")
    assert re.search(said, last), printed
