"""Kernels by shape, ours against PyTorch, in separate processes that take turns at every case.

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
from pathlib import Path

from shapes import all_cases
from turns import fastest, in_turn, medians, serve

FOLDER = Path(__file__).parent


def chosen(names):
    """The groups whose names begin with one of these words, all without any."""
    groups = all_cases()
    return {g: c for g, c in groups.items() if not names or any(g.startswith(n) for n in names)}


def one_process(name, seconds):
    """Answer questions about one library."""
    library = importlib.import_module(name)
    importlib.import_module(f"{name}.optim")
    groups = all_cases()

    def timed(group, case):
        library.manual_seed(0)
        return fastest(groups[group][case](library), seconds)

    serve(timed)


def compared(pairs, seconds, names):
    """``{group: {case: (ours, theirs, ratio)}}``: medians over pairs of processes, and of the
    ratios of the pairs."""
    questions = [(group, case) for group, cases in chosen(names).items() for case in cases]
    rows = {}
    for (group, case), found in in_turn(__file__, questions, pairs, seconds=seconds).items():
        rows.setdefault(group, {})[case] = medians(found)
    return rows


def markdown(rows, place, pairs):
    """A table for each group."""
    from run import duration

    lines = [
        f"# Kernels by shape: ours against PyTorch {place['torch']}", "",
        f"{place['processor']}, {place['cores']} cores, Python {place['python']}; {pairs} pairs "
        "of processes that take turns at every case. Ratio: PyTorch's time over ours, median of "
        "the pairs.",
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
    parser.add_argument("--serve", metavar="LIBRARY")
    options = parser.parse_args()
    if options.avx2:
        hold_to_avx2()
    if options.serve:
        one_process(options.serve, options.seconds)
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
