"""The operators give what torchvision gave: values, gradients, states, errors, signatures.

`torchvision.npz` is written by `ci/vision_family.py record FILE --few`; `nox -s family` compares
many more cases where torchvision can be installed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import recorded

import rushlight as rl
from rushlight_vision import ops

RECORDS, SIGNATURES = recorded.load(str(Path(__file__).with_name("torchvision.npz")))
LIBRARY = recorded.Library(rl, ops)
NAMES = [f"{number}-{case['name']}" for number, (case, _, _) in enumerate(RECORDS)]


@pytest.mark.parametrize("record", RECORDS, ids=NAMES)
def test_recorded_call(record):
    case, given, expected = record
    found = recorded.outcome(LIBRARY, case, given)
    assert recorded.differences(found, expected) == []


def test_all_names_are_recorded():
    assert sorted(ops.__all__) == sorted(SIGNATURES)
    assert {case["name"] for case, _, _ in RECORDS} == set(SIGNATURES)


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_signature(name):
    assert recorded.signature(getattr(ops, name)) == SIGNATURES[name]


def test_a_difference_is_seen():
    case, given, expected = RECORDS[0]
    found = recorded.outcome(LIBRARY, case, given)
    found["result 0"] = found["result 0"] * 1.001
    assert recorded.differences(found, expected)
