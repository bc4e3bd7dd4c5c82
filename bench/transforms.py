"""Function transforms timed: per-sample gradients beside one batched backward, Hessians, Jacobians.

python bench/transforms.py [--json FILE] [--seconds N] [--library rushlight|torch]

Per-sample gradients are ``vmap(grad(loss), (None, 0, 0))`` of a functional call; the line says how
many times one ordinary backward pass over the same batch they take. PyTorch, where it is
installed, runs the same program in a process of its own.
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

BATCH = 64


def mlp(library):
    """784-256-10 on 64 rows."""
    nn = library.nn
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    return model, library.randn(BATCH, 784)


def convolutions(library):
    """Two convolutions and a linear layer on 64 images of 1 x 28 x 28."""
    nn = library.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(800, 10),
    )  # fmt: skip
    return model, library.randn(BATCH, 1, 28, 28)


def steps(library, make):
    """The batched backward and the per-sample gradients of a model, as functions."""
    library.manual_seed(0)
    model, inputs = make(library)
    labels = library.arange(BATCH) % 10
    entropy = library.nn.functional.cross_entropy
    parameters = {n: p.detach() for n, p in model.named_parameters()}

    def batched():
        for parameter in model.parameters():
            parameter.grad = None
        entropy(model(inputs), labels).backward()

    def loss(parameters, image, label):
        out = library.func.functional_call(model, parameters, (image.unsqueeze(0),))
        return entropy(out, label.unsqueeze(0))

    each = library.func.vmap(library.func.grad(loss), (None, 0, 0))
    return model, batched, lambda: each(parameters, inputs, labels)


def median_of(step, seconds, clock=time.perf_counter):
    """Median milliseconds of a call."""
    step()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = clock()
        step()
        times.append(clock() - start)
    return 1e3 * statistics.median(times)


def bound(model, batched_ms, seconds):
    """What writing a gradient of every example takes at least: its bytes, and the CPU time in which
    NumPy fills as many."""
    import numpy

    size = BATCH * sum(p.numel() for p in model.parameters())
    memory = numpy.empty(size, numpy.float32)
    written = median_of(lambda: memory.fill(1.0), seconds / 4, time.process_time)
    return {"megabytes": size * 4 / 1e6, "fill_cpu_ms": written, "bound": written / batched_ms}


def hessian_step(library):
    """The Hessian of a function of 64 numbers."""
    library.manual_seed(0)
    matrix, x = library.randn(64, 64), library.randn(64)
    return lambda: library.func.hessian(lambda x: (matrix @ x).tanh().pow(2).sum())(x)


def jacobian_step(library):
    """The Jacobian of an MLP of 64 inputs and 64 outputs."""
    library.manual_seed(0)
    a, b, x = library.randn(64, 128), library.randn(128, 64), library.randn(64)
    return lambda: library.func.jacrev(lambda x: (x @ a).tanh() @ b)(x)


def measure(name, seconds):
    """All figures of one library."""
    library = importlib.import_module(name)
    if name == "torch":
        library.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    found = {}
    for make in (mlp, convolutions):
        model, batched, each = steps(library, make)
        once, many = median_of(batched, seconds), median_of(each, seconds)
        figures = {"batched_ms": once, "per_sample_ms": many, "times": many / once}
        once, many = (median_of(step, seconds, time.process_time) for step in (batched, each))
        figures |= {"batched_cpu_ms": once, "per_sample_cpu_ms": many, "cpu_times": many / once}
        found[make.__name__] = figures | bound(model, once, seconds)
    found["hessian"] = {"ms": median_of(hessian_step(library), seconds)}
    found["jacobian"] = {"ms": median_of(jacobian_step(library), seconds)}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--json")
    parser.add_argument("--library")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.library:
        print(json.dumps(measure(arguments.library, arguments.seconds)))
        return 0
    found = {}
    for name in ("rushlight", "torch"):
        command = [sys.executable, __file__, "--library", name, "--seconds", str(arguments.seconds)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            print(f"{name}: not measured ({run.stderr.strip().splitlines()[-1]})")
            continue
        found[name] = json.loads(run.stdout)
        for case, figures in found[name].items():
            texts = [f"{k} {v:.2f}" for k, v in figures.items()]
            print(f"{name:10} {case:14} {', '.join(texts)}")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(found, file, indent=1)
            file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
