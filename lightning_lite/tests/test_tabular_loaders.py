"""Tables become fastai's batches; rows are predicted; misuse is told by name."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import rushlight as rl
from lightning_lite import easy
from rushlight import nn

FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "fastai_tables.json").read_text())
_spec = importlib.util.spec_from_file_location("tables", FOLDER / "fastai_tables.py")
program = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(program)
QUIET = {"enable_progress_bar": False}


def test_batches_are_fastais():
    found = program.answers(easy, program.TABLE)
    assert found.keys() == RECORDED.keys()
    for name, parts in found.items():
        for part, expected in zip(parts, RECORDED[name], strict=True):
            if not isinstance(part[0], list):
                assert part == expected, name
                continue
            for row, other in zip(part, expected, strict=True):
                assert row == pytest.approx(other, abs=2e-4), name


def table(count=200):
    """A class that two columns say together, and a number."""
    kinds = [("a", "b", "c")[n % 3] for n in range(count)]
    numbers = [(n * 7 % 50) / 10 for n in range(count)]
    rows = list(zip(kinds, numbers, strict=True))
    side = ["left" if (kind == "a") != (x > 2.5) else "right" for kind, x in rows]
    return {"kind": kinds, "x": numbers, "side": side, "sum": [x + "abc".index(k) for k, x in rows]}


def loaders(target, **options):
    return easy.TabularDataLoaders.from_df(
        table(), cat_names=["kind"], cont_names=["x"], y_names=target, seed=1, bs=16, **options
    )


def test_classes_are_learnt(tmp_path):
    rl.manual_seed(0)
    dls = loaders("side")
    assert [len(dls.train.dataset), len(dls.valid.dataset)] == [160, 40]
    learn = easy.tabular_learner(
        dls, layers=[20, 10], emb_szs={"kind": 2}, metrics=easy.accuracy, path=tmp_path, **QUIET
    )
    assert learn.model.embeds[0].weight.shape == (4, 2)
    learn.fit_one_cycle(12, 0.03)
    assert learn.validate()[1] > 0.9
    name, number, shares = learn.predict({"kind": "a", "x": 4.5, "more": 1})
    seen = learn.predict({"kind": "a", "x": 4.5, "more": 1}, with_input=True)[0]
    assert seen == {"kind": "a", "x": 4.5}
    assert name == "right" == dls.vocab[int(number)] and float(shares.sum()) == pytest.approx(1)
    again = easy.load_learner(learn.export(), **QUIET)
    assert rl.equal(again.predict({"kind": "a", "x": 4.5})[2], shares)
    outputs, targets = learn.get_preds(dls.test_dl({"kind": ["a", "b"], "x": [1.0, 2.0]}))
    assert outputs.shape == (2, 2) and targets is None


def test_numbers_are_learnt(tmp_path):
    rl.manual_seed(0)
    learn = easy.tabular_learner(
        loaders("sum"), layers=[20], y_range=(-1, 8), config={"ps": 0.0}, path=tmp_path, **QUIET
    )
    learn.fit_one_cycle(15, 0.03)
    assert learn.validate()[0] < 0.3
    value, tensor, _ = learn.predict({"kind": "b", "x": 3.0})
    assert value == tensor.tolist() and abs(value[0] - 4) < 1
    several = loaders(["sum", "x"])
    assert several.one_batch()[-1].shape == (16, 2)
    assert easy.tabular_learner(several).model.layers[-1].out_features == 2


def test_csv(tmp_path):
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame(table(20)).to_csv(tmp_path / "a.csv", index=False)
    dls = easy.TabularDataLoaders.from_csv(
        tmp_path / "a.csv", cat_names=["kind"], y_names="side", valid_idx=[0, 1], bs=4
    )
    assert dls.processor.cont_names == ["x", "sum"] and dls.vocab == ["left", "right"]


def test_misuse_is_named():
    with pytest.raises(KeyError, match=r"no columns \['hours'\]"):
        easy.TabularDataLoaders.from_df(table(9), cont_names=["hours"], y_names="sum")
    with pytest.raises(ValueError, match="y_names is missing"):
        easy.TabularDataLoaders.from_df(table(9), cat_names=["kind"])
    with pytest.raises(TypeError, match=r"procs: \['Resize'\]"):
        loaders("side", procs=[easy.Resize(3)])
    with pytest.raises(ValueError, match="need Categorify"):
        loaders("side", procs=[easy.FillMissing])
    with pytest.raises(NotImplementedError, match="kind 'categories'"):
        loaders("side", y_block=easy.MultiCategoryBlock)
    with pytest.raises(KeyError, match="'left' is not among the 1"):
        loaders("side", y_block=easy.CategoryBlock(["right"]))
    with pytest.raises(ValueError, match="'x' has empty cells; FillMissing"):
        made = {**table(9), "x": [None] + [1.0] * 8}
        easy.TabularDataLoaders.from_df(
            made, procs=easy.Categorify, cat_names=["kind"], cont_names=["x"], y_names="side",
            valid_idx=[8],
        )  # fmt: skip
    with pytest.raises(TypeError, match="target is missing"):
        easy.tabular_learner(table(9))
    learn = easy.tabular_learner(loaders("side"), **QUIET)
    with pytest.raises(KeyError, match=r"predict: no columns \['kind'\]"):
        learn.predict({"x": 3.0})
    assert isinstance(learn.module.loss_func, nn.CrossEntropyLoss)
