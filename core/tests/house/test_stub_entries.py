"""What is written by hand about types is written about names that are there."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnx")  # public modules that need it are described, too
CI = Path(__file__).parents[3] / "ci"
if not (CI / "stub_writer").exists():
    pytest.skip("the repository's ci folder is not here", allow_module_level=True)

ADDED = """
import sys
sys.path.insert(0, sys.argv[1])
from stub_writer import by_hand, op_types, stale
by_hand._table()["rushlight.optim.optimizer.Gone"] = ["x: int"]
op_types._table()["relu", "gone"] = "int"
op_types._table()["rushlight.nn.containers.Sequential.gone", "x"] = "int"
op_types._table()["rushlight.nn.containers.Sequential.append", "gone"] = "int"
op_types._table()["rushlight.nn.containers.Sequential.append", "module"] = "Module"
print("\\n".join(sorted(stale.entries())))
"""


def test_entries_of_names_that_are_gone_are_found_and_no_others():
    command = [sys.executable, "-c", ADDED, str(CI)]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    assert run.stdout.splitlines() == [
        "by_hand.txt: rushlight.optim.optimizer.Gone",
        "op_types.txt: relu.gone",
        "op_types.txt: rushlight.nn.containers.Sequential.append.gone",
        "op_types.txt: rushlight.nn.containers.Sequential.gone.x",
    ]
