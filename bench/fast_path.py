"""What each rung of the fast path is worth: calls with all of them, and with one left out.

python bench/fast_path.py [--pairs 3] [--write] [RUNG ...]

Calls of bench/ops.py, named as there, at 1e3 elements or fewer, and three that record a gradient.
Times are user CPU time of processes that take turns. `--write` makes results/fast_path.md.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from ops import EXPRESSIONS, arguments

FOLDER = Path(__file__).parent
CALLS = {
    **EXPRESSIONS,
    "record relu": "L.relu(g)", "record mul": "g * g", "record view": "g.view(-1)",
    "backward": "g.__setattr__('grad', None) or L.relu(g * g).sum().backward()",
    "backward of relu": "g.__setattr__('grad', None) or L.relu(g).backward(y)",
    "SGD step": "sgd.step()", "Adam step": "adam.step()", "contiguous of itself": "x.contiguous()",
    "sum 1 of 64 shapes": "[each.sum(1) for each in many]",
    "argmax 1 of 64 shapes": "[each.argmax(1) for each in many]",
}  # fmt: skip
# Rung: how it is left out, and the calls that it is for. A list of names: the rows of
# rushlight.machine.native_table whose twins stay.
NATIVE = {
    "tensors around arrays": ("made result view", "relu|add|sum 1"),
    "whole views": (
        "indexed reshaped permuted swapped expanded windowed parts",
        "x[0]|view|permute|t|expand|chunk",
    ),
    "records": ("recorded viewed noted", "record relu|record mul|record view"),
    "backward passes": ("below fits handed", "backward|backward of relu"),
    "lists of an optimizer": ("arrays written counted", "SGD step|Adam step"),
    "shapes": ("sized dense cleared", "size|contiguous of itself|zero_"),
    "several results": ("results plain several described", "max 1|topk"),
    "new tensors": ("shared fresh alike", "zeros|ones_like|from_numpy"),
    "small reductions": (
        "sum mean max min argmax argmin max_at min_at",
        "sum|sum 1 of 64 shapes|argmax 1 of 64 shapes",
    ),
}
LEARNED = {  # module, class or None, function that learns: it is left out
    "pointwise calls": ("ops._calls.elementwise_calls", "_Quick", "learn", "clamp|where|lerp"),
    "known layouts": ("kernels.launch.prepared", "Short", "learn", "sum 1|gather|cat 0|tril"),
    "known views": ("ops._calls.known_views", "ShortView", "_learn", "squeeze|unsqueeze"),
    "calls by dtype": ("ops._table.elementwise", "Call", "_offer_fast", "relu|add|add number|mul_"),
}
MADE = {  # module of prepared calls: it makes none
    "calls by form, elementwise": ("elementwise_calls", "clamp|where|lerp"),
    "calls by form, arrays": ("array_calls", "sum 1|gather|permute|cat 0"),
}
OTHERS = {
    "quick gradients": "backward|backward of relu",
    "all native calls": "relu|add|sum 1|x[0]|backward|Adam step",
}
ROWS = {
    **{rung: calls for rung, (_, calls) in NATIVE.items()},
    **{rung: calls for rung, (*_, calls) in LEARNED.items()},
    **{rung: calls for rung, (_, calls) in MADE.items()},
    **OTHERS,
}


def leave_out(rung):
    """Leave a rung out in this process, before its first call."""
    if rung in NATIVE:
        left = set(NATIVE[rung][0].split())
        for path in ("fastpath.start", "kernels.reduction.small_reduction"):
            module = importlib.import_module(f"rushlight.{path}")

            def take(owner, holder, natives, _take=module.take_over):
                _take(owner, holder, {k: v for k, v in natives.items() if k not in left})

            module.take_over = take
    elif rung in LEARNED:
        path, owner, name, _ = LEARNED[rung]
        owner = getattr(importlib.import_module(f"rushlight.{path}"), owner)
        setattr(owner, name, lambda *args: None)
    elif rung in MADE:
        written = importlib.import_module(f"rushlight.ops._calls.{MADE[rung][0]}")
        written.built = lambda *args: None
    elif rung == "quick gradients":
        written = importlib.import_module("rushlight.ops._calls.quick_pull")
        written.written = lambda *args: lambda node, grad: NotImplemented


def one_process(rung, calls):
    """Print the seconds of calls with a rung left out."""
    import rushlight

    leave_out(rung)
    rushlight.set_num_threads(1)
    names = arguments(rushlight, 1000)
    names["g"] = names["y"].clone().requires_grad_()
    names["g"].grad = names["y"]
    names["many"] = [names["x"][: i // 4 + 2, : i + 4].clone() for i in range(64)]
    ours = [rushlight.nn.Parameter(names["x"].clone()) for _ in range(8)]
    for each in ours:
        each.grad = names["y"]
    names["sgd"] = rushlight.optim.SGD(ours, 1e-6, momentum=0.9)
    names["adam"] = rushlight.optim.Adam(ours, 1e-6)
    print(json.dumps([fastest(eval(f"lambda: {CALLS[c]}", names)) for c in calls]))  # noqa: S307


def fastest(call, seconds=0.4):
    """The least user CPU time of a call, among blocks of a thousandth of a second."""
    for _ in range(200):
        call()
    start = time.process_time()
    for _ in range(100):
        call()
    inner = max(1, int(0.1 / max(time.process_time() - start, 1e-7)))
    best, end = math.inf, time.process_time() + seconds
    while time.process_time() < end:
        start = time.process_time()
        for _ in range(inner):
            call()
        best = min(best, (time.process_time() - start) / inner)
    return best


def measured(rung, pairs):
    """``(call, seconds with all, seconds without the rung, ratio)`` for each call of a rung."""
    calls, found = ROWS[rung].split("|"), []
    for _ in range(pairs):
        both = []
        for left in ("", rung):
            switch = {"RUSHLIGHT_FAST_PATH": "off"} if left == "all native calls" else {}
            command = [sys.executable, __file__, "--serve", left, "--calls", *calls]
            done = subprocess.run(
                command, env={**os.environ, **switch}, stdout=subprocess.PIPE, check=True
            )
            both.append(json.loads(done.stdout))
        found.append(both)
    for i, call in enumerate(calls):
        on, off = (min(pair[side][i] for pair in found) for side in (0, 1))
        ratio = statistics.median(pair[1][i] / pair[0][i] for pair in found)
        yield call, on, off, ratio


def main():
    """Measure, print, and write the table down where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rungs", nargs="*", metavar="RUNG")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--serve")
    parser.add_argument("--calls", nargs="*")
    given = parser.parse_args()
    if given.serve is not None:
        return one_process(given.serve, given.calls)
    lines = [
        "# The fast path, rung by rung",
        "",
        "| rung left out | call | with all | without | ratio |",
        "| --- | --- | --- | --- | --- |",
    ]
    for rung in given.rungs or ROWS:
        for call, on, off, ratio in measured(rung, given.pairs):
            lines.append(
                f"| {rung} | `{call}` | {on * 1e6:.2f} us | {off * 1e6:.2f} us | {ratio:.2f} |"
            )
            print(lines[-1], flush=True)
    if given.write:
        (FOLDER / "results" / "fast_path.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
