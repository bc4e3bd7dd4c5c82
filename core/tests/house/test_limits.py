"""Runs of tests end, whatever a test waits for, and say in which test."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pytest_timeout")
pytest.importorskip("xdist")
CI = Path(__file__).parents[3] / "ci"
if not (CI / "testing.py").exists():
    pytest.skip("the repository's ci folder is not here", allow_module_level=True)

RUN = """
import sys
sys.path.insert(0, sys.argv[1])
import testing
testing.HANGS, testing.STUCK, testing.DEAD = map(int, sys.argv[2:5])
testing.SILENCE = 1
print("closing:", *testing.pytest("some", sys.argv[5], sys.argv[6:], testing.environment()))
"""
WAITS = "import time\ndef test_waits(): time.sleep(100)\ndef test_after(): pass\n"
STUCK = """
import signal, time
def test_stuck():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    time.sleep(100)
"""
NAMES = """
import os, pathlib, pytest
@pytest.mark.parametrize("number", range(COUNT))
def test_names_its_worker(number):
    with open(pathlib.Path(__file__).with_suffix(".txt"), "a") as names:
        names.write(f"{number} {os.environ['PYTEST_XDIST_WORKER']} ")
"""
LEAVES = """
import subprocess
def test_leaves_a_process_with_its_output():
    subprocess.Popen(["sleep", "100"])
"""
SHARED = ("--dist", "loadfile", "-p", "whole_files")


def closing(folder: Path, text: str, *limits: int, options: tuple[str, ...] = ()) -> str:
    """What the run of one file of tests ends with."""
    (folder / "test_some.py").write_text(text)
    words = [str(CI), *map(str, limits), str(folder), "-p", "no:cacheprovider", *options]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *words], capture_output=True, text=True, timeout=60
    )
    return done.stdout + done.stderr


def test_a_test_that_waits_fails_and_the_run_goes_on(tmp_path):
    said = closing(tmp_path, WAITS, 2, 50, 50)
    assert "in test_some.py::test_waits]" in said
    assert "closing: 1 1 failed, 1 passed" in said


def test_a_test_that_no_signal_reaches_ends_its_process_once(tmp_path):
    said = closing(tmp_path, STUCK, 50, 2, 50, options=(*SHARED, "-n", "1"))
    assert "crashed while running 'test_some.py::test_stuck'" in said
    assert "closing: 1 1 failed" in said


def test_workers_share_files_and_not_the_tests_of_one(tmp_path):
    counts = {"first": 1, "second": 4, "third": 7, "fourth": 2, "fifth": 1}
    for name, count in counts.items():
        (tmp_path / f"test_{name}.py").write_text(NAMES.replace("COUNT", str(count)))
    said = closing(tmp_path, "", 50, 50, 50, options=(*SHARED, "-n", "2"))
    assert f"closing: 0 {sum(counts.values())} passed" in said
    for name, count in counts.items():
        words = (tmp_path / f"test_{name}.txt").read_text().split()
        assert words[::2] == [str(number) for number in range(count)]  # each once, in order
        assert len(set(words[1::2])) == 1


def test_a_run_without_a_line_is_ended(tmp_path):
    said = closing(tmp_path, WAITS, 50, 50, 3)
    assert "closing: -9 ended after 3 s without a line: in test_some.py::test_waits" in said


def test_processes_that_tests_leave_are_not_waited_for(tmp_path):
    assert "closing: 0 1 passed" in closing(tmp_path, LEAVES, 50, 50, 50)
