"""The flags of how much is trained and when validation runs do what Lightning's do (recorded)."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import lightning_lite as L
import rushlight as rl

FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "grid.json").read_text())
_spec = importlib.util.spec_from_file_location("grid", FOLDER / "grid.py")
grid = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(grid)


@pytest.mark.parametrize("name", list(dict(grid.combinations())))
@pytest.mark.filterwarnings("ignore")
def test_combination(name, tmp_path):
    options = dict(grid.combinations())[name]
    assert grid.run(L, rl, options, tmp_path) == RECORDED[name]
