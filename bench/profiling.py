"""What profiling costs: CPU time of training steps without a profiler, beside one that waits, and
under one that records.

python bench/profiling.py [--rounds 30] [--steps 40]

Blocks of steps in one process, the three kinds in turn, so that what else the machine does hits all
alike; the median over the rounds of each round's ratios. CPU time is that of all threads.
"""

from __future__ import annotations

import argparse
import statistics
import time

import rushlight as torch
from rushlight import nn
from rushlight.profiler import profile


def multilayer_perceptron():
    """Two hidden layers of 512 on batches of 128."""
    model = nn.Sequential(
        nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )
    return model, torch.randn(128, 256), torch.randint(10, (128,))


def small_network():
    """Two convolutions and a layer on batches of 32 images of 28 x 28."""
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 49, 10),
    )  # fmt: skip
    return model, torch.randn(32, 1, 28, 28), torch.randint(10, (32,))


def _step(model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def _block(step, count):
    begin, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        step()
    return time.perf_counter() - begin, time.process_time() - cpu


def _waiting(step, count):
    with profile(schedule=torch.profiler.schedule(wait=1 << 30, warmup=1, active=1)) as watch:

        def stepped():
            step()
            watch.step()

        return _block(stepped, count)


def _recording(step, count):
    with profile():
        return _block(step, count)


def main() -> None:
    """Measure both networks; print milliseconds a step and the costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    print(f"{'':24}{'plain':>10}{'waiting':>9}{'recording':>11}   (CPU; wall in brackets)")
    for make in (multilayer_perceptron, small_network):
        step = _step(*make())
        found = {kind: [] for kind in (_block, _waiting, _recording)}
        for kind in found:
            kind(step, options.steps)
        for number in range(options.rounds):
            for kind in sorted(found, key=lambda k: hash((number, k.__name__))):
                found[kind].append(kind(step, options.steps))
        ratios = [
            [100 * statistics.median(row[i] / plain[i] - 1 for row, plain in pairs) for i in (1, 0)]
            for pairs in (
                list(zip(found[kind], found[_block], strict=True))
                for kind in (_waiting, _recording)
            )
        ]
        plain = 1000 * statistics.median(cpu for _, cpu in found[_block]) / options.steps
        text = "".join(f"{cpu:+8.1f}% ({wall:+.1f}%)" for cpu, wall in ratios)
        print(f"{make.__name__:24}{plain:8.2f}ms{text}")


if __name__ == "__main__":
    main()
