"""What tests that start other processes share."""

from __future__ import annotations

import os

import pytest

LIMIT = 240  # seconds: machines that test are busy


def environment() -> dict[str, str]:
    """The variables of a process, without a launcher's."""
    launchers = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_PORT", "NODE_RANK", "SLURM_NTASKS")
    kept = {name: value for name, value in os.environ.items() if name not in launchers}
    return {**kept, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}


def flat(weights) -> list[float]:
    """All numbers of a nested structure."""
    if isinstance(weights, dict):
        weights = list(weights.values())
    if not isinstance(weights, list):
        return [weights]
    return [each for part in weights for each in flat(part)]


def check_close(left, right) -> None:
    """Assert that two structures' numbers agree to 1e-6."""
    assert flat(left) == pytest.approx(flat(right), abs=1e-6)
