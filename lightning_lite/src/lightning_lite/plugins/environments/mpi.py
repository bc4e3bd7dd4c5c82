"""MPI: processes that `mpiexec` starts."""

from __future__ import annotations

import os
from typing import Any

from lightning_lite.plugins.environments.cluster_environment import ClusterEnvironment

# Rank, size and rank on the machine, by launcher: MPICH and Intel, Open MPI.
_VARIABLES = (
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
)


def _given() -> tuple[str, str, str] | None:
    return next((each for each in _VARIABLES if each[0] in os.environ), None)


class MPIEnvironment(ClusterEnvironment):
    """Read from the variables of `mpiexec`. MPI itself knows where the processes are."""

    connects_by_itself = True

    def __init__(self) -> None:
        super().__init__()
        self._names = _given()  # MPICH takes the variables away when it starts
        self._values = {name: os.environ[name] for name in self._names or () if name in os.environ}

    @staticmethod
    def detect() -> bool:
        """Whether `mpiexec` started the process, as one of several."""
        names = _given()
        return names is not None and int(os.environ.get(names[1], 1)) > 1

    def _number(self, which: int) -> int:
        if self._names is None or self._names[which] not in self._values:
            expected = " or ".join(each[which] for each in _VARIABLES)
            raise KeyError(f"the environment has no {expected}, which mpiexec sets")
        return int(self._values[self._names[which]])

    def world_size(self) -> int:
        """How many processes there are."""
        return self._number(1)

    def global_rank(self) -> int:
        """The number of this process."""
        return self._number(0)

    def local_rank(self) -> int:
        """The number of this process on its machine."""
        return self._number(2)

    def node_rank(self) -> int:
        """The number of this machine, all machines having equally many processes."""
        size: Any = os.environ.get("MPI_LOCALNRANKS", os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE"))
        return self.global_rank() // int(size) if size else 0

    def validate_settings(self, num_devices: int, num_nodes: int) -> None:
        """Complain of numbers that are not the launcher's. ValueError."""
        if num_devices * num_nodes != self.world_size():
            raise ValueError(
                f"devices={num_devices}, num_nodes={num_nodes}, but mpiexec started "
                f"{self.world_size()} processes"
            )
