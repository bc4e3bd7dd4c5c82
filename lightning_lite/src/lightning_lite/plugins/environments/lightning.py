"""Processes that the trainer would start itself."""

from __future__ import annotations

import os
import socket

from lightning_lite.plugins.environments.cluster_environment import ClusterEnvironment


class LightningEnvironment(ClusterEnvironment):
    """No launcher: one machine, whose processes the trainer starts, or a launcher of one's own that
    sets `LOCAL_RANK`.

    >>> environment = LightningEnvironment()
    >>> environment.set_world_size(2)
    >>> environment.world_size(), environment.creates_processes_externally
    (2, False)
    """

    def __init__(self) -> None:
        self._main_port = -1
        self._rank, self._size = 0, 1

    @property
    def creates_processes_externally(self) -> bool:
        """Whether a launcher has set `LOCAL_RANK`."""
        return "LOCAL_RANK" in os.environ

    @property
    def main_port(self) -> int:
        """The port of the first process: `MASTER_PORT`, or one that is free."""
        if self._main_port == -1:
            given = os.environ.get("MASTER_PORT")
            self._main_port = int(given) if given else find_free_network_port()
        return self._main_port

    @staticmethod
    def detect() -> bool:
        """True: it is what remains."""
        return True

    def world_size(self) -> int:
        """How many processes there are."""
        return self._size

    def set_world_size(self, size: int) -> None:
        """Set how many processes there are."""
        self._size = size

    def global_rank(self) -> int:
        """The number of this process."""
        return self._rank

    def set_global_rank(self, rank: int) -> None:
        """Set the number of this process."""
        self._rank = rank

    def local_rank(self) -> int:
        """The number of this process on its machine."""
        return int(os.environ.get("LOCAL_RANK", 0))

    def node_rank(self) -> int:
        """The number of this machine: `NODE_RANK`, or `GROUP_RANK`."""
        return int(os.environ.get("NODE_RANK", os.environ.get("GROUP_RANK", 0)))


def find_free_network_port() -> int:
    """A port on this machine that nobody listens at."""
    with socket.socket() as found:
        found.bind(("", 0))
        return int(found.getsockname()[1])
