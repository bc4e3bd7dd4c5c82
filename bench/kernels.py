"""Kernels by shape, ours against PyTorch, in separate processes in turn.

python bench/kernels.py [--pairs 5] [--seconds 0.15] [--name kernels] [GROUP ...]

Products of matrices, convolutions pass by pass, attention, normalization, recurrent layers and
optimizer steps at the shapes of bench/shapes.py; groups may be named by their first words. Writes
bench/results/NAME.json and NAME.md when none is.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import statistics
import subprocess
import sys
from pathlib import Path

from ops import fastest
from shapes import all_cases

FOLDER = Path(__file__).parent


def chosen(names):
    """The groups whose names begin with one of these words, all without any."""
    groups = all_cases()
    return {g: c for g, c in groups.items() if not names or any(g.startswith(n) for n in names)}


def one_process(name, seconds, groups):
    """Print ``{group: {case: seconds}}`` as JSON."""
    library = importlib.import_module(name)
    importlib.import_module(f"{name}.optim")
    found = {}
    for group, cases in groups.items():
        found[group] = {}
        for case, make in cases.items():
            library.manual_seed(0)
            found[group][case] = fastest(make(library), seconds)
    print(json.dumps(found))


def compared(pairs, seconds, names):
    """``{group: {case: (ours, theirs, ratio)}}`` from the fastest of alternating processes."""
    samples = {"rushlight": [], "torch": []}
    for number in range(pairs):
        order = ("rushlight", "torch") if number % 2 == 0 else ("torch", "rushlight")
        for library in order:
            command = [sys.executable, __file__, "--one", library, "--seconds", str(seconds),
                       *names]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"bench/kernels.py on {library} failed:\n{done.stderr}")
            samples[library].append(json.loads(done.stdout.splitlines()[-1]))
        print(f"pair {number + 1} of {pairs}", file=sys.stderr, flush=True)
    rows = {}
    for group, cases in samples["torch"][0].items():
        rows[group] = {}
        for case in cases:
            ours, theirs = (min(s[group][case] for s in samples[k]) for k in ("rushlight", "torch"))
            rows[group][case] = (ours, theirs, theirs / ours)
    return rows


def markdown(rows, place, pairs):
    """A table for each group."""
    from run import duration

    lines = [
        f"# Kernels by shape: ours against PyTorch {place['torch']}", "",
        f"{place['processor']}, {place['cores']} cores, Python {place['python']}; the fastest of "
        f"{pairs} alternating processes each. Ratio: PyTorch's time over ours.",
    ]  # fmt: skip
    for group, cases in rows.items():
        mean = math.exp(statistics.fmean(math.log(ratio) for *_, ratio in cases.values()))
        lines += ["", f"## {group.capitalize()}: {mean:.2f} in the geometric mean", "",
                  "| case | ours | PyTorch | ratio |", "| --- | --- | --- | --- |"]  # fmt: skip
        lines += [
            f"| {case} | {duration(ours)} | {duration(theirs)} | {ratio:.2f} |"
            for case, (ours, theirs, ratio) in cases.items()
        ]
    return "\n".join(lines) + "\n"


def main():
    from run import hold_to_avx2, machine

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", metavar="GROUP")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.15)
    parser.add_argument("--name", default="kernels", help="of the files in bench/results")
    parser.add_argument("--avx2", action="store_true", help="hold both sides to 256-bit vectors")
    parser.add_argument("--one", metavar="LIBRARY")
    options = parser.parse_args()
    if options.avx2:
        hold_to_avx2()
    if options.one:
        one_process(options.one, options.seconds, chosen(options.groups))
        return

    rows, place = compared(options.pairs, options.seconds, options.groups), machine()
    text = markdown(rows, place, options.pairs)
    print(text)
    if not options.groups:
        target = FOLDER / "results" / options.name
        report = {"machine": place, "pairs": options.pairs, "groups": rows}
        target.with_name(options.name + ".json").write_text(json.dumps(report, indent=1) + "\n")
        target.with_name(options.name + ".md").write_text(text)


if __name__ == "__main__":
    main()
