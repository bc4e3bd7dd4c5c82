"""Ratings: fastai's loaders and networks (recorded values), predicting, exporting, misuse."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import rushlight as rl
from lightning_lite import easy

FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "fastai_ratings.json").read_text())
_spec = importlib.util.spec_from_file_location("ratings", FOLDER / "fastai_ratings.py")
program = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(program)
QUIET = {"enable_progress_bar": False}


def test_loaders_and_networks_are_fastais():
    class Ours:
        CollabDataLoaders = easy.CollabDataLoaders

        @staticmethod
        def collab_learner(*args, **options):
            learn = easy.collab_learner(*args, **options, **QUIET)
            learn.loss_func = learn.module.loss_func
            return learn

    found = program.answers(rl, Ours, program.TABLE)
    assert sorted(found) == sorted(RECORDED)
    exact = ("classes", "named", "lengths", "batches", "shapes", "plain shapes")
    for name, expected in RECORDED.items():
        if name in exact:
            assert found[name] == expected, name
            continue
        pairs = (
            zip(found[name], expected, strict=True) if name == "bias" else [(found[name], expected)]
        )
        for one, other in pairs:
            assert rl.allclose(rl.tensor(one), rl.tensor(other), atol=1e-5), name


def opinions(count=400):
    """Everybody likes what has the same parity."""
    users = [f"u{(7 * n) % 12}" for n in range(count)]
    items = [f"i{(n * n + n // 12) % 9}" for n in range(count)]
    pairs = zip(users, items, strict=True)
    stars = [5.0 if int(u[1:]) % 2 == int(i[1:]) % 2 else 1.0 for u, i in pairs]
    return {"user": users, "item": items, "stars": stars}


@pytest.mark.parametrize("use_nn", [False, True])
def test_opinions_are_learnt_and_exported(tmp_path, use_nn):
    rl.manual_seed(0)
    dls = easy.CollabDataLoaders.from_df(opinions(), seed=0, bs=32)
    learn = easy.collab_learner(
        dls, n_factors=6, use_nn=use_nn, y_range=(0.5, 5.5), metrics=[easy.mae, easy.rmse],
        path=tmp_path, **QUIET,
    )  # fmt: skip
    learn.fit_one_cycle(20, 0.1)
    loss, error, root = learn.validate()
    assert loss < 0.6 and error < 0.6 and root == pytest.approx(loss**0.5, rel=1e-4)
    (stars, *_) = learn.predict({"user": "u2", "item": "i4"})
    assert float(rl.tensor(stars)) > 4
    shown = str(learn.show_results(3))
    assert "user" in shown and "stars_pred" in shown
    again = easy.load_learner(learn.export(), **QUIET)
    row = {"user": "nobody", "item": "i3"}
    assert again.predict(row)[0] == learn.predict(row)[0]
    if not use_nn:
        names = ["i1", "i3"]
        assert rl.equal(again.model.bias(names), learn.model.bias(names))
        assert again.model.weight(["u1"], is_item=False).shape == (1, 6)
    test = learn.dls.test_dl({"user": ["u1", "u2"], "item": ["i1", "i1"]})
    assert learn.get_preds(test)[0].reshape(-1).shape == (2,)


def test_empty_cells():
    """Users without a name share number 0; ratings that are not there are told."""
    table = opinions(60)
    table["user"][3] = None
    table["item"][4] = float("nan")
    pairs = easy.collab_learner(table["user"], table["item"], table["stars"], **QUIET).dls[0]
    seen = rl.cat([pairs.dataset.tensors[0]])
    assert int((seen[:, 0] == 0).sum()) <= 1 and int((seen == 0).sum()) > 0
    table["stars"][5] = None
    for call in (
        lambda: easy.CollabDataLoaders.from_df(table),
        lambda: easy.collab_learner(table["user"], table["item"], table["stars"]),
    ):
        with pytest.raises(ValueError, match="1 of the ratings are empty"):
            call()


def test_misuse_is_named():
    with pytest.raises(KeyError, match="no columns \\['film'\\]"):
        easy.CollabDataLoaders.from_df(opinions(), item_name="film")
    with pytest.raises(ValueError, match="expected three"):
        easy.CollabDataLoaders.from_df({"user": ["a"], "stars": [1]})
    with pytest.raises(TypeError, match="columns users, items and ratings"):
        easy.collab_learner(opinions())
    with pytest.raises(TypeError, match="after CollabDataLoaders comes n_factors"):
        easy.collab_learner(easy.CollabDataLoaders.from_df(opinions(), seed=0), ["a"])
    learn = easy.collab_learner(easy.CollabDataLoaders.from_df(opinions(), seed=0), 4, **QUIET)
    with pytest.raises(KeyError, match="training had no item 'tea'"):
        learn.model.bias(["tea"])
    with pytest.raises(TypeError, match="from_classes"):
        easy.EmbeddingDotBias(2, 3, 4).weight(["a"])
