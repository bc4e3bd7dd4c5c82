"""Run every example of the docs, then build the site and ask its search (ci/docs_search.py).

An example is a fenced ```python block of a Markdown page, or a program of docs/examples. The blocks
of one page run in order as one program, in an empty folder, with warnings as errors; a block whose
fence says ```python no-run is left out. Blocks with `>>>` prompts are checked as doctests. Pages of
tutorials must agree with what their scripts print and draw (ci/tutorials.py).

Usage: python ci/docs.py [PAGE ...]
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import examples
import tutorials
from packages import PACKAGES, ROOT

BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
QUICKSTART_FILES = {
    "curves.png",
    "mistakes.png",
    "metrics.csv",
    "last.ckpt",
    "model.safetensors",
}
DOCTEST = "import doctest, sys; sys.exit(bool(doctest.testfile(sys.argv[1], False).failed))"


def pages() -> list[Path]:
    """Every Markdown page whose examples must run."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    found.extend(package.path / "README.md" for package in PACKAGES)
    found.extend(sorted((ROOT / "docs").rglob("*.md")))
    return [page for page in found if page.is_file()]


def call(arguments: list[str], label: str, folder: str) -> str | None:
    """Run Python with these arguments; return what it says, None (and print it) if it fails."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        print(f"FAILED {label}\n{done.stdout}{done.stderr}", flush=True)
        return None
    return done.stdout


def run(arguments: list[str], label: str) -> bool:
    """Run Python with these arguments in an empty folder; whether it succeeds."""
    with tempfile.TemporaryDirectory(prefix="rushlight-docs-") as folder:
        return call(arguments, label, folder) is not None


def check_rerun(program: str, folder: str) -> bool:
    """A second run of the quickstart keeps what the first one left."""
    left = Path(folder, "runs", "quickstart", "model.safetensors").read_bytes()
    if call(["-W", "error", program, "--epochs", "1", "--seed", "1"], "again", folder) is None:
        return False
    kept = Path(folder, "runs", "quickstart-1", "model.safetensors")
    if not kept.exists() or kept.read_bytes() != left:
        print("FAILED quickstart.py: a second run does not keep the results of the first")
        return False
    return True


def check_quickstart() -> bool:
    """The quickstart runs (for one epoch here), and so do the three lines that it prints."""
    program = str(ROOT / "docs" / "examples" / "quickstart.py")
    with tempfile.TemporaryDirectory(prefix="rushlight-docs-") as folder:
        said = call(["-W", "error", program, "--epochs", "1"], "quickstart.py", folder)
        if said is None or not check_rerun(program, folder):
            return False
        left = {path.name for path in Path(folder, "runs", "quickstart").iterdir()}
        missing = QUICKSTART_FILES - left
        if missing:
            print(f"FAILED quickstart.py: it did not write {sorted(missing)}")
            return False
        lines = "\n".join(said.strip().splitlines()[-3:])
        answer = call(["-W", "error", "-c", lines], "the quickstart's three lines", folder)
    return answer is not None and answer.strip() in set("0123456789")


def check_page(page: Path) -> tuple[int, bool]:
    """Number of blocks of a page, and whether they run."""
    blocks = [body for mark, body in BLOCK.findall(page.read_text()) if "no-run" not in mark]
    programs = [body for body in blocks if not body.lstrip().startswith(">>>")]
    sessions = [body for body in blocks if body.lstrip().startswith(">>>")]
    label = str(page.relative_to(ROOT))
    fine = True
    if programs:
        with tempfile.NamedTemporaryFile("w", suffix=".py") as text:  # code that has a source
            text.write("\n".join(programs))
            text.flush()
            fine &= run(["-W", "error", text.name], label)
    if sessions:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as text:
            text.write("\n".join(sessions))
            text.flush()
            fine &= run(["-c", DOCTEST, text.name], f"{label} (doctest)")
    return len(blocks), fine


def check_tutorial(page: Path) -> tuple[int, bool]:
    """Number of cells that a tutorial's page shows, and whether they agree with its script."""
    if page.stem not in (known := examples.examples()):
        print(f"FAILED {page.relative_to(ROOT)}: no package has an example {page.stem!r}")
        return 0, False
    faults, _ = tutorials.check(known[page.stem][0])
    print("".join(f"FAILED {fault}\n" for fault in faults), end="", flush=True)
    return len(tutorials.shown_on(page.read_text())), not faults


def main() -> int:
    chosen = [Path(name).resolve() for name in sys.argv[1:]]
    fine = True
    count = 0
    for page in chosen or pages():
        check = check_tutorial if tutorials.is_tutorial(page.stem) else check_page
        blocks, page_fine = check(page)
        count += blocks
        fine &= page_fine
    if not chosen:
        fine &= check_quickstart()
        count += 1
    print(f"docs: {count} examples run")
    build = ROOT / "docs" / "build.py"
    if not chosen and build.is_file():
        for script in (build, ROOT / "ci" / "docs_search.py"):
            fine &= subprocess.run([sys.executable, str(script)], cwd=ROOT).returncode == 0
    return 0 if fine else 1


if __name__ == "__main__":
    raise SystemExit(main())
