"""Count what HOUSE's rules are about and compare it with the record, which may not get worse.

Reads sources only and imports none of them. Cases that are meant stand, each with its reason, in
ci/house_exceptions.toml, which may only become shorter; the record, ci/house_record.json, holds
the figures that hold today. `--record` writes what became better, `--reset` all of them as they
are; `--list RULE` names every case of a rule (with `--exceptions`, those that are meant).

Usage: python ci/house.py [--root PATH] [--json FILE] [--check] [--record | --reset] [--list RULE]
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from house_counting import imports, names, shapes, sources
from house_counting.sources import Found, Source

# -- the rules -----------------------------------------------------------------------------------
# An import goes sideways or down, never up. A subject is the first part of a path inside the tree,
# folder or file; those that are not named here stand in layer 6.
LAYERS = {
    0: "_version errors refusals listings settings dtypes devices machine backends",
    1: "kernels compiler",
    2: "tensor autograd",
    3: "fastpath",
    4: "ops",
    5: "nn chains",
    6: "distributed jit export onnx optim utils amp func serialization multiprocessing",
    7: "testing profiler hub compat",
}
LAYER_OF = {subject: layer for layer, subjects in LAYERS.items() for subject in subjects.split()}
DEFAULT_LAYER = 6
LOW_LAYERS = 5  # hidden imports of the layers below this one are counted on their own too

# A declaration: a function under one of these decorators, imported from a module that ends so, or
# under a function of the file that returns one; an assignment of a call of such a function; and a
# statement or function that hangs on an op of the file (``relu.gradient(...)``). An op's name is
# that of the function without a last underscore, or `name=`; `aliases=` and the in-place form
# (a last underscore) name it too.
DECLARING_MODULE = "ops._table.op"
DECLARING = ("elementwise", "op", "view", "composite")
GENERATED = "# Generated"  # how the first line of a generated file starts: these are not read
TESTS = ("testing",)  # subjects that are tests: they may name ops
EMITTERS = ("kernels", "compiler", "machine", "fastpath")
FOLDER_FILES = 40
PARAMETERS = 8
FUNCTION_LINES = 24
WORDS = {  # a word of our own, and the forms of it that are counted in comments and docstrings
    # "in place", "last place" and "decimal places" are the field's own terms
    "place": r"(?<!in )(?<!in-)(?<!last )(?<!decimal )(?<!binary )places?",
    "lies": "lies?",
    "door": "doors?",
    "met": "met",
    "nobody watches": "nobody watches",
}
SHOWN = ("softplus", "cumsum", "conv2d")  # ops whose files are shown one by one

HERE = Path(__file__).resolve().parent
TREE = HERE.parent / "core" / "src" / "rushlight"
EXCEPTIONS = HERE / "house_exceptions.toml"
RECORD = HERE / "house_record.json"

# Rule -> what the table calls its cases. None of these figures may rise.
RULES = {
    "op-list": "op names in strings that list ops, outside declarations",
    "op-string": "op names as single strings, outside declarations",
    "unknown-op": "names in strings that list ops which no op has",
    "unbound-export": "names in `__all__` that the file does not bind",
    "no-samples": "composites without samples, so without generated tests",
    "crowded": f"files too many in folders of more than {FOLDER_FILES}",
    "upward-import": "import statements that go up a layer",
    "hidden-import": "strings that name a module of a higher layer",
    "hidden-low": f"  those in layers 0 to {LOW_LAYERS - 1}",
    "hidden-at-import": "import_module and the like that run at import",
    "function-import": "import statements inside functions",
    "parameters": f"functions of more than {PARAMETERS} parameters",
    "parameters-outside": "  those outside kernels and emitters",
    "long-function": f"functions of more than {FUNCTION_LINES} lines of code",
    "import-loop": "loops that run at import",
    "import-comprehension": "comprehensions that run at import",
    "word": "words of our own in comments and docstrings",
}
# Other figures that may not rise, and those that may not fall; the rest is only shown.
MAY_NOT_RISE = (
    *RULES,
    "largest folder",
    "most parameters",
    "function lines, 95th percentile",
    "function lines, largest",
)
MAY_NOT_FALL = ("comments per 100 lines of code",)


def layer(subject: str) -> int:
    """The layer of a subject."""
    return LAYER_OF.get(subject, DEFAULT_LAYER)


# -- counting ------------------------------------------------------------------------------------


@dataclass
class Measured:
    """What was found in a tree: figures by name, cases by rule, and the meant cases apart."""

    figures: dict[str, float] = field(default_factory=dict)
    found: list[Found] = field(default_factory=list)
    meant: list[Found] = field(default_factory=list)
    unused: list[dict] = field(default_factory=list)
    details: dict[str, str] = field(default_factory=dict)


def cases(read: list[Source], ops: names.Ops, root: Path) -> list[Found]:
    """Every case of every rule in a tree."""
    subjects = {path.stem for path in root.iterdir()}
    known = {".".join(source.module) for source in read if len(source.module) > 1}
    found = [*names.without_samples(ops)]
    found += shapes.crowded(shapes.folder_sizes(read), FOLDER_FILES)
    for source in read:
        if source.subject not in TESTS:
            found += names.op_strings(source, ops)
        found += names.unbound_exports(source)
        if source.subject != "__init__":
            found += imports.imports(source, subjects, known, layer)
        found += shapes.wide(source, PARAMETERS, EMITTERS)
        found += shapes.long(source, FUNCTION_LINES)
        found += shapes.import_loops(source)
        found += shapes.own_words(source, WORDS)
    for case in list(found):
        subject = case.file.split("/")[0].removesuffix(".py")
        if case.rule == "hidden-import" and layer(subject) < LOW_LAYERS:
            found.append(Found("hidden-low", case.file, case.line, case.name))
    return found


def applies(exception: dict, case: Found) -> bool:
    """Whether an exception means a case: one of its rules, files (patterns) and names."""
    return (
        case.rule in exception["rules"]
        and any(fnmatch.fnmatch(case.file, each) for each in exception.get("files", ["*"]))
        and case.name in exception.get("names", [case.name])
    )


def split_meant(found: list[Found], exceptions: list[dict], measured: Measured) -> None:
    """Put cases that an exception names apart, and note exceptions that name none."""
    used = [False] * len(exceptions)
    for case in found:
        fitting = [i for i, each in enumerate(exceptions) if applies(each, case)]
        for i in fitting:
            used[i] = True
        (measured.meant if fitting else measured.found).append(case)
    measured.unused = [e for e, was in zip(exceptions, used, strict=True) if not was]


def percentile(sizes: list[int], share: float) -> int:
    """The size that this share of sizes does not exceed; 0 of none."""
    ordered = sorted(sizes) or [0]
    return ordered[int(share * (len(ordered) - 1))]


def add_sizes(read: list[Source], measured: Measured) -> None:
    """Figures of folders, functions and comments."""
    folders = shapes.folder_sizes(read)
    every = [(source, f) for source in read for f in source.functions]
    lines = [shapes.code_lines(function, source.code) for source, function in every]
    code = sum(len(source.code) for source in read)
    physical = sum(source.text.count("\n") for source in read)
    comments = sum(shapes.comment_lines(source) for source in read)
    measured.figures |= {
        "files": len(read),
        "largest folder": max(folders.values(), default=0),
        "functions": len(every),
        "most parameters": max((len(shapes.parameters(f)) for _, f in every), default=0),
        "function lines, median": median(lines or [0]),
        "function lines, 95th percentile": percentile(lines, 0.95),
        "function lines, largest": max(lines, default=0),
        "comments per 100 lines of code": round(100 * comments / max(code, 1), 2),
        "lines": physical,
        "lines of code": code,
    }
    most = ", ".join(f"{folder} {files}" for folder, files in folders.most_common(5))
    measured.details["largest folder"] = most


def add_ops(read: list[Source], ops: names.Ops, measured: Measured) -> None:
    """Figures of ops: how many, in how many files each stands, how many files a new one touches."""
    spread = names.files_naming(read, ops)
    naming: dict[str, set[str]] = {name: {ops.files[name]} for name in ops.files}
    for case in measured.found:
        if case.rule in ("op-string", "op-list") and case.name in naming:
            naming[case.name].add(case.file)
    touched = [len(files) for files in naming.values()]
    measured.figures |= {
        "ops": len(ops.files),
        "composites": len(ops.composites),
        "files naming an op, median": median(list(spread.values()) or [0]),
        "files naming an op, 95th percentile": percentile(list(spread.values()), 0.95),
        "files to touch for an op, mean": round(sum(touched) / max(len(touched), 1), 2),
        "files to touch for an op, 95th percentile": percentile(touched, 0.95),
    }
    shown = ", ".join(f"{name} {spread[name]}" for name in SHOWN if name in spread)
    measured.details["files naming an op, median"] = shown


def measure(root: Path, exceptions: list[dict] = ()) -> Measured:
    """Everything that is counted in the tree of one package's sources."""
    read = sources.read(root, GENERATED)
    ops = names.declared(read, DECLARING_MODULE, DECLARING)
    measured = Measured()
    split_meant(cases(read, ops, root), list(exceptions), measured)
    counts = Counter(case.rule for case in measured.found)
    measured.figures |= {rule: counts[rule] for rule in RULES}
    for rule in RULES:
        subject = "name" if rule in ("word", "unknown-op") else "file"
        most = Counter(getattr(c, subject) for c in measured.found if c.rule == rule)
        measured.details[rule] = ", ".join(f"{what} {n}" for what, n in most.most_common(4))
    add_sizes(read, measured)
    add_ops(read, ops, measured)
    return measured


# -- the record and the table --------------------------------------------------------------------


def worse(figures: dict[str, float], recorded: dict[str, float]) -> list[str]:
    """Figures that are worse than the recorded ones, in words."""
    rising = [n for n in MAY_NOT_RISE if n in recorded and figures[n] > recorded[n]]
    falling = [n for n in MAY_NOT_FALL if n in recorded and figures[n] < recorded[n]]
    return [
        f"{name}: {figures[name]}, the record says {recorded[name]}" for name in rising + falling
    ]


def problems(measured: Measured, exceptions: list[dict], record: dict) -> list[str]:
    """What is worse than the record, exceptions included."""
    found = worse(measured.figures, record["figures"])
    if len(exceptions) > record["exceptions"]:
        found.append(f"{len(exceptions)} exceptions, the record says {record['exceptions']}")
    for each in measured.unused:
        found.append(f"an exception names nothing, drop it: {each}")
    found += [f"an exception gives no reason: {e}" for e in exceptions if not e.get("reason")]
    return found


def renewed(measured: Measured, exceptions: list[dict], record: dict, reset: bool) -> dict:
    """The record with the present figures; unless it is reset, none that became worse."""
    figures, before = dict(measured.figures), {} if reset else record["figures"]
    for name, keep in [(n, min) for n in MAY_NOT_RISE] + [(n, max) for n in MAY_NOT_FALL]:
        figures[name] = keep(figures[name], before.get(name, figures[name]))
    most = len(exceptions) if reset else min(len(exceptions), record["exceptions"])
    return {"exceptions": most, "figures": figures}


def print_table(measured: Measured, recorded: dict[str, float]) -> None:
    """The table: each figure, what the record says, and where most of it stands."""
    meant = Counter(case.rule for case in measured.meant)
    for name, value in measured.figures.items():
        was = recorded.get(name)
        past = f" (record {was})" if was is not None and was != value else ""
        apart = f" [{meant[name]} meant]" if meant[name] else ""
        print(
            f"{RULES.get(name, name):62} {value:>7}{past}{apart}  {measured.details.get(name, '')}"
        )


def tree_of(path: Path) -> Path:
    """The sources at a path: those of core in a checkout, else the path itself."""
    inside = path / "core" / "src" / "rushlight"
    found = inside if inside.is_dir() else path
    if not found.is_dir():
        raise SystemExit(f"--root: expected a folder of sources or a checkout, got {path}")
    return found.resolve()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", type=Path, default=TREE, help="a source folder or a checkout")
    parser.add_argument("--json", type=Path, help="write figures and cases to this file")
    parser.add_argument("--check", action="store_true", help="fail where the record is better")
    parser.add_argument("--record", action="store_true", help="write figures that became better")
    parser.add_argument("--reset", action="store_true", help="write all figures as they are")
    parser.add_argument("--list", choices=RULES, metavar="RULE", help="name every case of a rule")
    parser.add_argument("--exceptions", action="store_true", help="list the meant cases instead")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    exceptions = tomllib.loads(EXCEPTIONS.read_text()).get("exception", [])
    record = json.loads(RECORD.read_text())
    measured = measure(tree_of(given.root), exceptions)
    if given.list:
        chosen = measured.meant if given.exceptions else measured.found
        print(*(case for case in chosen if case.rule == given.list), sep="\n")
        return 0
    print_table(measured, record["figures"])
    if given.json:
        listed = [vars(case) for case in measured.found]
        given.json.write_text(json.dumps({"figures": measured.figures, "cases": listed}, indent=1))
    if given.record or given.reset:
        record = renewed(measured, exceptions, record, given.reset)
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
    found = problems(measured, exceptions, record) if given.check else []
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
