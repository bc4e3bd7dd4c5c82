"""By what means the memory of a tensor is handed to another process."""

from __future__ import annotations

_STRATEGIES = frozenset(("file_descriptor", "file_system"))
_strategy = ["file_descriptor"]


def get_all_sharing_strategies() -> set:
    """The names that :func:`set_sharing_strategy` takes."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """How tensors are handed to other processes: "file_descriptor" unless another was set."""
    return _strategy[0]


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how tensors are handed to other processes.

    "file_descriptor": a copy of the open file is sent over a socket. "file_system": the receiver
    opens it by its path under ``/proc``, which is quicker; where there is no ``/proc`` it is the
    same as the first. With neither is there a named file, so that nothing can be left behind; with
    both the sender must live until the receiver has the tensor.
    """
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {sorted(_STRATEGIES)}"
        )
    _strategy[0] = new_strategy


__all__ = ["get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy"]
