"""Worker threads for the CPU kernels: one pool per process, without OpenMP and without the GIL.

A *range kernel* is a compiled function ``void k(int64 args, int64 lo, int64 hi, int64 tid)`` that
does items ``lo..hi-1`` of a job; ``args`` is the address of its int64 argument words and ``tid`` an
opaque handle of the OS thread, good for :func:`worker_pool.scratch`. :func:`launch` runs a kernel
in chunks on all threads. Chunks depend on ``n`` and ``grain`` only, so a result has the same bits
for any number of threads. Workers start with the first job of several chunks, stop before a fork
and come back at the next need, in parent and child.

The number of threads is ``RUSHLIGHT_NUM_THREADS``, else ``OMP_NUM_THREADS``, else what the CPU mask
and the cgroup quota allow. Workers are bound to CPUs (``RUSHLIGHT_PIN=0`` leaves them free).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import os
import sys
import threading

from rushlight.machine import forking, np
from rushlight.machine.built_in_functions import built_in
from rushlight.machine.native_table import take_over
from rushlight.settings import fast_path_is_on

__all__ = [
    "gather", "get_num_threads", "launch", "plan", "recorded_runs", "run", "set_num_threads"
]  # fmt: skip

MOST_WORDS, PLAN_WORDS = 64, 8  # argument words of a kernel; words of a plan before them


def _control_group(name):
    with open(f"/sys/fs/cgroup/{name}") as file:
        return file.read()


def _cgroup_quota():
    """CPUs that the control group grants, or infinity."""
    with contextlib.suppress(OSError, ValueError):
        quota, period = _control_group("cpu.max").split()[:2]
        return math.inf if quota == "max" else int(quota) / int(period)
    with contextlib.suppress(OSError, ValueError):
        quota = int(_control_group("cpu/cpu.cfs_quota_us"))
        if quota > 0:
            return quota / int(_control_group("cpu/cpu.cfs_period_us"))
    return math.inf


def _allowed_cpus():
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _default_threads():
    chosen = os.environ.get("RUSHLIGHT_NUM_THREADS", "").strip()
    if chosen:
        if not chosen.isdigit() or int(chosen) < 1:
            raise ValueError(f"RUSHLIGHT_NUM_THREADS must be a positive integer, got {chosen!r}")
        return int(chosen)
    # As PyTorch; of a list, one number for each nested level, the first.
    others = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if others.isdigit() and int(others) > 0:
        return int(others)
    return max(1, math.ceil(min(len(_allowed_cpus()), _cgroup_quota())))


_threads: int | None = None
_pool: _Pool | None = None


class _Pool:
    """The state array, the compiled entry points, and the native calls through which Python
    calls."""

    def __init__(self, threads):
        from rushlight.machine import worker_pool as native

        self.native = native
        raw = np.zeros(native.STATE_BYTES // 8 + 8, np.int64)
        skipped = -(raw.ctypes.data // 8) % 8
        self.words = raw[skipped : skipped + native.STATE_BYTES // 8]
        self.address = self.words.ctypes.data
        one = ctypes.c_int64
        self._set_workers = ctypes.CFUNCTYPE(None, one, one)(native.set_workers.address())
        self.launch_address = native.launch.address()
        self.set(native.WORKER_CODE, native.worker_loop.address())
        self.words[native.SIGNALS // 8 : native.SIGNALS // 8 + 16] = -1
        self.set(native.KEY, self._thread_key(native.release_slot.address()))
        for offset, value in (
            (native.FLOAT_TYPE, float),
            (native.INT_TYPE, int),
            (native.BOOL_TYPE, bool),
            (native.NONE, None),
            (native.ARRAY_TYPE, np.ndarray),
        ):
            self.set(offset, id(value))
        self.configure(threads)
        if _door_is_safe():
            self.run = self._door("run", native.door_run.address())
            self.launch = self._door("launch", native.door_launch.address())
            self.gather = self._door("gather", native.door_gather.address())
        else:
            self._foreign = ctypes.CFUNCTYPE(None, *[one] * 5)(self.launch_address)
            self.run, self.launch = self._run_by_ctypes, self._launch_by_ctypes
            self.gather = self._gather_by_numpy

    def set(self, offset, value):
        self.words[offset // 8] = value

    @staticmethod
    def _thread_key(destructor):
        key = ctypes.c_uint32()
        error = ctypes.CDLL(None).pthread_key_create(ctypes.byref(key), ctypes.c_void_p(destructor))
        if error:
            raise OSError(error, "no thread-specific key left for kernel scratch memory")
        return key.value

    def configure(self, threads):
        """Number of workers and their CPUs; waits for a running job."""
        cpus = _allowed_cpus()
        workers = min(threads - 1, self.native.MAX_WORKERS)
        pinned = os.environ.get("RUSHLIGHT_PIN", "1") != "0" and len(cpus) > workers
        pinned = pinned and hasattr(os, "sched_setaffinity")
        # The Python between two products of a training step takes some 0.2 ms: a worker with a CPU
        # of its own waits about 1 ms for more before it sleeps (waking takes 50 us), others 0.15.
        spin = 20_000 if len(cpus) > workers else 3_000
        places = cpus[: workers + 1] if pinned else [-1] * (workers + 1)
        chosen = np.array([workers, spin, *places], np.int64)
        self._set_workers(self.address, chosen.ctypes.data)

    def survive_forks(self):
        """Have the workers stop before a fork, and come back at need in parent and child.

        Python runs no line of its own between these calls: Ctrl-C cannot come in between.
        """
        code = ctypes.CFUNCTYPE(None, ctypes.c_int64)
        stop = functools.partial(code(self.native.stop.address()), self.address)
        resume = functools.partial(code(self.native.resume.address()), self.address)
        stop.words = resume.words = self.words  # lives as long
        forking.STOPPED.append(stop)
        forking.RESUMED.append(resume)

    # ---- native calls

    def _door(self, name, code):
        """A built-in function over machine code; ``self`` of the function is the state array."""
        return built_in(name.encode(), code, self.words)

    def _launch_by_ctypes(self, function_address, args_address, n, grain):
        self._foreign(self.address, function_address, args_address, n, grain)

    def _run_by_ctypes(self, plan, *arguments):
        words = plan[self.native.PLAN_HEAD :].copy()
        for i, value in enumerate(arguments):
            if isinstance(value, float):
                words[i : i + 1].view(np.float64)[0] = value
            elif isinstance(value, int):
                words[i] = value
            else:
                words[i] = 0 if value is None else value.ctypes.data
        kernel, n, grain = (int(v) for v in plan[:3])
        self._foreign(self.address, kernel, words.ctypes.data, n, grain)

    def _gather_by_numpy(self, table, *lists):
        blocks, width = 0, len(lists) + 2
        dtype = lists[0][0].dtype
        for i, arrays in enumerate(zip(*lists, strict=True)):
            size = arrays[0].size
            for a in arrays:
                if not (
                    type(a) is np.ndarray
                    and a.flags.c_contiguous
                    and a.dtype == dtype
                    and a.size == size
                ):
                    return -1
            table[i * width : (i + 1) * width] = blocks, size, *(a.ctypes.data for a in arrays)
            blocks += -(-size // self.native.TABLE_BLOCK)
        return blocks


def _door_is_safe():
    """Whether objects are in memory as the native call reads them."""
    if not fast_path_is_on() or sys.implementation.name != "cpython":
        return False
    if not getattr(sys, "_is_gil_enabled", lambda: True)() or object.__basicsize__ != 16:
        return False
    probe, number = np.arange(3), 1.5
    data = ctypes.c_void_p.from_address(id(probe) + 16).value
    value = ctypes.c_double.from_address(id(number) + 16).value
    kind = ctypes.c_void_p.from_address(id(number) + 8).value
    return data == probe.ctypes.data and value == number and kind == id(float)


def pool():
    """The process's pool, built at first need (the number of threads is read then)."""
    global _pool
    if _pool is None:
        with forking.POOL:
            if _pool is None:
                made = _Pool(get_num_threads())
                made.survive_forks()
                natives = {"run": made.run, "launch": made.launch, "gather": made.gather}
                take_over("machine.threads", sys.modules[__name__], natives)
                _pool = made
    return _pool


def is_cold() -> bool:
    """Whether no kernel has run yet: one for little work would slow down the start."""
    return _pool is None


# Until the pool exists these three build it; afterwards the module's names are the native calls.


def launch(function_address: int, args_address: int, n: int, grain: int) -> None:
    """Run the range kernel at an address over items ``0..n-1``, ``grain`` items to a chunk.

    At most 64 chunks: a smaller grain is enlarged. One chunk, nested jobs and jobs that meet a
    busy pool run in the calling thread, over the same chunks. Returns when all items are done;
    the GIL is released while several chunks run.
    """
    pool().launch(function_address, args_address, n, grain)


def run(plan, *arguments) -> None:
    """Run a :func:`plan` with its first argument words given by ``arguments``.

    An array gives the address of its data, a float its bits, an int itself, None zero.
    """
    pool().run(plan, *arguments)


def gather(table, *lists) -> int:
    """Fill an int64 table for a job over lists of arrays (not empty, all of one length).

    Row i of the table: first block, size, address of element i of every list; a block is 4096
    elements. Returns the number of blocks, or -1 where arrays are not dense, not of one dtype or
    differ in size, so that the caller must treat them one by one.
    """
    return pool().gather(table, *lists)


def plan(kernel_address, n, grain, words):
    """A prepared job for :func:`run`: int64 array of kernel, items, grain and argument words."""
    if len(words) > MOST_WORDS:
        raise ValueError(f"a kernel takes at most {MOST_WORDS} argument words, got {len(words)}")
    return np.array([kernel_address, n, grain, len(words), 0, 0, 0, 0, *words], np.int64)


@contextlib.contextmanager
def recorded_runs():
    """A list of the ``(plan, arguments)`` that this thread runs inside of ``with``; None where
    another thread is recording."""
    names, own, runs = globals(), threading.get_ident(), []
    door = pool().run

    def note(plan, *arguments):
        if threading.get_ident() == own:
            runs.append((plan, arguments))
        door(plan, *arguments)

    if names["run"] is not door:
        yield None
        return
    names["run"] = note
    try:
        yield runs
    finally:
        names["run"] = door


@functools.cache
def launch_entry() -> tuple[int, int]:
    """For compiled callers: address of ``launch(pool, fn, args, n, grain)``, and ``pool``."""
    made = pool()
    return made.launch_address, made.address


def get_num_threads() -> int:
    """Number of threads that share a job, the caller among them."""
    global _threads
    if _threads is None:
        _threads = _default_threads()
    return _threads


def set_num_threads(n: int) -> None:
    """Set the number of threads; waits for a running job. Raises RuntimeError for n < 1."""
    global _threads
    if not isinstance(n, int) or n < 1:
        raise RuntimeError(f"set_num_threads expects a positive integer, got {n!r}")
    with forking.POOL:
        _threads = n
        if _pool is not None:
            _pool.configure(n)
