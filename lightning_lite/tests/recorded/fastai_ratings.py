"""Ratings as batches and networks that `test_ratings.py` compares with fastai's.

`python fastai_ratings.py` runs them with fastai and writes `fastai_ratings.json`.
"""

from __future__ import annotations

import json
from pathlib import Path

SEED = 3
TABLE = {
    "who": ["bob", "ann", "bob", "cid", "ann", "cid", "dan", "dan", "ann", "bob", "cid", "dan"],
    "what": ["tea", "rum", "ale", "tea", "ale", "rum", "tea", "ale", "tea", "rum", "ale", "rum"],
    "stars": [4.0, 2.5, 3.0, 5.0, 1.0, 2.0, 4.5, 3.5, 5.0, 0.5, 1.5, 2.0],
    "day": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
}


def fill(rl, model):
    """The same parameters on both sides: a slope over each."""
    with rl.no_grad():
        for each in model.parameters():
            each.copy_(rl.linspace(-0.5, 0.7, each.numel()).reshape(each.shape))
    return model.eval()


def answers(rl, of, table):
    """Classes, batches, losses, biases and vectors."""
    dls = of.CollabDataLoaders.from_df(table, valid_pct=0.25, seed=SEED, bs=4)
    named = of.CollabDataLoaders.from_df(
        table, user_name="what", item_name="who", rating_name="day", seed=SEED, bs=4
    )
    found = {"classes": {name: list(each) for name, each in dls.classes.items()}}
    found["named"] = {name: list(each) for name, each in named.classes.items()}
    found["lengths"] = [len(dls.train), len(dls.valid)]
    found["batches"] = [[x.tolist(), y.tolist()] for x, y in dls.valid]
    pairs = rl.tensor([[0, 3], [2, 1], [4, 2]])
    learn = of.collab_learner(dls, 3, y_range=(0, 5.5))
    fill(rl, learn.model)
    found["output"] = learn.model(pairs).tolist()
    found["bias"] = [
        learn.model.bias(["tea", "ale"]).tolist(), learn.model.bias(["dan"], is_item=False).tolist()
    ]  # fmt: skip
    found["weight"] = learn.model.weight(["rum", "tea"]).tolist()
    found["users"] = learn.model.weight(["ann"], is_item=False).tolist()
    deep = of.collab_learner(dls, use_nn=True, emb_szs={"who": 4}, layers=[6, 5], y_range=(0, 5.5))
    found["deep"] = fill(rl, deep.model)(pairs).tolist()
    found["shapes"] = [list(each.shape) for each in deep.model.parameters() if each.numel()]
    plain = of.collab_learner(dls, use_nn=True)
    found["plain shapes"] = [list(each.shape) for each in plain.model.parameters() if each.numel()]
    x, y = next(iter(dls.valid))
    found["loss"] = float(learn.loss_func(learn.model(x), y))
    return found


def main():
    """Record fastai's answers."""
    import fastai.collab as of
    import pandas
    import torch

    found = answers(torch, of, pandas.DataFrame(TABLE))
    Path(__file__).with_suffix(".json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
