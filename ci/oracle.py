"""Install the CPU build of PyTorch, the tests' oracle, into the running environment.

Only a wheel marked `+cpu` is taken, and nothing it depends on but small pure-Python packages: the
plain wheel for Linux brings gigabytes of CUDA libraries. Where there is no such wheel, the tests
that compare with it are skipped, and one line says so.

Usage: python ci/oracle.py [--required]
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys

VERSION = "2.13.0"
REQUIREMENT = f"torch=={VERSION}+cpu"
PURE = (
    "filelock",
    "typing-extensions",
    "sympy",
    "networkx",
    "jinja2",
    "fsspec",
    "setuptools",
    "expecttest",
)


def installer() -> list[str]:
    """The command that installs into this environment: its own pip, or uv where it has none."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", "--quiet"]
    uv = shutil.which("uv")
    if uv:
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    raise SystemExit("neither pip nor uv is here to install the oracle with")


def imports() -> bool:
    """Whether a fresh process imports the oracle in the right version."""
    program = f"import torch; raise SystemExit(torch.__version__.split('+')[0] != {VERSION!r})"
    return subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0


def install() -> bool:
    """Install the oracle; return whether it is there afterwards."""
    if imports():
        return True
    command = installer()
    print(f"installing the tests' oracle, {REQUIREMENT}, where pip finds it", flush=True)
    wheel = subprocess.run([*command, "--no-deps", REQUIREMENT], capture_output=True)
    if wheel.returncode:
        return False
    return subprocess.run([*command, *PURE]).returncode == 0 and imports()


def main() -> int:
    if install():
        print(f"torch {VERSION} (CPU) is the oracle")
        return 0
    print(f"torch oracle not available ({REQUIREMENT}): tests that compare with it are skipped")
    return 1 if "--required" in sys.argv[1:] else 0


if __name__ == "__main__":
    raise SystemExit(main())
