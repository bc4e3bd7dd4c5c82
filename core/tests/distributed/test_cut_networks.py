"""A network that is cut while ranks exchange: two network namespaces of Linux, a link between them.

Needs root and ``ip``; ``nox -s clusters`` runs it, RUSHLIGHT_CLUSTERS=1 by hand.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import jobs
import pytest

pytestmark = pytest.mark.skipif(
    os.environ.get("RUSHLIGHT_CLUSTERS") != "1" or os.geteuid() != 0,
    reason="needs RUSHLIGHT_CLUSTERS=1 and root",
)
PROGRAM = jobs.HERE / "cut_program.py"
TIMEOUT = 4.0  # seconds, of the group
SECONDS = 5.0  # more, until all processes have ended
ADDRESSES = ("10.77.83.1", "10.77.83.2")
# A host of its own: names, /dev/shm and network; the link alone leads to the other.
HOST = "mount -t tmpfs none /dev/shm; hostname {name}; exec {command}"


def _ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@pytest.fixture
def network():
    """The names of two namespaces that a link connects."""
    pytest.importorskip("mpi4py")
    names = [f"rl{os.getpid()}{end}" for end in "ab"]
    for name in names:
        _ip("netns", "add", name)
    try:
        _ip("link", "add", "cut", "netns", names[0], "type", "veth",
            "peer", "name", "cut", "netns", names[1])  # fmt: skip
        for name, address in zip(names, ADDRESSES, strict=True):
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", "cut")
            for device in ("lo", "cut"):
                _ip("-n", name, "link", "set", device, "up")
        yield names
    finally:
        for name in names:
            _ip("netns", "del", name)


def _started(name, command, **variables):
    script = HOST.format(name=name, command=" ".join(map(str, command)))
    # UCX, MPICH's transport, finds shared memory in spite of namespaces.
    return subprocess.Popen(
        ["ip", "netns", "exec", name, "unshare", "--mount", "--uts", "sh", "-c", script],
        env=os.environ | {"UCX_TLS": "tcp,self", "OMP_NUM_THREADS": "1"} | variables,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def _ranks(names, command):
    for rank, name in enumerate(names):
        given = {"RANK": rank, "WORLD_SIZE": 2, "MASTER_ADDR": ADDRESSES[0], "MASTER_PORT": 29500}
        yield _started(name, [sys.executable, *command], **{k: str(v) for k, v in given.items()})


def _agents(names, command):
    launch = [sys.executable, "-m", "rushlight", "launch", "--nnodes", 2]
    for node, name in enumerate(names):
        where = ["--node-rank", node, "--master-addr", ADDRESSES[0], "--rdzv-conf", "timeout=60"]
        yield _started(name, [*launch, *where, *command])


@pytest.mark.skipif("jobs.under_open_mpi()", reason="its ranks are started by mpiexec")
@pytest.mark.parametrize("start", [_ranks, _agents])
def test_a_cut_ends_the_job_within_the_timeout_and_names_the_operation(network, tmp_path, start):
    note = tmp_path / "note"
    processes = list(start(network, [PROGRAM, TIMEOUT, note]))
    try:
        end = time.monotonic() + 120
        while not all((tmp_path / f"note.{rank}").exists() for rank in range(2)):
            assert time.monotonic() < end and not any(each.poll() for each in processes)
            time.sleep(0.05)
        _ip("-n", network[0], "link", "set", "cut", "down")
        begun = time.monotonic()
        outputs = [each.communicate(timeout=60)[0] for each in processes]
        seconds = time.monotonic() - begun
    finally:
        for each in processes:
            each.kill()
            each.wait()
    assert all(each.returncode for each in processes), outputs
    for rank, text in enumerate(outputs):
        said = (
            rf"DistBackendError: \[Rank {rank}\] all_reduce of shape \(262144,\), \w+.float32, "
            rf"number \d+ in group '0' of 2 ranks, timed out after {TIMEOUT:g} s; it waits for "
            rf"ranks among \[{1 - rank}\]"
        )
        assert re.search(said, text), text
        assert TIMEOUT <= float(re.search(r"waited ([\d.]+)", text)[1]) < TIMEOUT + 1
    print(f"over {seconds:.2f} s after the cut")
    assert seconds < TIMEOUT + SECONDS
    for rank in range(2):
        assert not os.path.exists(f"/proc/{(tmp_path / f'note.{rank}').read_text()}")
    assert [_inside(name) for name in network] == ["", ""]


# ssh's stand-in: runs a command on the host of that address.
SSH = """#!/bin/sh
[ "$1" = -x ] && shift
case $1 in {address}) name={names[0]};; *) name={names[1]};; esac
shift
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
ip netns exec $name unshare --mount --uts sh -c "mount -t tmpfs none /dev/shm; hostname $name; $*"
"""


def _mpiexec(names, folder):
    """The command that starts a rank on each host."""
    ssh = folder / "ssh"
    ssh.write_text(SSH.format(address=ADDRESSES[0], names=names))
    ssh.chmod(0o755)
    hosts = ",".join(f"{address}:1" for address in ADDRESSES)
    if jobs.under_open_mpi():
        more = "--prtemca plm_ssh_agent {} --map-by node --mca btl tcp,self --mca pml ob1 --host {}"
    else:
        more = "-launcher ssh -launcher-exec {} -hosts {}"
    return shlex.join([*jobs.mpiexec(2), *more.format(ssh, hosts).split()])


def _kill_all(name):
    for pid in _inside(name).split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


@pytest.mark.parametrize("what", ["cut", "lost"])
def test_a_job_of_mpiexec_ends_with_its_hosts(network, tmp_path, what):
    """MPICH's, and under `nox -s open_mpi -- --full` Open MPI's."""
    note = tmp_path / "note"
    words = ["rushlight", "launch", "--mpiexec", f'"{_mpiexec(network, tmp_path)}"']
    job = _started(network[0], [sys.executable, "-m", *words, PROGRAM, TIMEOUT, note])
    try:
        end = time.monotonic() + 120
        while not all((tmp_path / f"note.{rank}").exists() for rank in range(2)):
            assert time.monotonic() < end and job.poll() is None, job.communicate()[0]
            time.sleep(0.05)
        begun = time.monotonic()
        if what == "cut":
            _ip("-n", network[0], "link", "set", "cut", "down")
        else:
            _kill_all(network[1])
        output = job.communicate(timeout=60)[0]
        seconds = time.monotonic() - begun
        while any(map(_inside, network)) and time.monotonic() < begun + seconds + SECONDS:
            time.sleep(0.1)
        assert [_inside(name) for name in network] == ["", ""]
    finally:
        for name in network:
            _kill_all(name)
        job.wait()
    print(f"over {seconds:.2f} s after it")
    assert job.returncode == 1, output
    said = rf"rank 0 is gone \(DistBackendError: .*timed out after {TIMEOUT:g} s"
    assert re.search(said if what == "cut" else r"rank [01] is gone", output), output
    assert seconds < (TIMEOUT if what == "cut" else 0) + SECONDS


def _inside(name):
    """The processes that are left in a namespace."""
    found = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True)
    return found.stdout.strip()
