"""SLURM: processes that `srun` starts."""

from __future__ import annotations

import os
import re

from lightning_lite.plugins.environments.cluster_environment import ClusterEnvironment


class SLURMEnvironment(ClusterEnvironment):
    """Read from SLURM's variables. `auto_requeue`: whether a run that ran out of time is put into
    the queue again; `requeue_signal`: the signal that says so.

    >>> SLURMEnvironment.resolve_root_node_address("node[3-5]")
    'node3'
    """

    WORLD_SIZE, GLOBAL_RANK = "SLURM_NTASKS", "SLURM_PROCID"
    LOCAL_RANK, NODE_RANK = "SLURM_LOCALID", "SLURM_NODEID"

    def __init__(self, auto_requeue: bool = True, requeue_signal: int | None = None) -> None:
        self.auto_requeue, self.requeue_signal = auto_requeue, requeue_signal

    @property
    def main_address(self) -> str:
        """The first machine of the job."""
        address = os.environ.get("MASTER_ADDR") or os.environ.get("SLURM_NODELIST", "127.0.0.1")
        return self.resolve_root_node_address(address)

    @property
    def main_port(self) -> int:
        """A port that follows from the number of the job, unless `MASTER_PORT` says another."""
        job = os.environ.get("SLURM_JOB_ID")
        chosen = int(job[-4:]) + 15000 if job else 12910
        return int(os.environ.get("MASTER_PORT", chosen))

    @staticmethod
    def detect() -> bool:
        """Whether `srun` started the process, in a job that is not a shell."""
        shell = SLURMEnvironment.job_name() in ("bash", "interactive")
        return "SLURM_NTASKS" in os.environ and not shell

    @staticmethod
    def job_name() -> str | None:
        """The name of the job."""
        return os.environ.get("SLURM_JOB_NAME")

    @staticmethod
    def job_id() -> int | None:
        """The number of the job; None in a shell."""
        text = os.environ.get("SLURM_JOB_ID", "")
        shell = SLURMEnvironment.job_name() in ("bash", "interactive")
        return int(text) if text.isdigit() and not shell else None

    def validate_settings(self, num_devices: int, num_nodes: int) -> None:
        """ValueError for devices and machines that do not fit the job's."""
        tasks = os.environ.get("SLURM_NTASKS_PER_NODE", "")
        if tasks.isdigit() and int(tasks) != num_devices:
            raise ValueError(
                f"devices={num_devices}, but the job has --ntasks-per-node={tasks}: give "
                f"devices={tasks}, or ask Slurm for --ntasks-per-node={num_devices}"
            )
        nodes = os.environ.get("SLURM_NNODES", "")
        if nodes.isdigit() and int(nodes) != num_nodes:
            raise ValueError(
                f"num_nodes={num_nodes}, but the job has {nodes}: give num_nodes={nodes}, or ask "
                f"Slurm for --nodes={num_nodes}"
            )

    @staticmethod
    def resolve_root_node_address(nodes: str) -> str:
        """The first of SLURM's list of machines: "alpha[5-7,9],beta1" is "alpha5"."""
        nodes = re.sub(r"\[(.*?)[,-].*\]", r"\1", nodes)
        nodes = re.sub(r"\[(.*?)\]", r"\1", nodes)
        return nodes.split(" ")[0].split(",")[0]
