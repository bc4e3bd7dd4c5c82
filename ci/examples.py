"""Check the examples of all packages, or run them all and write the page that shows them.

    python ci/examples.py --check            form alone: nothing runs
    python ci/examples.py [NAME ...]         run them, each in a process and folder of its own
    python ci/examples.py --page             run all, then write docs/pages/gallery.md
    python ci/examples.py --page NAME        run a tutorial, then write its page

Tutorials, whose names begin with `learn_`, are examples with rules of their own: ci/tutorials.py.
Any other says what it does in one line, how it is run, what the baseline is and what it leaves;
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

import tutorials
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
    if tutorials.is_tutorial(path.stem):
        return tutorials.form_faults(path)
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


def run_recipes(chosen: dict[str, tuple[Path, str]], page: bool) -> bool:
    """Run examples that are no tutorials; whether all reach their figures. `page` writes the
    gallery."""
    if page:
        PICTURES.mkdir(exist_ok=True)
    fine, text = True, HEAD
    for name, (path, package) in chosen.items():
        reached, seconds, line = run(name, path, PICTURES if page else None)
        print(
            f"{'ok    ' if reached else 'FAILED'} {name:20s} {seconds:4.0f} s  {line}", flush=True
        )
        text += entry(name, path, package, seconds, line)
        fine &= reached
    if page and fine:
        PAGE.write_text(text, encoding="utf-8")
    return fine


def run_tutorials(chosen: dict[str, tuple[Path, str]], page: bool) -> bool:
    """Run tutorials; whether they agree with their pages, which `page` writes anew."""
    fine = True
    for name, (path, _) in chosen.items():
        found, seconds = tutorials.check(path, page)
        print(f"{'FAILED' if found else 'ok    '} {name:20s} {seconds:4.0f} s of CPU", flush=True)
        print("".join(f"{fault}\n" for fault in found), end="", flush=True)
        fine &= not found
    return fine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    if options.check:
        return not check()
    chosen = {name: found for name, found in examples().items()
              if not options.names or name in options.names}  # fmt: skip
    if unknown := set(options.names) - set(chosen):
        parser.error(f"there are no examples {sorted(unknown)}")
    lessons = {name: found for name, found in chosen.items() if tutorials.is_tutorial(name)}
    recipes = {name: found for name, found in chosen.items() if name not in lessons}
    fine = run_recipes(recipes, options.page and not options.names)
    fine &= run_tutorials(lessons, options.page)
    return not (check() and fine)


if __name__ == "__main__":
    sys.exit(main())
