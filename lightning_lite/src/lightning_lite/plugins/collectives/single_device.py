"""Collective operations of one process: everything stays what it is."""

from __future__ import annotations

from typing import Any


class Collective:
    """The base of collective operations: a group of processes, which is made and given up."""

    rank = 0
    world_size = 1

    def __init__(self) -> None:
        self._group: Any = None

    @property
    def group(self) -> Any:
        """The group of processes."""
        return self._group

    def create_group(self, **kwargs: Any) -> Collective:
        """Make the group."""
        self._group = object()
        return self

    def setup(self, **kwargs: Any) -> Collective:
        """Prepare the processes."""
        return self

    def teardown(self) -> Collective:
        """Give the group up."""
        self._group = None
        return self


class SingleDeviceCollective(Collective):
    """The operations of one process."""

    def broadcast(self, tensor: Any, src: int = 0) -> Any:
        """The tensor."""
        return tensor

    def all_reduce(self, tensor: Any, op: str = "sum") -> Any:
        """The tensor."""
        return tensor

    def reduce(self, tensor: Any, dst: int = 0, op: str = "sum") -> Any:
        """The tensor."""
        return tensor

    def all_gather(self, tensor_list: list[Any], tensor: Any) -> list[Any]:
        """The tensor in a list."""
        return [tensor]

    def gather(self, tensor: Any, gather_list: list[Any], dst: int = 0) -> list[Any]:
        """The tensor in a list."""
        return [tensor]

    def scatter(self, tensor: Any, scatter_list: list[Any], src: int = 0) -> Any:
        """The list's only tensor."""
        return scatter_list[0]

    def barrier(self, device_ids: list[int] | None = None) -> None:
        """Nobody to wait for."""

    def broadcast_object_list(self, object_list: list[Any], src: int = 0) -> list[Any]:
        """The list."""
        return object_list
