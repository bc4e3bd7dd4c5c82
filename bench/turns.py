"""Two processes, one of ours and one of PyTorch, that take turns at every call that is timed.

Machines are shared: for seconds or minutes they run at two thirds of their speed, which would meet
one of two processes that ran one after the other.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import time

PAUSE = 0.03  # seconds; PyTorch's threads look for work up to 9 ms before they go to sleep


def fastest(call, seconds):
    """The shortest time of a call, among blocks of about a hundred microseconds."""
    call()
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-7)
    inner = max(1, int(1e-4 / once))
    end, best = time.perf_counter() + seconds, math.inf
    count = 0
    while time.perf_counter() < end or count < 3:
        start = time.perf_counter()
        for _ in range(inner):
            call()
        best = min(best, (time.perf_counter() - start) / inner)
        count += 1
    return best


def serve(timed):
    """Answer every line of the input, a list as JSON, by the number `timed` returns of it."""
    for line in sys.stdin:
        print(json.dumps(timed(*json.loads(line))), flush=True)


class Timer:
    """A process of a script that times one library's calls when it is asked, and sleeps
    meanwhile. The script gets ``--serve LIBRARY`` and what else is given."""

    def __init__(self, script, library, **options):
        given = [word for key, value in options.items() for word in (f"--{key}", str(value))]
        self.what = f"{script}: {library}"
        self.process = subprocess.Popen(
            [sys.executable, script, "--serve", library, *given],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def seconds(self, *question):
        """What the process answers."""
        time.sleep(PAUSE)
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # what it has to say stands on its standard error; the line below is empty
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.what} failed at {question}")
        return json.loads(line)


def in_turn(script, questions, pairs, **options):
    """``{question: [(ours, theirs), ...]}``, seconds, a new pair of processes for each."""
    samples = {question: [] for question in questions}
    for number in range(pairs):
        with (
            Timer(script, "rushlight", **options) as ours,
            Timer(script, "torch", **options) as theirs,
        ):
            order = (ours, theirs) if number % 2 == 0 else (theirs, ours)
            for question, found in samples.items():
                times = {timer: timer.seconds(*question) for timer in order}
                found.append((times[ours], times[theirs]))
        print(f"pair {number + 1} of {pairs}", file=sys.stderr, flush=True)
    return samples


def medians(pairs):
    """``(ours, theirs, ratio)`` of pairs of times: medians, the last of their ratios."""
    ours, theirs = zip(*pairs, strict=True)
    ratio = statistics.median(b / a for a, b in pairs)
    return statistics.median(ours), statistics.median(theirs), ratio
