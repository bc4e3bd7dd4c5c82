"""The compiled half of the worker pool: workers, jobs, scratch of threads, the call from Python.

All functions here are kernels (:mod:`rushlight.machine.language.functions`) over one array of int64
words, the pool state; :mod:`rushlight.machine.threads` owns that array. Workers are plain
pthreads: they never hold the GIL and Python does not know them.
"""

from __future__ import annotations

from rushlight.machine.language.functions import (
    External,
    array,
    atomic_add,
    atomic_subtract,
    atomic_swap,
    call_address,
    entry,
    function,
    i32,
    i64,
    load_acquire,
    shared_function,
    spin_pause,
    stack,
    store_release,
)

# ---- layout of the pool state (byte offsets; words that threads write are on their own lines) ----

MAX_WORKERS, MAX_CHUNKS = 64, 64
BUSY, DONE = 64, 128  # a job is running; chunks finished
FN, ARGS, N, GRAIN, CHUNKS, SHARES = 192, 200, 208, 216, 224, 232  # the job
WORKERS, SPIN, STOP, HOME = 256, 264, 272, 280  # running workers; HOME: the CPU no worker owns
WANTED, WORKER_CODE, KEY, STARTED = 320, 328, 336, 344
FLOAT_TYPE, INT_TYPE, BOOL_TYPE, NONE, ARRAY_TYPE = (
    384,
    392,
    400,
    408,
    416,
)  # addresses of Python objects
SIGNALS = 448  # two signal sets of 128 bytes: all signals, and the caller's
WORKER, WORKER_BYTES = 768, 256
# per worker: asleep flag, pool (+8), thread (+16), kernel thread id (+32), CPU (+40),
# semaphore (+64), CPU set (+128)
# Per thread, the caller first: chunks of its share not yet claimed, on a line of its own.
COUNTERS = WORKER + WORKER_BYTES * MAX_WORKERS
STATE_BYTES = COUNTERS + 64 * (MAX_WORKERS + 1)

DATA = 16  # offset of an array's data pointer, and of a float's value, in a CPython object
DIMS, SHAPE, DTYPE, FLAGS = 24, 32, 56, 64  # further fields of an array
LIST_LENGTH, LIST_ITEMS = 16, 24  # fields of a list
TABLE_BLOCK = 4096  # elements of one item of a job over a table of arrays
PLAN_HEAD = 8  # words before the arguments of a plan: kernel, n, grain, number of arguments
MAX_ARGUMENTS = 64

sem_init = External("sem_init", i32, (i64, i32, i32))
sem_post = External("sem_post", i32, (i64,))
sem_wait = External("sem_wait", i32, (i64,))
sched_yield = External("sched_yield", i32, ())
sched_getcpu = External("sched_getcpu", i32, ())
sched_setaffinity = External("sched_setaffinity", i32, (i32, i64, i64))
gettid = External("gettid", i32, ())
pthread_create = External("pthread_create", i32, (i64, i64, i64, i64))
pthread_join = External("pthread_join", i32, (i64, i64))
pthread_sigmask = External("pthread_sigmask", i32, (i32, i64, i64))
pthread_getspecific = External("pthread_getspecific", i64, (i32,))
pthread_setspecific = External("pthread_setspecific", i32, (i32, i64))
posix_memalign = External("posix_memalign", i32, (i64, i64, i64))
calloc = External("calloc", i64, (i64, i64))
free = External("free", None, (i64,))
memset = External("memset", i64, (i64, i32, i64))
memcpy = External("memcpy", i64, (i64, i64, i64))
madvise = External("madvise", i32, (i64, i64, i32))
PyLong_FromLongLong = External("PyLong_FromLongLong", i64, (i64,))
PyEval_SaveThread = External("PyEval_SaveThread", i64, ())
PyEval_RestoreThread = External("PyEval_RestoreThread", None, (i64,))
PyLong_AsLongLong = External("PyLong_AsLongLong", i64, (i64,))
Py_IncRef = External("Py_IncRef", None, (i64,))


@function
def load(address):
    """The word at an address."""
    return array(i64, address)[0]


@function
def store(address, value):
    """Put a word at an address."""
    array(i64, address)[0] = value


@function
def copy_rows(source, source_step, target, target_step, rows, size):
    """Copy rows of ``size`` bytes; steps are the bytes from one row to the next."""
    for row in range(rows):
        memcpy(target + row * target_step, source + row * source_step, size)


# ---- scratch -------------------------------------------------------------------------------------


@function
def thread_slot(pool):
    """The calling thread's slot (address and size of its scratch); kernels get it as ``tid``."""
    key = i32(load(pool + KEY))
    slot = pthread_getspecific(key)
    if slot == 0:
        slot = calloc(1, 64)
        pthread_setspecific(key, slot)
    return slot


@entry(None, i64)
def release_slot(slot):
    """Runs when a thread ends."""
    free(load(slot))
    free(slot)


@shared_function
def scratch(slot, size) -> i64:  # type: ignore[valid-type]
    """At least ``size`` bytes, private to the thread until its next call; contents are not kept.

    A kernel that uses scratch may not launch another one that does.
    """
    if load(slot + 8) < size:
        free(load(slot))
        huge_page = 1 << 21
        size = (size + huge_page - 1) // huge_page * huge_page
        store(slot + 8, 0)
        posix_memalign(slot, huge_page, size)
        madvise(load(slot), size, 14)  # MADV_HUGEPAGE: fewer TLB misses in strided tiles
        store(slot + 8, size)
    return load(slot)


# ---- workers -------------------------------------------------------------------------------------


@function
def drain(pool, slot, own):
    """Claim and run the chunks of a thread's own share, then what others have left of theirs.

    Neighbouring chunks stay in one thread, and from job to job in the same one: what it has written
    is in its caches. Counters count down, so a thread that arrives late finds them at or below zero
    and can never claim a chunk of a finished job.
    """
    shares = load_acquire(pool + SHARES)
    for turn in range(shares):
        part = (own + turn) % shares
        counter = pool + COUNTERS + 64 * part
        while load_acquire(counter) > 0:
            remaining = atomic_subtract(counter, 1)
            if remaining <= 0:
                break
            n, grain = load_acquire(pool + N), load_acquire(pool + GRAIN)
            end = load_acquire(pool + CHUNKS) * (part + 1) // load_acquire(pool + SHARES)
            first = (end - remaining) * grain
            last = min(n, first + grain)
            call_address(load_acquire(pool + FN), load_acquire(pool + ARGS), first, last, slot)
            atomic_add(pool + DONE, 1)


@function
def bind(worker, thread, cpu):
    """Let a thread (0: the caller) run on one CPU only."""
    memset(worker + 128, 0, 128)
    store(worker + 128 + 8 * (cpu // 64), i64(1) << (cpu % 64))
    sched_setaffinity(i32(thread), 128, worker + 128)


@function
def wait_for_post(worker):
    """Sleep on the worker's semaphore; signals may interrupt."""
    while sem_wait(worker + 64) != 0:
        spin_pause()


@entry(i64, i64)
def worker_loop(worker):
    """The life of a worker: spin a little, sleep, work."""
    pool = load(worker + 8)
    if load(worker + 40) >= 0:
        bind(worker, 0, load(worker + 40))
    store_release(worker + 32, i64(gettid()))
    slot, own = thread_slot(pool), (worker - pool - WORKER) // WORKER_BYTES + 1
    counter = pool + COUNTERS + 64 * own
    while True:
        budget, spins = load_acquire(pool + SPIN), 0
        while spins < budget and load_acquire(counter) <= 0:
            if load_acquire(pool + STOP) != 0:
                break
            spin_pause()
            spins += 1
        if load_acquire(counter) <= 0 and load_acquire(pool + STOP) == 0:
            atomic_swap(worker, 1)  # announce sleep, look again, then sleep
            if load_acquire(counter) > 0 or load_acquire(pool + STOP) != 0:
                if atomic_swap(worker, 0) == 0:  # somebody has already posted: take the post
                    wait_for_post(worker)
            else:
                wait_for_post(worker)
        if load_acquire(pool + STOP) != 0:
            break
        drain(pool, slot, own)
    return 0


@function
def start_workers(pool):
    """Called with BUSY held. Workers block all signals: those belong to Python's threads."""
    wanted = load(pool + WANTED)
    pthread_sigmask(2, pool + SIGNALS, pool + SIGNALS + 128)
    running = 0
    for w in range(wanted):
        worker = pool + WORKER + WORKER_BYTES * w
        store(worker, 0)
        store(worker + 8, pool)
        store(worker + 32, 0)
        sem_init(worker + 64, 0, 0)
        if pthread_create(worker + 16, 0, load(pool + WORKER_CODE), worker) != 0:
            break  # no more threads to be had: go on with fewer
        running += 1
    pthread_sigmask(2, pool + SIGNALS + 128, 0)
    store_release(pool + WORKERS, running)
    store_release(pool + STARTED, 1)


@function
def stop_workers(pool):
    """Waits for a running job, ends all workers, and keeps the pool busy: jobs run inline."""
    while atomic_swap(pool + BUSY, 1) == 1:
        sched_yield()
    count = load_acquire(pool + WORKERS)
    store_release(pool + STOP, 1)
    for w in range(count):
        worker = pool + WORKER + WORKER_BYTES * w
        if atomic_swap(worker, 0) == 1:
            sem_post(worker + 64)
    for w in range(count):
        pthread_join(load(pool + WORKER + WORKER_BYTES * w + 16), 0)
    store_release(pool + WORKERS, 0)
    store_release(pool + STARTED, 0)
    store_release(pool + STOP, 0)


@function
def free_pool(pool):
    """After :func:`stop_workers`: nothing is left to claim, and the next job may come."""
    memset(pool + COUNTERS, 0, STATE_BYTES - COUNTERS)
    store_release(pool + BUSY, 0)


@entry(None, i64)
def stop(pool):
    """What comes before a fork; :func:`resume` comes after it."""
    stop_workers(pool)


@entry(None, i64)
def resume(pool):
    """Let jobs in again; workers start with the next one."""
    free_pool(pool)


@entry(None, i64, i64)
def set_workers(pool, chosen):
    """Change the number of workers, how long they spin, and where they and the caller run.

    The words at ``chosen``: WANTED, SPIN, HOME, then the CPU of every worker. One call from Python,
    which Ctrl-C cannot end half way.
    """
    stop_workers(pool)
    words = array(i64, chosen)
    store(pool + WANTED, words[0])
    store(pool + SPIN, words[1])
    store(pool + HOME, words[2])
    for w in range(words[0]):
        store(pool + WORKER + WORKER_BYTES * w + 40, words[3 + w])
    free_pool(pool)


@function
def avoid_caller_cpu(pool):
    """Linux likes to wake a worker on the caller's own CPU, where it would wait for the caller.

    Every worker owns one CPU and one CPU is "home". If the caller sits on a worker's CPU, that
    worker moves home.
    """
    home = load_acquire(pool + HOME)
    if home < 0:
        return
    here = i64(sched_getcpu())
    if here == home:
        return
    for w in range(load_acquire(pool + WORKERS)):
        worker = pool + WORKER + WORKER_BYTES * w
        if load_acquire(worker + 40) == here and load_acquire(worker + 32) != 0:
            bind(worker, load_acquire(worker + 32), home)
            store_release(worker + 40, home)
            store_release(pool + HOME, here)
            return


@shared_function
def launch(pool, fn, args, n, grain):
    """Run the range kernel at ``fn`` over 0..n-1. Small, nested and concurrent jobs run inline.

    A kernel always sees the same chunks, at most MAX_CHUNKS, whoever runs them: results that
    depend on chunk borders do not depend on threads.
    """
    slot = thread_slot(pool)
    grain = max(grain, (n + MAX_CHUNKS - 1) // MAX_CHUNKS, 1)
    chunks = (n + grain - 1) // grain
    inline = chunks <= 1 or load_acquire(pool + WANTED) == 0
    if inline or atomic_swap(pool + BUSY, 1) == 1:
        for first in range(0, n, grain):
            call_address(fn, args, first, min(n, first + grain), slot)
        return
    if load_acquire(pool + STARTED) == 0:
        start_workers(pool)
    store_release(pool + FN, fn)
    store_release(pool + ARGS, args)
    store_release(pool + N, n)
    store_release(pool + GRAIN, grain)
    store_release(pool + CHUNKS, chunks)
    store_release(pool + DONE, 0)
    shares = min(load_acquire(pool + WORKERS) + 1, chunks)
    store_release(pool + SHARES, shares)
    avoid_caller_cpu(pool)
    for w in range(shares - 1):
        worker = pool + WORKER + WORKER_BYTES * w
        count = chunks * (w + 2) // shares - chunks * (w + 1) // shares
        atomic_swap(pool + COUNTERS + 64 * (w + 1), count)
        if atomic_swap(worker, 0) == 1:
            sem_post(worker + 64)
    atomic_swap(pool + COUNTERS, chunks // shares)
    drain(pool, slot, i64(0))
    spins = 0
    while load_acquire(pool + DONE) < chunks:  # waits for chunks, never for a worker
        spins += 1
        if spins < 2000:
            spin_pause()
        else:
            sched_yield()
    atomic_swap(pool + BUSY, 0)


# ---- the call from Python: METH_FASTCALL functions ----------------------------------------


@function
def argument_word(pool, item):
    """An argument as a word: array -> address of its data, float -> its bits, int, None -> 0."""
    kind = load(item + 8)
    word = i64(0)
    if kind == load(pool + INT_TYPE) or kind == load(pool + BOOL_TYPE):
        word = PyLong_AsLongLong(item)
    elif item != load(pool + NONE):
        word = load(item + DATA)
    return word


@function
def launch_without_gil(pool, fn, args, n, grain):
    """One chunk is too short a job to be worth letting other Python threads in."""
    if n > grain:
        state = PyEval_SaveThread()
        launch(pool, fn, args, n, grain)
        PyEval_RestoreThread(state)
    else:
        launch(pool, fn, args, n, grain)


@entry(i64, i64, i64, i64)
def door_run(self, arguments, count):
    """``run(plan, *arguments)``: the plan's words with the first ones replaced by arguments."""
    pool = load(self + DATA)
    plan = load(load(arguments) + DATA)
    words = stack(MAX_ARGUMENTS)
    total = load(plan + 24)
    for i in range(count - 1, total):
        store(words + 8 * i, load(plan + 8 * PLAN_HEAD + 8 * i))
    for i in range(count - 1):
        store(words + 8 * i, argument_word(pool, load(arguments + 8 * i + 8)))
    launch_without_gil(pool, load(plan), words, load(plan + 8), load(plan + 16))
    result = load(pool + NONE)
    Py_IncRef(result)
    return result


@entry(i64, i64, i64, i64)
def door_launch(self, arguments, count):
    """``launch(function_address, args_address, n, grain)``."""
    pool = load(self + DATA)
    fn = PyLong_AsLongLong(load(arguments))
    args = PyLong_AsLongLong(load(arguments + 8))
    n = PyLong_AsLongLong(load(arguments + 16))
    launch_without_gil(pool, fn, args, n, PyLong_AsLongLong(load(arguments + 24)))
    result = load(pool + NONE)
    Py_IncRef(result)
    return result


@function
def array_size(item):
    """Number of elements of an array."""
    size, shape = i64(1), array(i64, load(item + SHAPE))
    for i in range(i64(array(i32, item + DIMS)[0])):
        size = size * shape[i]
    return size


@function
def fill_table(pool, table, arguments, count):
    """Rows (first block, size, address of array i in every list) for lists of arrays.

    Returns the number of blocks, or -1 where an item is not a plain dense array or of another
    dtype or size than its neighbours: those go the slow way.
    """
    lists, blocks, dtype = count - 1, i64(0), i64(0)
    first = load(arguments + 8)
    for i in range(load(first + LIST_LENGTH)):
        row = table + 8 * i * (lists + 2)
        item = load(load(first + LIST_ITEMS) + 8 * i)
        if load(item + 8) != load(pool + ARRAY_TYPE):
            return i64(-1)
        size = array_size(item)
        dtype = load(item + DTYPE) if i == 0 else dtype
        store(row, blocks)
        store(row + 8, size)
        blocks += (size + TABLE_BLOCK - 1) // TABLE_BLOCK
        for j in range(lists):
            item = load(load(load(arguments + 8 + 8 * j) + LIST_ITEMS) + 8 * i)
            if load(item + 8) != load(pool + ARRAY_TYPE):
                return i64(-1)
            dense = array(i32, item + FLAGS)[0] & 1
            if dense == 0 or load(item + DTYPE) != dtype or array_size(item) != size:
                return i64(-1)
            store(row + 16 + 8 * j, load(item + DATA))
    return blocks


@entry(i64, i64, i64, i64)
def door_gather(self, arguments, count):
    """``gather(table, list, ...)``: see :func:`fill_table`; lists of equal length, not empty."""
    table = load(load(arguments) + DATA)
    return PyLong_FromLongLong(fill_table(load(self + DATA), table, arguments, count))
