"""Damaged and hostile `.pt2` archives and ONNX models: a load ends with a program or an error.

Files of several makings are changed: bytes anywhere; the JSON of archives and the fields of ONNX
messages (types, names, huge and negative numbers, code for names, nodes that read what comes
later, deep nesting); members exchanged, renamed, compressed; external data outside of the folder;
functions and shared members that grow. What loads is made a module as well. Each batch runs in a
process of its own, watched as `ci/fuzz.py` does: code that runs, memory, time, and whether the
error is the loaders' own and names the file. Source that graphs generate may hold one function and
calls in it.

Usage: python ci/fuzz_graphs.py [--cases 20000] [--seed 0] [--format pt2|onnx|both]
"""

from __future__ import annotations

import argparse
import ast
import functools
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import fuzz
from fuzz_changes.archives import archive_case
from fuzz_changes.models import model_case
from fuzz_changes.seeds import archives, models


def load_archive(path):
    """Load an archive, and make a module of it."""
    import rushlight

    rushlight.export.load(path).module()


def load_model(path):
    """Load a model."""
    import rushlight

    rushlight.onnx.load(path)


def _allowed_source(text):
    """Whether generated source is one function that calls, reads and returns."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return True  # which does not compile, and raised an error
    inside = {type(node) for top in tree.body for node in ast.walk(top)}
    harmless = all(isinstance(top, ast.FunctionDef) for top in tree.body) and len(tree.body) == 1
    return harmless and not inside & {ast.Import, ast.ImportFrom, ast.Lambda, ast.ClassDef}


_sources: list[str] = []


def watch(event, args):
    """Note what a load does; sources of graphs are looked at afterwards."""
    if not fuzz._watching[0]:
        return
    if event == "compile" and str(args[1]).startswith("<rushlight fx "):
        _sources.append(args[0] if isinstance(args[0], str) else args[0].decode())
    elif event == "exec" and args[0].co_filename.startswith("<rushlight fx "):
        return
    elif event == "compile" and args[1] == "<unknown>":
        return  # ast.parse of expressions of sizes, which runs nothing
    elif event == "import" and str(args[0]).startswith(("rushlight", "onnx", "numpy", "_")):
        return
    elif event == "open" and ("/etc/passwd" in str(args[0]) or "secret" in str(args[0])):
        fuzz._seen.append(f"open {args[:2]!r}")
    else:
        fuzz._watch(event, args)


def _judged(name, data, folder, room=None):
    _sources.clear()
    wrong = fuzz.judge(name, data, folder, room)
    bad = [text for text in _sources if not _allowed_source(text)]
    return wrong or (f"generated source that does more: {bad[0][:200]!r}" if bad else None)


def case(number: int, seed: int, files: dict[str, bytes]) -> tuple[str, bytes]:
    """The name and bytes of one case; the same for the same numbers."""
    chance = random.Random(f"{seed}-{number}")
    name = chance.choice(sorted(files))
    change = archive_case if name.endswith(".pt2") else model_case
    return name, change(files[name], chance)


def prepare() -> dict[str, dict[str, bytes]]:
    """The seeds by format, all of which load; then this process is watched."""
    from rushlight.export.serialization import FormatError
    from rushlight.onnx.errors import OnnxImporterError, UnsupportedOperatorError

    files = {"pt2": archives(), "onnx": models()}
    errors = (OnnxImporterError, UnsupportedOperatorError, NotImplementedError)
    fuzz.LOADERS[".pt2"] = load_archive, (FormatError,)
    fuzz.LOADERS[".onnx"] = load_model, errors
    with tempfile.TemporaryDirectory() as folder:
        surroundings(folder)
        for name, data in (files["pt2"] | files["onnx"]).items():
            path = os.path.join(folder, name)
            Path(path).write_bytes(data)
            fuzz.LOADERS[Path(name).suffix][0](path)
    fuzz.signal.signal(fuzz.signal.SIGALRM, fuzz._on_alarm)
    sys.addaudithook(watch)
    return files


def surroundings(folder):
    """What stands beside the files: external data, and a link out of the folder."""
    Path(folder, "weights.bin").write_bytes(b"\0" * (1 << 20))
    Path(folder, "link").symlink_to("/etc/passwd")


def main() -> int:
    """Run all cases of both formats; print figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", choices=("pt2", "onnx", "both"), default="both")
    options = parser.parse_args()
    bad = 0
    for kind, files in prepare().items():
        if options.format not in (kind, "both"):
            continue
        started = time.monotonic()
        batches = (
            [
                (f"{kind} case {n}", functools.partial(case, n, options.seed, files))
                for n in range(first, min(first + fuzz.BATCH, options.cases))
            ]
            for first in range(0, options.cases, fuzz.BATCH)
        )
        found = fuzz.run_batches(batches, judge=_judged, setting=surroundings)
        print("\n".join(found[:50]))
        spent = time.monotonic() - started
        print(f"{options.cases} {kind} files in {spent:.0f} s: {len(found)} findings", flush=True)
        bad += len(found)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
