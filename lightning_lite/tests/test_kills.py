"""Trainings killed by SIGKILL at random moments end as if nothing had happened."""

from __future__ import annotations

import csv
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rushlight as rl

PROGRAM = Path(__file__).with_name("killed_training.py")
# How often each kind is killed; `nox -s kills` asks for more.
KILLS = int(os.environ.get("RUSHLIGHT_KILLS", "3"))
KINDS = [("map", 0), ("map", 2), ("iterable", 0), ("iterable", 2), ("stateful", 0)]


def run(folder, kind, workers, seconds=None):
    """Run the training, and kill it `seconds` after it began; whether it ended, and its time."""
    command = [sys.executable, str(PROGRAM), str(folder), kind, str(workers)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    child.stdout.readline()
    began = time.monotonic()
    try:
        _, said = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return False, seconds
    assert child.returncode == 0, said
    return True, time.monotonic() - began


def rows(folder):
    """The rows of the log."""
    with open(folder / "logs" / "version_0" / "metrics.csv", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("kind", "workers"), KINDS)
def test_killed_trainings_end_the_same(kind, workers, tmp_path):
    _, lasted = run(tmp_path / "whole", kind, workers)
    expected, logged = rl.load(tmp_path / "whole" / "final.pt"), rows(tmp_path / "whole")
    assert len(logged) == 24
    chance, kills, trainings = random.Random(f"{kind}{workers}"), 0, 0
    while kills < KILLS:
        trainings += 1
        folder, ended = tmp_path / str(trainings), False
        while not ended:
            moment = chance.uniform(0.05, 0.6) * lasted if kills < KILLS else None
            ended, _ = run(folder, kind, workers, moment)
            kills += not ended
        found = rl.load(folder / "final.pt")
        assert all(rl.equal(expected[name], found[name]) for name in expected)
        assert rows(folder) == logged
