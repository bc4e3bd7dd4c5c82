"""Processes that die, are interrupted or find no room while they store machine code."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.compiled("the reference compiles nothing")

PROGRAM = """
import numpy as np
import rushlight
from rushlight.machine import machine_code, elementwise_engine as llvm

x = rushlight.arange(64 * 128, dtype=rushlight.float32).reshape(64, 128) % 7 - 3
x.requires_grad_()
y = (x @ x.T).tanh().sum() + x.exp().sum()
y.backward()
a = x.detach().numpy().astype(np.float64)
p = np.tanh(a @ a.T)
want = (1 - p * p) @ a + (1 - p * p).T @ a + np.exp(a)
assert abs(float(y.detach()) - (p.sum() + np.exp(a).sum())) < 1e-5 * np.exp(a).sum()
assert np.abs(x.grad.numpy() - want).max() < 1e-4
"""

ENDS = """
import os, signal, sys
from rushlight.machine import object_files

class Half:  # of a file arrives before the end
    def __init__(self, file):
        self.file = file
    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.file.close()
    def write(self, data):
        self.file.write(data[:len(data) // 2])
        self.file.flush()
        end()

def end():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))

class Files:
    def __getattr__(self, name):
        return getattr(os, name)
    def fdopen(self, handle, mode):
        file = os.fdopen(handle, mode)
        return Half(file) if moment == "write" and left == 1 else file
    def replace(self, *names, **folders):
        if moment == "before":
            end()
        os.replace(*names, **folders)
        if moment != "before":
            end()

moment, left = sys.argv[2], int(sys.argv[3])
object_files.os = Files()
signal.signal(signal.SIGINT, signal.default_int_handler)
"""


def run(folder, program=PROGRAM, *arguments):
    environment = dict(os.environ, RUSHLIGHT_CACHE_DIR=str(folder))
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip


def stored(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.o")}


def check_recovers(folder, lost):
    """The next process stores what is missing, the one after that nothing."""
    before = stored(folder)
    again = run(folder)
    assert again.returncode == 0, again.stderr
    whole = stored(folder)
    assert before.items() <= whole.items()
    assert len(whole) - len(before) >= lost
    assert run(folder).returncode == 0
    assert stored(folder) == whole


@pytest.mark.parametrize("moment", ["write", "before", "after"])
@pytest.mark.parametrize("file", [1, 8])
def test_killed_while_storing(tmp_path, moment, file):
    killed = run(tmp_path, ENDS + PROGRAM, "SIGKILL", moment, str(file))
    assert killed.returncode == -9, killed.stderr
    assert len(stored(tmp_path)) == file - (moment != "after")
    assert len(list(tmp_path.rglob("*.part"))) == (moment != "after")
    check_recovers(tmp_path, 3)


def test_ctrl_c_while_storing(tmp_path):
    ended = run(tmp_path, ENDS + PROGRAM, "SIGINT", "before", "5")
    assert ended.returncode != 0 and ended.stderr.rstrip().endswith("KeyboardInterrupt")
    assert len(stored(tmp_path)) == 4
    assert not list(tmp_path.rglob("*.part"))
    check_recovers(tmp_path, 3)


def test_killed_at_any_time(tmp_path):
    environment = dict(os.environ, RUSHLIGHT_CACHE_DIR=str(tmp_path))
    for delay in (0.3, 0.5, 0.8, 1.2):
        process = subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment)
        time.sleep(delay)
        process.kill()
        process.wait()
    check_recovers(tmp_path, 0)


def test_no_room_for_files(tmp_path):
    """A file may hold 64 bytes and no more, as when a disk becomes full during the write."""
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))\n"
    full = run(tmp_path, limit + PROGRAM)
    assert full.returncode == 0, full.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    check_recovers(tmp_path, 8)
