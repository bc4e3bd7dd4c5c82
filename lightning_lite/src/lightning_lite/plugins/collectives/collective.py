"""Collective: the base of operations that all processes of a group take part in."""

from __future__ import annotations

from typing import Any


class Collective:
    """The base of collective operations: a group of processes, which is made and given up.

    A subclass gives `rank` and `world_size`, the operations, and the class methods that make
    groups.

    >>> from lightning_lite.plugins.collectives import SingleDeviceCollective
    >>> collective = SingleDeviceCollective().setup().create_group()
    >>> collective.rank, collective.world_size
    (0, 1)
    """

    rank = 0
    world_size = 1

    def __init__(self) -> None:
        self._group: Any = None

    @property
    def group(self) -> Any:
        """The group of processes. RuntimeError before `create_group`."""
        if self._group is None:
            raise RuntimeError(
                f"{type(self).__name__}.group: there is none yet; call create_group() before"
            )
        return self._group

    @classmethod
    def is_available(cls) -> bool:
        """Whether processes can be connected."""
        raise NotImplementedError(f"{cls.__name__} does not define is_available")

    @classmethod
    def is_initialized(cls) -> bool:
        """Whether the processes are connected."""
        raise NotImplementedError(f"{cls.__name__} does not define is_initialized")

    @classmethod
    def init_group(cls, **kwargs: Any) -> None:
        """Connect the processes."""
        raise NotImplementedError(f"{cls.__name__} does not define init_group")

    @classmethod
    def new_group(cls, **kwargs: Any) -> Any:
        """A group of some of the processes."""
        raise NotImplementedError(f"{cls.__name__} does not define new_group")

    @classmethod
    def destroy_group(cls, group: Any) -> None:
        """Give a group up."""
        raise NotImplementedError(f"{cls.__name__} does not define destroy_group")

    def setup(self, **kwargs: Any) -> Collective:
        """Connect the processes, unless they are; keywords go to `init_group`."""
        if not self.is_initialized():
            self.init_group(**kwargs)
        return self

    def create_group(self, **kwargs: Any) -> Collective:
        """Make the group; keywords go to `new_group`. RuntimeError for a second one."""
        if self._group is not None:
            raise RuntimeError(
                f"{type(self).__name__}.create_group: it has a group; call teardown() before"
            )
        self._group = self.new_group(**kwargs)
        return self

    def teardown(self) -> Collective:
        """Give the group up. RuntimeError without one."""
        if self._group is None:
            raise RuntimeError(f"{type(self).__name__}.teardown: there is no group to give up")
        self.destroy_group(self._group)
        self._group = None
        return self
