"""Which models are captured in which way, and whether what is captured gives the same results.

Networks of the sister packages in small configurations and the models of the programs in
`core/tests/programs` are captured by fx, export (through a `.pt2` archive), ONNX (run by ONNX
Runtime), `jit.trace` and `jit.script`; each in a process of its own. Writes the docs' page and a
record; a model that the record has as equal must stay so.

Usage: python ci/captures.py [--only vision|text|audio|programs] [--check]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from capture_ways import networks, programs, ways

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "pages" / "captures.md"
RECORD = Path(__file__).with_name("captures_recorded.json")
SECONDS = 240  # for all ways of one model
TITLES = {
    "vision": "Networks of `rushlight_vision`", "text": "Networks of `rushlight_text`",
    "audio": "Networks of `rushlight_audio`", "programs": "Models of the programs",
}  # fmt: skip
HEADINGS = {
    "fx": "fx", "export": "export, `.pt2`", "onnx": "ONNX", "trace": "trace", "script": "script",
}  # fmt: skip
INTRODUCTION = """# Models and ways of capture

Which models become graphs in which way: [fx](fx.md), [export](export.md) written to a `.pt2`
archive and read again, [ONNX](onnx.md) run by ONNX Runtime, and [TorchScript](torchscript.md) by
`jit.trace` and `jit.script`. "Yes" means that the captured model gives the results of the model
itself within 1e-5 of the largest value, in evaluation mode; a number leads to what stops it. The
page is written by

```bash
python3 -m nox -s captures
```

{counts}
"""


def subjects(only=None) -> list[tuple[str, str]]:
    """Package and name of all models."""
    found = [*networks.all_networks(), *(("programs", name) for name in programs.names())]
    return [key for key in found if only in (None, key[0])]


def one(package: str, name: str) -> dict[str, str] | None:
    """The verdict of each way on a model, in this process."""
    if package == "programs":
        made = programs.model_of(name)
    else:
        made = networks.all_networks()[package, name]()
    if made is None:
        return None
    model, inputs = made
    return {way: ways.judged(way, model.eval(), inputs) for way in ways.WAYS}


def judged(package: str, name: str) -> dict[str, str] | None:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--one", package, name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return dict.fromkeys(ways.WAYS, f"takes more than {SECONDS} s")
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not lines:
        reason = (done.stderr.strip().splitlines() or ["nothing"])[-1].replace(f"{ROOT}/", "")[:160]
        return dict.fromkeys(ways.WAYS, f"the process ended: {reason}")
    return json.loads(lines[-1].removeprefix("RESULT "))


def page(record: dict) -> str:
    """The docs' page."""
    reasons: dict[str, int] = {}
    tables = []
    for package, title in TITLES.items():
        rows = record.get(package, {})
        if rows:
            tables += ["", f"## {title}", "", *_table(rows, reasons)]
    rows = [row for part in record.values() for row in part.values()]
    counts = ", ".join(
        f"{HEADINGS[way]} {sum(row[way] == 'equal' for row in rows)}" for way in ways.WAYS
    )
    text = INTRODUCTION.format(counts=f"Of {len(rows)} models, captured and equal: {counts}.")
    notes = [f"{number}. {_plain(reason)}" for reason, number in reasons.items()]
    return "\n".join([text.rstrip(), *tables, "", "## What stops the others", "", *notes, ""])


def _table(rows, reasons):
    yield "| model | " + " | ".join(HEADINGS[way] for way in ways.WAYS) + " |"
    yield "| --- |" + " --- |" * len(ways.WAYS)
    for name, row in sorted(rows.items()):
        cells = [
            "yes" if text == "equal" else str(reasons.setdefault(text, len(reasons) + 1))
            for text in (row[way] for way in ways.WAYS)
        ]
        yield f"| `{name}` | " + " | ".join(cells) + " |"


def _plain(reason):
    """A message without what Markdown takes for its own."""
    return "`" + reason.replace("`", "'") + "`"


def worse(before: dict, after: dict) -> list[str]:
    """What the record has as equal and is so no longer."""
    return [
        f"{package} {name}, {way}: {row[way]}"
        for package, rows in after.items()
        for name, row in rows.items()
        for way in ways.WAYS
        if before.get(package, {}).get(name, {}).get(way) == "equal" and row[way] != "equal"
    ]


def measured(only) -> dict:
    """The verdicts on all models, printed as they come."""
    found: dict[str, dict] = {}
    for package, name in subjects(only):
        row = judged(package, name)
        if row is None:
            print(f"{package} {name}: calls no model of its own", flush=True)
            continue
        found.setdefault(package, {})[name] = row
        bad = {way: text for way, text in row.items() if text != "equal"}
        print(f"{package} {name}: {bad or 'all equal'}", flush=True)
    return found


def main() -> int:
    """Measure, compare with the record, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--only", choices=tuple(TITLES))
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    if options.one:
        sys.argv[1:] = []  # programs read it, too
        print("RESULT " + json.dumps(one(*options.one)))
        return 0
    before = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    after = before | measured(options.only)
    lost = worse(before, after)
    print("\n".join(lost))
    if not options.check and not lost:
        RECORD.write_text(json.dumps(after, indent=1, sort_keys=True) + "\n")
        PAGE.write_text(page(after))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
