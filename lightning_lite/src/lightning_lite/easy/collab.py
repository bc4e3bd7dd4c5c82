"""Collaborative filtering: what users think of items, by vectors of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import rushlight as rl
from lightning_lite.easy.architectures import Recipe, architecture
from lightning_lite.easy.data.splitters import RandomSplitter
from lightning_lite.easy.learner import Learner
from lightning_lite.easy.losses import MSELossFlat
from lightning_lite.easy.tables import TabularDataLoaders, TabularLearner, check_columns
from lightning_lite.easy.tabular import (
    MISSING,
    TabularModel,
    TabularProcessor,
    emb_sz_rule,
    embedding,
    in_range,
    is_missing,
    ordered,
)
from rushlight import nn
from rushlight.utils.data import DataLoader, TensorDataset


class EmbeddingDotBias(nn.Module):
    """The product of a user's and an item's vectors of `n_factors`, with a bias for each.

    Pairs `(N, 2)` of their numbers give `(N,)`, between the numbers of `y_range` if given.
    """

    # Column -> names in the order of the vectors; the columns of users and of items.
    classes: dict[str, list[Any]] | None = None
    user: Any = None
    item: Any = None

    def __init__(
        self, n_factors: int, n_users: int, n_items: int, y_range: tuple[float, float] | None = None
    ) -> None:
        super().__init__()
        self.u_weight, self.i_weight = embedding(n_users, n_factors), embedding(n_items, n_factors)
        self.u_bias, self.i_bias = embedding(n_users, 1), embedding(n_items, 1)
        self.y_range = y_range

    @classmethod
    def from_classes(
        cls,
        n_factors: int,
        classes: Mapping[Any, Sequence[Any]],
        user: Any = None,
        item: Any = None,
        y_range: tuple[float, float] | None = None,
    ) -> EmbeddingDotBias:
        """For the names of `classes` (`dls.classes`), a list for each column; `user`, `item`: which
        columns, by default the first and the second."""
        names = list(classes)
        user, item = names[0] if user is None else user, names[1] if item is None else item
        made = cls(n_factors, len(classes[user]), len(classes[item]), y_range)
        made.classes = {name: list(each) for name, each in classes.items()}
        made.user, made.item = user, item
        return made

    def forward(self, pairs: Any) -> Any:
        """See the class."""
        users, items = pairs[:, 0], pairs[:, 1]
        products = (self.u_weight(users) * self.i_weight(items)).sum(1)
        biases = (self.u_bias(users) + self.i_bias(items)).squeeze(1)
        return in_range(products + biases, self.y_range)

    def bias(self, arr: Sequence[Any], is_item: bool = True) -> rl.Tensor:
        """The biases `(N,)` of items by their names, or of users. KeyError for names that training
        had not, TypeError for a network that knows no names."""
        numbers = self._numbers("bias", arr, is_item)
        layer = self.i_bias if is_item else self.u_bias
        return layer.weight.detach()[numbers].squeeze(1).cpu()

    def weight(self, arr: Sequence[Any], is_item: bool = True) -> rl.Tensor:
        """The vectors `(N, n_factors)` of items by name, or of users; errors as of `bias`."""
        numbers = self._numbers("weight", arr, is_item)
        layer = self.i_weight if is_item else self.u_weight
        return layer.weight.detach()[numbers].cpu()

    def _numbers(self, what: str, names: Sequence[Any], is_item: bool) -> rl.Tensor:
        if self.classes is None:
            raise TypeError(
                f"EmbeddingDotBias.{what}: the network has numbers only; expected one of "
                "EmbeddingDotBias.from_classes or collab_learner, which know the names"
            )
        known = {
            name: n for n, name in enumerate(self.classes[self.item if is_item else self.user])
        }
        missing = [each for each in names if each not in known]
        if missing:
            raise KeyError(
                f"EmbeddingDotBias.{what}: training had no {'item' if is_item else 'user'} "
                f"{missing[0]!r}; those that validation alone has are not learnt"
            )
        return rl.tensor([known[each] for each in names], device=self.i_weight.weight.device)


@architecture("collab")
def collab_model(
    n_factors: int,
    n_users: int,
    n_items: int,
    y_range: tuple[float, float] | None = None,
    classes: Mapping[Any, Sequence[Any]] | None = None,
) -> EmbeddingDotBias:
    """The network of `collab_learner`, with the names of users and items where they are given."""
    if classes is None:
        return EmbeddingDotBias(n_factors, n_users, n_items, y_range)
    return EmbeddingDotBias.from_classes(n_factors, classes, y_range=y_range)


@architecture("collab network")
class EmbeddingNN(TabularModel):
    """A `TabularModel` for ratings: embeddings of users and items through `layers`.

    `emb_szs`: pairs of how many users and of numbers for one, then those of items; `options`: `ps`,
    `embed_p`, `y_range` of `TabularModel`. Pairs `(N, 2)` give `(N, 1)`.

    >>> EmbeddingNN([(4, 3), (6, 3)], [8]).eval()(rl.tensor([[1, 5], [2, 0]])).shape
    rushlight.Size([2, 1])
    """

    def __init__(
        self, emb_szs: Sequence[tuple[int, int]], layers: Sequence[int], **options: Any
    ) -> None:
        super().__init__(emb_szs, 0, 1, layers, **options)


class CollabDataLoaders(TabularDataLoaders):
    """`train` and `valid`: loaders of pairs `(N, 2)` (int64) of a user's and an item's number, and
    ratings `(N, 1)` (float32), made by `from_df` or `from_csv`; `classes`: the names of both by
    column, where number 0, "#na#", is for what training has not."""

    n_inp = 1

    @classmethod
    def from_df(  # type: ignore[override]
        cls,
        ratings: Mapping[str, Any],
        valid_pct: float = 0.2,
        user_name: Any = None,
        item_name: Any = None,
        rating_name: Any = None,
        seed: int | None = None,
        path: Any = ".",
        bs: int = 64,
        val_bs: int | None = None,
        shuffle: bool = True,
    ) -> CollabDataLoaders:
        """Of a table of ratings: a mapping of names to columns, such as a pandas DataFrame.

        `user_name`, `item_name`, `rating_name`: its columns, by default the first three;
        `valid_pct` of the ratings validates, drawn with `seed`; `path`: accepted as in fastai and
        not used. KeyError for columns that are not there, ValueError for fewer than three.
        """
        columns = list(ratings)
        given = (user_name, item_name, rating_name)
        if len(columns) < len(given) and None in given:
            raise ValueError(
                f"CollabDataLoaders.from_df: the table has the columns {columns}; expected three, "
                "of users, items and ratings"
            )
        user, item, rating = (
            columns[number] if name is None else name for number, name in enumerate(given)
        )
        check_columns("CollabDataLoaders.from_df", ratings, (user, item, rating))
        targets = _stars("CollabDataLoaders.from_df", ratings[rating]).reshape(-1, 1)
        made = cls(TabularProcessor([user, item], []), None, bs)
        made.y_names = [rating]
        held = RandomSplitter(valid_pct, seed)(range(len(targets)))[1]
        made._loaded(ratings, targets, held, (bs, val_bs or bs, shuffle))
        return made

    @property
    def classes(self) -> dict[str, list[Any]]:
        """The names of users and items by column, in the order of their numbers."""
        return self.processor.classes

    def inputs(self, table: Mapping[str, Any]) -> tuple[rl.Tensor, ...]:
        """The pairs `(N, 2)` (int64) of the rows of a table."""
        return self.processor.transform(table)[:1]

    def _columns_of(self, *inputs: Any) -> dict[str, list[Any]]:
        return self.processor.inverse(inputs[0], rl.zeros(len(inputs[0]), 0))


class CollabLearner(TabularLearner):
    """A Learner of ratings; `predict` takes a mapping with a user and an item."""

    def _inputs(self, table: Mapping[str, Any]) -> tuple[rl.Tensor, ...]:
        made: tuple[rl.Tensor, ...] = self.processor.transform(table)[:1]
        return made


def collab_learner(
    users: CollabDataLoaders | Sequence[Any],
    items: Sequence[Any] | int | None = None,
    ratings: Sequence[float] | None = None,
    n_factors: int = 50,
    valid_pct: float = 0.2,
    seed: int | None = 0,
    bs: int = 64,
    y_range: tuple[float, float] | None = None,
    use_nn: bool = False,
    emb_szs: Mapping[str, int] | None = None,
    layers: Sequence[int] | None = None,
    config: Mapping[str, Any] | None = None,
    **options: Any,
) -> Learner:
    """A Learner for `CollabDataLoaders`, or for three columns: ratings that users gave items.

    After `CollabDataLoaders` the second argument is `n_factors`, as in fastai. `learn.users` and
    `learn.items` are the names in the order of the vectors, where 0 stands for those that were not
    seen. `valid_pct` of the columns, drawn with `seed`, are for validation. `use_nn`: an
    `EmbeddingNN` with `emb_szs` numbers by column, `layers` (by default one of `n_factors`) and
    `config`, instead of `EmbeddingDotBias`. `options` go to the Learner (`loss_func`: the squared
    difference by default). TypeError for columns that are missing.
    """
    if isinstance(users, CollabDataLoaders):
        dls: Any = users
        if items is not None and not isinstance(items, int):
            raise TypeError(
                "collab_learner: after CollabDataLoaders comes n_factors, an int; got a "
                f"{type(items).__name__}"
            )
        n_factors = n_factors if items is None else items
        classes = dict(dls.classes)
        kind: type[Learner] = CollabLearner
    else:
        dls, classes = _of_columns(users, items, ratings, (valid_pct, seed, bs))
        kind = Learner
    if use_nn:
        sizes = {name: emb_sz_rule(len(each)) for name, each in classes.items()} | dict(
            emb_szs or {}
        )
        made: dict[str, Any] = {
            "emb_szs": [(len(classes[name]), size) for name, size in sizes.items()],
            "layers": list(layers or [n_factors]), "y_range": y_range, **(config or {}),
        }  # fmt: skip
        model, name = EmbeddingNN(**made), "collab network"
    else:
        counts = dict(zip(("n_users", "n_items"), map(len, classes.values()), strict=True))
        made = {"n_factors": n_factors, **counts, "y_range": y_range, "classes": classes}
        model, name = collab_model(**made), "collab"
    learn = kind(dls, model, options.pop("loss_func", None) or MSELossFlat(), **options)
    learn.users, learn.items = classes.values()
    learn.processor = getattr(dls, "processor", None)
    learn.recipe = Recipe(name, made)
    return learn


def _stars(what: str, ratings: Sequence[Any]) -> rl.Tensor:
    """Ratings as numbers. ValueError for empty ones."""
    values = list(ratings)
    empty = sum(map(is_missing, values))
    if empty:
        raise ValueError(f"{what}: {empty} of the ratings are empty; leave their rows out")
    return rl.tensor([float(each) for each in values])


def _of_columns(
    users: Sequence[Any], items: Any, ratings: Any, how: tuple[float, int | None, int]
) -> tuple[list[Any], dict[str, list[Any]]]:
    """Loaders of training and validation, and the names of users and items."""
    if items is None or ratings is None:
        raise TypeError(
            "collab_learner: expected CollabDataLoaders, or the columns users, items and ratings; "
            f"got a {type(users).__name__} alone"
        )
    columns = {"users": list(users), "items": list(items)}
    names = [
        [MISSING, *ordered((x for x in column if not is_missing(x)), f"collab_learner: {what}")]
        for what, column in columns.items()
    ]
    numbers = [{name: number for number, name in enumerate(each)} for each in names]
    pairs = rl.tensor(
        [
            [known.get(name, 0) for known, name in zip(numbers, pair, strict=True)]
            for pair in zip(*columns.values(), strict=True)
        ]
    )
    given = _stars("collab_learner", ratings)
    valid_pct, seed, bs = how
    generator = None if seed is None else rl.Generator().manual_seed(seed)
    order = rl.randperm(len(pairs), generator=generator)
    held = max(1, round(len(pairs) * valid_pct))
    loaders: list[Any] = [
        DataLoader(TensorDataset(pairs[rows], given[rows]), batch_size=bs, shuffle=training)
        for rows, training in ((order[held:], True), (order[:held], False))
    ]
    return loaders, dict(zip(("user", "item"), names, strict=True))
