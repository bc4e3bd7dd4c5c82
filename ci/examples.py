"""Check the examples of all packages, or run them all and write the page that shows them.

    python ci/examples.py --check            form alone: nothing runs
    python ci/examples.py [NAME ...]         run them, each in a process and folder of its own
    python ci/examples.py --page             run all, then write docs/pages/gallery.md

An example says what it does in one line, how it is run, what the baseline is and what it leaves;
has at most 150 lines; and asserts the figure that it reaches, which is its last line of output.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from packages import PACKAGES, ROOT

LONGEST = 150
PAGE = ROOT / "docs" / "pages" / "gallery.md"
PICTURES = ROOT / "docs" / "pages" / "gallery"
HEAD = """# Gallery

Programs that learn something on data that packages bring or that they make up, say how well, and
leave a picture: `rushlight examples list` names them, `rushlight examples copy NAME` gives you one
to change, `rushlight examples run NAME` runs it. Each has at most 150 lines, and fails where it
does not reach what it promises. Figures and times below are from one run of all on two cores
(`python3 -m nox -s gallery -- --page`).
"""


def examples() -> dict[str, tuple[Path, str]]:
    """Name -> file, and the folder of its package."""
    return {path.stem: (path, package.folder)
            for package in PACKAGES
            for path in sorted((package.source / "examples").glob("[a-z]*.py"))}  # fmt: skip


def faults(path: Path) -> list[str]:
    """What is wrong with the form of an example."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    said, found = ast.get_docstring(tree) or "", []
    main = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "main"), None)
    if len(text.splitlines()) > LONGEST:
        found.append(f"{len(text.splitlines())} lines, at most {LONGEST}")
    for words in (f"rushlight examples run {path.stem}", "baseline", f"runs/{path.stem}"):
        if words not in " ".join(said.split()):
            found.append(f"its docstring does not say {words!r}")
    if main is None or not any(isinstance(node, ast.Assert) for node in main.body):
        found.append("main() does not assert what it reaches")
    return found


def check() -> bool:
    """Whether all examples have their form."""
    wrong = [f"{path}: {fault}" for path, _ in examples().values() for fault in faults(path)]
    print("\n".join(wrong) or f"examples: {len(examples())} have their form")
    return not wrong


def run(name: str, path: Path, keep: Path | None) -> tuple[bool, float, str]:
    """Run an example; whether it reached its figure, seconds, its last line. Its picture goes to
    the folder `keep`."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        done = subprocess.run([sys.executable, "-W", "error", str(path)], cwd=folder,
                              capture_output=True, text=True)  # fmt: skip
        seconds, lines = time.monotonic() - start, done.stdout.strip().splitlines()
        if done.returncode:
            print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        pictures = sorted(Path(folder, "runs", name).glob("*.png"))
        if keep is not None and done.returncode == 0:
            shutil.copyfile(pictures[0], keep / f"{name}.png")
        return done.returncode == 0 and len(pictures) == 1, seconds, (lines or [""])[-1]


def entry(name: str, path: Path, package: str, seconds: float, line: str) -> str:
    """What the page says of an example."""
    title, _, rest = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")
    words = rest.partition("\n\n")[2].replace("\n", " ").strip()
    return (f"\n## {title.rstrip('.')}\n\n`{name}` of `{package}`. {words}\n\n"
            f"**{line}** ({seconds:.0f} s)\n\n![{title}](gallery/{name}.png)\n")  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    if options.check:
        return not check()
    if options.page:
        PICTURES.mkdir(exist_ok=True)
    fine, text = check(), HEAD
    for name, (path, package) in examples().items():
        if options.names and name not in options.names:
            continue
        reached, seconds, line = run(name, path, PICTURES if options.page else None)
        print(
            f"{'ok    ' if reached else 'FAILED'} {name:20s} {seconds:4.0f} s  {line}", flush=True
        )
        text += entry(name, path, package, seconds, line)
        fine &= reached
    if options.page and fine and not options.names:
        PAGE.write_text(text, encoding="utf-8")
    return not fine


if __name__ == "__main__":
    sys.exit(main())
