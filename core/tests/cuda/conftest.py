"""CUDA's tests run on the emulator, or on a device with RUSHLIGHT_CUDA_TESTS=real."""

from __future__ import annotations

import os
import pathlib
import sys

import pytest

from rushlight.machine.cuda import runtime

sys.path.insert(0, str(pathlib.Path(__file__).parent))  # kernel_cases


@pytest.fixture(autouse=True, scope="module")
def _emulated():
    """Per module: the tests of other folders see no GPU."""
    before = os.environ.get("RUSHLIGHT_CUDA")
    os.environ["RUSHLIGHT_CUDA"] = os.environ.get("RUSHLIGHT_CUDA_TESTS", "emu")
    if not runtime.available():
        pytest.fail(runtime.why_unavailable())
    from rushlight.backends import cudnn

    # Convolutions are compared with the CPU's, and with themselves bit for bit; PyTorch's default
    # lets a device round to TF32, and add in any order.
    before_tests = cudnn.allow_tf32, cudnn.deterministic
    cudnn.allow_tf32, cudnn.deterministic = False, True
    yield
    cudnn.allow_tf32, cudnn.deterministic = before_tests
    os.environ.pop("RUSHLIGHT_CUDA")
    if before is not None:
        os.environ["RUSHLIGHT_CUDA"] = before
    runtime.available()  # looks at the environment again
