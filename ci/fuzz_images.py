"""Damaged image files, by the ten thousand: an error that names them, or a possible image.

Small files of 27 kinds are mutated (`vision/tests/damaged_images.py`: bytes, headers that lie,
sizes that are huge, pieces lost, repeated and put in, cuts), decoded, and opened as data sets open
files, in child processes: one that crashes, hangs or takes memory is found by its number.

Usage: python ci/fuzz_images.py [--cases 50000] [--seed 0] [--show NUMBER]
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path

from fuzz_children import tried

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "vision" / "tests"))

BATCH = 2500
SECONDS = 300  # of a batch, after which it hangs
# What a child may hold at most: the greatest canvas that Pillow opens has 179 million pixels of
# four bytes, and codecs hold it several times over.
MEMORY = 5 << 30


def case(number: int) -> tuple[str, str, bytes, str]:
    """A case by its number, as `damaged_images.case` gives it."""
    import damaged_images

    with tempfile.TemporaryDirectory() as folder:
        return damaged_images.case(number, Path(folder))


def batch(begin: int, end: int) -> None:
    """Try cases in this process; print those with a fault."""
    warnings.simplefilter("ignore")  # of damaged metadata, and of large images
    for number in range(begin, end):
        name, kind, _, fault = case(number)
        if fault:
            print(f"case {number} ({name}, {kind}): {fault}")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    if most > MEMORY:
        print(f"cases {begin} to {end}: {most >> 20} MB were held")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=50000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, help="say what one case gives")
    parser.add_argument("--batch", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.batch:
        batch(*options.batch)
        return 0
    if options.show is not None:
        name, kind, data, fault = case(options.show)
        print(f"{name}, {kind}, {len(data)} bytes: {fault or 'no fault'}")
        return 0
    started, faults = time.monotonic(), []
    first = options.seed * options.cases
    for begin in range(first, first + options.cases, BATCH):
        faults += tried(__file__, begin, min(begin + BATCH, first + options.cases), SECONDS)
    print("\n".join(faults))
    print(
        f"fuzz_images: {options.cases} damaged files, {len(faults)} faults, "
        f"{time.monotonic() - started:.0f} s"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
