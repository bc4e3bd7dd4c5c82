"""Damaged and hostile archives and ONNX models, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def test_some_hundred_changed_files_of_each_format():
    """Nothing crashes, takes memory or runs code, and every error is the loaders' own and names
    the file."""
    pytest.importorskip("onnx")
    command = [sys.executable, str(ROOT / "ci" / "fuzz_graphs.py"), "--cases", "600"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "600 pt2 files" in done.stdout and "600 onnx files" in done.stdout
