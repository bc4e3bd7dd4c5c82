"""Tables and ratings: columns as numbers, fastai's networks, five-line programs."""

from __future__ import annotations

import importlib.util
import json
import random
from pathlib import Path

import pytest

import rushlight as rl
from lightning_lite import easy

FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "fastai.json").read_text())
_spec = importlib.util.spec_from_file_location("curves", FOLDER / "fastai_curves.py")
curves = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(curves)


def test_networks_are_fastais():
    found = curves.tables(rl, easy.TabularModel, easy.EmbeddingDotBias)
    assert sorted(found) == sorted(RECORDED["networks"])
    for name, rows in RECORDED["networks"].items():
        assert rl.allclose(rl.tensor(found[name]), rl.tensor(rows), rtol=1e-4), name


def test_sizes_of_embeddings_are_fastais():
    found = [easy.emb_sz_rule(n) for n in (2, 5, 20, 100, 1000, 100_000)]
    assert found == RECORDED["sizes"]


TABLE = {
    "kind": ["b", "a", None, "b"],
    "size": [1.0, None, 3.0, float("nan")],
    "other": [2, 2, 2, 2],
}


def test_columns_become_numbers():
    processor = easy.TabularProcessor(["kind"], ["size", "other"]).fit(TABLE)
    categories, numbers = processor.transform(TABLE)
    assert processor.classes["kind"] == ["#na#", "a", "b"] and processor.flags == ["size"]
    assert categories[:, 0].tolist() == [2, 1, 0, 2]
    assert categories[:, 1].tolist() == [1, 2, 1, 2]  # whether the size was empty
    assert numbers[:, 0].tolist() == pytest.approx([-(2**0.5), 0, 2**0.5, 0])
    assert numbers[:, 1].tolist() == [0.0] * 4 and categories.dtype is rl.int64
    assert processor.embeddings == [(3, 3), (3, 3)]
    new = {"kind": ["z", "a"], "size": [2.0, 4.0], "other": [3, 2]}
    categories, numbers = processor.transform(new)
    assert categories.tolist() == [[0, 1], [1, 1]]
    assert numbers[1].tolist() == pytest.approx([2 * 2**0.5, 0.0])


def test_tables_that_lack_something():
    with pytest.raises(KeyError, match="nothing"):
        easy.TabularProcessor([], ["nothing"]).fit(TABLE)
    with pytest.raises(ValueError, match="'size' has no numbers"):
        easy.TabularProcessor([], ["size"]).fit({"size": [None, None]})


def people(count=400):
    """A table whose column `rich` follows from the others, with holes."""
    draw = random.Random(1)
    kinds = [draw.choice("abc") for _ in range(count)]
    hours = [draw.gauss(40, 10) for _ in range(count)]
    rich = [
        "yes" if hour + (12 if kind == "a" else 0) > 44 else "no"
        for kind, hour in zip(kinds, hours, strict=True)
    ]
    hours = [None if draw.random() < 0.05 else hour for hour in hours]
    return {"kind": kinds, "hours": hours, "rich": rich}


def test_a_table_is_learnt_in_five_lines(tmp_path):
    rl.manual_seed(0)
    learn = easy.tabular_learner(
        people(), "rich", ["kind"], ["hours"], layers=[32], metrics=easy.accuracy, path=tmp_path,
        enable_progress_bar=False,
    )  # fmt: skip
    learn.fit_one_cycle(15, 0.02)
    assert learn.vocab == ["no", "yes"] and learn.validate()[1] > 0.9
    categories, numbers = learn.processor.transform({"kind": ["a"], "hours": [70.0]})
    assert learn.vocab[int(learn.model.eval()(categories, numbers).argmax())] == "yes"


def test_a_number_of_a_table_is_learnt(tmp_path):
    rl.manual_seed(0)
    table = people(300)
    table["wage"] = [float(30 if kind == "a" else 10) for kind in table["kind"]]
    learn = easy.tabular_learner(
        table, "wage", ["kind"], [], bs=16, layers=[16], y_range=(0.0, 40.0), path=tmp_path,
        enable_progress_bar=False,
    )  # fmt: skip
    learn.fit_one_cycle(12, 0.05)
    assert learn.vocab is None and learn.validate()[0] < 9.0


def test_ratings_are_learnt(tmp_path):
    rl.manual_seed(0)
    draw = random.Random(2)
    users = [f"u{draw.randrange(12)}" for _ in range(600)]
    items = [f"i{draw.randrange(9)}" for _ in range(600)]
    ratings = [
        5.0 if int(user[1:]) % 2 == int(item[1:]) % 2 else 1.0
        for user, item in zip(users, items, strict=True)
    ]
    learn = easy.collab_learner(
        users, items, ratings, n_factors=6, y_range=(0.5, 5.5), path=tmp_path,
        enable_progress_bar=False,
    )  # fmt: skip
    learn.fit_one_cycle(15, 0.1)
    assert len(learn.users) == 13 and learn.items[0] == "#na#"
    assert learn.validate()[0] < 0.5


class NAType:
    """Stands for pandas' NA, which is neither equal to anything nor unequal."""

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")

    def __eq__(self, other):
        return self

    def __ne__(self, other):
        return self

    __hash__ = object.__hash__


def test_pandas_na_is_empty():
    table = {"kind": ["a", NAType(), "b"], "size": [1.0, 3.0, NAType()]}
    processor = easy.TabularProcessor(["kind"], ["size"], normalize=False).fit(table)
    categories, numbers = processor.transform(table)
    assert categories.tolist() == [[1, 1], [0, 1], [2, 2]]
    assert numbers[:, 0].tolist() == [1.0, 3.0, 2.0]


def test_columns_without_an_order_are_named():
    with pytest.raises(ValueError, match=r"column 'kind' mixes values of the types \['int', 'str'"):
        easy.TabularProcessor(["kind"], []).fit({"kind": [1, "a"]})
