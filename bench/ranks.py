"""Several processes on one machine: ours over MPI beside PyTorch's over gloo, in turn.

Ranks compute on one thread each. Prints a table in Markdown and writes it to
``results/ranks_NAME.md`` where a name is given.

Usage: python bench/ranks.py [--ranks 2 4] [--rounds N] [--name NAME]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

from run import machine

HERE = Path(__file__).parent
LIBRARIES = ("ours", "theirs")


def free_port():
    """A port that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def job(library, ranks):
    """What rank 0 of a new job has measured: (seconds by case, first losses)."""
    shared = {**os.environ, "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
              "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1"}  # fmt: skip
    command = [sys.executable, str(HERE / "ranks_program.py"), library]
    shared["BEGUN"] = str(time.time())
    processes = [
        subprocess.Popen(
            command,
            env={**shared, "RANK": str(rank)},
            text=True,
            stdout=subprocess.PIPE if rank == 0 else None,
        )  # fmt: skip
        for rank in range(ranks)
    ]
    text, _ = processes[0].communicate()
    if any(process.wait() for process in processes):
        raise SystemExit(f"a rank of {ranks} of {library} failed")
    return json.loads(text.splitlines()[-1])


def compared(ranks, rounds):
    """``{case: [(ours, theirs), ...]}``; the first losses of both have to agree."""
    found = {}
    for _ in range(rounds):
        (ours, losses), (theirs, expected) = (job(library, ranks) for library in LIBRARIES)
        for name, loss in losses.items():
            if abs(loss - expected[name]) > 1e-3:
                raise SystemExit(f"{name}: first loss {loss}, PyTorch's {expected[name]}")
        for case, took in ours.items():
            found.setdefault(case, []).append((took, theirs[case]))
    return found


def rows(ranks, found):
    """Lines of the table."""
    ratios = {}
    for case, pairs in found.items():
        ours, theirs = (statistics.median(each) for each in zip(*pairs, strict=True))
        ratios[case] = statistics.median(b / a for a, b in pairs)
        yield (f"| {ranks} | {case} | {1000 * theirs:.3g} | {1000 * ours:.3g} "
               f"| {ratios[case]:.2f} |")  # fmt: skip
    steps = [ratio for case, ratio in ratios.items() if case.startswith("step")]
    mean = math.exp(sum(map(math.log, steps)) / len(steps))
    yield f"| {ranks} | steps, geometric mean | | | {mean:.2f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--name", help="of the file with results")
    asked = parser.parse_args()
    place = machine()
    lines = [
        "# Several processes: ours over MPI beside PyTorch's over gloo",
        "",
        f"{place['processor']}, {place['cores']} cores, torch {place['torch']}; one thread a rank,",
        f"{asked.rounds} rounds of jobs in turn, medians. Ratio: PyTorch's time over ours. The",
        "first collective counts from the start of the processes.",
        "",
        "| ranks | case | PyTorch, ms | Rushlight, ms | ratio |",
        "| --- | --- | --- | --- | --- |",
    ]
    for ranks in asked.ranks:
        lines += rows(ranks, compared(ranks, asked.rounds))
    text = "\n".join(lines) + "\n"
    print(text)
    if asked.name:
        (HERE / "results" / f"ranks_{asked.name}.md").write_text(text)


if __name__ == "__main__":
    main()
