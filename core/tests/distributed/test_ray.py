"""`rushlight launch --ray`: jobs on a Ray cluster, two nodes of which run on this machine."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import jobs
import pytest

from rushlight.distributed.launching import ray_hosts
from rushlight.distributed.launching.arguments import parser
from rushlight.distributed.launching.hosts import Host, commands

PROGRAM = jobs.HERE / "launched_program.py"
LAUNCH = (sys.executable, "-m", "rushlight", "launch")
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray")


def _node(environment, *words):
    """A node of Ray's that ends with its process group."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus", "2"]
    return subprocess.Popen(
        [*command, *words],
        env=environment, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture(scope="module")
def cluster():
    """The variables by which programs find a cluster of two nodes."""
    port = jobs.free_port()
    environment = os.environ | {
        "RAY_ADDRESS": f"127.0.0.1:{port}", "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": f"/tmp/ray-{port}",
    }  # fmt: skip
    os.makedirs(environment["RAY_TMPDIR"], exist_ok=True)
    head = ("--head", f"--port={port}", "--include-dashboard=false")
    nodes = [_node({**environment, "RAY_ADDRESS": ""}, *head)]
    _wait_for_nodes(environment, 1)
    nodes.append(_node(environment, f"--address=127.0.0.1:{port}"))
    _wait_for_nodes(environment, 2)
    yield environment
    for node in reversed(nodes):
        os.killpg(node.pid, signal.SIGTERM)
        try:
            node.wait(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(node.pid, signal.SIGKILL)
            node.wait()
    shutil.rmtree(environment["RAY_TMPDIR"], ignore_errors=True)


def _wait_for_nodes(environment, count):
    text = (
        "import ray; ray.init('auto', log_to_driver=False)\n"
        f"raise SystemExit(sum(node['Alive'] for node in ray.nodes()) < {count})"
    )
    end = time.monotonic() + 90
    while subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True
    ).returncode:
        assert time.monotonic() < end
        time.sleep(0.5)


def _run(cluster, *words):
    return subprocess.run(
        [*LAUNCH, "--ray", *map(str, words)],
        env=cluster, capture_output=True, text=True, timeout=jobs.LIMIT,
    )  # fmt: skip


@needs_ray
def test_two_nodes_make_one_job(cluster):
    found = _run(cluster, "--nnodes", 2, "--nproc-per-node", 2, PROGRAM, "none")
    assert found.returncode == 0, found.stderr
    lines = sorted(line.partition("] ")[2] for line in found.stdout.splitlines())
    assert lines == [f"{rank} 4 {rank % 2} [10.0, 10.0] none" for rank in range(4)]
    assert len({line.partition("] ")[0] for line in found.stdout.splitlines()}) == 2


@needs_ray
def test_a_failure_ends_the_job_and_is_shown_last(cluster):
    found = _run(cluster, "--nnodes", 2, PROGRAM, "raise")
    assert found.returncode == 1
    summary = found.stderr[found.stderr.index("rushlight launch: ") :]
    said = "rushlight launch: host [0-9.]+/[0-9a-f]+: rank 1 .*: ValueError: the cause; its"
    assert re.match(said, summary) and summary.endswith("ValueError: the cause\n"), found.stderr


@needs_ray
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_rank_outlives_the_launcher(cluster, number, tmp_path):
    text = 'echo "$$" > "$0.part$RANK"; mv "$0.part$RANK" "$0.$RANK"; exec sleep 600'
    note = tmp_path / "note"
    launcher = subprocess.Popen(
        [*LAUNCH, "--ray", "--nnodes", "2", "--no-python", "sh", "-c", text, note],
        env=cluster, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        preexec_fn=jobs.interruptible,
    )  # fmt: skip
    files = [tmp_path / f"note.{rank}" for rank in range(2)]
    _wait_for(lambda: all(file.exists() for file in files), 90)
    ranks = [int(file.read_text()) for file in files]
    launcher.send_signal(number)
    launcher.wait(timeout=jobs.LIMIT)
    _wait_for(lambda: not any(os.path.exists(f"/proc/{rank}") for rank in ranks), 10)


def _wait_for(true, seconds):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


@needs_ray
def test_too_few_nodes_are_named(cluster):
    found = _run(cluster, "--nnodes", 3, PROGRAM)
    assert found.returncode == 2
    assert "--ray needs 3 nodes with 1 CPUs each; of the cluster's 2 there are 2" in found.stderr


def test_what_ray_does_not_take_is_named(monkeypatch):
    with pytest.raises(ValueError, match="--ray with --nproc-per-node 'auto', expected a number"):
        ray_hosts.listed(1, "auto")
    monkeypatch.setattr(ray_hosts.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="--ray needs Ray.*--hosts a,b starts jobs over ssh"):
        ray_hosts.listed(1, "1")


def test_gpus_that_are_seen_are_those_that_ray_reserves(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    host = Host("10.0.0.1/abc", "2")
    assert host.address == "10.0.0.1"
    by_ray = parser("p").parse_args(["--ray", "--nnodes", "1", "script.py"])
    by_ssh = parser("p").parse_args(["--hosts", "a", "script.py"])
    assert "CUDA_VISIBLE_DEVICES" not in commands(by_ray, [host])[0]
    assert "CUDA_VISIBLE_DEVICES=7" in commands(by_ssh, [host])[0]
