"""ci/add_an_op.py: an op is added in one file (a heavy one in two), and all else follows."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "ci" / "add_an_op.py"
pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="the tests stand alone, without ci/")


def test_an_op_of_every_kind_is_added_in_as_few_files_as_it_may_touch():
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = [line.split()[-1] for line in done.stdout.splitlines() if "files touched" in line]
    assert counts == ["1", "1", "1", "1", "2"]
    assert "5 of 5 ops" in done.stdout
