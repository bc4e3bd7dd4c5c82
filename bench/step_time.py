"""A model of the time of a training step on many machines, fitted to links that wait.

`all_reduce` of s bytes over n ranks is taken for log2(n) exchanges and the bytes of a ring:

    t(n, s) = log2(n) (c + k d) + 2 (n - 1) / n s / (e r)

d being the delay of a link one way and r its rate; c (time of the hosts an exchange), k (delays an
exchange) and e (share of the rate that is used) are fitted to two ranks. Buckets of gradients are
ready as the backward pass goes on. Their exchanges are on their way at the same time, so that they
share the rate and wait for the delays once; behind the last one comes the optimizer. (Costs of
collectives: Thakur, Rabenseifner and Gropp,
"Optimization of Collective Communication Operations in MPICH", 2005.)

Usage: python bench/step_time.py [--times 5]     as root; writes results/step_time.json and .md
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np
from delayed_links import Network

HERE = Path(__file__).parent
RESULTS = HERE / "results"
# (ranks, delay in seconds, bytes a second): those of two ranks are fitted, all are compared.
LINKS = (
    (2, 0.001, 12.5e6), (2, 0.005, 12.5e6), (2, 0.020, 12.5e6), (2, 0.005, 40e6), (2, 0.020, 40e6),
    (4, 0.005, 12.5e6), (4, 0.020, 12.5e6),
)  # fmt: skip
BUCKET = 0.5 * 2**20  # bytes, of step_time_ranks.py
# Networks of the table beyond the machine: (name, delay, bytes a second)
NETWORKS = (
    ("10 Gbit/s Ethernet, 30 us", 30e-6, 1.25e9),
    ("100 Gbit/s, 2 us", 2e-6, 12.5e9),
    ("1 Gbit/s between towns, 10 ms", 10e-3, 125e6),
)
# (name, bytes of gradients, seconds of forward pass, backward pass and optimizer)
WORKLOADS = (
    ("ResNet-50, 0.3 s", 102e6, (0.1, 0.19, 0.01)),
    ("GPT-2 small, 1.2 s", 498e6, (0.4, 0.75, 0.05)),
)
DEFAULT_BUCKET = 25 * 2**20


def waiting(fitted, ranks, delay):
    """Seconds of one all_reduce however few bytes it has."""
    host, delays, _ = fitted
    return math.log2(ranks) * (host + delays * delay)


def sending(fitted, ranks, size, rate):
    """Seconds in which one all_reduce keeps the links busy."""
    return 2 * (ranks - 1) / ranks * size / (fitted[2] * rate)


def step_seconds(fitted, ranks, size, parts, link, bucket):
    """The model's time of a step whose gradients have `size` bytes."""
    forward, backward, optimizer = parts
    count, free = max(1, round(size / bucket)), 0.0
    for i in range(count):
        ready = forward + backward * (i + 1) / count
        free = max(free, ready) + sending(fitted, ranks, size / count, link[1])
    return free + waiting(fitted, ranks, link[0]) + optimizer


def fit(measured):
    """(c, k, e) by least squares of relative errors over the links of two ranks."""
    rows, ones = [], []
    for ranks, delay, rate, found in measured:
        for size, took in found["all_reduce"].items():
            if ranks == 2:
                rows.append([1 / took, delay / took, int(size) / rate / took])
                ones.append(1.0)
    host, delays, inverse = np.linalg.lstsq(np.array(rows), np.array(ones), rcond=None)[0]
    return max(0.0, float(host)), float(delays), float(1 / inverse)


def compared(fitted, measured):
    """Rows of (what, ranks, delay, rate, measured, modelled)."""
    for ranks, delay, rate, found in measured:
        for size, took in found["all_reduce"].items():
            model = waiting(fitted, ranks, delay) + sending(fitted, ranks, int(size), rate)
            yield f"all_reduce, {int(size) >> 10} KB", ranks, delay, rate, took, model
        for name, one in found["steps"].items():
            link = delay, rate
            model = step_seconds(fitted, ranks, one["bytes"], one["parts"], link, BUCKET)
            yield f"step, {name}", ranks, delay, rate, one["step"], model


def page(fitted, measured):
    """The tables in Markdown."""
    host, delays, share = fitted
    lines = [
        f"Fitted: c = {host * 1e6:.0f} us, k = {delays:.2f}, e = {share:.2f}.", "",
        "| what | ranks | delay, ms | MB/s | measured, ms | modelled, ms | ratio |",
        "| --- " * 7 + "|",
    ]  # fmt: skip
    for what, ranks, delay, rate, took, model in compared(fitted, measured):
        lines.append(
            f"| {what} | {ranks} | {delay * 1e3:g} | {rate / 1e6:g} | {took * 1e3:.1f} | "
            f"{model * 1e3:.1f} | {model / took:.2f} |"
        )
    lines += [
        "",
        "Modelled, not measured: seconds of a step, and the share of a machine's speed",
        "",
    ]
    sizes = (8, 64, 1024)
    lines.append("| step | network | " + " | ".join(f"{n} ranks" for n in sizes) + " |")
    lines.append("| --- " * (2 + len(sizes)) + "|")
    for work, size, parts in WORKLOADS:
        for network, *link in NETWORKS:
            cells = []
            for ranks in sizes:
                took = step_seconds(fitted, ranks, size, parts, link, DEFAULT_BUCKET)
                cells.append(f"{took:.2f} ({sum(parts) / took:.2f})")
            lines.append(f"| {work} | {network} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def measure(times):
    """What the ranks find on each link."""
    found = []
    for ranks, delay, rate in LINKS:
        with Network(ranks, delay, rate) as network:
            printed = network.run(HERE / "step_time_ranks.py", times)
        found.append((ranks, delay, rate, json.loads(printed.splitlines()[-1])))
        print(ranks, delay, rate, flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--again", action="store_true", help="from the measurements on record")
    options = parser.parse_args()
    path = RESULTS / "step_time.json"
    measured = json.loads(path.read_text()) if options.again else measure(options.times)
    path.write_text(json.dumps(measured, indent=1) + "\n")
    report = page(fit(measured), measured)
    print(report)
    path.with_suffix(".md").write_text(f"# Time of a step on several machines\n\n{report}")


if __name__ == "__main__":
    main()
