"""Damaged and hostile archives, in a process of its own."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_two_and_a_half_thousand_changed_archives():
    """Nothing crashes, takes memory or runs code, and every error names the file."""
    command = [sys.executable, str(ROOT / "ci" / "fuzz_archives.py"), "--cases", "2500"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2500 archives" in done.stdout
