"""The same draws for the same seed: first weights, dropout, masks and samples of every network take
the numbers that torchaudio 2.9.1's take."""

import json
from pathlib import Path

import network_draws
import network_measures
import pytest

import rushlight as rl
from rushlight_audio import models

RECORDED = Path(__file__).parents[1] / "recorded"
POSITIONS = json.loads((RECORDED / "draws.json").read_text())["networks"]
WEIGHTS = network_measures.load(str(RECORDED / "network_draws.npz"))


@pytest.mark.parametrize("name", network_draws.CASES)
def test_same_draws_for_the_same_seed(name):
    positions, weights = network_draws.measure(rl, models, name)
    assert positions.keys() == POSITIONS[name].keys()
    for mode, expected in POSITIONS[name].items():
        known = [each or found for found, each in zip(positions[mode], expected, strict=True)]
        assert [mode, positions[mode]] == [mode, known]
    assert network_measures.differences(weights, WEIGHTS[name]) == []


def test_faults_of_torchaudio_are_few():
    ends = [each for row in POSITIONS.values() for mode in row.values() for each in mode]
    assert ends.count(None) <= 0.02 * len(ends)


def test_networks_draw_in_training():
    drawing = {
        n for n, each in POSITIONS.items() if each.get("train", each["eval"]) != each["eval"]
    }
    assert len(drawing) >= 10
