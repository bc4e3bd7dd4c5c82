"""One pass over a DataLoader with worker processes, in the sampler's order."""

from __future__ import annotations

import contextlib
import queue
import time
import weakref

from rushlight.utils.data import workers


class WorkerIterator:
    """Keeps every worker busy `prefetch_factor` batches ahead and hands batches out in order."""

    def __init__(self, loader):
        self.loader, self.timeout = loader, loader.timeout
        context = loader.context()
        self.results, self.done = context.Queue(), context.Event()
        self.tasks, self.processes = [], []
        seed = loader.base_seed()
        for number in range(loader.num_workers):
            tasks = context.Queue()
            process = context.Process(
                target=workers.work,
                args=(
                    number, loader.num_workers, loader.dataset, loader.fetcher_of(), tasks,
                    self.results, seed, loader.worker_init_fn, self.done,
                ),
                daemon=True,
            )  # fmt: skip
            process.start()
            self.tasks.append(tasks)
            self.processes.append(process)
        self.epoch = 0
        self._finalizer = weakref.finalize(
            self, _stop, self.processes, self.tasks, self.results, self.done
        )
        self._begin()

    def restart(self):
        """Start another pass with the same workers."""
        self._drain()
        self._begin()

    def _begin(self):
        self.epoch += 1
        self.indices = iter(self.loader._index_sampler)
        self.sent = self.received = self.pending = 0
        self.cache, self.exhausted = {}, set()
        for tasks in self.tasks:
            tasks.put(("epoch", self.epoch))
        for _ in range(max(1, self.loader.prefetch_factor)):
            for number in range(len(self.tasks)):
                self._send(number)

    def _send(self, number):
        """Give a worker its next index list, if there is one."""
        if number in self.exhausted:
            return
        try:
            indices = next(self.indices)
        except StopIteration:
            return
        self.tasks[number].put(((self.epoch, self.sent), number, indices))
        self.cache[self.sent] = None
        self.sent += 1
        self.pending += 1

    def __iter__(self):
        return self

    def __len__(self):
        return len(self.loader)

    def __next__(self):
        while self.received < self.sent:
            found = self.cache[self.received]
            if found is None:
                self._receive()
                continue
            number, value = found
            del self.cache[self.received]
            self.received += 1
            if value is StopIteration:
                self.exhausted.add(number)
                continue
            self._send(number)
            if isinstance(value, workers.Failure):
                value.reraise()
            return workers.fetch(value)
        if not self.loader.persistent_workers:
            self._finalizer()
        raise StopIteration

    def _receive(self):
        (epoch, order), number, value = self._wait()
        self.pending -= 1
        if epoch != self.epoch:
            workers.discard(value)
            return
        self.cache[order] = (number, value)

    def _wait(self):
        """The next answer; dead workers and the time limit are errors."""
        limit = time.monotonic() + self.timeout if self.timeout else None
        while True:
            try:
                return self.results.get(timeout=min(self.timeout or 1.0, 1.0))
            except queue.Empty:
                dead = [p for p in self.processes if not p.is_alive()]
                if dead:
                    codes = ", ".join(f"pid {p.pid} exit code {p.exitcode}" for p in dead)
                    self._finalizer()
                    raise RuntimeError(f"DataLoader worker ({codes}) exited unexpectedly") from None
                if limit is not None and time.monotonic() >= limit:
                    self._finalizer()
                    raise RuntimeError(
                        f"DataLoader timed out after {self.timeout} seconds"
                    ) from None

    def _drain(self):
        """Take what is still on its way from an abandoned pass."""
        for found in self.cache.values():
            if found is not None:
                workers.discard(found[1])
        while self.pending > 0:
            _, _, value = self._wait()
            self.pending -= 1
            workers.discard(value)


def _stop(processes, tasks, results, done):
    """Tell the workers to end, free what they had parked, and wait for them."""
    done.set()
    for channel in tasks:
        with contextlib.suppress(OSError, ValueError):
            channel.put(None)
    deadline = time.monotonic() + 5.0
    while any(p.is_alive() for p in processes) and time.monotonic() < deadline:
        _discard_waiting(results)
        for process in processes:
            process.join(0.01)
    for process in processes:
        if process.is_alive():
            process.terminate()
            process.join()
    _discard_waiting(results)
    for channel in (*tasks, results):
        channel.cancel_join_thread()
        channel.close()


def _discard_waiting(results):
    with contextlib.suppress(queue.Empty, OSError, ValueError, EOFError):
        while True:
            workers.discard(results.get_nowait()[2])
