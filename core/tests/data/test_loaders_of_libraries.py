"""What loaders of libraries (torchdata's) derive from and call, compared with PyTorch's."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import queue
import signal
import subprocess
import sys
import threading
import time

import pytest

import rushlight

torch = pytest.importorskip("torch")


def modules(home, *names):
    return [importlib.import_module(f"{home.__name__}.utils.data.{name}") for name in names]


def drawing_sampler(home):
    """A sampler that draws each time its iterator is made, at once."""

    class Drawing(home.utils.data.Sampler):
        def __iter__(self):
            return iter(home.randperm(6).tolist())

        def __len__(self):
            return 6

    return Drawing()


def iterator_of(home):
    """An iterator as torchdata derives it, which begins again after it was made if asked to."""
    (dataloader,) = modules(home, "dataloader")

    class Counting(dataloader._BaseDataLoaderIter):
        def __init__(self, loader, again):
            super().__init__(loader)
            self.taken = 0
            if again:
                self._reset(loader, first_iter=True)
            self._fetcher = dataloader._DatasetKind.create_fetcher(
                self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn,
                self._drop_last,
            )  # fmt: skip

        def _next_index(self):
            self.taken += 1
            return super()._next_index()

        def _next_data(self):
            return self._fetcher.fetch(self._next_index())

    return Counting


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("again", [False, True])
def test_an_iterator_of_a_library_draws_as_there(workers, again):
    def read(home):
        home.manual_seed(4)
        loader = home.utils.data.DataLoader(
            list(range(6)), 2, sampler=drawing_sampler(home), num_workers=workers
        )
        own = iterator_of(home)(loader, again)
        seed = own._base_seed
        first = next(own).tolist()
        own._num_yielded, own._sampler_iter = 7, iter([[0, 5]])
        counts = own._num_yielded, own.taken, own._IterableDataset_len_called
        parts = own._world_size, own._rank, own._shared_seed, own._pin_memory_device or ""
        rest = [batch.tolist() for batch in own]
        return seed, first, counts, parts, rest, own._num_yielded, home.rand(1).item()

    ours, theirs = read(rushlight), read(torch)
    assert ours == theirs
    assert ours[4] == [[0, 5]]


def test_the_length_that_a_loader_was_asked_for_can_be_set():
    class Stream(rushlight.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(3))

        def __len__(self):
            return 9

    loader = rushlight.utils.data.DataLoader(Stream(), batch_size=None)
    own = iter(loader)
    own._IterableDataset_len_called = 1
    next(own)
    with pytest.warns(UserWarning, match="was reported to be 1"):
        next(own)


class Failure(Exception):
    """An error that says more than a text."""


@pytest.mark.parametrize("home", [rushlight, torch])
def test_errors_are_wrapped_by_classes_derived_from_the_wrapper(home):
    wrapper = importlib.import_module(f"{home.__name__}._utils").ExceptionWrapper
    kept = type("Kept", (wrapper,), {})
    try:
        raise Failure("no rows")
    except Failure:
        found = kept(where="in a thread")
    assert (found.exc_type, found.where, isinstance(found, wrapper)) == (
        Failure, "in a thread", True,
    )  # fmt: skip
    with pytest.raises(Failure, match="Caught Failure in a thread"):
        found.reraise()


@pytest.mark.parametrize("home", [rushlight, torch])
def test_what_workers_and_loaders_tell_each_other(home):
    inner, worker = modules(home, "_utils", "_utils.worker")
    assert worker._IterableDatasetStopIteration(3).worker_id == 3
    assert (worker._ResumeIteration().seed, worker._ResumeIteration(5).seed) == (None, 5)
    watchdog = worker.ManagerWatchdog()
    assert watchdog.is_alive()
    watchdog.manager_pid += 1
    assert not watchdog.is_alive()
    assert (inner.HAS_NUMPY, inner.python_exit_status) == (True, False)


_AT_EXIT = """
import atexit
atexit.register(lambda: print(inner.python_exit_status))
import rushlight.utils.data._utils as inner
"""


def test_the_flag_says_that_the_process_ends():
    done = subprocess.run(
        [sys.executable, "-c", _AT_EXIT], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"


class Unpinnable:
    """A value whose pinning fails."""

    def pin_memory(self):
        raise Failure("no pages")


def test_a_thread_pins_batches_and_passes_errors_on():
    pinning, wrapper = (*modules(rushlight, "pin_memory"), rushlight._utils.ExceptionWrapper)
    given, found, done = queue.Queue(), queue.Queue(), threading.Event()
    before = wrapper((Failure, Failure("early"), None))
    for item in ((0, [1, ("a", 2.5)]), (1, before), (2, {"x": Unpinnable()})):
        given.put(item)
    arguments = (given, found, 0, done, "cuda")
    thread = threading.Thread(target=pinning._pin_memory_loop, args=arguments)
    thread.start()
    answers = [found.get(timeout=5) for _ in range(3)]
    done.set()
    given.put((None, None))
    thread.join(5)
    assert not thread.is_alive() and found.empty()
    assert answers[0] == (0, [1, ("a", 2.5)])
    assert answers[1][1] is before
    with pytest.raises(Failure, match="Caught Failure in pin memory thread for device 0"):
        answers[2][1].reraise()


@pytest.fixture
def handler():
    """The handler of SIGCHLD as it was, afterwards."""
    signals, before = modules(rushlight, "signal_handling")[0], signal.getsignal(signal.SIGCHLD)
    yield signals
    signal.signal(signal.SIGCHLD, before)
    signals._SIGCHLD_handler_set = False


@pytest.mark.parametrize(
    ("end", "message"), [("kill", "is killed by signal: Killed"), ("exit", "with exit code 3")]
)
def test_a_watched_worker_that_fails_raises_at_once(handler, end, message):
    context = multiprocessing.get_context("fork")
    target = time.sleep if end == "kill" else os._exit
    seen = []
    signal.signal(signal.SIGCHLD, lambda *_: seen.append(True))
    handler._set_SIGCHLD_handler()
    with pytest.raises(RuntimeError, match=message):  # noqa: PT012 - it comes between the lines
        process = context.Process(target=target, args=(60 if end == "kill" else 3,))
        process.start()
        handler._set_worker_pids(1, (process.pid,))
        if end == "kill":
            process.kill()
        handler._error_if_any_worker_fails()
        time.sleep(5)
        handler._error_if_any_worker_fails()
    process.join()
    assert seen
    with pytest.raises(ValueError, match="1"):
        handler._remove_worker_pids(1)


def test_workers_that_end_well_are_no_failure(handler):
    process = multiprocessing.get_context("fork").Process(target=len, args=("",))
    process.start()
    handler._set_worker_pids(2, (process.pid,))
    with pytest.raises(ValueError, match="2"):
        handler._set_worker_pids(2, ())
    process.join()
    handler._error_if_any_worker_fails()
    handler._remove_worker_pids(2)
