"""Workers that die, hang or cannot do their work: what is said, and that nothing is left."""

import ctypes
import gc
import os
import signal
import subprocess
import sys
import time
from multiprocessing import resource_tracker
from pathlib import Path

import pytest

import rushlight
from rushlight.utils import data

# Seconds within which a fault is told, on a busy machine too: what hangs sleeps for minutes.
PROMPT = 60


class Faulty(data.Dataset):
    """Sample 5 goes wrong in a way of choice."""

    def __init__(self, fault):
        self.fault = fault

    def __len__(self):
        return 16

    def __getitem__(self, index):
        if index == 5:
            return getattr(self, self.fault)()
        return rushlight.full((100, 100), float(index))

    def kill(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def exit(self):
        os._exit(7)

    def leave(self):
        sys.exit("had enough")

    def crash(self):
        ctypes.string_at(0)

    def exhaust(self):
        raise MemoryError("no memory for sample 5")

    def missing(self):
        return {}["label"]

    def stop(self):
        raise StopIteration

    def unpicklable(self):
        return lambda: None

    def hang(self):
        time.sleep(300)


def keep(samples):
    return samples


def open_files():
    return len(os.listdir("/proc/self/fd"))


def children():
    """Processes that this one has started and not yet taken leave of."""
    found = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return {int(pid) for pid in found}


@pytest.fixture(autouse=True)
def nothing_is_left():
    resource_tracker.ensure_running()  # the standard library's, which stays
    processes, files = children(), open_files()
    yield
    gc.collect()  # errors keep the frames they came from, in cycles
    assert children() <= processes and open_files() <= files


def load(fault, **options):
    start = time.monotonic()
    try:
        list(data.DataLoader(Faulty(fault), 2, num_workers=2, **options))
    finally:
        assert time.monotonic() - start < PROMPT


# Worker 0 gets the samples 0, 1, 4, 5: batch 2 holds the faulty one.
@pytest.mark.parametrize(
    ("fault", "ending"),
    [
        ("kill", "worker 0 was killed by signal SIGKILL, exit code -9 .*out of memory"),
        ("exit", "worker 0 ended with exit code 7"),
        ("leave", "(?s)worker 0 ended with exit code 1.*had enough"),
        ("crash", "(?s)worker 0 was killed by signal SIGSEGV.*Segmentation fault.*in crash"),
    ],
)
def test_a_worker_that_dies_is_reported_with_its_end(fault, ending):
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexp") as e:
        load(fault)
    with pytest.raises(RuntimeError, match=ending):
        raise e.value


@pytest.mark.parametrize(
    ("fault", "kind", "message"),
    [
        ("exhaust", MemoryError, "no memory for sample 5"),
        ("missing", KeyError, "KeyError: 'label'"),
        ("stop", RuntimeError, "Caught StopIteration"),
    ],
)
def test_an_exception_comes_back_with_its_traceback(fault, kind, message):
    with pytest.raises(kind) as e:
        load(fault)
    text = str(e.value)
    assert "in DataLoader worker process 0.\nOriginal Traceback" in text and message in text
    assert f"in {fault}" in text


def test_a_batch_that_cannot_be_sent_says_so():
    with pytest.raises(
        (AttributeError, TypeError, RuntimeError), match="(?s)worker process 0.*pic"
    ):
        load("unpicklable", collate_fn=keep)


def test_a_loader_goes_on_after_an_exception():
    batches = iter(data.DataLoader(Faulty("exhaust"), 2, num_workers=2))
    seen = []
    for number in range(8):
        try:
            seen.append(next(batches)[0, 0, 0].item())
        except MemoryError:
            assert number == 2
    assert seen == [0, 2, 6, 8, 10, 12, 14]
    with pytest.raises(StopIteration):
        next(batches)


def test_a_hung_worker_is_reported_by_the_time_limit():
    with pytest.raises(RuntimeError, match=r"timed out after 0.5 seconds: worker 0 \(pid \d+\)"):
        load("hang", timeout=0.5)


def fail_at_start(number):
    raise ValueError(f"worker {number} cannot start")


def test_a_failing_init_function_is_reported():
    with pytest.raises(ValueError, match=r"(?s)worker process 0.*worker 0 cannot start"):
        load("hang", worker_init_fn=fail_at_start)


def test_a_killed_idle_worker_is_noticed():
    batches = iter(data.DataLoader(Faulty("hang"), 2, num_workers=2, prefetch_factor=1))
    next(batches)
    os.kill(batches._workers[1].pid, signal.SIGKILL)
    start = time.monotonic()  # the other worker is asleep for minutes
    with pytest.raises(RuntimeError, match="worker 1 was killed by signal SIGKILL"):
        list(batches)
    assert time.monotonic() - start < PROMPT
    del batches


def test_what_cannot_be_pickled_is_explained():
    loader = data.DataLoader(
        Faulty("hang"), num_workers=1, collate_fn=lambda x: x, multiprocessing_context="spawn"
    )
    with (
        pytest.warns(UserWarning, match="cannot be pickled"),
        pytest.raises((AttributeError, TypeError)),
    ):
        iter(loader)


def test_a_loader_abandoned_in_mid_pass_leaves_nothing():
    loader = data.DataLoader(Faulty("kill"), 1, num_workers=2, persistent_workers=True)
    for _ in loader:
        break
    assert len(loader._iterator._workers) == 2 and len(children()) >= 2
    del loader
    before = children()
    for _ in data.DataLoader(Faulty("kill"), 1, num_workers=2):
        assert len(children()) == len(before) + 2
        break
    assert children() == before  # at once, without the garbage collector


def test_workers_end_by_themselves_beside_those_of_another_loader():
    first = data.DataLoader(range(8), num_workers=2, persistent_workers=True)
    assert len(list(first)) == 8
    second = data.DataLoader(range(8), num_workers=2, persistent_workers=True)
    assert len(list(second)) == 8  # its processes hold copies of the first one's channels
    processes = first._iterator._workers
    del first
    assert [process.exitcode for process in processes] == [0, 0]  # not terminated
    assert len(list(second)) == 8
    del second


PROGRAM = """
import signal, sys, time
import rushlight
from rushlight.utils import data

class Slow(data.Dataset):
    def __len__(self):
        return 1000
    def __getitem__(self, index):
        time.sleep(0.05)
        return rushlight.ones(100, 100)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    batches = iter(data.DataLoader(Slow(), 2, num_workers=2))
    next(batches)
    print(*(p.pid for p in batches._workers), flush=True)
    for batch in batches:
        continue
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_the_main_process(number, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    program = subprocess.Popen(
        [sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    pids = [int(each) for each in program.stdout.readline().split()]
    assert len(pids) == 2 and all(is_running(pid) for pid in pids)
    if number == signal.SIGINT:
        os.killpg(program.pid, number)  # as a terminal's Ctrl-C
    else:
        os.kill(program.pid, number)
    _, errors = program.communicate(timeout=30)
    assert ("KeyboardInterrupt" in errors) == (number == signal.SIGINT)
    assert program.returncode != 0
    end = time.monotonic() + 5
    while any(is_running(pid) for pid in pids):
        assert time.monotonic() < end, "a worker outlived its loader"
        time.sleep(0.05)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


# ---- ends of workers that nobody asked for -------------------------------------------------------


class Numbers(data.Dataset):
    def __len__(self):
        return 120  # many more than workers are ahead

    def __getitem__(self, index):
        return index


def batches(loader):
    return [batch.tolist() for batch in loader]


def test_persistent_workers_are_replaced_after_one_was_killed():
    loader = data.DataLoader(Numbers(), batch_size=3, num_workers=2, persistent_workers=True)
    whole = batches(loader)
    iterator = iter(loader)
    next(iterator)
    os.kill(iterator._workers[1].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="worker 1 was killed by signal SIGKILL"):
        while True:
            next(iterator)
    first = iterator._workers
    assert batches(loader) == whole  # the pass that failed has told
    os.kill(loader._iterator._workers[0].pid, signal.SIGKILL)
    loader._iterator._workers[0].join()
    with pytest.warns(RuntimeWarning, match="anew, because worker 0 was killed by signal SIGKILL"):
        assert batches(loader) == whole
    assert batches(loader) == whole and loader._iterator._workers is not first


def test_a_stopped_worker_is_not_waited_for(monkeypatch):
    loader = data.DataLoader(Numbers(), batch_size=3, num_workers=2)
    iterator = iter(loader)
    next(iterator)
    process = iterator._workers[0]
    asked = []  # to end, which happens to workers that were waited for
    monkeypatch.setattr(type(process), "terminate", lambda self: asked.append(self.name))
    os.kill(process.pid, signal.SIGSTOP)
    del iterator, loader
    gc.collect()
    assert process.name not in asked
    assert process.exitcode == -signal.SIGKILL


def test_exceptions_of_local_classes_keep_their_traceback():
    class Base(ValueError):
        pass

    class Missing(Base):
        pass

    class Local(data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            raise Missing(f"no sample {index}")

    with pytest.raises(ValueError, match="Caught Missing in DataLoader worker process 0") as caught:
        next(iter(data.DataLoader(Local(), num_workers=1)))
    assert "no sample 0" in str(caught.value) and 'raise Missing(f"no sample' in str(caught.value)


SILENT = """
import os, signal, sys, threading, time
import rushlight
from rushlight.utils.data import DataLoader

class Slow:
    def __len__(self):
        return 200
    def __getitem__(self, index):
        time.sleep(0.01)
        return index

loader = DataLoader(Slow(), batch_size=4, num_workers=2, persistent_workers=True)
iterator = iter(loader)
next(iterator)
"""
ENDINGS = {
    "leaves": "sys.exit(0)",
    "stopped": "os.kill(iterator._workers[0].pid, signal.SIGSTOP)",
    "cycle": "class A: pass\na = A(); a.a, a.iterator = a, iterator\ndel loader, iterator, a",
    "thread": "def use():\n    for batch in iterator: pass\n"
    "threading.Thread(target=use, daemon=True).start(); time.sleep(0.05)",
    "generator": "def use():\n    yield from iterator\nkept = use(); next(kept)",
    "fork": "os.fork() or os._exit(0)\nos.wait()",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_programs_end_without_a_word(ending):
    done = subprocess.run(
        [sys.executable, "-c", SILENT + ENDINGS[ending]], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


INTERRUPTED = (
    SILENT
    + """
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have told it to be ignored
os.kill(iterator._workers[0].pid, signal.SIGSTOP)
from rushlight.utils.data import worker_ends
worker_ends._is_stopped = lambda number: False  # so that it is waited for
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    del loader, iterator
    time.sleep(10)
except KeyboardInterrupt:
    print("interrupted")
"""
)


def test_ctrl_c_while_an_iterator_is_collected():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")
