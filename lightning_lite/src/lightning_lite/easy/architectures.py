"""Networks that are built by name and plain arguments, so that a file without code can say which.

A function that makes a Learner gives it a recipe: the name of a builder here, and its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from lightning_lite.easy.module import one_group

Splitter = Callable[[Any], list[list[Any]]]


class Recipe(NamedTuple):
    """How a Learner's network is built: a builder's name and its arguments, plain values."""

    name: str
    config: dict[str, Any]


class _Builder(NamedTuple):
    build: Callable[..., Any]
    splitter: Splitter


_BUILDERS: dict[str, _Builder] = {}


def architecture(name: str, splitter: Splitter = one_group) -> Callable[[Callable], Callable]:
    """Announce a function that builds a network, and the groups of its parameters."""

    def announced(build: Callable) -> Callable:
        _BUILDERS[name] = _Builder(build, splitter)
        return build

    return announced


def build(recipe: Recipe) -> tuple[Any, Splitter]:
    """The network of a recipe, and the groups of its parameters. ValueError for other names."""
    found = _BUILDERS.get(recipe.name)
    if found is None:
        raise ValueError(
            f"load_learner: the file's architecture is {recipe.name!r}; expected one of "
            f"{sorted(_BUILDERS)}"
        )
    return found.build(**recipe.config), found.splitter
