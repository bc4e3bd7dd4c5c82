"""Worker processes of the data loader, and the shared memory batches travel through."""

from __future__ import annotations

import os
import queue
import traceback
from dataclasses import dataclass
from multiprocessing import shared_memory

import rushlight
from rushlight.backends import np
from rushlight.backends.arrays import BY_CODE
from rushlight.dtypes import NAMES
from rushlight.tensor.tensor import Tensor, make_tensor

_SMALL = 4096  # bytes below which pickling costs less than a shared block
_info = None


@dataclass
class WorkerInfo:
    """What a worker process knows of itself."""

    id: int
    num_workers: int
    seed: int
    dataset: object


def get_worker_info():
    """The :class:`WorkerInfo` inside a worker process, None outside."""
    return _info


@dataclass
class Shared:
    """A tensor parked in shared memory."""

    name: str
    shape: tuple
    dtype: str


class Failure:
    """An exception of a worker, as it can be raised again in the main process."""

    def __init__(self, worker):
        import sys

        kind, error, _ = sys.exc_info()
        self.kind, self.worker = kind, worker
        self.text = "".join(traceback.format_exception(error))

    def reraise(self):
        """Raise the same kind of exception with the worker's traceback as its message."""
        message = f"Caught {self.kind.__name__} in DataLoader worker process {self.worker}.\n"
        message += f"Original {self.text}"
        if self.kind is KeyError:
            raise RuntimeError(message)
        try:
            error = self.kind(message)
        except TypeError:
            error = RuntimeError(message)
        raise error


def park(value):
    """Tensors of a batch into shared memory; the receiver frees the blocks."""
    if isinstance(value, Tensor):
        array = value.detach()._array
        if array.nbytes < _SMALL:
            return value
        block = shared_memory.SharedMemory(create=True, size=array.nbytes)
        np.ndarray(array.shape, array.dtype, block.buf)[...] = array
        found = Shared(block.name, array.shape, value.dtype.name)
        block.close()
        _forget(block)
        return found
    return _map(park, value)


def _forget(block):
    """The main process unlinks the block; this process's tracker must not."""
    from multiprocessing import resource_tracker

    try:
        resource_tracker.unregister(block._name, "shared_memory")
    except (KeyError, AttributeError):  # the tracker never knew the block
        return


def fetch(value):
    """Tensors back from shared memory, without a copy; the blocks lose their names at once."""
    if isinstance(value, Shared):
        block = shared_memory.SharedMemory(value.name)
        block.unlink()
        dtype = NAMES[value.dtype]
        array = np.ndarray(value.shape, BY_CODE[dtype.code], block.buf)
        out = make_tensor(array, dtype)
        out.untyped_storage().shared = block
        _adopt(block)
        return out
    return _map(fetch, value)


def _adopt(block):
    """Leave unmapping to the array's lifetime: closing is refused while a view exists."""
    block.close = lambda: None


def discard(value):
    """Free the shared blocks of a batch nobody will read."""
    if isinstance(value, Shared):
        block = shared_memory.SharedMemory(value.name)
        block.unlink()
        block.close()
        return
    _map(discard, value)


def _map(function, value):
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(function(v) for v in value))
    if isinstance(value, (list, tuple)):
        return type(value)(function(v) for v in value)
    if isinstance(value, dict):
        return {k: function(v) for k, v in value.items()}
    return value


def work(worker, count, dataset, fetcher_of, tasks, results, seed, init, done):
    """The main function of a worker process: take index lists, give batches, until told to stop."""
    global _info
    import random

    from rushlight.backends import threads

    threads.set_num_threads(1)
    rushlight.manual_seed(seed + worker)
    random.seed(seed + worker)
    np.random.seed(_numpy_seed(seed, worker))
    _info = WorkerInfo(worker, count, seed + worker, dataset)
    parent, fetcher, failed = os.getppid(), None, None
    try:
        if init is not None:
            init(worker)
    except Exception:  # reported as the first batch's error
        failed = Failure(worker)
    while True:
        task = _next_task(tasks, parent, done)
        if task is None:
            break
        if task[0] == "epoch":
            try:
                fetcher = fetcher_of(dataset)
            except Exception:
                failed = Failure(worker)
            continue
        results.put((*task[:2], _answer(fetcher, task[2], worker, failed)))
        failed = None
    results.cancel_join_thread()
    results.close()


def _numpy_seed(seed, worker):
    """A 32-bit seed for NumPy's legacy generator in a worker."""
    return (seed + worker) % (1 << 32)


def _next_task(tasks, parent, done):
    while True:
        try:
            return tasks.get(timeout=5.0)
        except queue.Empty:
            if os.getppid() != parent or done.is_set():
                return None


def _answer(fetcher, indices, worker, failed):
    if failed is not None:
        return failed
    try:
        return park(fetcher(indices))
    except StopIteration:
        return StopIteration
    except Exception:  # raised again in the main process
        return Failure(worker)
