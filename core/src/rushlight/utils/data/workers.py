"""What a worker process knows of itself, and how its exceptions come back."""

from __future__ import annotations

import pickle
import sys
import traceback
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


class _Text(str):
    """A message that is shown as it is; KeyError shows its argument by ``repr``."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


def _sendable(kind):
    """The class itself, or its nearest base that another process knows: a class that is defined in
    a function cannot be pickled."""
    for base in kind.__mro__:
        try:
            if pickle.loads(pickle.dumps(base)) is base:
                return base
        except Exception:  # noqa: S112, PERF203 - as many reasons as there are classes
            continue
    return RuntimeError


class ExceptionWrapper:
    """The exception being handled, in a form that can be sent and raised again elsewhere."""

    def __init__(self, exc_info=None, where="in background"):
        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type, self.name, self.where = _sendable(kind), kind.__name__, where
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))

    def reraise(self):
        """Raise the same kind of exception; its message holds the original traceback."""
        kind = self.exc_type
        message = f"Caught {self.name} {self.where}.\nOriginal {self.exc_msg}"
        if issubclass(kind, StopIteration):  # would end the loop that asks for batches, silently
            raise RuntimeError(message)
        if kind is KeyError:
            raise KeyError(_Text(message))
        try:
            error = kind(message=message) if getattr(kind, "message", None) else kind(message)
        except Exception:  # its constructor wants something else
            raise RuntimeError(message) from None
        raise error


class StreamEnd:
    """A worker's answer when its stream has no more samples."""
