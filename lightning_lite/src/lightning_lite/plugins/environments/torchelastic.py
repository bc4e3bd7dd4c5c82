"""torchrun and its kin."""

from __future__ import annotations

import os

from lightning_lite.messages import warn
from lightning_lite.plugins.environments.cluster_environment import ClusterEnvironment


class TorchElasticEnvironment(ClusterEnvironment):
    """Read from the variables that `torchrun` sets."""

    NODE_RANK = "GROUP_RANK"

    @property
    def main_address(self) -> str:
        """The address of the first process; a warning and this machine where there is none."""
        if "MASTER_ADDR" not in os.environ:
            warn("MASTER_ADDR is not set; the first process is taken to be on this machine")
        return super().main_address

    @staticmethod
    def detect() -> bool:
        """Whether torchrun started the process."""
        return "TORCHELASTIC_RUN_ID" in os.environ

    def validate_settings(self, num_devices: int, num_nodes: int) -> None:
        """Complain of numbers that are not the launcher's. ValueError."""
        if num_devices * num_nodes != self.world_size():
            raise ValueError(
                f"devices={num_devices}, num_nodes={num_nodes}, but torchrun started "
                f"{self.world_size()} processes"
            )
