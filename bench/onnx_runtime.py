"""Inference: eager, compiled and ONNX Runtime, one thread, by user CPU time.

python bench/onnx_runtime.py [MODEL ...] [--rounds 3] [--seconds 0.4] [--json FILE]

Each way is timed in a process of its own, the three in turn, round after round (A B C A B C);
figures are the shortest times of a call over all rounds, since shared machines disturb the shortest
least. A ratio is ONNX Runtime's time over ours: above 1 means that we are faster.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from models.inference import MODELS

WAYS = ("eager", "compiled", "onnx")
BATCHES = (1, 16)


def shortest(call, seconds):
    """The shortest CPU time of a call, over blocks of about a millisecond."""
    call(), call()
    start = time.process_time()
    call()
    inner = max(1, int(1e-3 / max(time.process_time() - start, 1e-7)))
    end, best = time.process_time() + seconds, math.inf
    while time.process_time() < end:
        start = time.process_time()
        for _ in range(inner):
            call()
        best = min(best, (time.process_time() - start) / inner)
    return best


def onnx_call(library, model, given):
    """A call of ONNX Runtime that runs a model's file."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.onnx")
        library.onnx.export(model, (given,), path)
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: given.numpy()}
    return lambda: session.run(None, feed)


def one(name, batch, way, seconds):
    """The time of one model in this process."""
    import rushlight

    warnings.simplefilter("ignore")
    rushlight.manual_seed(0)
    rushlight.set_num_threads(1)
    model, given = MODELS[name](rushlight, batch)
    model.eval()
    with rushlight.inference_mode():
        if way == "onnx":
            return shortest(onnx_call(rushlight, model, given), seconds)
        frozen = {"freezing": True}  # as ONNX Runtime takes them
        run = rushlight.compile(model, options=frozen) if way == "compiled" else model
        return shortest(lambda: run(given), seconds)


def in_process(name, batch, way, seconds):
    """:func:`one` in a fresh process."""
    command = [sys.executable, __file__, "--one", name, str(batch), way, "--seconds", str(seconds)]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=one_thread)
    if done.returncode:
        raise SystemExit(f"{name}, batch {batch}, {way} failed:\n{done.stderr}")
    return float(done.stdout.splitlines()[-1])


def geometric(values):
    """The geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def main():
    """Print the table, and write it down where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=3, metavar=("MODEL", "BATCH", "WAY"))
    given = parser.parse_args()
    if given.one:
        name, batch, way = given.one
        print(one(name, int(batch), way, given.seconds))
        return
    rows = {}
    for name in given.models or MODELS:
        for batch in BATCHES:
            times = {way: math.inf for way in WAYS}
            for _ in range(given.rounds):
                for way in WAYS:
                    times[way] = min(times[way], in_process(name, batch, way, given.seconds))
            rows[f"{name}, batch {batch}"] = times
            ratios = [times["onnx"] / times[way] for way in WAYS[:2]]
            shown = "  ".join(f"{way} {time * 1e3:.4g} ms" for way, time in times.items())
            print(
                f"{name:12} {batch:3} {shown}  ratios {ratios[0]:.2f} {ratios[1]:.2f}", flush=True
            )
    for way in WAYS[:2]:
        print(way, f"{geometric([t['onnx'] / t[way] for t in rows.values()]):.3f}")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
