"""This tree against an older revision of it: ops and whole steps, in separate processes in turn.

python bench/revisions.py REVISION [--pairs 5] [--only ops|steps] [--name revisions]

The revision is checked out beside this tree; its core is timed by this tree's programs, so that
both answer the same questions. Writes bench/results/NAME.json and NAME.md: the ratio of the old
time to the new one, and the range of the pairs' ratios.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
BELOW = 0.95  # a ratio under it, with a range that leaves out 1, is a row that fell


class Process:
    """A process of `bench/ops.py` that answers for one tree."""

    def __init__(self, environment, seconds):
        command = [
            sys.executable,
            FOLDER / "ops.py",
            "--serve",
            "rushlight",
            "--seconds",
            str(seconds),
        ]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, env=environment, text=True, **pipes)

    def seconds(self, *question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.kill()
        self.process.communicate()


def ops(trees, pairs, seconds):
    """``{row: [(new, old), ...]}`` of every op at every size."""
    from ops import EXPRESSIONS, SIZES

    questions = list(itertools.product(SIZES, EXPRESSIONS))
    rows = {f"{op}, {size:.0e}": [] for size, op in questions}
    for number in range(pairs):
        timers = [Process(tree, seconds) for tree in trees]
        for (size, op), found in zip(questions, rows.values(), strict=True):
            order = timers if number % 2 == 0 else timers[::-1]
            times = {timer: timer.seconds(size, op) for timer in order}
            found.append(tuple(times[timer] for timer in timers))
        for timer in timers:
            timer.stop()
        print(f"ops: pair {number + 1} of {pairs}", file=sys.stderr, flush=True)
    return rows


def steps(trees, pairs, seconds):
    """``{row: [(new, old), ...]}`` of every training step and inference."""
    from steps import CASES

    rows = {}
    for case in CASES:
        for tree in trees:
            one_step(tree, case, 0.05)  # fills the caches of compiled kernels
        found = rows.setdefault(case, [])
        for number in range(pairs):
            order = (0, 1) if number % 2 == 0 else (1, 0)
            times = {which: one_step(trees[which], case, seconds) for which in order}
            found.append((times[0], times[1]))
        print(f"steps: {case}", file=sys.stderr, flush=True)
    return rows


def one_step(environment, case, seconds):
    """The time of one step in a process of its own."""
    command = [sys.executable, FOLDER / "steps.py", "--one", case, "rushlight", "default"]
    command += ["--seconds", str(seconds)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])["time"]


def summary(pairs):
    """Medians of both, the median of the ratios, the least and the largest ratio."""
    ratios = sorted(old / new for new, old in pairs)
    new, old = zip(*pairs, strict=True)
    found = statistics.median(new), statistics.median(old), statistics.median(ratios)
    return dict(
        zip(
            ("new", "old", "ratio", "least", "largest"),
            (*found, ratios[0], ratios[-1]),
            strict=True,
        )
    )


def markdown(rows, revision, place, pairs):
    """The table, rows that fell first."""
    from run import duration

    ordered = sorted(rows.items(), key=lambda item: item[1]["ratio"])
    fell = [name for name, row in ordered if row["ratio"] < BELOW and row["largest"] < 1]
    middle = statistics.geometric_mean(row["ratio"] for row in rows.values())
    lines = [
        f"# This tree against {revision}", "",
        f"{place['processor']}, {place['cores']} cores; {pairs} pairs of processes in turn. Ratio: "
        "the old time over the new one, median, least and largest of the pairs. "
        f"{len(rows)} rows, geometric mean {middle:.3f}; below {BELOW} in every pair: "
        f"{'; '.join(fell) or 'none'}.",
        "", "| row | new | old | ratio | least | largest |",
        "| --- | --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    for name, row in ordered:
        times = f"{duration(row['new'])} | {duration(row['old'])}"
        lines.append(
            f"| {name} | {times} | {row['ratio']:.2f} | {row['least']:.2f} | {row['largest']:.2f} |"
        )
    return "\n".join(lines) + "\n"


def environments(old, scratch):
    """The environment of a process of this tree, and of one of the old tree; caches apart."""
    return [
        {**os.environ, "PYTHONPATH": f"{tree}/core/src", "RUSHLIGHT_CACHE_DIR": f"{scratch}/{name}"}
        for name, tree in (("new", ROOT), ("old", old))
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("revision")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--only", choices=("ops", "steps"))
    parser.add_argument("--name", default="revisions", help="of the files in bench/results")
    options = parser.parse_args()
    from run import machine

    rows = {}
    with tempfile.TemporaryDirectory() as scratch:
        git = ["git", "-C", str(ROOT), "worktree"]
        old = f"{scratch}/tree"
        subprocess.run(
            [*git, "add", "--detach", old, options.revision], check=True, capture_output=True
        )
        try:
            trees = environments(old, scratch)
            if options.only != "steps":
                rows |= ops(trees, options.pairs, options.seconds)
            if options.only != "ops":
                rows |= steps(trees, options.pairs, 10 * options.seconds)
        finally:
            subprocess.run([*git, "remove", "--force", old], check=True)
    place = machine()
    rows = {name: summary(pairs) for name, pairs in rows.items()}
    text = markdown(rows, options.revision, place, options.pairs)
    print(text)
    target = FOLDER / "results" / options.name
    report = {"machine": place, "revision": options.revision, "pairs": options.pairs, "rows": rows}
    target.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n")
    target.with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
