"""What a cluster's launcher tells a process in its environment: addresses, ranks, sizes.

They import nothing of the trainer's. Begin reading at `cluster_environment.py`.
"""

from lightning_lite.lazy import attach
from lightning_lite.plugins.environments.cluster_environment import ClusterEnvironment
from lightning_lite.plugins.environments.kubeflow import KubeflowEnvironment
from lightning_lite.plugins.environments.lightning import LightningEnvironment
from lightning_lite.plugins.environments.lsf import LSFEnvironment
from lightning_lite.plugins.environments.slurm import SLURMEnvironment
from lightning_lite.plugins.environments.torchelastic import TorchElasticEnvironment

__all__ = [
    "ClusterEnvironment",
    "KubeflowEnvironment",
    "LSFEnvironment",
    "LightningEnvironment",
    "SLURMEnvironment",
    "TorchElasticEnvironment",
]
__getattr__ = attach(__name__, {})
