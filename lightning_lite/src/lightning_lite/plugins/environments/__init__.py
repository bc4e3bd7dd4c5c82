"""What a cluster's launcher tells a process in its environment: addresses, ranks, sizes.

They import nothing of the trainer's. Begin reading at `cluster_environment.py`.
"""

from lightning_lite.lazy import attach
from lightning_lite.plugins.environments.cluster_environment import ClusterEnvironment
from lightning_lite.plugins.environments.kubeflow import KubeflowEnvironment
from lightning_lite.plugins.environments.lightning import LightningEnvironment
from lightning_lite.plugins.environments.lsf import LSFEnvironment
from lightning_lite.plugins.environments.mpi import MPIEnvironment
from lightning_lite.plugins.environments.slurm import SLURMEnvironment
from lightning_lite.plugins.environments.torchelastic import TorchElasticEnvironment

__all__ = [
    "ClusterEnvironment",
    "KubeflowEnvironment",
    "LSFEnvironment",
    "LightningEnvironment",
    "MPIEnvironment",
    "SLURMEnvironment",
    "TorchElasticEnvironment",
]
__getattr__ = attach(__name__, {})

# The order in which a program looks for its launcher; srun sets the variables of MPI as well.
_LAUNCHERS = (
    SLURMEnvironment,
    TorchElasticEnvironment,
    KubeflowEnvironment,
    LSFEnvironment,
    MPIEnvironment,
)


def detected_environment() -> ClusterEnvironment:
    """That of the launcher which started this process; LightningEnvironment without one."""
    for kind in _LAUNCHERS:
        if kind.detect():
            return kind()
    return LightningEnvironment()
