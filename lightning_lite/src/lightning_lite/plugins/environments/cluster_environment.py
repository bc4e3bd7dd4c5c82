"""ClusterEnvironment: the base of what is read from a launcher's variables."""

from __future__ import annotations

import os


def variable(name: str) -> str:
    """A variable that a launcher sets. KeyError, with the name, where it did not."""
    if name not in os.environ:
        raise KeyError(f"the environment has no {name}, which this launcher sets")
    return os.environ[name]


class ClusterEnvironment:
    """Where the first process is, and which of how many this one is."""

    # Variables of the launcher; subclasses name theirs.
    WORLD_SIZE, GLOBAL_RANK, LOCAL_RANK, NODE_RANK = "WORLD_SIZE", "RANK", "LOCAL_RANK", ""

    @property
    def creates_processes_externally(self) -> bool:
        """Whether the launcher starts all processes; True."""
        return True

    @property
    def main_address(self) -> str:
        """The address of the first process."""
        return os.environ.get("MASTER_ADDR", "127.0.0.1")

    @property
    def main_port(self) -> int:
        """The port of the first process."""
        return int(os.environ.get("MASTER_PORT", "12910"))

    @staticmethod
    def detect() -> bool:
        """Whether this launcher started the process."""
        return False

    def world_size(self) -> int:
        """How many processes there are."""
        return int(variable(self.WORLD_SIZE))

    def set_world_size(self, size: int) -> None:
        """The launcher has set it; nothing changes."""

    def global_rank(self) -> int:
        """The number of this process."""
        return int(variable(self.GLOBAL_RANK))

    def set_global_rank(self, rank: int) -> None:
        """The launcher has set it; nothing changes."""

    def local_rank(self) -> int:
        """The number of this process on its machine."""
        return int(variable(self.LOCAL_RANK))

    def node_rank(self) -> int:
        """The number of this machine."""
        return int(os.environ.get(self.NODE_RANK, 0)) if self.NODE_RANK else 0

    def validate_settings(self, num_devices: int, num_nodes: int) -> None:
        """Complain of devices and machines that do not fit the launcher's."""

    def teardown(self) -> None:
        """Forget what was set."""
