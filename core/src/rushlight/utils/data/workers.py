"""What a worker process knows of itself and of the process that started it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from rushlight.machine import np

_worker_info = None


@dataclass
class WorkerInfo:
    """What a worker process knows of itself: its number, how many there are, its seed, and its
    copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: object


def get_worker_info():
    """The :class:`WorkerInfo` inside a worker process, None outside."""
    return _worker_info


def set_worker_info(info) -> None:
    """Say what :func:`get_worker_info` answers in this process."""
    global _worker_info
    _worker_info = info


def _generate_state(base_seed: int, worker_id: int):
    """The words that seed NumPy's global generator in a worker; PyTorch's, which mixes them as
    NumPy's SeedSequence does."""
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(words).generate_state(4).tolist()


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """A worker's answer when its stream has no more samples."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """Asks a worker of a library's loader for another pass; the seed is for data pipes."""

    seed: int | None = None


class ManagerWatchdog:
    """Tells a worker process whether the process that started it is still there."""

    def __init__(self):
        self.manager_pid, self.manager_dead = os.getppid(), False

    def is_alive(self) -> bool:
        """Whether the parent process is the one of the beginning; once False, always False."""
        if not self.manager_dead:
            self.manager_dead = os.getppid() != self.manager_pid
        return not self.manager_dead
