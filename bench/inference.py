"""Inference: eager, compiled and ONNX Runtime, or PyTorch's `torch.compile`.

python bench/inference.py [MODEL ...] [--peer onnx|torch] [--threads 1] [--rounds 3]
                          [--seconds 0.4] [--may-change] [--name NAME]

Each way is timed in a process of its own, the three in turn, round after round (A B C A B C): CPU
time on one thread, elapsed time on several. The time of a round is the shortest of a call, since
shared machines disturb that least; ratios are medians over the rounds of the peer's time over
ours: above 1 means that we are faster. Weights are frozen everywhere, as ONNX Runtime takes them,
but for ``--may-change``, which is how `compile` runs by default, here and in PyTorch. With a name,
results/NAME.json, .md and .png are written.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from models.inference import MODELS
from run import duration, machine

OURS = ("eager", "compiled")
PEERS = {"onnx": "ONNX Runtime", "torch": "torch.compile"}
BATCHES = (1, 16)
RESULTS = Path(__file__).with_name("results")


def shortest(call, seconds, clock):
    """The shortest time of a call, over blocks of about a millisecond."""
    call(), call()
    start = clock()
    call()
    inner = max(1, int(1e-3 / max(clock() - start, 1e-7)))
    end, best = clock() + seconds, math.inf
    while clock() < end:
        start = clock()
        for _ in range(inner):
            call()
        best = min(best, (clock() - start) / inner)
    return best


def onnx_call(library, model, given, threads):
    """A call of ONNX Runtime that runs a model's file."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.onnx")
        library.onnx.export(model, (given,), path)
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: given.numpy()}
    return lambda: session.run(None, feed)


def torch_compiled(name, batch, threads, freezing):
    """A call of PyTorch's compiled model, after its first."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(threads)
    torch._inductor.config.freezing = freezing
    model, given = MODELS[name](torch, batch)
    run = torch.compile(model.eval())
    return lambda: run(given), torch.inference_mode


def one(name, batch, way, options):
    """The time of one model in this process."""
    seconds, threads, freezing = options.seconds, options.threads, not options.may_change
    clock = time.process_time if threads == 1 else time.perf_counter
    if way == "torch":
        call, context = torch_compiled(name, batch, threads, freezing)
        with context():
            return shortest(call, seconds, clock)
    import rushlight

    warnings.simplefilter("ignore")
    rushlight.manual_seed(0)
    rushlight.set_num_threads(threads)
    model, given = MODELS[name](rushlight, batch)
    model.eval()
    with rushlight.inference_mode():
        if way == "onnx":
            return shortest(onnx_call(rushlight, model, given, threads), seconds, clock)
        frozen = {"freezing": True} if freezing else None
        run = rushlight.compile(model, options=frozen) if way == "compiled" else model
        return shortest(lambda: run(given), seconds, clock)


def in_process(name, batch, way, options):
    """:func:`one` in a fresh process."""
    command = [sys.executable, __file__, "--one", name, str(batch), way]
    command += ["--seconds", str(options.seconds), "--threads", str(options.threads)]
    command += ["--may-change"] * options.may_change
    environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise SystemExit(f"{name}, batch {batch}, {way} failed:\n{done.stderr}")
    return float(done.stdout.splitlines()[-1])


def row(name, batch, options):
    """The times of one model by every way, a list of rounds each, and the ratios."""
    ways = (*OURS, options.peer)
    times: dict = {way: [] for way in ways}
    for _ in range(options.rounds):
        for way in ways:
            times[way].append(in_process(name, batch, way, options))
    ratios = {}
    for way in OURS:
        pairs = zip(times[options.peer], times[way], strict=True)
        ratios[way] = statistics.median([theirs / ours for theirs, ours in pairs])
    return {"times": times, "ratios": ratios}


def means(rows):
    """The geometric means of all ratios."""
    return {
        way: statistics.geometric_mean([r["ratios"][way] for r in rows.values()]) for way in OURS
    }


def page(rows, options):
    """The table as Markdown."""
    here, ways = machine(), (*OURS, options.peer)
    peer = PEERS[options.peer]
    package = {"onnx": "onnxruntime", "torch": "torch"}[options.peer]
    weights = "`compile` by default" if options.may_change else "weights frozen on both sides"
    clock = "CPU time of one thread" if options.threads == 1 else f"{options.threads} threads"
    lines = [
        f"# Inference: ours against {peer} ({package} {importlib.metadata.version(package)})",
        "",
        f"{here['processor']}, {here['cores']} cores, Python {here['python']}; {clock}; "
        f"{options.rounds} rounds of alternating processes; {weights}. Ratio: {peer}'s time over "
        "ours, median of the rounds.",
        "",
        f"| network | batch | eager | compiled | {peer} | eager, ratio | compiled, ratio |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for label, each in rows.items():
        name, batch = label.rsplit(", batch ", 1)
        shown = " | ".join(duration(statistics.median(each["times"][way])) for way in ways)
        ratios = " | ".join(f"{each['ratios'][way]:.2f}" for way in OURS)
        lines.append(f"| {name} | {batch} | {shown} | {ratios} |")
    found = means(rows)
    lines.append(f"| geometric mean | | | | | {found['eager']:.2f} | {found['compiled']:.2f} |")
    return "\n".join(lines) + "\n"


def chart(rows, path, peer):
    """A bar for each row: eager and compiled."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = list(rows)
    figure, axes = pyplot.subplots(figsize=(8, 0.42 * len(names) + 1.2))
    for way, colour, shift in (("eager", "#b9c4cc", -0.2), ("compiled", "#2a78b5", 0.2)):
        ratios = [rows[name]["ratios"][way] for name in names]
        axes.barh([i + shift for i in range(len(names))], ratios, 0.38, color=colour, label=way)
    axes.set_yticks(range(len(names)), labels=names)
    axes.axvline(1, color="black", lw=1)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.set_xlabel(f"{peer}'s time over ours (right of 1: ours is faster)")
    axes.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def main():
    """Print the table, and write it down where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--peer", choices=PEERS, default="onnx")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--may-change", action="store_true", help="weights are not frozen")
    parser.add_argument("--name")
    parser.add_argument("--one", nargs=3, metavar=("MODEL", "BATCH", "WAY"))
    options = parser.parse_args()
    if options.one:
        name, batch, way = options.one
        print(one(name, int(batch), way, options))
        return
    rows = {}
    for name in options.models or MODELS:
        for batch in BATCHES:
            found = rows[f"{name}, batch {batch}"] = row(name, batch, options)
            shown = "  ".join(
                f"{way} {duration(min(times))}" for way, times in found["times"].items()
            )
            ratios = " ".join(f"{ratio:.2f}" for ratio in found["ratios"].values())
            print(f"{name:12} {batch:3} {shown}  ratios {ratios}", flush=True)
    print({way: round(mean, 3) for way, mean in means(rows).items()})
    if options.name:
        (RESULTS / f"{options.name}.json").write_text(json.dumps(rows, indent=1) + "\n")
        (RESULTS / f"{options.name}.md").write_text(page(rows, options))
        chart(rows, RESULTS / f"{options.name}.png", PEERS[options.peer])


if __name__ == "__main__":
    main()
