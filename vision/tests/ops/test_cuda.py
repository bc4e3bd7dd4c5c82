"""The operators on CUDA: its kernels run by the emulator, in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("both_devices.py")


@pytest.mark.skipif(shutil.which("g++") is None, reason="the emulator needs the compiler g++")
def test_results_and_gradients():
    environment = os.environ | {"RUSHLIGHT_CUDA": "emu"}
    command = [sys.executable, str(PROGRAM)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["7 operators"]
