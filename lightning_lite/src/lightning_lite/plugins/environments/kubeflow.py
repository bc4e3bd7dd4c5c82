"""Kubeflow's training operator."""

from __future__ import annotations

import os

from lightning_lite.plugins.environments.cluster_environment import ClusterEnvironment

REQUIRED = ("KUBERNETES_PORT", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")


class KubeflowEnvironment(ClusterEnvironment):
    """Read from the variables of a PyTorchJob: one process on each machine."""

    @staticmethod
    def detect() -> bool:
        """Whether a PyTorchJob started the process, and torchrun did not."""
        there = all(name in os.environ for name in REQUIRED)
        return there and "GROUP_RANK" not in os.environ

    def local_rank(self) -> int:
        """0: the machine's only process."""
        return 0

    def node_rank(self) -> int:
        """The number of this machine."""
        return self.global_rank()
