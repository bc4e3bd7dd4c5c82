"""IBM's LSF with jsrun."""

from __future__ import annotations

import os

from lightning_lite.plugins.environments.cluster_environment import (
    ClusterEnvironment,
    variable,
)

REQUIRED = ("LSB_JOBID", "LSB_DJOB_RANKFILE", "JSM_NAMESPACE_LOCAL_RANK", "JSM_NAMESPACE_SIZE")


class LSFEnvironment(ClusterEnvironment):
    """Read from LSF's variables and its file of machines."""

    WORLD_SIZE, GLOBAL_RANK = "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK"
    LOCAL_RANK = "JSM_NAMESPACE_LOCAL_RANK"

    @property
    def main_address(self) -> str:
        """The first machine that computes."""
        return self._machines()[0]

    @property
    def main_port(self) -> int:
        """A port that follows from the number of the job, unless `MASTER_PORT` says another."""
        chosen = int(variable("LSB_JOBID")[-4:]) % 1000 + 10000
        return int(os.environ.get("MASTER_PORT", chosen))

    @staticmethod
    def detect() -> bool:
        """Whether jsrun started the process."""
        return all(name in os.environ for name in REQUIRED)

    def node_rank(self) -> int:
        """The number of this machine among those that compute."""
        import socket

        names = list(dict.fromkeys(self._machines()))
        return names.index(socket.gethostname())

    @staticmethod
    def _machines() -> list[str]:
        """The machines of the job, without the one that launched it."""
        with open(variable("LSB_DJOB_RANKFILE"), encoding="utf-8") as file:
            lines = [line.strip() for line in file if line.strip()]
        return lines[1:] if len(lines) > 1 else lines
