"""Write all pages, and count what they say."""

from __future__ import annotations

import json
from pathlib import Path

from reference.homes import PACKAGES, described
from reference.pages import Entry, alias, shows_something

RECORD = Path(__file__).with_name("record.json")
# What is counted of the names of a package; only `names` may become fewer.
# Pages that explain come before the reference in a search.
_HEAD = "---\nsearch:\n  boost: 0.1\n---\n\n"
COUNTS = ("names", "summary", "typed", "parameters", "source", "example")
# What every name has, and where it can be written.
COMPLETE = {
    "summary": "docs/reference/summaries.py",
    "typed": "ci/stub_writer/op_types.txt",
    "parameters": "docs/reference/parameters",
    "example": "docs/reference/examples",
}


def entries():
    """``path, name, entry or None, first`` of every name; None for one that is described on another
    page, under `first`."""
    taken = set()
    for path, name, value, first in described():
        own = first == f"{path}.{name}"
        yield path, name, Entry(path, name, value, taken) if own else None, first


def written(target):
    """Write the pages into a folder; the counts by package, and what names lack that all have."""
    target.mkdir(parents=True)
    lacking: list = []
    texts, counts = {}, {package: dict.fromkeys(COUNTS, 0) for package in PACKAGES}
    for path, name, entry, first in entries():
        page = texts.setdefault(path, [])
        page.append(alias(path, name, first) if entry is None else entry.markdown())
        if entry is not None:
            _count(counts[path.partition(".")[0]], entry)
            lacking += lacks(entry)
    for pages in PACKAGES.values():
        for path, title in pages.items():
            text = f"{_HEAD}# {path}\n\n{title}.\n\n" + "\n".join(texts.get(path, []))
            (target / f"{path}.md").write_text(text)
    sizes = {path: len(page) for path, page in texts.items()}
    (target.parent / "reference.md").write_text(overview(sizes, counts))
    return counts, lacking


def _said(entry):
    """Whether an entry has what is counted."""
    return {
        "summary": bool(entry.doc.text),
        "typed": entry.signature.is_typed,
        "parameters": not entry.undescribed,
        "source": entry.source is not None,
        "example": bool(entry.example) and shows_something(entry.example),
    }


def _count(row, entry):
    row["names"] += 1
    for count, is_there in _said(entry).items():
        row[count] += is_there


def lacks(entry):
    """Lines that name what an entry lacks and every entry has."""
    said, name = _said(entry), f"{entry.path}.{entry.name}"
    for count, home in COMPLETE.items():
        if not said[count]:
            which = f": {', '.join(entry.undescribed)}" if count == "parameters" else ""
            yield f"{name}: no {count}{which}; see {home}"


def overview(sizes, counts):
    """The page that all others are found from, with the counts."""
    lines = ["# Reference", ""]
    for package, pages in PACKAGES.items():
        lines += [f"## {package}", "", "| module | holds |", "| --- | --- |"]
        for path, title in pages.items():
            lines.append(
                f"| [`{path}`](reference/{path}.md) | {title}, {sizes.get(path, 0)} names |"
            )
        lines.append("")
    lines += ["## What the entries say", ""]
    lines += ["Counted as the pages were written; a name on several pages counts once.", ""]
    lines += ["| package | " + " | ".join(COUNTS) + " |", "| --- |" + " --- |" * len(COUNTS)]
    for package, row in counts.items():
        lines.append(f"| {package} | " + " | ".join(str(row[c]) for c in COUNTS) + " |")
    total = [sum(row[c] for row in counts.values()) for c in COUNTS]
    lines.append("| all | " + " | ".join(map(str, total)) + " |")
    return "\n".join(lines) + "\n"


def worse(counts):
    """What says less than the record does: shares of names, package by package."""
    if not RECORD.exists():
        return []
    record, found = json.loads(RECORD.read_text()), []
    for package, row in counts.items():
        for count in COUNTS[1:]:
            missing = row["names"] - row[count]
            allowed = record[package]["names"] - record[package][count]
            if missing > allowed:
                found.append(f"{package}: {missing} names without {count}, {allowed} before")
    return found


def note(counts):
    """Make these counts the record."""
    RECORD.write_text(json.dumps(counts, indent=1) + "\n")
