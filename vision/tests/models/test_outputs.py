"""Networks of all families draw torchvision's first weights and compute its scores.

`torchvision.npz` is written by ``ci/vision_models.py record FILE --few``; `nox -s family` compares
all networks where torchvision can be installed.
"""

from __future__ import annotations

from pathlib import Path

import measured
import pytest

import rushlight as rl
from rushlight_vision import models

RECORDED = measured.load(str(Path(__file__).with_name("torchvision.npz")))


@pytest.mark.parametrize("name", RECORDED)
def test_network(name):
    found = measured.measure(rl, models, name)
    assert measured.differences(found, RECORDED[name]) == []


def test_every_family_is_recorded():
    plain = [name for name in RECORDED if name not in measured.VARIANTS]
    families = {models.get_model_builder(name).__module__ for name in plain}
    every = models.list_models(module=models)
    assert families == {models.get_model_builder(name).__module__ for name in every}


def test_every_variant_is_recorded():
    assert set(measured.VARIANTS) <= set(RECORDED)


def test_a_difference_is_seen():
    expected = RECORDED["squeezenet1_1"]
    found = {**expected, "eval": expected["eval"] * (1 + 1e-7)}
    assert measured.differences(found, expected) == ["eval: differs by 1.0e-07"]
    found = {**expected, "parameters": expected["parameters"] + 1}
    assert "parameters" in measured.differences(found, expected)[0]
