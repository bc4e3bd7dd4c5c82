"""Training steps of networks, eager and graphed, in float32 and under bfloat16 autocast."""

from __future__ import annotations

import contextlib
import importlib
import sys

import networks
from stage import NOT_APPLICABLE, Stage, seconds_each


def batch_of(lib, name, shape, classes):
    """Input and targets on the device."""
    if name.startswith("GPT"):
        words = lib.randint(0, classes, shape, device="cuda")
        return words, lib.randint(0, classes, (shape[0] * shape[1],), device="cuda")
    return lib.randn(*shape, device="cuda"), lib.randint(0, classes, (shape[0],), device="cuda")


def make_step(lib, name, smoke, precision):
    """One training step as a call without arguments, and how many samples it takes."""
    lib.manual_seed(0)
    model, (shape,), classes = networks.ALL[name](lib, smoke)
    model = model.to("cuda")
    x, target = batch_of(lib, name, shape, classes)
    optimizer = lib.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)
    cast = contextlib.nullcontext
    if precision == "bfloat16":
        cast = lambda: lib.autocast("cuda", dtype=lib.bfloat16)  # noqa: E731

    def step():
        with cast():
            loss = lib.nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return step, shape[0]


def eager(lib, name, smoke, precision, budget) -> dict:
    """Samples per second, step by step."""
    step, samples = make_step(lib, name, smoke, precision)
    seconds = seconds_each(step, lib.cuda.synchronize, smoke, budget)
    return {
        "seconds": seconds,
        "samples_per_second": samples / seconds,
        "loss": float(step()),
        "peak_bytes": lib.cuda.max_memory_allocated(),
    }


def graphed(lib, name, smoke, precision, budget) -> dict:
    """Samples per second of forward and backward replayed from a graph."""
    lib.manual_seed(0)
    model, (shape,), classes = networks.ALL[name](lib, smoke)
    model = model.to("cuda")
    x, target = batch_of(lib, name, shape, classes)
    optimizer = lib.optim.AdamW(model.parameters(), lr=1e-4, foreach=True, capturable=True)
    cast = contextlib.nullcontext
    if precision == "bfloat16":
        cast = lambda: lib.autocast("cuda", dtype=lib.bfloat16)  # noqa: E731

    def step():
        optimizer.zero_grad(set_to_none=True)
        with cast():
            loss = lib.nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        return loss

    side = lib.cuda.Stream()
    side.wait_stream(lib.cuda.current_stream())
    with lib.cuda.stream(side):
        for _ in range(3):
            step()
    lib.cuda.current_stream().wait_stream(side)
    graph = lib.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with lib.cuda.graph(graph):
        loss = step()
    seconds = seconds_each(graph.replay, lib.cuda.synchronize, smoke, budget)
    return {
        "seconds": seconds, "samples_per_second": shape[0] / seconds, "loss": float(loss),
    }  # fmt: skip


def main() -> None:
    """All rows of one library."""
    stage = Stage(__doc__, "--library")
    name = stage.given.library or "rushlight"
    try:
        lib = importlib.import_module(name)
    except ImportError:
        sys.exit(NOT_APPLICABLE)
    if not lib.cuda.is_available():
        sys.exit(NOT_APPLICABLE if name == "torch" else 1)
    budget = 0.1 if stage.smoke else 3.0
    for network in networks.ALL:
        for precision in ("float32", "bfloat16"):
            for kind, measure in (("eager", eager), ("graphed", graphed)):
                stage.attempt(
                    network,
                    lambda n=network, p=precision, m=measure: m(lib, n, stage.smoke, p, budget),
                    library=name, precision=precision, kind=kind,
                )  # fmt: skip
    stage.finish()


if __name__ == "__main__":
    main()
