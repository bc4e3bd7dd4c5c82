"""Run a program and keep the text of every module of machine code that it asks for.

Usage: python ci/prebuild_recorder.py FOLDER MODULE [ARGUMENT ...]

MODULE is run as by `python -m`. Started by ci/prebuild.py, with nothing in the cache of kernels.
"""

from __future__ import annotations

import runpy
import sys
import zlib
from pathlib import Path

from rushlight.machine import prebuilt
from rushlight.machine.language import emulated_tiles


def record(folder: Path):
    """What stands for `prebuilt.find`: it finds nothing and keeps what was asked for."""

    def find(text, passes, processor):
        if emulated_tiles.SYMBOL not in text:  # it stands for instructions that others have
            path = folder / prebuilt.name_of(text, passes).hex()
            if not path.exists():
                path.write_bytes(zlib.compress(prebuilt.described(text, passes).encode()))

    return find


if __name__ == "__main__":
    prebuilt.find = record(Path(sys.argv[1]))
    sys.argv = sys.argv[2:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
