"""Run the corpus of programs under PyTorch and under Rushlight and write the table of both.

Every file of core/tests/programs runs unchanged: by `python FILE` with PyTorch and by `rushlight
run FILE`, in processes of their own, in turn (A B A B), after one run of each that warms the file
and kernel caches. Compared are the first 20 losses and the final quality; the seconds are medians
of whole processes, start included, and of what remains without the start (`import torch`).

Usage: python ci/programs.py [NAME ...] [--repeats 3] [--threads N] [--page FILE] [--quick]

--quick: one run of each and no page; the exit status tells whether all agree.
"""

from __future__ import annotations

import argparse
import ast
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import oracle
from packages import ROOT

sys.path.insert(0, str(ROOT / "core" / "tests" / "compat"))
FOLDER = ROOT / "core" / "tests" / "programs"
PAGE = ROOT / "docs" / "pages" / "programs.md"
FIRST, RTOL, QUALITY_RTOL, QUALITY_ATOL = 20, 1e-4, 0.01, 2e-3
LIBRARIES = ("PyTorch", "Rushlight")
NOTES = {
    "binary_network": "a weight's sign flips at zero, so that late steps may differ: its quality "
    "is whether it learned",
    "hogwild_moons": "two processes train without locks: the losses are those of one process "
    "before, the quality is whether both together solve the problem",
    "style_transfer": "runs in float64: from a start whose content loss is 0, L-BFGS enlarges a "
    "change of 1e-7 in float32 to 1 % within 15 steps, in PyTorch alone as well",
}
INTRODUCTION = """\
# Whole programs

{count} programs of `core/tests/programs`, written in the style in which people write for PyTorch,
run unchanged under both libraries with the same seeds: by `python FILE` and by `rushlight run
FILE`. This page is generated:

```bash
python3 -m nox -s programs -- --repeats 5 --threads 1
```

**{agree} of {count} agree**: each of the first {first} losses within {rtol:g} of PyTorch's
(relative), and the final quality within a rounding of what is printed. The column *difference*
gives the largest relative difference among those losses; float32 resolves 6e-8.
"""
MEASURED = """
## How it was measured

{date}, {machine}, {threads}; Python {python}, PyTorch {torch}.
Seconds are medians of {repeats} runs of whole processes in turn (PyTorch, Rushlight, PyTorch, ...),
after one run of each that is not counted. They contain the start: a program that only imports takes
{start_torch:.2f} s under PyTorch and {start_own:.2f} s under Rushlight. The last column leaves it
out. Load on the machine while it measured: {load:.1f} to {load_end:.1f} processes. Ratios above 1:
Rushlight is faster.

Together: {sum_torch:.1f} s under PyTorch, {sum_own:.1f} s under Rushlight; geometric mean of the
ratios {mean:.2f}, without the start {mean_net:.2f}.
"""


@dataclass
class Result:
    """What one program did under both libraries."""

    path: Path
    seconds: dict[str, list[float]] = field(default_factory=lambda: {n: [] for n in LIBRARIES})
    printed: dict[str, str] = field(default_factory=dict)
    error: str = ""

    def subject(self) -> str:
        """The first line of the program's docstring."""
        return ast.get_docstring(ast.parse(self.path.read_text())).splitlines()[0]

    def median(self, library: str) -> float:
        """Seconds of the whole process."""
        return statistics.median(self.seconds[library])


def command(library: str, path: Path) -> list[str]:
    """The command line that runs a program."""
    own = ["-m", "rushlight", "run"] if library == "Rushlight" else []
    return [sys.executable, *own, str(path)]


def environment(threads: int) -> dict[str, str]:
    """Variables of the child processes; 0 leaves the number of threads to the libraries."""
    paths = [str(ROOT / "core" / "src"), os.environ.get("PYTHONPATH", "")]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RUSHLIGHT_NUM_THREADS"):
        variables.pop(name, None)
        if threads:
            variables[name] = str(threads)
    return variables


def run(library: str, path: Path, threads: int) -> tuple[float, str, str]:
    """Seconds, what it printed, and what went wrong."""
    with tempfile.TemporaryDirectory(prefix="rushlight-programs-") as folder:
        begun = time.perf_counter()
        done = subprocess.run(
            command(library, path),
            cwd=folder,
            env=environment(threads),
            capture_output=True,
            text=True,
            timeout=600,
        )
        seconds = time.perf_counter() - begun
    return seconds, done.stdout, done.stderr[-2000:] if done.returncode else ""


def measure(path: Path, repeats: int, threads: int, warm: bool = True) -> Result:
    """Run a program under both libraries in turn."""
    result = Result(path)
    for turn in range(-1 if warm else 0, repeats):
        for library in LIBRARIES:
            seconds, text, error = run(library, path, threads)
            result.printed[library] = text
            if error:
                result.error = f"fails under {library}: {error}"
                return result
            if turn >= 0:
                result.seconds[library].append(seconds)
    return result


def difference(result: Result) -> float:
    """The largest relative difference among the first losses."""
    from running import losses

    expected, found = (losses(result.printed[library]) for library in LIBRARIES)
    first = sorted(expected)[:FIRST]
    if len(first) < FIRST or not set(first) <= set(found):
        return float("inf")
    return max(abs(found[i] - expected[i]) / max(abs(expected[i]), 1e-12) for i in first)


def same_quality(result: Result) -> bool:
    """Whether the words and numbers of the closing line agree."""
    from running import quality

    expected, found = (quality(result.printed[library]) for library in LIBRARIES)
    if len(expected) != len(found):
        return False
    for own, other in zip(found, expected, strict=True):
        try:
            gap = abs(float(own) - float(other))
        except ValueError:
            if own != other:
                return False
        else:
            if gap > QUALITY_ATOL + QUALITY_RTOL * abs(float(other)):
                return False
    return True


def agrees(result: Result) -> bool:
    """Whether a program gives the same under both libraries."""
    return not result.error and difference(result) <= RTOL and same_quality(result)


def row(result: Result, start: dict[str, float]) -> str:
    """The program's line of the table."""
    from running import quality

    if result.error:
        why = result.error.strip().splitlines()[-1]
        return f"| `{result.path.stem}` | {result.subject()} | no: {why} | | | | | |"
    theirs, own = (result.median(library) for library in LIBRARIES)
    net = net_ratio(result, start)
    answers = [" ".join(quality(result.printed[library])) for library in LIBRARIES]
    shown = answers[0] if answers[0] == answers[1] else f"{answers[0]} / {answers[1]}"
    verdict = f"{'yes' if agrees(result) else '**no**'}, {difference(result):.0e}"
    return (
        f"| `{result.path.stem}` | {result.subject()} | {verdict} | {shown} | {theirs:.2f} | "
        f"{own:.2f} | {theirs / own:.2f} | {net:.2f} |"
    )


def net_ratio(result: Result, start: dict[str, float]) -> float:
    """PyTorch's seconds over Rushlight's, both without their start."""
    theirs, own = (max(result.median(n) - start[n], 0.01) for n in LIBRARIES)
    return theirs / own


def starts(threads: int, repeats: int) -> dict[str, float]:
    """Seconds of a program that only imports."""
    with tempfile.TemporaryDirectory(prefix="rushlight-programs-") as folder:
        path = Path(folder, "empty.py")
        path.write_text("import torch\n")
        result = measure(path, repeats, threads)
    return {library: result.median(library) for library in LIBRARIES}


def machine() -> str:
    """The processor and its cores, in words."""
    name = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.is_file():
        lines = information.read_text().splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        name = names[0] if names else name
    return f"{name} ({len(os.sched_getaffinity(0))} cores)"


def write_page(path: Path, results: list[Result], facts: dict) -> None:
    """Write the table."""
    start = facts["start"]
    good = [r for r in results if not r.error]
    lines = [
        INTRODUCTION.format(
            count=len(results), agree=sum(map(agrees, results)), first=FIRST, rtol=RTOL
        ),
        "| program | what it does | losses agree, difference | final quality "
        "(PyTorch / Rushlight where they differ) | PyTorch, s | Rushlight, s | ratio | "
        "without start |\n| --- | --- | --- | --- | --- | --- | --- | --- |",
        *[row(result, start) for result in results],
    ]
    notes = [f"- `{r.path.stem}`: {NOTES[r.path.stem]}." for r in results if r.path.stem in NOTES]
    if notes:
        lines += ["", "Notes:", "", *notes]
    ratios = [r.median("PyTorch") / r.median("Rushlight") for r in good]
    lines.append(
        MEASURED.format(
            date=datetime.now(UTC).date(),
            machine=machine(),
            threads=f"threads: {facts['threads']}" if facts["threads"] else "threads as they come",
            python=platform.python_version(),
            torch=oracle.VERSION,
            repeats=facts["repeats"],
            start_torch=start["PyTorch"],
            start_own=start["Rushlight"],
            load=facts["load"],
            load_end=os.getloadavg()[0],
            sum_torch=sum(r.median("PyTorch") for r in good),
            sum_own=sum(r.median("Rushlight") for r in good),
            mean=statistics.geometric_mean(ratios),
            mean_net=statistics.geometric_mean([net_ratio(r, start) for r in good]),
        )
    )
    path.write_text("\n".join(lines))


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", help="programs, without .py; all if none is named")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0, help="0: as the libraries choose")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--quick", action="store_true", help="one run of each, no page")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    if not oracle.install():
        print(f"torch oracle not available ({oracle.REQUIREMENT}): the programs were NOT compared")
        return 1
    paths = [p for p in sorted(FOLDER.glob("*.py")) if p.stem in arguments.names]
    paths = paths if arguments.names else sorted(FOLDER.glob("*.py"))
    repeats = 1 if arguments.quick else arguments.repeats
    load, results = os.getloadavg()[0], []
    for path in paths:
        result = measure(path, repeats, arguments.threads, warm=not arguments.quick)
        results.append(result)
        if result.error:
            print(f"{path.stem:24} {result.error}", flush=True)
            continue
        theirs, own = (result.median(library) for library in LIBRARIES)
        print(
            f"{path.stem:24} {'agrees' if agrees(result) else 'DIFFERS':8} "
            f"{difference(result):.1e}   {theirs:6.2f} s {own:6.2f} s  {theirs / own:5.2f}",
            flush=True,
        )
    if not arguments.quick:
        facts = {
            "start": starts(arguments.threads, max(repeats, 3)),
            "repeats": repeats,
            "threads": arguments.threads,
            "load": load,
        }
        write_page(arguments.page, results, facts)
        print(f"written: {arguments.page}")
    good = sum(map(agrees, results))
    print(f"programs: {good} of {len(results)} agree")
    return 0 if good == len(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
