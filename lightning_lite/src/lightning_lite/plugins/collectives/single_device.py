"""Collective operations of one process: everything stays what it is."""

from __future__ import annotations

from typing import Any

from lightning_lite.plugins.collectives.collective import Collective


class SingleDeviceCollective(Collective):
    """The operations of one process."""

    @classmethod
    def is_available(cls) -> bool:
        """It is."""
        return True

    @classmethod
    def is_initialized(cls) -> bool:
        """It is."""
        return True

    @classmethod
    def init_group(cls, **kwargs: Any) -> None:
        """Nothing to connect."""

    @classmethod
    def new_group(cls, **kwargs: Any) -> Any:
        """What stands for the group."""
        return object()

    @classmethod
    def destroy_group(cls, group: Any) -> None:
        """Nothing to give up."""

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
