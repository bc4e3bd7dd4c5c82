"""Collaborative filtering: what users think of items, by vectors of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as rl
from lightning_lite.easy.architectures import Recipe, architecture
from lightning_lite.easy.learner import Learner
from lightning_lite.easy.tabular import embedding, in_range
from rushlight import nn
from rushlight.utils.data import DataLoader, TensorDataset


@architecture("collab")
class EmbeddingDotBias(nn.Module):
    """The product of a user's and an item's vectors of `n_factors`, with a bias for each.

    Pairs `(N, 2)` of their numbers give `(N,)`, between the numbers of `y_range` if given.
    """

    def __init__(
        self, n_factors: int, n_users: int, n_items: int, y_range: tuple[float, float] | None = None
    ) -> None:
        super().__init__()
        self.u_weight, self.i_weight = embedding(n_users, n_factors), embedding(n_items, n_factors)
        self.u_bias, self.i_bias = embedding(n_users, 1), embedding(n_items, 1)
        self.y_range = y_range

    def forward(self, pairs: Any) -> Any:
        """See the class."""
        users, items = pairs[:, 0], pairs[:, 1]
        products = (self.u_weight(users) * self.i_weight(items)).sum(1)
        biases = (self.u_bias(users) + self.i_bias(items)).squeeze(1)
        return in_range(products + biases, self.y_range)


def collab_learner(
    users: Sequence[Any],
    items: Sequence[Any],
    ratings: Sequence[float],
    n_factors: int = 50,
    valid_pct: float = 0.2,
    seed: int | None = 0,
    bs: int = 64,
    y_range: tuple[float, float] | None = None,
    **options: Any,
) -> Learner:
    """A Learner for ratings that users gave items; `learn.users` and `learn.items` are the names,
    in the order of the vectors, where 0 stands for those that were not seen.

    `valid_pct` of the ratings, drawn with `seed`, are for validation; `options` go to the Learner.
    """
    names = [["#na#", *sorted(set(each))] for each in (users, items)]
    numbers = [{name: number for number, name in enumerate(each)} for each in names]
    pairs = rl.tensor([[numbers[0][u], numbers[1][i]] for u, i in zip(users, items, strict=True)])
    given = rl.tensor([float(each) for each in ratings])
    generator = None if seed is None else rl.Generator().manual_seed(seed)
    order = rl.randperm(len(pairs), generator=generator)
    held = max(1, round(len(pairs) * valid_pct))
    loaders: list[Any] = [
        DataLoader(TensorDataset(pairs[rows], given[rows]), batch_size=bs, shuffle=training)
        for rows, training in ((order[held:], True), (order[:held], False))
    ]
    counts = {"n_users": len(names[0]), "n_items": len(names[1])}
    config: dict[str, Any] = {"n_factors": n_factors, **counts, "y_range": y_range}
    model = EmbeddingDotBias(**config)
    learn = Learner(loaders, model, nn.MSELoss(), **options)
    learn.users, learn.items = names
    learn.recipe = Recipe("collab", config)
    return learn
