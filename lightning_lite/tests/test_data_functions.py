"""Files, splitters and labellers of `easy` give what fastai's give."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from lightning_lite import easy

FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "fastai_splits.json").read_text())
_spec = importlib.util.spec_from_file_location("splits", FOLDER / "fastai_splits.py")
program = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(program)


class Columns:
    """The little of a DataFrame that a splitter reads."""

    def __init__(self, rows):
        self.rows, self.iloc = rows, self

    def __getitem__(self, key):
        if isinstance(key, tuple):
            key = list(self.rows[0])[key[1]]
        return [row[key] for row in self.rows]


def test_splits_are_fastais(tmp_path):
    pytest.importorskip("sklearn")
    found = program.splits(easy, tmp_path)
    assert found == RECORDED["splits"]


def test_splits_by_columns_are_fastais():
    assert program.columns(easy, Columns(program.ROWS)) == RECORDED["columns"]


def test_splits_of_a_real_dataframe():
    pandas = pytest.importorskip("pandas")
    assert program.columns(easy, pandas.DataFrame(program.ROWS)) == RECORDED["columns"]
    assert program.labels(easy, pandas.Series) == RECORDED["labels"]


def test_labels_are_fastais():
    assert program.labels(easy, dict) == RECORDED["labels"]


def test_files_are_fastais(tmp_path):
    assert program.found(easy, tmp_path) == RECORDED["files"]
    assert easy.get_files(tmp_path) == sorted(easy.get_files(tmp_path))


def test_misuse_is_named(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="nothing"):
        easy.get_files(tmp_path / "nothing")
    with pytest.raises(ValueError, match="valid_pct=20"):
        easy.RandomSplitter(20)
    with pytest.raises(ValueError, match=r"valid_sz=0\.5"):
        easy.RandomSubsetSplitter(0.8, 0.5)
    with pytest.raises(TypeError, match="list; expected a DataFrame"):
        easy.ColSplitter()([1, 2])
    with pytest.raises(ValueError, match="is not in 'plain'"):
        easy.RegexLabeller(r"(\d+)")("plain")
    monkeypatch.setitem(sys.modules, "sklearn.model_selection", None)
    with pytest.raises(ModuleNotFoundError, match="scikit-learn"):
        easy.TrainTestSplitter()([1, 2, 3])
