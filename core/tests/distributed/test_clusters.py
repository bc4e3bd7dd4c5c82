"""Ranks by the variables that launchers of clusters set; the variables are set here by hand."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
import time

import jobs
import pytest

from rushlight import distributed
from rushlight.distributed.launching import environments, slurm

PROGRAM = """
import rushlight
from rushlight import distributed as dist
dist.init_process_group("gloo")
x = rushlight.ones(2) * (dist.get_rank() + 1)
dist.all_reduce(x)
line = f"{dist.get_rank()} {dist.get_world_size()} {dist.get_node_local_rank()} {x.tolist()}\\n"
import os; os.write(1, line.encode())  # at once: ranks of mpiexec write to one pipe
dist.barrier()
dist.destroy_process_group()
"""
NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
PREFIXES = ("SLURM_", "JSM_", "LSB_", "PBS_", "PMI_", "MPI_", "OMPI_")


def _srun(rank, size, folder):
    found = {"SLURM_PROCID": rank, "SLURM_LOCALID": rank, "SLURM_STEP_NUM_TASKS": size}
    return found | {
        "SLURM_STEP_NODELIST": "localhost", "SLURM_JOB_ID": os.getpid(), "SLURM_STEP_ID": 0,
    }  # fmt: skip


def _jsrun(rank, size, folder):
    hosts = folder / "ranks"
    hosts.write_text("batch\n" + "localhost\n" * size)
    return {
        "JSM_NAMESPACE_RANK": rank, "JSM_NAMESPACE_SIZE": size, "JSM_NAMESPACE_LOCAL_RANK": rank,
        "LSB_DJOB_RANKFILE": hosts, "LSB_JOBID": os.getpid() + 50,
    }  # fmt: skip


def _pbsdsh(rank, size, folder):
    hosts = folder / "nodes"
    hosts.write_text("localhost\n" * size)
    return {
        "PBS_VNODENUM": rank, "PBS_TASKNUM": rank + 2, "PBS_NODEFILE": hosts, "PBS_NP": size,
        "PBS_JOBID": f"{os.getpid() + 100}.server",
    }  # fmt: skip


LAUNCHERS = {"srun": _srun, "jsrun": _jsrun, "pbsdsh": _pbsdsh}


def _clean():
    return {k: v for k, v in os.environ.items() if k not in NAMES and not k.startswith(PREFIXES)}


@pytest.fixture
def started(monkeypatch, tmp_path):
    """Sets the variables of a process that a launcher started."""
    for name in set(os.environ) - set(_clean()):
        monkeypatch.delenv(name)

    def start(launcher, rank=1, size=4):
        for name, value in LAUNCHERS[launcher](rank, size, tmp_path).items():
            monkeypatch.setenv(name, str(value))
        return monkeypatch

    return start


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
def test_the_first_host_of_slurms_list(nodes, first):
    assert slurm.first_host(nodes) == first


@pytest.mark.parametrize(
    ("launcher", "job", "number", "port"),
    [
        ("srun", "SLURM_JOB_ID", "1000", "24000"),
        ("jsrun", "LSB_JOBID", "1001", "24016"),
        ("pbsdsh", "PBS_JOBID", "1001.server.example", "24016"),
        ("pbsdsh", "PBS_JOBID", "100[1].server", "24016"),
    ],
)
def test_a_task_has_all_variables(started, launcher, job, number, port):
    started(launcher).setenv(job, number)
    expected = {"RANK": 1, "WORLD_SIZE": 4, "LOCAL_RANK": 1, "MASTER_ADDR": "localhost"}
    assert environments.variables() == expected | {"MASTER_PORT": port}
    assert distributed.get_node_local_rank() == 1


@pytest.mark.parametrize(
    ("launcher", "name"),
    [("srun", "SLURM_STEP_NODELIST"), ("jsrun", "JSM_NAMESPACE_SIZE"), ("pbsdsh", "PBS_TASKNUM")],
)
def test_without_a_variable_of_the_launcher_it_is_no_task(started, launcher, name):
    started(launcher).delenv(name)
    assert environments.variables() == {}


def test_the_script_of_a_pbs_job_is_no_task(started):
    started("pbsdsh", rank=0).setenv("PBS_TASKNUM", "1")
    assert environments.variables() == {}
    with pytest.raises(ValueError, match="environment variable RANK expected, but not set"):
        distributed.init_process_group("gloo")


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_another_launcher_inside_the_clusters_comes_first(started, launcher):
    started(launcher).setenv("RANK", "0")
    assert environments.variables() == {}


@pytest.mark.parametrize(
    ("launcher", "name"),
    [("srun", "SLURM_PROCID"), ("jsrun", "JSM_NAMESPACE_RANK"), ("pbsdsh", "PBS_VNODENUM")],
)
def test_a_rank_that_is_no_number_is_named(started, launcher, name):
    started(launcher).setenv(name, "one")
    with pytest.raises(ValueError, match=f"{name} is 'one'; expected a number, as {launcher}"):
        environments.variables()


def test_ranks_on_a_host_of_pbs_follow_from_its_file(started, tmp_path):
    patch = started("pbsdsh", rank=2)
    (tmp_path / "nodes").write_text("a\nb\nb\na\n")
    patch.delenv("PBS_NP")
    assert environments.variables() | {"MASTER_PORT": ""} == {
        "RANK": 2, "WORLD_SIZE": 4, "LOCAL_RANK": 1, "MASTER_ADDR": "a", "MASTER_PORT": "",
    }  # fmt: skip


def test_where_pbs_has_no_file_the_address_is_asked_for(started):
    patch = started("pbsdsh", rank=5, size=8)
    patch.setenv("PBS_NODEFILE", "/no/such/file")
    patch.setenv("PBS_NUM_PPN", "4")
    found = environments.variables()
    assert (found["RANK"], found["WORLD_SIZE"], found["LOCAL_RANK"]) == (5, 8, 1)
    with pytest.raises(ValueError, match="environment variable MASTER_ADDR expected, but not set"):
        distributed.init_process_group("gloo")
    patch.delenv("PBS_NP")
    with pytest.raises(ValueError, match="size of the job is ''; expected a number, as pbsdsh"):
        environments.variables()


@pytest.mark.parametrize("name", ["MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK"])
def test_the_rank_on_a_host_of_mpiexec(started, monkeypatch, name):
    started("srun")  # mpiexec inside of a step
    prefix = "PMI" if name.startswith("MPI") else "OMPI_COMM_WORLD"
    for each, value in ((f"{prefix}_RANK", 7), (f"{prefix}_SIZE", 8), (name, 3)):
        monkeypatch.setenv(each, str(value))
    assert distributed.get_node_local_rank() == 3


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_two_tasks_make_one_job(launcher, tmp_path):
    pytest.importorskip("mpi4py")
    tasks = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env=_clean() | {k: str(v) for k, v in LAUNCHERS[launcher](rank, 2, tmp_path).items()},
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
            task.wait()
    assert [task.returncode for task in tasks] == [0, 0], shown
    assert [out.strip() for out, _ in shown] == ["0 2 0 [3.0, 3.0]", "1 2 1 [3.0, 3.0]"]


def _mpiexec(program, **variables):
    pytest.importorskip("mpi4py")
    if shutil.which("mpiexec") is None:
        pytest.skip("no mpiexec")
    return subprocess.run(
        ["mpiexec", "-n", "2", sys.executable, "-c", program],
        env=_clean() | variables, capture_output=True, text=True, timeout=jobs.LIMIT,
    )  # fmt: skip


def test_mpiexec_gives_rank_size_and_rank_on_the_host():
    found = _mpiexec(PROGRAM)
    assert found.returncode == 0, found.stderr
    assert sorted(found.stdout.splitlines()) == ["0 2 0 [3.0, 3.0]", "1 2 1 [3.0, 3.0]"]


def test_the_launcher_of_another_mpi_is_named():
    pytest.importorskip("mpi4py")
    if "MPICH" not in _library():
        pytest.skip("needs MPICH, to which Open MPI's launcher is another")
    names = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}
    before = set(glob.glob("/dev/shm/mpich_shm_*"))
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=_clean() | names, capture_output=True, text=True, timeout=jobs.LIMIT,
    )  # fmt: skip
    assert found.returncode != 0
    assert "mpiexec started 2 processes, of which MPI sees 1: mpi4py uses MPICH" in found.stderr
    assert not {path for path in set(glob.glob("/dev/shm/mpich_shm_*")) - before if _old(path)}


def _old(path):
    """Whether a segment is there still after jobs of other tests had time to take its name away."""
    time.sleep(3)
    return os.path.exists(path)


def _library():
    text = "from mpi4py import MPI; print(MPI.Get_library_version())"
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    return found.stdout
