"""The programs of this folder, written as people write for PyTorch, run by `rushlight run`.

Each prints lines `name = value`; they are PyTorch's, which runs the same file where it is
installed, and as recorded where it is not. `python tests/clients/test_clients.py` records them.
"""

import json
import re
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent / "compat"))
from running import oracle_of, run_rushlight, run_torch

PROGRAMS = sorted(path for path in FOLDER.glob("*.py") if not path.name.startswith("test_"))
RECORDED = FOLDER / "recorded.json"
LINE = re.compile(r"^(\w+) *= *(\S+)$", re.MULTILINE)
# Values of the first steps, and numbers that do not depend on rounding.
RTOL = 1e-4
# At the end of training the last bits have grown: kernels of other processors round otherwise.
LATE = {
    "last",
    "best",
    "test",
    "batch",
    "perplexity",
    "decibels",
    "moved",
    "second_layer",
    "future",
}
LATE_RTOL = 0.02
# Shares of right answers may differ by a few items.
SHARES = {"accuracy", "clean", "error"}
SHARE_ATOL = 0.06
# Two processes write without locks (hogwild), or an action turns with the last bit (actor_critic).
BY_CHANCE = {("hogwild", "last"), ("hogwild", "accuracy"), ("actor_critic", "last")}


def values(printed):
    """The lines `name = value` as numbers by name."""
    return {name: float(value) for name, value in LINE.findall(printed)}


oracle = oracle_of(PROGRAMS)


def check(program, ours, expected):
    """All values of a program are those expected."""
    assert list(ours) == list(expected)
    for name, value in expected.items():
        if (program, name) in BY_CHANCE:
            continue
        if name in SHARES:
            wanted = pytest.approx(value, abs=SHARE_ATOL)
        else:
            wanted = pytest.approx(value, rel=LATE_RTOL if name in LATE else RTOL)
        assert ours[name] == wanted, name


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_client_prints_what_it_prints_with_pytorch(program, oracle, tmp_path):
    ours = values(run_rushlight(program, cwd=tmp_path))
    assert ours["last"] < 0.8 * ours["first"]  # it learns
    check(program.stem, ours, json.loads(RECORDED.read_text())[program.stem])
    if oracle is not None:
        check(program.stem, ours, values(oracle.printed(program.name)))


def test_twenty_clients_are_recorded():
    assert len(PROGRAMS) == 20
    assert sorted(json.loads(RECORDED.read_text())) == [path.stem for path in PROGRAMS]


def record(folder):
    """Write down what the programs print with PyTorch."""
    printed = run_torch(PROGRAMS, folder)
    found = {path.stem: values(printed[path.name]) for path in PROGRAMS}
    RECORDED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as temporary:
        record(temporary)
