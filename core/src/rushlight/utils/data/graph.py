"""Which data pipes a data pipe is made of."""

from __future__ import annotations

from rushlight.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse_dps"]


def traverse_dps(datapipe) -> dict:
    """The pipes that a pipe reads, those that they read, and so on.

    Args:
        datapipe: the last pipe.

    Returns:
        ``{id(pipe): (pipe, graph of the pipes it reads)}`` with one entry, for `datapipe`. Pipes
        are found among a pipe's attributes and in lists, tuples, sets and dicts there.

    Raises:
        RuntimeError: `datapipe` is no data pipe.

    >>> from rushlight.utils.data.datapipes.iter import IterableWrapper
    >>> from rushlight.utils.data.graph import traverse_dps
    >>> [(pipe, below)] = traverse_dps(IterableWrapper([1, 2]).map(str)).values()
    >>> pipe, [first for first, _ in below.values()]
    (Mapper, [IterableWrapper])
    """
    if not isinstance(datapipe, (IterDataPipe, MapDataPipe)):
        raise RuntimeError(
            f"Expected `IterDataPipe` or `MapDataPipe`, but {type(datapipe)} is found"
        )
    return _graph(datapipe, frozenset())


def _graph(pipe, above):
    """The entry of a pipe; none for one that reads itself."""
    if id(pipe) in above:
        return {}
    above |= {id(pipe)}
    below: dict = {}
    for each in _pipes_in(vars(pipe)):
        below |= _graph(each, above)
    return {id(pipe): (pipe, below)}


def _pipes_in(value):
    """The pipes in a value, from collections too."""
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _pipes_in(key)
            yield from _pipes_in(item)
    elif isinstance(value, (list, tuple, set)):
        for item in value:
            yield from _pipes_in(item)
