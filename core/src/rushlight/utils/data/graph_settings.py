"""Settings of all pipes that a data pipe is made of: order, random seeds, parts for workers."""

from __future__ import annotations

import inspect
import warnings

from rushlight.utils.data.datapipes.sharding import SHARDING_PRIORITIES
from rushlight.utils.data.graph import traverse_dps
from rushlight.utils.data.sampler import drawn_seed

__all__ = [
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_settings",
    "get_all_graph_pipes",
]


def get_all_graph_pipes(graph: dict) -> list:
    """The pipes of a graph of :func:`~rushlight.utils.data.graph.traverse_dps`, each once; a pipe
    comes before those that it reads.

    >>> from rushlight.utils.data.datapipes.iter import IterableWrapper
    >>> from rushlight.utils.data.graph import traverse_dps
    >>> from rushlight.utils.data.graph_settings import get_all_graph_pipes
    >>> get_all_graph_pipes(traverse_dps(IterableWrapper([1, 2]).map(str)))
    [Mapper, IterableWrapper]
    """
    found: dict = {}
    _collect(graph, found)
    return list(found.values())


def _collect(graph, found):
    for number, (pipe, below) in graph.items():
        found.setdefault(number, pipe)
        _collect(below, found)


def _has_methods(pipe, *names):
    return all(inspect.ismethod(getattr(pipe, name, None)) for name in names)


def apply_sharding(
    datapipe, num_of_instances: int, instance_id: int, sharding_group=SHARDING_PRIORITIES.DEFAULT
):
    """Let the pipes of a graph that have ``apply_sharding`` take part `instance_id` of
    `num_of_instances`; returns `datapipe`.

    Args:
        datapipe: the last pipe.
        num_of_instances: how many parts there are.
        instance_id: which of them is read, from 0.
        sharding_group: of which kind of parts these are; parts of several kinds are parts of parts.

    Raises:
        RuntimeError: one pipe that takes parts reads another that does.

    >>> from rushlight.utils.data.datapipes.iter import IterableWrapper
    >>> from rushlight.utils.data.graph_settings import apply_sharding
    >>> list(apply_sharding(IterableWrapper(range(6)).sharding_filter(), 2, 1))
    [1, 3, 5]
    """
    _shard(traverse_dps(datapipe), None, (num_of_instances, instance_id), sharding_group)
    return datapipe


def _shard(graph, former, part, group):
    """Give the part to the first pipe of each branch that takes one; `former` is it."""
    for pipe, below in graph.values():
        taken = former
        if _has_methods(pipe, "apply_sharding"):
            if former is not None:
                raise RuntimeError(
                    "Sharding twice on a single pipeline is likely unintended and will cause data "
                    f"loss. Sharding already applied to {former} while trying to apply to {pipe}"
                )
            takes_group = len(inspect.signature(pipe.apply_sharding).parameters) > 2
            pipe.apply_sharding(*part, *((group,) if takes_group else ()))
            taken = pipe
        _shard(below, taken, part, group)


def apply_shuffle_settings(datapipe, shuffle: bool | None = None):
    """Turn the shuffling of a graph's pipes on or off.

    Args:
        datapipe: the last pipe.
        shuffle: whether they shuffle; None leaves them as they are.

    Returns:
        `datapipe`; with ``shuffle=True`` and no pipe that shuffles, one that shuffles it, with a
        warning.

    >>> from rushlight.utils.data.datapipes.iter import IterableWrapper
    >>> from rushlight.utils.data.graph_settings import apply_shuffle_settings
    >>> list(apply_shuffle_settings(IterableWrapper([3, 1, 2]).shuffle(), shuffle=False))
    [3, 1, 2]
    """
    if shuffle is None:
        return datapipe
    pipes = get_all_graph_pipes(traverse_dps(datapipe))
    shufflers = [pipe for pipe in pipes if _has_methods(pipe, "set_shuffle", "set_seed")]
    if shuffle and not shufflers:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at "
            "the end; the default size of its buffer may not suffice for your task.",
            stacklevel=2,
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for pipe in shufflers:
        pipe.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe, rng):
    """Seed every pipe of a graph that has ``set_seed``, by numbers of a generator; returns
    `datapipe`.

    >>> import rushlight
    >>> from rushlight.utils.data.datapipes.iter import IterableWrapper
    >>> from rushlight.utils.data.graph_settings import apply_random_seed
    >>> pipe = IterableWrapper(range(5)).shuffle()
    >>> list(apply_random_seed(pipe, rushlight.Generator().manual_seed(0)))
    [1, 3, 0, 2, 4]
    """
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if _has_methods(pipe, "set_seed"):
            pipe.set_seed(drawn_seed(rng))
    return datapipe
