"""Libraries written for PyTorch, run on Rushlight and compared with PyTorch's figures.

    python ci/ecosystem.py check NAME ...      run tasks of ci/ecosystem.toml, compare their figures
    python ci/ecosystem.py check --all --page  all that install beside each other, and write
                                               docs/pages/libraries.md
    python ci/ecosystem.py record NAME ... --python PYTHON
                                               take the figures from another Python, with PyTorch
    python ci/ecosystem.py packages NAME ...   what has to be installed

A task that ends is half of it: its figures (losses, outputs, gradients, what was saved and loaded)
must be PyTorch's, within a thousandth.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
RECORDED = HERE / "ecosystem_recorded.json"
PAGE = HERE.parent / "docs" / "pages" / "libraries.md"
TOLERANCE = 1e-3  # of the larger of 1 and PyTorch's number
QUIET = {
    "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
}  # fmt: skip


def libraries() -> dict[str, dict]:
    """The libraries by name."""
    entries = tomllib.loads((HERE / "ecosystem.toml").read_text())["library"]
    return {entry["name"]: entry for entry in entries}


def task(name: str) -> Path:
    """The program of a library."""
    return HERE / "ecosystem_tasks" / f"with_{name}.py"


def run(name: str, python: str) -> dict:
    """The figures that a task prints. Raises RuntimeError where it fails."""
    with tempfile.TemporaryDirectory() as folder:  # libraries leave logs and checkpoints there
        done = subprocess.run(
            [python, "-W", "ignore", str(task(name).resolve())],
            capture_output=True, text=True, timeout=900, env={**os.environ, **QUIET}, cwd=folder,
        )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError("\n".join(done.stderr.strip().splitlines()[-6:]))
    return json.loads(done.stdout.strip().splitlines()[-1])


def flat(value, place="") -> dict:
    """Nested figures by where they stand."""
    if isinstance(value, dict):
        pairs = [(f"{place}/{key}", item) for key, item in value.items()]
    elif isinstance(value, list):
        pairs = [(f"{place}[{i}]", item) for i, item in enumerate(value)]
    else:
        return {place: value}
    return {k: v for where, item in pairs for k, v in flat(item, where).items()}


def differences(ours: dict, theirs: dict) -> list[str]:
    """Where figures are not PyTorch's."""
    mine, yours = flat(ours), flat(theirs)
    found = []
    for place in sorted({*mine, *yours}):
        a, b = mine.get(place), yours.get(place)
        numbers = isinstance(a, (int, float)) and isinstance(b, (int, float))
        if a != b and not (numbers and abs(a - b) <= TOLERANCE * max(1.0, abs(b))):
            found.append(f"{place}: {a}, PyTorch {b}")
    return found


def version(package: str) -> str:
    """The installed version of a requirement's package."""
    return importlib.metadata.version(re.split(r"[<>=!~\[ ]", package)[0])


def check(names: list[str], page: bool) -> int:
    """Run tasks and compare; the number that fail."""
    every, recorded, rows = libraries(), json.loads(RECORDED.read_text()), []
    for name in names:
        start, entry = time.monotonic(), every[name]
        try:
            found = run(name, sys.executable)
            wrong = differences(found, recorded[name]["figures"])
            outcome = "works" if not wrong else f"{len(wrong)} figures differ"
        except RuntimeError as error:
            found, wrong, outcome = {}, [str(error)], "fails"
        count = len(flat(found)) if found else 0
        print(f"{name}: {outcome}, {count} figures, {time.monotonic() - start:.0f} s", flush=True)
        print("".join(f"    {line}\n" for line in wrong[:10]), end="", flush=True)
        rows.append((entry, recorded[name], count, outcome))
    if page:
        write_page(rows)
    return sum(outcome != "works" for *_, outcome in rows)


def write_page(rows) -> None:
    """The table of libraries."""
    lines = []
    for entry, record, count, outcome in rows:
        summary = task(entry["name"]).read_text().partition('"""')[2].partition('"""')[0]
        package = entry["packages"][0]
        title = entry.get("title", entry["name"])
        what = summary.partition(": ")[2].strip()
        torch = record["torch"]
        lines.append(f"| {title} | {version(package)} | {what} | {count} | {torch} | {outcome} |")
    head, _, former = (
        PAGE.read_text().partition("<!-- table -->") if PAGE.exists() else (_HEAD, "", "")
    )
    alone = {e.get("title", e["name"]) for e in libraries().values() if e.get("alone")}
    lines += [row for row in former.splitlines() if row.partition(" |")[0].lstrip("| ") in alone]
    columns = ("library", "version", "what is run", "figures", "PyTorch", "outcome")
    table = "".join(f"| {' | '.join(row)} |\n" for row in (columns, ["---"] * len(columns)))
    PAGE.write_text(f"{head}<!-- table -->\n\n{table}" + "\n".join(lines) + "\n")


_HEAD = "# Libraries that run\n\n"


def record(names: list[str], python: str) -> int:
    """Keep the figures that tasks give under another Python."""
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    ask = "import torch; print(torch.__version__)"
    torch = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout
    if "rushlight" in torch:
        sys.exit(f"{python} has Rushlight under the name torch; figures come from PyTorch")
    for name in names:
        recorded[name] = {"torch": torch.strip().partition("+")[0], "figures": run(name, python)}
        print(f"{name}: {len(flat(recorded[name]['figures']))} figures of PyTorch {torch.strip()}")
    RECORDED.write_text(json.dumps(dict(sorted(recorded.items())), indent=None) + "\n")
    return 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("verb", choices=["check", "record", "packages"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    every = libraries()
    together = [name for name, entry in every.items() if not entry.get("alone")]
    names = together if options.all else options.names
    unknown = [name for name in names if name not in every]
    if unknown or not names:
        parser.error(
            f"name libraries of ci/ecosystem.toml ({', '.join(every)}); unknown: {unknown}"
        )
    if options.verb == "packages":
        print("\n".join(sorted({p for name in names for p in every[name]["packages"]})))
        return 0
    if options.verb == "record":
        return record(names, options.python)
    return 1 if check(names, options.page) else 0


if __name__ == "__main__":
    sys.exit(main())
