"""Ours against PyTorch, in separate processes in turn; medians, ratios and their intervals.

python bench/run.py [--pairs 15] [--seconds 0.4] [--name NAME] [--quick]

Writes bench/results/NAME.json and NAME.md. One process after the other, never both at once: in one
process the two disturb each other (spinning threads, allocator settings). A ratio is PyTorch's time
over ours, so above 1 means that we are faster; the interval is the range of medians of 95 % of
2,000 resamples of the pairs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

FOLDER = Path(__file__).parent
LIBRARIES = ("rushlight", "torch")
AVX2 = {  # what holds both sides and the libraries under them to 256 bits
    "RUSHLIGHT_PROCESSOR": "haswell", "OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
}  # fmt: skip


def hold_to_avx2():
    """Make the processes of this run leave out what processors with AVX2 do not have."""
    os.environ.update(AVX2)


def timed_cases(library, seconds):
    """One process of one library: the median time of every case."""
    command = [sys.executable, str(FOLDER / "cases.py"), library, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"bench/cases.py {library} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def as_installed(**variables):
    """The environment of a process that finds byte code, as an installer would have written it."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **variables}


def import_time(library):
    """Seconds from the start of Python to the end of the import, less those of bare Python."""
    times = []
    for program in (f"import {library}", ""):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True, env=as_installed())
        times.append(time.perf_counter() - start)
    return times[0] - times[1]


def first_steps(library):
    """Seconds from the start of Python to the end of an MLP script's first step, with no machine
    code stored and with that of the run before."""
    times = {}
    command = [sys.executable, str(FOLDER / "first_step.py"), library]
    with tempfile.TemporaryDirectory() as cache:
        kept = as_installed(RUSHLIGHT_CACHE_DIR=cache)
        for case in ("first step of an MLP script, nothing cached", "the same script again"):
            start = time.monotonic()
            done = subprocess.run(command, check=True, env=kept, capture_output=True, text=True)
            times[case] = float(done.stdout) - start
    return times


def collect(pairs, seconds):
    """``{case: {library: [times]}}`` of alternating processes."""
    found = {}
    for library in LIBRARIES:
        timed_cases(library, 0.05)  # fills kernel caches and the page cache
        import_time(library)  # and writes byte code, as an installer would
    for number in range(pairs):
        order = LIBRARIES if number % 2 == 0 else LIBRARIES[::-1]
        for library in order:
            times = {"import": import_time(library), **first_steps(library)}
            times.update(timed_cases(library, seconds))
            for case, value in times.items():
                found.setdefault(case, {}).setdefault(library, []).append(value)
        print(f"pair {number + 1} of {pairs}", file=sys.stderr, flush=True)
    return found


def summary(times):
    """Medians, the median ratio of the pairs, and its interval."""
    ours, theirs = times["rushlight"], times["torch"]
    ratios = [b / a for a, b in zip(ours, theirs, strict=True)]
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(2000))
    return {
        "ours": statistics.median(ours),
        "torch": statistics.median(theirs),
        "ratio": statistics.median(ratios),
        "interval": [medians[50], medians[1949]],
        "fastest": {"ours": min(ours), "torch": min(theirs), "ratio": min(theirs) / min(ours)},
        "samples": times,
    }


def needed(name, seen):
    """The distributions that one distribution needs, itself included, extras left out."""
    key = name.lower().replace("_", "-")
    if key in seen:
        return
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return
    seen[key] = found
    for requirement in found.requires or ():
        if ";" in requirement and "extra" in requirement.split(";", 1)[1]:
            continue
        word = requirement.split(";")[0]
        for mark in "<>=!~[( ":
            word = word.split(mark)[0]
        needed(word.strip(), seen)


def installed_size(name, source=None):
    """Bytes of a distribution's files and of all it needs; `source` for an editable install."""
    seen = {}
    needed(name, seen)
    if not seen:
        raise SystemExit(f"{name} is not installed in this environment: its size is not known")
    total, parts = 0, {}
    for key, found in seen.items():
        size = 0
        for file in found.files or ():
            path = Path(found.locate_file(file))
            if path.is_file() and path.suffix != ".pyc":
                size += path.stat().st_size
        if key == name and source is not None:
            size = sum(p.stat().st_size for p in Path(source).rglob("*.py"))
        parts[key] = size
        total += size
    return total, parts


def duration(seconds):
    """A time in the unit that suits it."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def machine():
    """What the figures were measured on."""
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
         if line.startswith("model name")), "unknown",
    )  # fmt: skip
    if all(os.environ.get(name) == value for name, value in AVX2.items()):
        model += ", both sides held to AVX2"
    versions = {n: metadata.version(n) for n in ("numpy", "torch", "llvmlite")}
    return {
        "processor": model, "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(), **versions,
    }  # fmt: skip


def markdown(report):
    """The report as a table."""
    place = report["machine"]
    lines = [
        f"# Ours against PyTorch {place['torch']}",
        "",
        f"{place['processor']}, {place['cores']} cores, Python {place['python']}; "
        f"{report['pairs']} pairs of alternating processes. Ratio: PyTorch's time over ours, "
        "median of the pairs with its 95 % interval; in the last column of the fastest process of "
        "each.",
        "",
        "| case | ours | PyTorch | ratio | interval | ratio of the fastest |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for case, row in report["cases"].items():
        low, high = row["interval"]
        lines.append(
            f"| {case} | {duration(row['ours'])} | {duration(row['torch'])} | {row['ratio']:.2f} | "
            f"{low:.2f} to {high:.2f} | {row['fastest']['ratio']:.2f} |"
        )
    size = report["installed"]
    lines += [
        "",
        f"Installed, with all it needs: rushlight {size['rushlight'] / 1e6:.0f} MB, torch "
        f"{size['torch'] / 1e6:.0f} MB (CPU build), ratio {size['ratio']:.2f}.",
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--name", default="cpu")
    parser.add_argument("--quick", action="store_true", help="three pairs, nothing written")
    options = parser.parse_args()
    pairs = 3 if options.quick else options.pairs
    source = FOLDER.parent / "core" / "src"
    ours, parts = installed_size("rushlight", source)  # first: it may refuse
    theirs, _ = installed_size("torch")
    times = collect(pairs, options.seconds)
    report = {
        "machine": machine(),
        "pairs": pairs,
        "cases": {case: summary(found) for case, found in times.items()},
        "installed": {"rushlight": ours, "torch": theirs, "ratio": ours / theirs, "parts": parts},
    }
    text = markdown(report)
    print(text)
    if not options.quick:
        target = FOLDER / "results" / options.name
        target.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n")
        target.with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
