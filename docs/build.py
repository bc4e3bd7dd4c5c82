"""Build the site into site/: pages, the packages' READMEs as guides, and the generated reference.

The reference is written from signatures and docstrings; nothing stands in it twice.
"""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
BUILD = ROOT / "build" / "docs"
GUIDES = ("core", "vision", "text", "audio", "lightning_lite")
REFERENCE = {
    "rushlight": "Tensors and functions",
    "rushlight.Tensor": "Methods of tensors",
    "rushlight.linalg": "Linear algebra",
    "rushlight.fft": "Fourier transforms",
    "rushlight.special": "Special functions",
    "rushlight.signal.windows": "Windows",
    "rushlight.masked": "Reductions over some elements",
    "rushlight.nn": "Layers, containers, losses",
    "rushlight.nn.functional": "Functions of layers",
    "rushlight.nn.init": "Initial values",
    "rushlight.nn.utils": "Gradient clipping, parameter vectors",
    "rushlight.optim": "Optimizers",
    "rushlight.optim.lr_scheduler": "Learning-rate schedulers",
    "rushlight.distributions": "Probability distributions",
    "rushlight.distributions.constraints": "Sets of values",
    "rushlight.utils.data": "Data sets, samplers, loader",
    "rushlight.multiprocessing": "Tensors that processes share",
    "rushlight.autograd": "Automatic differentiation",
    "rushlight.serialization": "Checkpoints",
    "rushlight.profiler": "Where the time goes",
    "rushlight.utils.tensorboard": "Event files for TensorBoard",
    "rushlight.testing": "Comparing results",
}
ROLE = re.compile(r":(?:func|class|meth|mod):`~?([^`]+)`")


def resolve(path):
    """The module or class at a dotted name."""
    try:
        return importlib.import_module(path)
    except ImportError:
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name)


def members(home):
    """The public functions and classes of a module, or methods of a class, by name."""
    names = getattr(home, "__all__", None)
    if home.__name__ == "rushlight":
        names = None  # some of its functions are declared at first use
    if names is None:
        names = [n for n in dir(home) if not n.startswith("_")]
    for name in sorted(names):
        found = getattr(home, name, None)
        if callable(found) and not isinstance(found, type(sys)):
            yield name, found


def signature(found):
    """Call signature as text, without annotations."""
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return "(...)"
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    return str(inspect.Signature([p for p in plain if p.name != "self"]))


def entry(prefix, name, found):
    """One name of the reference as Markdown."""
    text = inspect.getdoc(found) or ""
    text = ROLE.sub(r"`\1`", text).replace("``", "`")
    lines, in_example = [], False
    for line in text.splitlines():
        example = line.startswith((">>>", "...")) or (in_example and line.strip() != "")
        if example != in_example:
            lines.append("```pycon" if example else "```")
        in_example = example
        lines.append(line)
    if in_example:
        lines.append("```")
    head = f"### {name} {{ #{prefix}.{name} }}\n\n```python\n{name}{signature(found)}\n```\n"
    return head + "\n" + "\n".join(lines) + "\n"


def write_reference(target):
    """The reference: an overview and a page per module."""
    target.mkdir(parents=True)
    overview = ["# Reference", "", "| module | holds |", "| --- | --- |"]
    total = 0
    for path, title in REFERENCE.items():
        home = resolve(path)
        entries = [entry(path, name, found) for name, found in members(home)]
        total += len(entries)
        page = f"# {path}\n\n{title}.\n\n" + "\n".join(entries)
        (target / f"{path}.md").write_text(page)
        overview.append(f"| [`{path}`](reference/{path}.md) | {title}, {len(entries)} names |")
    (target.parent / "reference.md").write_text("\n".join(overview) + "\n")
    return total


def write_guides(target):
    """The packages' READMEs; their links into the repository become plain text."""
    target.mkdir(parents=True)
    for name in GUIDES:
        text = (ROOT / name / "README.md").read_text()
        text = re.sub(r"\[([^\]]+)\]\((?!https?:|#)[^)]+\)", r"\1", text)
        (target / f"{name}.md").write_text(text.replace("```python no-run", "```python"))


def fill_measurements(page):
    """Put tables of bench/results where a page names them: ``{{ bench/results/cpu.md }}``."""

    def table(match):
        path = ROOT / match.group(1)
        if not path.exists():
            return f"Not measured yet: `{path.name}` is missing."
        return path.read_text().partition("\n")[2].strip()  # without its heading

    text = page.read_text()
    page.write_text(re.sub(r"\{\{ (bench/results/[\w.]+) \}\}", table, text))


def main():
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree(DOCS / "pages", BUILD)
    for page in BUILD.glob("*.md"):
        page.write_text(page.read_text().replace("```python no-run", "```python"))
    shutil.copytree(DOCS / "drawings", BUILD / "drawings")
    write_guides(BUILD / "guides")
    for page in BUILD.glob("*.md"):
        fill_measurements(page)
    for chart in (ROOT / "bench" / "results").glob("*.png"):
        shutil.copy(chart, BUILD / chart.name)
    names = write_reference(BUILD / "reference")
    print(f"docs: reference of {names} names")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    return subprocess.run([*command, "--config-file", str(DOCS / "mkdocs.yml")]).returncode


if __name__ == "__main__":
    raise SystemExit(main())
