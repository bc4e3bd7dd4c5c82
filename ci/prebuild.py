"""Compile the kernels of usual programs for each processor that a pack is shipped for.

Usage: python ci/prebuild.py [--levels NAME ...] [--programs NAME ...] [--check]

For each of `prebuilt.LEVELS`, the programs of core/tests/programs, the quickstart and the warm-up
run as on that processor (`RUSHLIGHT_PROCESSOR`; what this machine lacks is emulated), and the text
of every module they ask for is kept. LLVM then compiles these texts for the processor itself, into
core/src/rushlight/prebuilt/NAME.pack. Texts are taken in the order of their digests, so that the
same texts and the same LLVM give the same bytes.

--check compiles nothing: it says what share of the kernels of these programs this machine finds in
its pack, and fails below 90 %.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import llvmlite.binding as llvm
from packages import ROOT

from rushlight.machine import llvm_passes, object_code, prebuilt
from rushlight.machine import processors as cpu

PROGRAMS = ROOT / "core" / "tests" / "programs"
FOLDER = ROOT / "core" / "src" / "rushlight" / "prebuilt"
LEAST_FOUND = 0.9
# What x86-64 processors of all LEVELS have, besides what defines them.
BASE = {"64bit", "cmov", "cx16", "cx8", "fxsr", "mmx", "sahf", "sse", "sse2", "sse3"}


def commands(names):
    """Modules and arguments of the programs whose kernels are shipped."""
    yield ["rushlight.warmup"]
    for path in sorted(PROGRAMS.glob("*.py")):
        if not names or path.stem in names:
            yield ["rushlight", "run", str(path)]
    if not names:
        yield ["rushlight", "run", str(ROOT / "docs" / "examples" / "quickstart.py")]


def record(level, names, folder):
    """Run the programs as on a processor ("" is this one); their texts are put into `folder`."""
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as scratch:
        settings = {"RUSHLIGHT_CACHE_DIR": cache, "RUSHLIGHT_PREBUILT": ""}
        environment = {**os.environ, **settings, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
        if level:
            environment["RUSHLIGHT_PROCESSOR"] = level
        for command in commands(names):
            recorder = [sys.executable, str(ROOT / "ci" / "prebuild_recorder.py"), str(folder)]
            done = subprocess.run(
                [*recorder, *command], cwd=scratch, env=environment, capture_output=True, text=True
            )
            if done.returncode:
                raise SystemExit(f"{level}: {command[-1]} failed:\n{done.stderr[-2000:]}")


def texts(folder):
    """Name, passes and text of each module in the order of names."""
    for path in sorted(folder.iterdir()):
        word, text = zlib.decompress(path.read_bytes()).decode().split("\n", 1)
        yield bytes.fromhex(path.name), getattr(llvm_passes, word) if word else None, text


def target(level):
    """LLVM's target for a pack: what defines the processor and what all of them have, no more."""
    given = cpu.MODELS[level].features | prebuilt.EVERYWHERE | BASE
    known = {*llvm.get_host_cpu_features(), *given}
    features = {name: name in given for name in known}
    processor = dataclasses.replace(cpu.model(level), features=features, emulated=frozenset())
    return object_code.target_machine(level, processor.flags())


def build(level, names):
    """Write a pack; returns what it holds in words."""
    with tempfile.TemporaryDirectory() as folder:
        record(level, names, Path(folder))
        machine = target(level)
        objects = {
            name: object_code.compiled(text, passes, machine)
            for name, passes, text in texts(Path(folder))
        }
    FOLDER.mkdir(exist_ok=True)
    content = prebuilt.packed(objects)
    (FOLDER / f"{level}.pack").write_bytes(content)
    return f"{level:16} {len(objects):5} modules, {len(content) / 1e3:.0f} kB"


def check(names):
    """The share of modules that this machine finds in its pack."""
    level = prebuilt.level(cpu.processor())
    if level is None:
        print("check: there is no pack for this processor")
        return True
    with tempfile.TemporaryDirectory() as folder:
        record("", names, Path(folder))
        held = prebuilt.unpacked((FOLDER / f"{level}.pack").read_bytes())
        found = [name in held for name, _, _ in texts(Path(folder))]
    print(f"check: {sum(found)} of {len(found)} modules are in {level}.pack")
    return sum(found) >= LEAST_FOUND * len(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--levels", nargs="+", default=prebuilt.LEVELS, choices=prebuilt.LEVELS)
    parser.add_argument("--programs", nargs="+", default=[])
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.check:
        return 0 if check(given.programs) else 1
    for level in given.levels:
        print(build(level, given.programs), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
