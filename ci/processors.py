"""Run the tests of kernels and compiler for each processor that kernels know, on this machine.

For each of the models in rushlight's machine/processors.py kernels are chosen and compiled as on
that processor; instructions that this machine lacks are emulated, so none is left out. A test that
every processor skips, and a set with fewer tests than ci/processors_tests.json has on record, fail
the run; where a library that tests compare with cannot be imported, neither is asked. The closing
table lists each set with its tests.

Usage: python ci/processors.py [NAME ...] [PYTEST ARGUMENT ...] [--full] [--record] [--others]

With `--others`, as where no names are given, this machine's own processor is left out.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

import testing
from packages import CORE

RECORD = Path(__file__).with_name("processors_tests.json")
FOLDERS = ("tests/kernels", "tests/compiler", "tests/chains")
# Elementwise functions depend on the length of vectors alone, and are NumPy's, not compiled, where
# vectors have no fused multiply-add: one processor of each length runs their tests.
KERNELS = ("tests/kernels",)
ELEMENTWISE = ("haswell", "sapphirerapids")
# What runs in any process alike: files of the cache, signals, processes, threads.
COMMON = (
    "cache", "interrupts", "kernel_language", "threads", "training_at_once", "warmup", "memory",
    "reference_mode", "owned_folders", "prebuilt", "forks", "orders",
)  # fmt: skip
_COUNT = re.compile(r"(\d+) (passed|failed|skipped|error)")
_ABSENT = re.compile(r"SKIPPED .*could not import")
_SKIPPED = re.compile(r"SKIPPED \[\d+\] (tests/\S+:\d+)")


def models() -> list[str]:
    """Names of all processors."""
    from rushlight.machine.processors import MODELS

    return list(MODELS)


def own() -> str | None:
    """The processor that is this machine's own: all that kernels are chosen by is the same."""
    from rushlight.machine.processors import MODELS, _host

    host = _host()
    known = frozenset().union(*(model.features for model in MODELS.values()))
    has = frozenset(name for name in known if host.has(name))
    for name, model in MODELS.items():
        if (model.features, model.wide_units) == (has, host.wide_units):
            return name
    return None


def is_covered(name: str | None) -> bool:
    """Whether another processor has all that this one has: what all others skip, this one does."""
    from rushlight.machine.processors import MODELS

    here = MODELS[name].features if name in MODELS else frozenset()
    return any(here <= model.features for other, model in MODELS.items() if other != name)


def folders(name: str) -> tuple[str, ...]:
    """Where the tests are of what is compiled for a processor as for no other."""
    return FOLDERS if name in ELEMENTWISE else KERNELS


class _Seen:
    """What pytest's lines say: where tests skip, and how many for a library that is not here."""

    def __init__(self):
        self.skips, self.absent = set(), 0

    def __call__(self, line: str) -> None:
        if _ABSENT.match(line):
            self.absent += 1
        elif skipped := _SKIPPED.match(line):
            self.skips.add(skipped[1])


def run(name: str, arguments: list[str], full: bool) -> tuple[int, dict[str, int], set[str]]:
    """Status of one set's tests, their numbers by outcome, and where tests skip; ``absent`` counts
    those whose library is not here."""
    chosen = [word for word in arguments if word.startswith("tests/")] or list(
        FOLDERS if full else folders(name)
    )
    others = [word for word in arguments if not word.startswith("tests/")]
    given = ["-rs", *chosen, *others, *testing.shared(others)]
    if not full:
        given += [f"--ignore-glob=*test_{word}*" for word in COMMON]
    seen = _Seen()
    settings = testing.environment(RUSHLIGHT_PROCESSOR=name)
    status, closing = testing.pytest(name, CORE.path, given, settings, seen)
    counts = {outcome: int(number) for number, outcome in _COUNT.findall(closing)}
    return status, counts | {"absent": seen.absent}, seen.skips


def main() -> int:
    words = sys.argv[1:]
    full, record, others = (option in words for option in ("--full", "--record", "--others"))
    words = [word for word in words if word not in ("--full", "--record", "--others")]
    names = [word for word in words if word in models()]
    arguments = [word for word in words if word not in names]
    on_record = json.loads(RECORD.read_text()) if RECORD.is_file() else {}
    here = own()
    rows, failed, found, everywhere = [], False, dict(on_record), None
    for name in names or models():
        if name == here and (others or not names):
            rows.append(f"{name:16} this machine's own: its tests are those of `nox -s tests`")
            continue
        print(f"\n--- {name}", flush=True)
        start = time.monotonic()
        status, counts, skips = run(name, arguments, full)
        everywhere = skips if everywhere is None else everywhere & skips
        passed = counts.get("passed", 0)
        comparable = not (arguments or full or record or counts["absent"])
        few = comparable and passed < on_record.get(name, 0)
        verdict = "FAILED" if status else "too few" if few else "ok"
        failed |= verdict != "ok"
        found[name] = passed
        rows.append(
            f"{name:16} {verdict:8} {passed:6} tests, {counts.get('skipped', 0):4} skipped, "
            f"{time.monotonic() - start:5.0f} s"
        )
    print("\n--- processors, with what each lacks here emulated")
    print("\n".join(rows))
    if everywhere and not words and is_covered(here):
        print("skipped by every processor:", *sorted(everywhere))
        failed = True
    if record and not failed:
        RECORD.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
