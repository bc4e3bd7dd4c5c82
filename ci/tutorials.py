"""Tutorials: scripts of cells, whose text, code, output and pictures stand on pages of the docs.

A tutorial is an example of a package whose name begins with `learn_`. Its docstring opens its page.
A line ``# %% Title`` begins a cell (the title may be missing); the comments directly below are its
text in Markdown, the rest is its code. ``python ci/examples.py --page`` runs tutorials and writes
their pages, docs/pages/NAME.md; ``python ci/examples.py [NAME ...]`` fails where a page disagrees:

* text and code must be the script's, character for character;
* the words of the output must be the same, and its integers; a decimal number may differ by a tenth
  or by two units of its last digit, since processors add in different orders; in a cell whose code
  has a comment ``# figures vary`` (times, for instance) all numbers may differ, and with
  ``# text varies`` (what a model writes) all but the number of lines;
* pictures must be as many, as large, and look about the same (where figures vary, only as large).
"""

from __future__ import annotations

import ast
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from packages import ROOT

PAGES = ROOT / "docs" / "pages"
FOLDER = "learn"  # of pictures, below PAGES
LONGEST = 350
CPU_SECONDS = 120  # a minute on two cores
FIGURES_VARY, TEXT_VARIES = "figures vary", "text varies"  # in a comment
CELL = re.compile(r"^# %%(.*)$", re.MULTILINE)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
SHOWN = re.compile(
    r"^```python\n.*?^```\n(?:\n```text\n(?P<printed>.*?)^```\n)?(?P<pictures>(?:\n!\[[^\n]*\n)*)",
    re.MULTILINE | re.DOTALL,
)
PICTURE = re.compile(r"^!\[.*\]\((.*)\)$", re.MULTILINE)
DIFFERENCE = 0.03  # of the brightness of pictures on average, 1 from black to white


@dataclass(frozen=True)
class Cell:
    """A cell: its title ("" for none), Markdown, code, and the number of the code's first line."""

    title: str
    text: str
    code: str
    line: int


@dataclass(frozen=True)
class Shown:
    """What stands below a cell's code: what it printed, and names of pictures."""

    printed: str
    pictures: tuple[str, ...]


def is_tutorial(name: str) -> bool:
    """Whether an example is a tutorial."""
    return name.startswith("learn_")


def cells(path: Path) -> list[Cell]:
    """The cells of a tutorial."""
    source = path.read_text(encoding="utf-8")
    marks = [*CELL.finditer(source)]
    ends = [mark.start() for mark in marks[1:]] + [len(source)]
    found = []
    for mark, end in zip(marks, ends, strict=True):
        body = source[mark.end() + 1 : end].splitlines()
        words = next((i for i, line in enumerate(body) if not line.startswith("#")), len(body))
        code = "\n".join(body[words:])
        begin = words + len(code) - len(code.lstrip("\n"))
        first = source.count("\n", 0, mark.end()) + 2 + begin
        text = "\n".join(line[2:] for line in body[:words])
        found.append(Cell(mark.group(1).strip(), text, code.strip("\n"), first))
    return found


def page_of(name: str) -> Path:
    """The page of a tutorial."""
    return PAGES / f"{name}.md"


def render(path: Path, shown: list[Shown]) -> str:
    """The page of a tutorial with these outputs, one for each cell that has code."""
    title, _, rest = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")
    parts, outputs, heading = [f"# {title.rstrip('.')}", rest.strip("\n")], iter(shown), ""
    for cell in cells(path):
        heading = cell.title or heading
        parts += [f"## {cell.title}"] if cell.title else []
        parts += [cell.text] if cell.text else []
        if not cell.code:
            continue
        parts.append(f"```python\n{cell.code}\n```")
        output = next(outputs, Shown("", ()))
        if output.printed:
            parts.append(f"```text\n{output.printed}```")
        parts += [f"![{heading}]({FOLDER}/{picture})" for picture in output.pictures]
    return "\n\n".join(parts) + "\n"


def shown_on(page: str) -> list[Shown]:
    """The outputs that stand on a page."""
    return [Shown(found["printed"] or "",
                  tuple(Path(link).name for link in PICTURE.findall(found["pictures"])))
            for found in SHOWN.finditer(page)]  # fmt: skip


def form_faults(path: Path) -> list[str]:
    """What is wrong with a tutorial's form, or with its page as far as one sees without running."""
    text, name = path.read_text(encoding="utf-8"), path.stem
    said, found = ast.get_docstring(ast.parse(text)) or "", []
    if len(text.splitlines()) > LONGEST:
        found.append(f"{len(text.splitlines())} lines, at most {LONGEST}")
    for words in (f"rushlight examples run {name}", f"runs/{name}"):
        if words not in " ".join(said.split()):
            found.append(f"its docstring does not say {words!r}")
    if not cells(path) or cells(path)[-1].title != "What next":
        found.append("its last cell is not '# %% What next'")
    page = page_of(name)
    if not page.exists():
        return [*found, f"there is no {page}; python ci/examples.py --page {name} writes it"]
    shown = shown_on(page.read_text(encoding="utf-8"))
    if render(path, shown) != page.read_text(encoding="utf-8"):
        found.append(f"{page} has other text or code; python ci/examples.py --page {name}")
    for picture in {each for output in shown for each in output.pictures}:
        if not (PAGES / FOLDER / picture).exists():
            found.append(f"{page} shows {picture}, which is not in {PAGES / FOLDER}")
    return found


def run(path: Path, folder: Path, count: int | None = None) -> tuple[list[Shown], float]:
    """Run a tutorial in `folder`, with warnings as errors; what its cells with code showed, and the
    seconds of CPU time. Pictures are collected in `folder`/pictures. Raises RuntimeError with its
    last words where it fails."""
    result, collected = folder / "result.json", folder / "pictures"
    collected.mkdir()
    command = [sys.executable, "-W", "error", str(Path(__file__).with_name("tutorial_cells.py"))]
    command += [str(path), str(result), *(["--cells", str(count)] if count else [])]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{path.stem} failed:\n{done.stdout}{done.stderr}")
    shown = []
    for cell, output in zip(cells(path), json.loads(result.read_text()), strict=count is None):
        names = []
        for picture in output["pictures"]:
            names.append(f"{path.stem}-{Path(picture).name}")
            shutil.copyfile(folder / picture, collected / names[-1])
        if cell.code:
            shown.append(Shown(output["printed"], tuple(names)))
    return shown, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def numbers_differ(before: str, now: str) -> bool:
    """Whether two numbers disagree: integers that are not the same, decimals that are far apart."""
    if before == now:
        return False
    if "." not in before or "." not in now:
        return True
    mantissa, _, exponent = before.lower().partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    a, b = float(before), float(now)
    return abs(a - b) > max(0.1 * max(abs(a), abs(b)), 2.0001 * unit)


def text_differs(before: str, now: str, code: str) -> str:
    """How what a cell of this code printed disagrees with its page; "" where it agrees."""
    old, new = before.splitlines(), now.splitlines()
    if len(old) != len(new):
        return f"{len(new)} lines of output, {len(old)} on the page"
    if TEXT_VARIES in code:
        return ""
    vary = FIGURES_VARY in code
    for left, right in zip(old, new, strict=True):
        words = [" ".join(NUMBER.sub(" # ", line).split()) for line in (left, right)]
        pairs = zip(NUMBER.findall(left), NUMBER.findall(right), strict=False)
        if words[0] != words[1] or not vary and any(numbers_differ(*pair) for pair in pairs):
            return f"printed {right!r}, on the page stands {left!r}"
    return ""


def picture_differs(before: Path, now: Path, vary: bool = False) -> str:
    """How a picture disagrees with that of the page; "" where it agrees."""
    import matplotlib.image

    if not before.exists():
        return f"{before.name} is a new picture"
    old, new = (matplotlib.image.imread(path)[..., :3].mean(-1) for path in (before, now))
    if old.shape != new.shape:
        return f"{now.name} has {new.shape} pixels, on the page {old.shape}"
    if (off := float(abs(old - new).mean())) > DIFFERENCE and not vary:
        return f"{now.name} differs from the page's by {off:.3f} of the brightness"
    return ""


def disagreements(path: Path, shown: list[Shown], pictures: Path) -> list[str]:
    """How what a run showed disagrees with the page of the tutorial."""
    page = page_of(path.stem)
    stands = shown_on(page.read_text(encoding="utf-8")) if page.exists() else []
    coded = [cell for cell in cells(path) if cell.code]
    found = []
    for cell, before, now in zip(coded, stands, shown, strict=False):
        vary = FIGURES_VARY in cell.code or TEXT_VARIES in cell.code
        faults = [text_differs(before.printed, now.printed, cell.code)]
        if before.pictures != now.pictures:
            faults.append(f"pictures {now.pictures}, on the page {before.pictures}")
        faults += [picture_differs(PAGES / FOLDER / name, pictures / name, vary)
                   for name in now.pictures if name in before.pictures]  # fmt: skip
        found += [f"{path}:{cell.line}: {fault}" for fault in faults if fault]
    return found


def check(path: Path, write: bool = False) -> tuple[list[str], float]:
    """Run a tutorial: its faults, and seconds of CPU time; `write` writes its page anew."""
    with tempfile.TemporaryDirectory(prefix="rushlight-learn-") as name:
        folder = Path(name)
        try:
            shown, seconds = run(path, folder)
        except RuntimeError as error:
            return [str(error)], 0.0
        if write:
            (PAGES / FOLDER).mkdir(exist_ok=True)
            for old in (PAGES / FOLDER).glob(f"{path.stem}-*.png"):
                old.unlink()
            for picture in (folder / "pictures").iterdir():
                shutil.copyfile(picture, PAGES / FOLDER / picture.name)
            page_of(path.stem).write_text(render(path, shown), encoding="utf-8")
        found = form_faults(path) + disagreements(path, shown, folder / "pictures")
    if seconds > CPU_SECONDS:
        found.append(f"{path}: {seconds:.0f} s of CPU time, at most {CPU_SECONDS}")
    return found, seconds
