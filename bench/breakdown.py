"""Where one training step goes, ours beside PyTorch's: both profilers, in separate processes.

python bench/breakdown.py [--steps 5] [--write] [MODEL ...]

Times are those of ops themselves (not of what they call), summed by kind over some steps; what is
left of the step is Python and dispatch around them. `--write` makes results/breakdown.md.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import steps

MODELS = ("ResNet-18, 32 x 32", "GPT 3 M")
# The first pattern found in an op's name says its kind.
KINDS = {
    "optimizer": r"optimizer|adam|_foreach|_fused_adam",
    "attention": r"attention|flash|sdp",
    "convolution": r"conv|mkldnn",
    "normalization": r"norm",
    "pooling": r"pool",
    "loss and softmax": r"cross_entropy|nll|softmax",
    "products": r"addmm|linear|matmul|bmm|\bmm\b|::mm|^mm|mmbackward",
    "embedding": r"embedding|index|gather|scatter",
    "elementwise": r"relu|gelu|add|mul|div|sub|tanh|threshold|dropout|bernoulli|sum|mean|neg|sqrt",
}


def kind_of(name):
    """The kind of an op by its name."""
    for kind, pattern in KINDS.items():
        if re.search(pattern, name.lower()):
            return kind
    return "copies, views, rest"


def one_process(name, library, count):
    """Print milliseconds of a step by kind, and of the whole step, as JSON."""
    warnings.simplefilter("ignore")
    package = importlib.import_module(library)
    profiler = importlib.import_module(f"{library}.profiler")
    step = steps.prepared(package, name, "default")
    for _ in range(3):
        step()
    begin = time.perf_counter()
    for _ in range(count):
        step()
    whole = (time.perf_counter() - begin) / count * 1e3
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU]) as found:
        for _ in range(count):
            step()
    spent = {}
    for event in found.key_averages():
        kind = kind_of(event.key)
        spent[kind] = spent.get(kind, 0.0) + event.self_cpu_time_total / count / 1e3
    print(json.dumps({"whole": whole, "spent": spent}))


def measured(name, library, count):
    """The record of one process."""
    command = [sys.executable, __file__, "--one", name, library, "--steps", str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def table(name, ours, theirs):
    """Lines of Markdown for one model."""
    lines = [f"**{name}**: {ours['whole']:.0f} ms a step, PyTorch {theirs['whole']:.0f} ms.", "",
             "| ms a step | ours | PyTorch |", "| --- | --- | --- |"]  # fmt: skip
    kinds = [*KINDS, "copies, views, rest"]
    kinds.sort(key=lambda kind: -max(f["spent"].get(kind, 0) for f in (ours, theirs)))
    for kind in kinds:
        pair = [found["spent"].get(kind, 0.0) for found in (ours, theirs)]
        if max(pair) >= 0.05:
            lines.append(f"| {kind} | {pair[0]:.1f} | {pair[1]:.1f} |")
    return [*lines, ""]


def main():
    """Compare, print and perhaps write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=list(MODELS), metavar="MODEL")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--one", nargs=2, metavar=("MODEL", "LIBRARY"))
    options = parser.parse_args()
    if options.one:
        one_process(*options.one, options.steps)
        return
    lines = ["# Where a training step goes", "",
             "Times of ops themselves by the profilers of both libraries, the step without a "
             "profiler above.", ""]  # fmt: skip
    for name in options.models:
        found = [measured(name, library, options.steps) for library in ("rushlight", "torch")]
        lines += table(name, *found)
    text = "\n".join(lines)
    print(text)
    if options.write:
        (Path(__file__).parent / "results" / "breakdown.md").write_text(text)


if __name__ == "__main__":
    main()
