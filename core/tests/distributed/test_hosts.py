"""`rushlight launch --hosts`: jobs over ssh, for which a program stands that runs commands here."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import jobs
import pytest

from rushlight.distributed.launching import hosts

PROGRAM = jobs.HERE / "launched_program.py"
LAUNCH = (sys.executable, "-m", "rushlight", "launch")
# Two names of this machine that resolve.
A, B = "127.0.0.1", "127.0.0.2"
SECONDS = 5.0  # a job is over after a failure

SHOWING = """
import json, os, sys
rank = os.environ["RANK"]
names = ("RUSHLIGHT_WORD", "OTHER", "LEFT")
values = [os.environ.get(name) for name in names]
line = json.dumps([rank, os.getcwd(), sys.executable, values, sys.argv[1:], sys.stdin.read()])
os.write(1, (line + "\\n").encode())
"""
FAULTY = """
import os, signal, sys, time
rank, fault, note = int(os.environ["RANK"]), sys.argv[1], sys.argv[2]
open(f"{note}.{rank}", "w").write(f"{os.getpid()} {os.getppid()}")
os.write(1, f"rank {rank} runs\\n".encode())
if fault == "stubborn" and rank == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
while not all(os.path.exists(f"{note}.{each}") for each in range(2)):
    time.sleep(0.01)
if rank == 1 and fault == "agent":
    os.kill(os.getppid(), signal.SIGKILL)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _ssh(tmp_path, monkeypatch):
    """The fake ssh, first on PATH."""
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {jobs.HERE / "fake_ssh.py"} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


def _run(*words, **options):
    return subprocess.run(
        [*LAUNCH, *map(str, words)], capture_output=True, text=True, timeout=jobs.LIMIT, **options
    )


def test_two_hosts_make_one_job():
    pytest.importorskip("mpi4py")
    found = _run("--hosts", f"{A},{B}:2", PROGRAM, "none")
    assert found.returncode == 0, found.stderr
    expected = [f"[{A}] 0 3 0 [6.0, 6.0] none"]
    expected += [f"[{B}] {rank} 3 {rank - 1} [6.0, 6.0] none" for rank in (1, 2)]
    assert sorted(found.stdout.splitlines()) == expected
    assert found.stderr == ""


def test_folder_python_variables_and_words_arrive(tmp_path, monkeypatch):
    folder = tmp_path / "a folder's $name"
    folder.mkdir()
    (folder / "show it.py").write_text(SHOWING)
    for name, value in (("RUSHLIGHT_WORD", "one 'two' \"three\""), ("OTHER", "é;*"), ("LEFT", "x")):
        monkeypatch.setenv(name, value)
    words = ["a b", "'", "$HOME", "--hosts", ""]
    found = _run("--hosts", A, "--env", "OTHER", "show it.py", *words, cwd=folder, input="typed")
    assert found.returncode == 0, found.stderr
    values = ["one 'two' \"three\"", "é;*", None]
    shown = json.loads(found.stdout)  # of one host lines have no prefix
    assert shown == ["0", str(folder), sys.executable, values, words, ""]


def test_a_module_and_a_program_without_python():
    found = _run("--hosts", f"{A},{B}", "--no-python", "sh", "-c", 'echo "$RANK of $WORLD_SIZE"')
    assert found.returncode == 0, found.stderr
    assert sorted(found.stdout.splitlines()) == [f"[{A}] 0 of 2", f"[{B}] 1 of 2"]
    found = _run("--hosts", A, "-m", "platform")
    assert found.returncode == 0 and "Linux" in found.stdout, found.stderr


@pytest.mark.parametrize(
    "fault, said",
    [
        ("raise", "rank 1 .* ended with exit code 1: ValueError: the cause; its traceback:"),
        ("exit", "rank 1 .* ended with exit code 3: SystemExit: 3"),
        ("kill", "rank 1 .* ended with signal SIGKILL"),
    ],
)
def test_what_failed_first_is_shown_last(fault, said):
    pytest.importorskip("mpi4py")
    found = _run("--hosts", f"{A},{B}", PROGRAM, fault)
    assert found.returncode == 1
    summary = found.stderr[found.stderr.index("rushlight launch: ") :]
    assert re.match(f"rushlight launch: host {B}: {said}", summary), found.stderr
    if fault == "raise":
        assert summary.startswith("Traceback (most recent call last):\n", summary.index("\n") + 1)
        assert summary.endswith("ValueError: the cause\n")


def test_a_job_starts_again_after_a_failure():
    pytest.importorskip("mpi4py")
    found = _run("--hosts", f"{A},{B}", "--max-restarts", 1, PROGRAM, "once")
    assert found.returncode == 0, found.stderr
    assert "starting again, 1 more times at most" in found.stderr
    assert len(found.stdout.splitlines()) == 4


STARTED: list = []


@pytest.fixture(autouse=True)
def nobody_is_left():
    """A launcher that a failed test has left is killed, and closes its pipes."""
    yield
    while STARTED:
        launcher = STARTED.pop()
        if launcher.poll() is None:
            launcher.kill()
        launcher.communicate()


def _faulty(tmp_path, fault, names=f"{A},{B}"):
    """A job of two ranks that run until they are ended; with their pids and their agents'."""
    (tmp_path / "faulty.py").write_text(FAULTY)
    note = tmp_path / "note"
    launcher = subprocess.Popen(
        [*LAUNCH, "--hosts", names, "--no-python", sys.executable, "-u", tmp_path / "faulty.py",
         fault, note],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=jobs.interruptible,
    )  # fmt: skip
    STARTED.append(launcher)
    pids = []
    for rank in range(2):
        path = tmp_path / f"note.{rank}"
        _wait_for(lambda path=path: path.exists() and path.read_text().count(" ") == 1)
        pids += map(int, path.read_text().split())
    return launcher, pids


def _wait_for(true, seconds=60.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def _runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("number", "fault", "code"),
    [
        (signal.SIGINT, "none", 130),
        (signal.SIGTERM, "none", 143),
        (signal.SIGKILL, "none", -9),
        (signal.SIGINT, "stubborn", 130),
    ],
)
def test_no_remote_process_outlives_the_launcher(tmp_path, number, fault, code):
    launcher, pids = _faulty(tmp_path, fault)
    launcher.send_signal(number)
    begun = time.monotonic()
    _, said = launcher.communicate(timeout=jobs.LIMIT)
    assert launcher.returncode == code and "Traceback" not in said
    _wait_for(lambda: not any(map(_runs, pids)), 2 * SECONDS)
    assert time.monotonic() - begun < SECONDS


def test_an_agent_that_is_killed_ends_the_job(tmp_path):
    launcher, pids = _faulty(tmp_path, "agent")
    begun = time.monotonic()
    _, said = launcher.communicate(timeout=jobs.LIMIT)
    assert launcher.returncode == 1
    assert f"rushlight launch: host {B} ended with exit code 255" in said
    _wait_for(lambda: not any(map(_runs, pids)), 2 * SECONDS)
    assert time.monotonic() - begun < SECONDS


def test_a_host_that_cannot_be_reached_is_named():
    begun = time.monotonic()
    found = _run("--hosts", f"{A},nowhere", PROGRAM, "none")
    assert found.returncode == 1
    assert found.stderr.endswith(
        "rushlight launch: host nowhere cannot be reached: ssh: connect to host nowhere port 22: "
        "No route to host (ssh ended with exit code 255)\n"
    )
    assert time.monotonic() - begun < 2 * SECONDS  # imports included


def test_another_program_than_ssh():
    other = f"{sys.executable} {jobs.HERE / 'fake_ssh.py'}"
    found = _run("--hosts", A, "--ssh", other, "--no-python", "echo", "here", env=_without_ssh())
    assert (found.returncode, found.stdout) == (0, "here\n"), found.stderr
    found = _run("--hosts", A, "--ssh", "no-such-program -v", PROGRAM)
    assert found.returncode == 2 and "--ssh 'no-such-program -v': there is no such" in found.stderr


def _without_ssh():
    return os.environ | {"PATH": os.environ["PATH"].partition(":")[2]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", [("a", "4")]),
        ("a,b:2,c", [("a", "4"), ("b", "2"), ("c", "4")]),
        ("b, a:1", [("b", "4"), ("a", "1")]),
        ("a,b,a,a:3", [("a", "11"), ("b", "4")]),
        ("me@a:2", [("me@a", "2")]),
        ("[::1]:2,::1,[fe80::2]", [("[::1]", "2"), ("::1", "4"), ("[fe80::2]", "4")]),
    ],
)
def test_lists_of_hosts(text, expected):
    assert [(host.name, host.processes) for host in hosts.parsed(text, "4")] == expected


def test_addresses_have_no_user():
    assert hosts.Host("me@a", "1").address == "a"
    assert hosts.Host("[::1]", "1").address == "::1"


@pytest.mark.parametrize("text", ["a,,b", "a:0", "a:x", "a:", ":2", "-oProxyCommand=x"])
def test_hosts_that_are_none_are_named(text):
    with pytest.raises(ValueError, match="--hosts has .*, expected HOST or HOST:PROCESSES"):
        hosts.parsed(text, "1")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--nnodes", "2"), "--hosts and --nnodes both say which hosts there are"),
        (("--node-rank", "0"), "--hosts and --node-rank both say"),
        (("--env", "NO_SUCH"), "--env names NO_SUCH, expected a variable that is set"),
    ],
)
def test_options_that_do_not_fit_are_named(words, said):
    found = _run("--hosts", A, *words, PROGRAM)
    assert found.returncode == 2 and said in found.stderr
