"""First runs of the corpus of programs, with nothing in the cache of kernels, beside PyTorch's.

Each program of core/tests/programs runs by `rushlight run` with an empty cache, again with what
the first run left, and by PyTorch, in turn; three rounds, medians of the seconds of whole
processes, start included. Writes bench/results/first_runs.md; fails where a first run takes more
than 1.3 times PyTorch's.

Usage: python ci/first_runs.py [NAME ...] [--repeats 3] [--no-packs]

--no-packs: as on a processor for which no kernels are shipped; no table is written.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from datetime import UTC, datetime

import oracle
import programs
from packages import ROOT

MOST = 1.3
TABLE = ROOT / "bench" / "results" / "first_runs.md"
HEAD = """# First runs

{date}, {machine}, one thread each; medians of {repeats} round(s), seconds of whole processes. Load
on the machine: {load:.1f} processes. A first run takes {low:.2f} to {high:.2f} of PyTorch's time,
{mean:.2f} in the geometric mean.

| program | first run, s | second run, s | PyTorch, s | first / PyTorch |
| --- | --- | --- | --- | --- |
"""


def seconds(library, path):
    """One run; what goes wrong ends the script."""
    taken, _, error = programs.run(library, path, threads=1)
    if error:
        raise SystemExit(f"{path.stem} fails under {library}: {error}")
    return taken


def measure(path, repeats):
    """Medians of first runs, second runs and PyTorch's."""
    found = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(prefix="rushlight-first-") as cache:
            os.environ["RUSHLIGHT_CACHE_DIR"] = cache
            own = [seconds("Rushlight", path) for _ in range(2)]
            found.append((*own, seconds("PyTorch", path)))
    return [statistics.median(column) for column in zip(*found, strict=True)]


def write_table(rows, repeats, load) -> None:
    """Write the table that the docs show."""
    ratios = [ratio for *_, ratio in rows]
    text = HEAD.format(
        date=datetime.now(UTC).date(), machine=programs.machine(), repeats=repeats, load=load,
        low=min(ratios), high=max(ratios), mean=statistics.geometric_mean(ratios),
    )  # fmt: skip
    for name, *numbers in rows:
        cells = " | ".join(f"{number:.2f}" for number in numbers)
        text += f"| `{name}` | {cells} |\n"
    TABLE.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-packs", action="store_true")
    given = parser.parse_args()
    if not oracle.install():
        print(f"torch oracle not available ({oracle.REQUIREMENT}): nothing was compared")
        return 1
    if given.no_packs:
        os.environ["RUSHLIGHT_PREBUILT"] = ""
    load, rows = os.getloadavg()[0], []
    for path in sorted(programs.FOLDER.glob("*.py")):
        if given.names and path.stem not in given.names:
            continue
        first, second, theirs = measure(path, given.repeats)
        rows.append((path.stem, first, second, theirs, first / theirs))
        print(f"{path.stem:24} {first:6.2f} {second:6.2f} {theirs:6.2f}  {first / theirs:5.2f}",
              flush=True)  # fmt: skip
    ratios = [ratio for *_, ratio in rows]
    print(f"first runs: {min(ratios):.2f} to {max(ratios):.2f} of PyTorch's time, "
          f"{statistics.geometric_mean(ratios):.2f} in the mean")  # fmt: skip
    if not given.names and not given.no_packs:
        write_table(rows, given.repeats, load)
        print(f"written: {TABLE}")
    return 1 if max(ratios) > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
