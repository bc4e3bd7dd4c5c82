"""Ctrl-C inside kernels, between them, and where the pool of workers changes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from rushlight.machine import threads
from rushlight.machine.language.functions import (
    array,
    atomic_add,
    i64,
    load_acquire,
    range_kernel,
    spin_pause,
)


@range_kernel
def waits_for_leave(args, lo, hi, tid):
    """Counts its items at g[0], then waits for the word at g[1]."""
    g = array(i64, args)
    for _ in range(lo, hi):
        atomic_add(g[0], 1)
        while load_acquire(g[1]) == 0:
            spin_pause()


@pytest.mark.parametrize("count", [2, 5])
def test_ctrl_c_in_a_long_kernel(count):
    """The kernel goes on to its end, then the exception comes; workers never see the signal."""
    before, handler = (
        threads.get_num_threads(),
        signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    threads.set_num_threads(count)
    started, leave = np.zeros(1, np.int64), np.zeros(1, np.int64)
    at_signal = []

    def press():
        while started[0] == 0:
            time.sleep(0.001)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        time.sleep(0.05)
        at_signal.append(int(started[0]))
        leave[0] = 1

    other = threading.Thread(target=press)
    try:
        plan = threads.plan(waits_for_leave.address(), 64, 1, [0, 0])
        other.start()
        with pytest.raises(KeyboardInterrupt):
            threads.run(plan, started, leave)
        other.join()
        assert at_signal[0] < 64 == started[0]
        for _ in range(100):
            threads.run(plan, started, leave)
        assert started[0] == 64 * 101
    finally:
        signal.signal(signal.SIGINT, handler)
        threads.set_num_threads(before)


TRAINING = """
import random, signal, sys
import rushlight as torch
from rushlight import nn

def train():
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(16 * 64, 50), nn.GELU(), nn.Dropout(0.1), nn.Linear(50, 10),
    )
    optimizer = torch.optim.AdamW(net.parameters())
    x, y = torch.randn(32, 3, 16, 16), torch.randint(0, 10, (32,))
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses + [p.detach().sum().item() for p in net.parameters()]
"""

INTERRUPTED = """
def train_until(seconds):
    # Again after a second, where a destructor swallowed the exception.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        while True:
            train()
    except KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0)

signal.signal(signal.SIGALRM, signal.default_int_handler)
times = random.Random(0)
for _ in range(40):
    train_until(times.uniform(0.001, 0.15))
print(train())
"""


def run(program, **environment):
    process = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_interrupted_training_leaves_nothing_behind(tmp_path):
    """At 40 moments, from the first compilation on; afterwards training gives the same bits."""
    interrupted = run(TRAINING + INTERRUPTED, RUSHLIGHT_CACHE_DIR=str(tmp_path))
    assert interrupted == run(TRAINING + "print(train())")


CHANGES = """
import os, signal, sys
import rushlight as torch

armed = False
count = 0

def interrupt(*_):
    global armed, count
    count += 1
    if armed:
        armed = False
        raise KeyboardInterrupt

a = torch.randn(200, 200)
want = (a @ a).numpy().tobytes()
signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 0.004, 0.004)
raised = 0

def change():  # a function, because Python 3.13 misses what a loop's jump raises inside of try
    while armed:  # Python drops what is raised in other modules' functions around a fork
        torch.set_num_threads(1 + count % 5)
        if sys.argv[1] == "fork":
            child = os.fork()
            if child == 0:
                os._exit((a @ a).numpy().tobytes() != want)
            assert os.waitpid(child, 0)[1] == 0
        assert (a @ a).numpy().tobytes() == want

while raised < 100:  # however many a machine of this speed drops
    try:
        armed = True
        change()
    except KeyboardInterrupt:
        raised += 1
signal.setitimer(signal.ITIMER_REAL, 0)
torch.set_num_threads(2)
assert (a @ a).numpy().tobytes() == want
"""


@pytest.mark.parametrize("change", ["threads", "fork"])
def test_ctrl_c_while_workers_stop_and_start(change):
    process = subprocess.run(
        [sys.executable, "-c", CHANGES, change], capture_output=True, text=True, timeout=120
    )
    assert process.returncode == 0, process.stderr


def test_ctrl_c_ends_a_program():
    program = "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program = TRAINING + program + "train()\nprint('ready', flush=True)\nwhile True:\n    train()\n"
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert select.select([process.stdout], [], [], 120)[0]
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode in (-signal.SIGINT, 130)
    assert errors.rstrip().endswith("KeyboardInterrupt")
