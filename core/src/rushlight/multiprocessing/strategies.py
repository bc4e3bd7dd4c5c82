"""By what means the memory of a tensor is handed to another process."""

from __future__ import annotations

_STRATEGIES = frozenset(("file_descriptor", "file_system"))
_strategy = ["file_descriptor"]


def get_all_sharing_strategies() -> set:
    """The names that :func:`set_sharing_strategy` takes."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """The name of how tensors are handed to other processes: "file_descriptor", unless another was
    set."""
    return _strategy[0]


def set_sharing_strategy(new_strategy: str) -> None:
    """Set the name that :func:`get_sharing_strategy` gives.

    PyTorch's two strategies have each a weakness: one uses up open files, the other leaves named
    files behind when processes are killed. Neither is needed here: memory is handed on as an open
    file without a name, which the receiver opens by its path under ``/proc`` (over a socket where
    there is no ``/proc``). With both names the sender must live until the receiver has the tensor.
    """
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {sorted(_STRATEGIES)}"
        )
    _strategy[0] = new_strategy


__all__ = ["get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy"]
