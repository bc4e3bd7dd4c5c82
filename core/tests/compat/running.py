"""Run programs in processes of their own: under PyTorch, and by `rushlight run`."""

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rushlight

SOURCE = str(Path(rushlight.__file__).parents[1])
HAS_TORCH = importlib.util.find_spec("torch") is not None

# PyTorch is imported once, with what an optimizer's first step imports (a second's work); each
# program runs in a fork, so that none leaves anything behind.
DRIVER = """
import os, runpy, sys, torch, torch.distributions, torch.func, torch.utils.data
torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0).step()
out = sys.argv.pop(1)
for path in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        printed = os.path.join(out, os.path.basename(path) + ".txt")
        file = os.open(printed + ".part", os.O_WRONLY | os.O_CREAT)
        os.dup2(file, 1)
        sys.argv = [path]
        sys.path[0] = os.path.dirname(path)
        runpy.run_path(path, run_name="__main__")
        sys.stdout.flush()
        os.rename(printed + ".part", printed)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(f"{path} failed under PyTorch")
"""


def environment():
    """Variables of a child process: the tree's Rushlight, one thread for the oracle."""
    paths = [SOURCE, os.environ.get("PYTHONPATH", "")]
    variables = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, paths)))
    return dict(variables, OMP_NUM_THREADS="1", PYTHONWARNINGS="default")


def run(*arguments, cwd=None):
    """The finished process of `python arguments...`."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=120,
        cwd=cwd,
    )


def run_rushlight(*arguments, cwd=None):
    """What a program prints when `rushlight run` runs it; the test fails if it fails."""
    done = run("-m", "rushlight", "run", *arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


class TorchRun:
    """Programs that run under PyTorch, one after the other, while the tests do something else."""

    def __init__(self, paths, folder):
        self.folder, self.errors = Path(folder), Path(folder) / "errors"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-c", DRIVER, str(folder), *map(str, paths)],
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=environment(),
            )

    def printed(self, name, timeout=240):
        """What the program of this file name prints; waits for it."""
        path, end = self.folder / f"{name}.txt", time.monotonic() + timeout
        while not path.is_file():
            if self.process.poll() is not None and not path.is_file():
                raise AssertionError(self.errors.read_text())
            if time.monotonic() > end:
                raise AssertionError(f"{name} does not end under PyTorch")
            time.sleep(0.05)
        return path.read_text()

    def stop(self):
        """End what still runs."""
        self.process.kill()
        self.process.wait()


def run_torch(paths, folder):
    """What the programs print under PyTorch, by name."""
    started = TorchRun(paths, folder)
    try:
        return {Path(p).name: started.printed(Path(p).name) for p in paths}
    finally:
        started.stop()


def losses(text):
    """The ``loss i value`` lines as a dictionary."""
    rows = [line.split() for line in text.splitlines()]
    return {int(row[1]): float(row[2]) for row in rows if row[:1] == ["loss"]}


def quality(text):
    """The words of the ``quality`` line."""
    (found,) = [line.split()[1:] for line in text.splitlines() if line.startswith("quality ")]
    return found


def oracle_of(programs):
    """A fixture: the programs under PyTorch, which run beside the tests; None without PyTorch."""

    @pytest.fixture(scope="module")
    def oracle(tmp_path_factory):
        if not HAS_TORCH:
            yield None
            return
        started = TorchRun(programs, tmp_path_factory.mktemp("oracle"))
        yield started
        started.stop()

    return oracle
