"""The programs of tests/programs, unchanged, under PyTorch and under Rushlight: the same losses."""

import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from running import losses, oracle_of, quality, run_rushlight

PROGRAMS = sorted((Path(__file__).parents[1] / "programs").glob("*.py"))
RTOL = 1e-4
# Final quality may differ by rounding in the last digit that is printed.
QUALITY_RTOL = 0.01


oracle = oracle_of(PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_first_losses_are_pytorchs(program, oracle, tmp_path):
    printed = run_rushlight(program, cwd=tmp_path)
    ours = losses(printed)
    assert len(ours) >= 20 and all(math.isfinite(loss) for loss in ours.values())
    if oracle is None:
        pytest.skip("PyTorch is not installed: ran, nothing to compare with")
    expected = oracle.printed(program.name)
    theirs = losses(expected)
    first = sorted(theirs)[:20]
    assert [ours[i] for i in first] == pytest.approx([theirs[i] for i in first], rel=RTOL)
    for mine, other in zip(quality(printed), quality(expected), strict=True):
        try:
            value = float(other)
        except ValueError:
            assert mine == other
        else:
            assert float(mine) == pytest.approx(value, rel=QUALITY_RTOL, abs=2e-3)
