"""The programs of tests/programs, unchanged, under PyTorch and under Rushlight: the same losses."""

import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from running import HAS_TORCH, losses, quality, run_rushlight, run_torch

PROGRAMS = sorted((Path(__file__).parents[1] / "programs").glob("*.py"))
RTOL = 1e-4
# Final quality may differ by rounding in the last digit that is printed.
QUALITY_RTOL = 0.01


@pytest.fixture(scope="module")
def oracle(tmp_path_factory):
    """What the programs print under PyTorch."""
    if not HAS_TORCH:
        return None
    return run_torch(PROGRAMS, tmp_path_factory.mktemp("oracle"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_first_losses_are_pytorchs(program, oracle, tmp_path):
    printed = run_rushlight(program, cwd=tmp_path)
    ours = losses(printed)
    assert len(ours) >= 20 and all(math.isfinite(loss) for loss in ours.values())
    if oracle is None:
        pytest.skip("PyTorch is not installed: ran, nothing to compare with")
    theirs = losses(oracle[program.name])
    first = sorted(theirs)[:20]
    assert [ours[i] for i in first] == pytest.approx([theirs[i] for i in first], rel=RTOL)
    for mine, expected in zip(quality(printed), quality(oracle[program.name]), strict=True):
        try:
            value = float(expected)
        except ValueError:
            assert mine == expected
        else:
            assert float(mine) == pytest.approx(value, rel=QUALITY_RTOL, abs=2e-3)
