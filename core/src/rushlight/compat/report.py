"""`rushlight check`: what a code base uses of PyTorch, and what of it is here."""

from __future__ import annotations

import json
import os
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field

from rushlight.compat.availability import DIFFERENT, MISSING, PRESENT, Verdict, judge
from rushlight.compat.uses import uses_of

_SKIPPED_FOLDERS = {"__pycache__", "node_modules", "site-packages"}


@dataclass
class Finding:
    """A name that is used: its verdict and the positions, as (file, line)."""

    verdict: Verdict
    places: list[tuple[str, int]] = field(default_factory=list)


@dataclass
class Report:
    """All findings of the files that were read."""

    files: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    findings: dict[str, Finding] = field(default_factory=dict)

    def of(self, state: str) -> list[Finding]:
        """The findings of one state, most used first."""
        found = [f for f in self.findings.values() if f.verdict.state == state]
        return sorted(found, key=lambda f: (-len(f.places), f.verdict.name))

    def uses(self, state: str) -> int:
        """Number of uses of one state."""
        return sum(len(finding.places) for finding in self.of(state))

    @property
    def percentage(self) -> float:
        """Uses that are present or different, of all uses, in percent."""
        missing = self.uses(MISSING)
        total = missing + self.uses(PRESENT) + self.uses(DIFFERENT)
        return 100.0 if total == 0 else 100.0 * (total - missing) / total


def python_files(paths: list[str]) -> Iterator[str]:
    """The Python files among `paths` and in their folders, hidden and installed ones left out.

    Raises FileNotFoundError for a path that does not exist.
    """
    for path in paths:
        if os.path.isfile(path):
            yield path
        elif not os.path.isdir(path):
            raise FileNotFoundError(f"no such file or folder: {path}")
        else:
            for folder, inner, names in os.walk(path):
                kept = (n for n in inner if not n.startswith(".") and n not in _SKIPPED_FOLDERS)
                inner[:] = sorted(kept)
                yield from (os.path.join(folder, n) for n in sorted(names) if n.endswith(".py"))


def examine(paths: list[str]) -> Report:
    """Read the files and judge every use; nothing of them is run."""
    report = Report()
    for path in python_files(paths):
        report.files += 1
        try:
            with tokenize.open(path) as file:
                uses = uses_of(file.read(), path)
        except (SyntaxError, UnicodeDecodeError, ValueError) as error:
            report.unreadable.append((path, str(error)))
            continue
        for use in uses:
            verdict = judge(use.name)
            finding = report.findings.setdefault(verdict.name, Finding(verdict))
            finding.places.append((path, use.line))
    return report


def _lines(report: Report) -> Iterator[str]:
    for state, title in ((MISSING, "Missing"), (DIFFERENT, "Different")):
        found = report.of(state)
        if found:
            yield f"{title} ({report.uses(state)} uses of {len(found)} names)"
        for finding in found:
            note = f"  -- {finding.verdict.note}" if finding.verdict.note else ""
            yield f"  {finding.verdict.name}  ({len(finding.places)}){note}"
            yield from (f"      {path}:{line}" for path, line in finding.places)
    for path, message in report.unreadable:
        yield f"Not read: {path}: {message}"
    names = sum(len(report.of(state)) for state in (PRESENT, DIFFERENT, MISSING))
    uses = sum(report.uses(state) for state in (PRESENT, DIFFERENT, MISSING))
    yield (
        f"{report.files} files, {uses} uses of {names} names: {report.percentage:.1f} % available "
        f"({report.uses(PRESENT)} present, {report.uses(DIFFERENT)} different, "
        f"{report.uses(MISSING)} missing)"
    )
    yield "Methods of values, such as x.view(...), are not counted: what x is shows at run time."


def _as_json(report: Report) -> str:
    names = [
        {
            "name": finding.verdict.name,
            "state": finding.verdict.state,
            "note": finding.verdict.note,
            "uses": [{"file": path, "line": line} for path, line in finding.places],
        }
        for state in (MISSING, DIFFERENT, PRESENT)
        for finding in report.of(state)
    ]
    summary = {state: report.uses(state) for state in (PRESENT, DIFFERENT, MISSING)}
    unread = [{"file": path, "error": message} for path, message in report.unreadable]
    found = {
        "files": report.files,
        "percentage": round(report.percentage, 2),
        "uses": summary,
        "names": names,
        "unreadable": unread,
    }
    return json.dumps(found, indent=1)


def check(paths: list[str], as_json: bool = False) -> int:
    """Print the report; returns 1 if something is missing or unreadable, 2 for a wrong path."""
    try:
        report = examine(paths)
    except FileNotFoundError as error:
        print(f"rushlight check: {error}", file=sys.stderr)
        return 2
    print(_as_json(report) if as_json else "\n".join(_lines(report)))
    return 1 if report.of(MISSING) or report.unreadable else 0
