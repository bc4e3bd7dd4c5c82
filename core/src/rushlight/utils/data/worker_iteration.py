"""One pass over a DataLoader with worker processes."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import select
import signal
import time
import warnings
import weakref
from pickle import PicklingError

from rushlight._utils.exceptions import ExceptionWrapper
from rushlight.utils.data import channel as channels
from rushlight.utils.data import position, worker_process, workers
from rushlight.utils.data.iteration import (
    _BaseDataLoaderIter,
    _DatasetKind,
    example_batch,
    pipe_settings,
)
from rushlight.utils.data.worker_ends import (
    end_at_exit,
    is_exiting,
    stop,
    stop_for_collector,
    wait_for_exit,
)

_CHECK_INTERVAL = 1.0  # seconds between looks at processes whose channel is still open
_LASTING = ("random_state", "dataset_state")  # of a worker's state, from one pass to the next
_SHORT_GRACE = 0.5  # seconds that workers have when one of them failed, which is to be told soon


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Keeps every worker busy `prefetch_factor` batches ahead, and hands batches out in the
    sampler's order (or, with ``in_order=False``, as they come)."""

    _begins_twice = True

    def __init__(self, loader, resumption=None):
        super().__init__(loader, resumption)
        self._prefetch_factor, self._in_order = loader.prefetch_factor, loader.in_order
        if self._prefetch_factor <= 0:
            raise AssertionError(
                f"prefetch_factor must be greater than 0, got {self._prefetch_factor}"
            )
        self._epoch, self._workers, self._channels = 0, [], []
        self._told = False  # of what ended the workers
        self._reports = [None] * self._num_workers
        self._shutdown_workers = weakref.finalize(
            self, stop_for_collector, self._workers, self._channels, os.getpid()
        )
        self._start(loader)
        end_at_exit(self)
        self._poll = select.poll()
        for each in self._channels:
            self._poll.register(each, select.POLLIN)
        self._by_file = {each.fileno(): i for i, each in enumerate(self._channels)}
        self._begin(loader, resumption)

    def _start(self, loader):
        """Start the processes."""
        context = loader.multiprocessing_context or multiprocessing.get_context()
        for number in range(self._num_workers):
            ours, theirs = channels.Channel.pair()
            self._channels.append(ours)
            plan = worker_process.Plan(
                number, self._num_workers, self._dataset,
                functools.partial(
                    _DatasetKind.create_fetcher, self._dataset_kind,
                    auto_collation=self._auto_collation, collate_fn=self._collate_fn,
                    drop_last=self._drop_last,
                ),
                self._base_seed, self._initializer(loader), os.getpid(),
                position.is_stateful(self._dataset),
            )  # fmt: skip
            # Forked processes inherit our ends of the channels made so far.
            inherited = list(self._channels) if context.get_start_method() == "fork" else ()
            process = context.Process(
                target=worker_process.work, args=(plan, theirs, inherited), daemon=True
            )
            try:
                process.start()
            except (TypeError, AttributeError, PicklingError):
                warnings.warn(
                    "a worker process could not be started because its arguments cannot be "
                    "pickled: the dataset, collate_fn and worker_init_fn must be defined at the "
                    "top of a module, or multiprocessing_context='fork' be used",
                    stacklevel=4,
                )
                self._shutdown_workers()
                raise
            finally:
                theirs.close()
            self._workers.append(process)

    def _initializer(self, loader):
        """What workers call first: for data pipes also what gives each its part."""
        shards = pipe_settings(self._dataset, "IterDataPipe", "MapDataPipe")
        if shards is None:
            return loader.worker_init_fn
        return functools.partial(
            shards._sharding_worker_init_fn, loader.worker_init_fn, self._world_size, self._rank
        )

    def _fault(self) -> str:
        """Why these workers can make no other pass; "" if they can."""
        if not self._shutdown_workers.alive:
            return "they were ended"
        for number, process in enumerate(self._workers):
            if not process.is_alive():
                return f"worker {number} {_ending(process.exitcode)}"
        return ""

    def _reset(self, loader, first_iter=False):
        """Start another pass with the same workers."""
        known = self._position.workers
        for _, (number, *answer) in sorted(self._task_info.items()):  # came and was not wanted
            known[number].update(answer[1] if answer else {})
        for own, last in zip(known, self._last_states, strict=True):
            own.update(last)
        self._open(loader, None, draws_seed=False)
        for own, new in zip(known, self._position.workers, strict=True):
            new.update({key: own[key] for key in _LASTING if key in own})
        self._begin(loader, None)

    def _begin(self, loader, resumption):
        self._epoch += 1
        self._send_idx = self._rcvd_idx = self._position.drawn
        self._task_info = {}  # order -> [worker] or [worker, batch, state]
        self._sampler_states = {}
        self._last_states = [{} for _ in range(self._num_workers)]  # at the end of streams
        self._active = [True] * self._num_workers
        self._tasks_of = [0] * self._num_workers
        self._next_worker = (self._position.last_worker + 1) % self._num_workers
        batch = example_batch(loader)
        for number in range(self._num_workers):
            resume = None if resumption is None else resumption.worker(number, batch)
            self._give(number, (resume, self._shared_seed), worker_process.BEGIN)
        for _ in range(self._prefetch_factor * self._num_workers):
            self._try_put_index()
        if resumption is not None:
            resumption.settle()

    def _give(self, number, message, order):
        try:
            self._channels[number].send(message, self._epoch, order)
        except (EOFError, OSError) as error:
            self._raise_death(number, error)

    # ------------------------------------------------------------------------------- giving tasks
    def _try_put_index(self):
        """Give the next indices to the next worker that takes some."""
        number = self._free_worker()
        if number is None:
            return
        try:
            indices = self._next_index()
        except StopIteration:
            return
        if self._stateful_sampler is not None:
            self._sampler_states[self._send_idx] = self._stateful_sampler.state_dict()
        self._next_worker = (number + 1) % self._num_workers
        self._task_info[self._send_idx] = [number]
        self._tasks_of[number] += 1
        self._give(number, indices, self._send_idx)
        self._send_idx += 1

    def _free_worker(self):
        active = sum(self._active)
        for step in range(self._num_workers):
            number = (self._next_worker + step) % self._num_workers
            limit = self._prefetch_factor * self._num_workers // max(active, 1)
            if self._active[number] and (self._in_order or self._tasks_of[number] < limit):
                return number
        return None

    # ---------------------------------------------------------------------------- taking batches
    def _next_data(self):
        while True:
            while self._rcvd_idx < self._send_idx and self._rcvd_idx not in self._task_info:
                self._rcvd_idx += 1  # handed out before its turn, or the end of a stream
                self._advance()
            if self._rcvd_idx >= self._send_idx:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            if len(self._task_info[self._rcvd_idx]) > 1:
                return self._hand_out(self._rcvd_idx)
            order, number, answer, state = self._receive()
            if isinstance(answer, workers._IterableDatasetStopIteration):
                del self._task_info[order]
                self._last_states[number].update(state)
                self._tasks_of[number] -= 1
                self._active[number] = False
                self._try_put_index()
                continue
            self._task_info[order] += [answer, state]
            if not self._in_order:
                return self._hand_out(order)

    def _advance(self):
        here = self._position
        here.drawn = self._rcvd_idx
        here.ahead = [order for order in here.ahead if order >= self._rcvd_idx]

    def _hand_out(self, order):
        number, data, state = self._task_info.pop(order)
        here = self._position
        if order == self._rcvd_idx:
            self._rcvd_idx += 1
        else:
            here.ahead.append(order)
        self._advance()
        here.last_worker = number
        here.sampler_state = self._sampler_states.pop(order, None)
        own = here.workers[number]
        own.update(state)
        own["taken"] += 1
        self._tasks_of[number] -= 1
        self._try_put_index()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return data

    def _receive(self):
        """(order, worker, batch, state) of the next answer of this pass."""
        while True:
            number = self._ready_worker()
            try:
                message = self._channels[number].receive()
            except (EOFError, OSError) as error:
                self._raise_death(number, error)
            text, files, epoch, order = message
            if order == worker_process.HELLO:
                self._reports[number] = channels.unpack(text, files)
                continue
            answer, state = channels.unpack(text, files)
            if epoch == self._epoch:
                return order, number, answer, state
            own = self._position.workers[number]  # from a pass that was left
            own.update({key: state[key] for key in _LASTING if key in state})

    def _ready_worker(self):
        """A worker with something to read, that of the next batch first; errors when one has died
        or the time limit is over."""
        wanted = self._task_info[self._rcvd_idx][0]
        for number in (wanted, *range(self._num_workers)):
            if self._channels[number].waiting:
                return number
        limit = time.monotonic() + self._timeout if self._timeout else None
        while True:
            left = _CHECK_INTERVAL if limit is None else limit - time.monotonic()
            ready = self._poll.poll(1000 * max(0.0, min(left, _CHECK_INTERVAL)))
            if ready:
                numbers = [self._by_file[file] for file, _ in ready]
                return wanted if wanted in numbers else numbers[0]
            for number, process in enumerate(self._workers):
                if not process.is_alive():
                    self._raise_death(number, None)
            if limit is not None and time.monotonic() >= limit:
                process = self._workers[wanted]
                self._told = True
                stop(self._workers, self._channels, os.getpid(), _SHORT_GRACE)
                raise RuntimeError(
                    f"DataLoader timed out after {self._timeout} seconds: worker {wanted} (pid "
                    f"{process.pid}) has not given batch {self._rcvd_idx}"
                )

    def _raise_death(self, number, error):
        """Say which worker ended and how, after ending the others."""
        if is_exiting():
            wait_for_exit()
        process = self._workers[number]
        process.join(1.0)
        self._told = True
        message = f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly: worker {number} "
        message += _ending(process.exitcode)
        with contextlib.suppress(EOFError, OSError):
            while self._reports[number] is None:  # it may have said nothing yet
                text, files, _, order = self._channels[number].receive()
                if order == worker_process.HELLO:
                    self._reports[number] = channels.unpack(text, files)
        if self._reports[number] is not None:
            report = worker_process.exception_text(self._reports[number])
            message += f"\n\nIts last words:\n{report}" if report else ""
        stop(self._workers, self._channels, os.getpid(), _SHORT_GRACE)
        raise RuntimeError(message) from error


def _ending(code):
    if code is None:
        return "closed its channel"
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    reason = {
        "SIGKILL": " (the system may have run out of memory)",
        "SIGBUS": " (shared memory could not be provided)",
    }.get(name, "")
    return f"was killed by signal {name}, exit code {code}{reason}"
