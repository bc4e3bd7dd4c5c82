"""Algorithms of the host, of tensors on CUDA: its emulator, in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("host_measures_on_cuda.py")


@pytest.mark.skipif(shutil.which("g++") is None, reason="the emulator needs the compiler g++")
def test_results_are_those_of_the_cpu_and_stay_on_the_device():
    environment = os.environ | {"RUSHLIGHT_CUDA": "emu"}
    command = [sys.executable, str(PROGRAM)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["speech and beats"]
