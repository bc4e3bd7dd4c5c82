"""CUDA's tests run on the emulator."""

from __future__ import annotations

import os
import pathlib
import sys

import pytest

from rushlight.backends.cuda import runtime

sys.path.insert(0, str(pathlib.Path(__file__).parent))  # kernel_cases


@pytest.fixture(autouse=True, scope="session")
def _emulated():
    before = os.environ.get("RUSHLIGHT_CUDA")
    os.environ["RUSHLIGHT_CUDA"] = "emu"
    runtime.reset()
    yield
    os.environ.pop("RUSHLIGHT_CUDA")
    if before is not None:
        os.environ["RUSHLIGHT_CUDA"] = before
    runtime.reset()
