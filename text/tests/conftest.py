"""Let the tests import what they share, and find what other libraries answered."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
# `nox -s text_family` records anew and names its folder here.
RECORDED = Path(os.environ.get("RUSHLIGHT_TEXT_RECORDED", Path(__file__).parent / "recorded"))


@pytest.fixture(scope="session")
def recorded():
    """A function from a name to what `ci/text_recorder` wrote under it."""
    return lambda name: json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def recorded_folder():
    """Where `ci/text_recorder` wrote."""
    return RECORDED
