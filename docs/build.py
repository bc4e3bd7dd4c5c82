"""Build the site into site/: pages, the packages' READMEs as guides, and the generated reference.

python docs/build.py            build; fail where the reference says less than the record does, or a
                                name has a parameter without description, or no example
python docs/build.py --note     build, and make its counts the record
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from reference import writing

DOCS = Path(__file__).parent
ROOT = DOCS.parent
BUILD = ROOT / "build" / "docs"
GUIDES = ("core", "vision", "text", "audio", "lightning_lite")


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
    counts, lacking = writing.written(BUILD / "reference")
    print(f"docs: reference of {sum(row['names'] for row in counts.values())} names")
    if "--note" in sys.argv[1:]:
        writing.note(counts)
    for line in (worse := [*writing.worse(counts), *lacking]):
        print(f"docs: {line}")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run([*command, "--config-file", str(DOCS / "mkdocs.yml")])
    return done.returncode or bool(worse)


if __name__ == "__main__":
    raise SystemExit(main())
