"""The commands of the page about clusters: words that the launcher takes, and jobs that end."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import jobs
import pytest

from rushlight.distributed.launching.arguments import parser

PAGE = Path(__file__).parents[3] / "docs" / "pages" / "clusters.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the pages are not in this checkout")


def manifest():
    yaml = pytest.importorskip("yaml")
    text = re.search(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    return list(yaml.safe_load_all(text))


def test_the_manifest_names_one_service_and_its_pods():
    service, job = manifest()
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    name = job["metadata"]["name"]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"] == {"job-name": name}
    assert pod["subdomain"] == service["metadata"]["name"]
    assert job["spec"]["completionMode"] == "Indexed" and pod["restartPolicy"] == "Never"
    index = container["env"][0]
    assert index["valueFrom"]["fieldRef"]["fieldPath"].endswith("job-completion-index']")
    words = [word.replace(f"$({index['name']})", "3") for word in container["command"]]
    found = parser("p").parse_args(words[2:])
    assert found.node_rank == 3 and words[:2] == ["rushlight", "launch"]
    pods = job["spec"]["completions"]
    assert found.nnodes == str(pods) and job["spec"]["parallelism"] == pods
    assert found.master_addr == f"{name}-0.{pod['subdomain']}"


def test_the_command_of_the_manifest_runs():
    pytest.importorskip("mpi4py")
    _, job = manifest()
    command = job["spec"]["template"]["spec"]["containers"][0]["command"]
    changed = {
        "--nnodes": "2", "--master-addr": "127.0.0.1", "--master-port": str(jobs.free_port()),
    }  # fmt: skip
    agents = []
    for index in range(2):
        words = []
        for word in command[1:-1]:
            name, _, value = word.replace("$(JOB_COMPLETION_INDEX)", str(index)).partition("=")
            words.append(f"{name}={changed.get(name, value)}" if value else name)
        words = [sys.executable, "-m", "rushlight", *words, str(jobs.HERE / "launched_program.py")]
        agents.append(
            subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
    outputs = [agent.communicate(timeout=jobs.LIMIT) for agent in agents]
    assert [agent.returncode for agent in agents] == [0, 0], outputs
    lines = sorted(line for output, _ in outputs for line in output.splitlines())
    assert [line[:3] for line in lines] == ["0 4", "1 4", "2 4", "3 4"]


def test_the_launchers_of_the_scripts_are_understood():
    scripts = re.findall(r"```bash no-run\n(.*?)```", PAGE.read_text(), re.DOTALL)
    lines = "\n".join(scripts).replace("\\\n", " ").splitlines()
    commands = [
        line.partition("rushlight launch ")[2] for line in lines if "rushlight launch" in line
    ]
    found = [parser("p").parse_args(shlex.split(command)) for command in commands]
    assert len(found) == 3
    assert found[0].max_restarts == 3 and found[0].rdzv_endpoint == "$first:29500"
    assert found[1].max_restarts == 3 and found[1].mpiexec == "mpiexec -n 8 --hostfile hosts"
    assert found[2].ray and found[2].nnodes == "4"
