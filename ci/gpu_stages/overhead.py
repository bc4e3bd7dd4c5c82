"""Host time of one operation on small tensors, beside torch's where it is there."""

from __future__ import annotations

import importlib
import time

from stage import Stage

OPERATIONS = {
    "add": lambda lib, x, w: x + x,
    "relu": lambda lib, x, w: x.relu(),
    "linear": lambda lib, x, w: lib.nn.functional.linear(x, w),
    "layer norm": lambda lib, x, w: lib.nn.functional.layer_norm(x, (64,)),
    "softmax": lambda lib, x, w: x.softmax(-1),
    "sum": lambda lib, x, w: x.sum(),
    "view": lambda lib, x, w: x.view(-1),
}


def microseconds(lib, call, smoke) -> float:
    """Host microseconds a call while the device keeps up."""
    count = 3 if smoke else 2000
    best = float("inf")
    for _ in range(1 if smoke else 5):
        lib.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - start) / count)
        lib.cuda.synchronize()
    return best * 1e6


def rows(stage, lib, name) -> None:
    """Rows of one library."""
    x, w = lib.randn(64, 64, device="cuda"), lib.randn(64, 64, device="cuda")
    for operation, call in OPERATIONS.items():

        def measured(call=call):
            call(lib, x, w)
            return {"microseconds": microseconds(lib, lambda: call(lib, x, w), stage.smoke)}

        stage.attempt(operation, measured, library=name, recorded=False)
    wide = w.detach().requires_grad_()

    def step():
        (lib.nn.functional.linear(x, wide).relu() * x).sum().backward()
        wide.grad = None

    def backward():
        step()
        return {"microseconds": microseconds(lib, step, stage.smoke)}

    stage.attempt("linear, relu, product, sum and backward", backward, library=name, recorded=True)


def main() -> None:
    """All rows."""
    stage = Stage(__doc__)
    rows(stage, importlib.import_module("rushlight"), "rushlight")
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        torch = None
    if torch is not None and torch.cuda.is_available():
        rows(stage, torch, "torch")
    stage.finish()


if __name__ == "__main__":
    main()
