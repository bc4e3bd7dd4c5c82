"""What the numerical parts are built from, as text for bug reports."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from rushlight._version import __version__
from rushlight.machine.threads import get_num_threads

_PARTS = ("numpy", "llvmlite", "scipy-openblas64", "ml-dtypes")


def show() -> str:
    """Versions of Rushlight, Python and the array libraries, one a line."""
    lines = [f"Rushlight {__version__} built with:", f"  - Python {platform.python_version()}"]
    for name in _PARTS:
        try:
            lines.append(f"  - {name} {version(name)}")
        except PackageNotFoundError:
            lines.append(f"  - {name} without installed metadata")
    return "\n".join([*lines, "  - USE_CUDA=OFF", ""])


def parallel_info() -> str:
    """How many threads kernels use, and whose they are."""
    return f"Rushlight worker pool\n\tget_num_threads() : {get_num_threads()}\n"
