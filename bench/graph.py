"""A graph convolutional network timed: one training step on a graph of 100,000 edges.

python bench/graph.py [--json FILE] [--seconds N] [--library rushlight|torch]

10,000 nodes with 128 features, hidden layer of 64, 16 classes; ``adjacency @ (x @ weight)`` twice
with the adjacency in COO and in CSR layout, cross entropy, backward, Adam. PyTorch, where it is
installed, runs the same program in processes of its own, in turn with ours.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
import warnings

NODES, EDGES, FEATURES, HIDDEN, CLASSES = 10_000, 100_000, 128, 64, 16
ROUNDS = 3


def graph(library):
    """The normalised adjacency (nodes, nodes) of a random graph, coalesced, COO."""
    library.manual_seed(0)
    edges = library.randint(0, NODES, (2, EDGES))
    loops = library.arange(NODES)
    rows, columns = library.cat([edges[0], loops]), library.cat([edges[1], loops])
    degrees = library.zeros(NODES).index_add_(0, rows, library.ones(len(rows)))
    values = (degrees[rows] * degrees[columns]).rsqrt()
    indices = library.stack([rows, columns])
    return library.sparse_coo_tensor(indices, values, (NODES, NODES)).coalesce()


def steps(library):
    """Training steps and single products, by name."""
    coo = graph(library)
    x, labels = library.randn(NODES, FEATURES), library.arange(NODES) % CLASSES
    functional = library.nn.functional

    def training(adjacency):
        first = library.nn.Linear(FEATURES, HIDDEN, bias=False)
        second = library.nn.Linear(HIDDEN, CLASSES, bias=False)
        optimizer = library.optim.Adam([*first.parameters(), *second.parameters()])

        def step():
            optimizer.zero_grad()
            hidden = functional.relu(adjacency @ first(x))
            functional.cross_entropy(adjacency @ second(hidden), labels).backward()
            optimizer.step()

        return step

    hidden = library.randn(NODES, HIDDEN)
    csr = coo.to_sparse_csr()
    return {
        "gcn step, coo": training(coo),
        "gcn step, csr": training(csr),
        "spmm, coo": lambda: coo @ hidden,
        "spmm, csr": lambda: csr @ hidden,
    }


def times_of(step, seconds):
    """Median and shortest milliseconds of a call; other programs disturb the shortest least."""
    step()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times), 1e3 * min(times)


def measure(name, seconds):
    """Median and shortest milliseconds of every case with one library, in this process."""
    warnings.simplefilter("ignore")
    library = importlib.import_module(name)
    importlib.import_module(name + ".nn.functional")
    return {case: times_of(step, seconds) for case, step in steps(library).items()}


def in_process(name, seconds):
    """:func:`measure` in a fresh process; None where the library is not installed."""
    command = [sys.executable, __file__, "--library", name, "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    if done.returncode:
        print(done.stderr.strip().splitlines()[-1], file=sys.stderr)
        return None
    return json.loads(done.stdout)


def main():
    """Alternate the libraries and print milliseconds and ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--library")
    given = parser.parse_args()
    if given.library:
        print(json.dumps(measure(given.library, given.seconds)))
        return
    rounds = {"rushlight": [], "torch": []}
    for _ in range(ROUNDS):
        for name, found in rounds.items():
            found.append(in_process(name, given.seconds))
    table = {}
    for case in rounds["rushlight"][0]:
        times = {
            name: (statistics.median(r[case][0] for r in found), min(r[case][1] for r in found))
            for name, found in rounds.items()
            if all(found)
        }
        table[case] = {n: {"median_ms": t[0], "fastest_ms": t[1]} for n, t in times.items()}
        line = f"{case:14} " + "  ".join(
            f"{n} {t[0]:.3f} ({t[1]:.3f}) ms" for n, t in times.items()
        )
        if "torch" in times:
            ratios = [a / b for a, b in zip(times["torch"], times["rushlight"], strict=True)]
            line += f"  {ratios[0]:.2f}x PyTorch's speed, {ratios[1]:.2f}x of the fastest"
        print(line)
    if given.json:
        with open(given.json, "w") as file:
            json.dump(table, file, indent=1)


if __name__ == "__main__":
    main()
