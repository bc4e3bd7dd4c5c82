"""What is timed, written once for both libraries. Run as a program it prints one JSON line.

python bench/cases.py rushlight SECONDS [CASE ...]
"""

from __future__ import annotations

import importlib
import json
import sys
import time

BATCH = 64


def small_add(library):
    """An 8 x 8 addition that nobody records."""
    a, b = library.ones(8, 8), library.ones(8, 8)
    return lambda: a + b


def recorded_add(library):
    """An 8 x 8 addition that becomes part of a graph."""
    a, b = library.ones(8, 8, requires_grad=True), library.ones(8, 8)
    return lambda: a + b


def small_backward(library):
    """Forward and backward of a product and a sum, 8 x 8."""
    a, b = library.ones(8, 8, requires_grad=True), library.ones(8, 8)

    def step():
        a.grad = None
        (a * b).sum().backward()

    return step


def training_step(library, model, images):
    """One step of Adam on cross entropy."""
    optimizer = library.optim.Adam(model.parameters())
    labels = library.arange(BATCH) % 10
    loss_of = library.nn.functional.cross_entropy

    def step():
        optimizer.zero_grad()
        loss = loss_of(model(images), labels)
        loss.backward()
        optimizer.step()

    return step


def mlp_step(library):
    """784-128-10, batch 64."""
    library.manual_seed(0)
    nn = library.nn
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    return training_step(library, model, library.randn(BATCH, 784))


def cnn_step(library):
    """conv16-pool-conv32-pool-fc128 on 28 x 28, batch 64."""
    library.manual_seed(0)
    nn = library.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip
    return training_step(library, model, library.randn(BATCH, 1, 28, 28))


CASES = {
    "add 8x8": small_add,
    "add 8x8, recorded": recorded_add,
    "product, sum, backward 8x8": small_backward,
    "MLP step, batch 64": mlp_step,
    "small CNN step, batch 64": cnn_step,
}


def measure(step, seconds):
    """The median time of a call, in seconds, over blocks of calls of about a millisecond."""
    for _ in range(3):
        step()
    start = time.perf_counter()
    step()
    once = max(time.perf_counter() - start, 1e-7)
    inner = max(1, int(1e-3 / once))
    end, samples = time.perf_counter() + seconds, []
    while time.perf_counter() < end or len(samples) < 5:
        start = time.perf_counter()
        for _ in range(inner):
            step()
        samples.append((time.perf_counter() - start) / inner)
    samples.sort()
    return samples[len(samples) // 2]


def main():
    name, seconds, *wanted = sys.argv[1:]
    library = importlib.import_module(name)
    importlib.import_module(f"{name}.optim")
    found = {
        case: measure(make(library), float(seconds))
        for case, make in CASES.items()
        if not wanted or case in wanted
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
