"""Check what keeps the repository readable: layers, imports, sizes, names, documentation.

Reads the sources only, imports none of them. Deliberate exceptions stand, each with its reason, in
ci/structure_exceptions.toml; one that no longer applies is an error too.

Usage: python ci/structure.py [--summary]
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median

from house import DEFAULT_LAYER, layer
from house_counting.shapes import code_lines
from house_counting.sources import Function, walk
from house_counting.sources import Source as Parsed
from packages import CORE, PACKAGES, ROOT, SATELLITES, Package

ARRAY_LIBRARIES = {"numpy", "numba", "llvmlite", "ml_dtypes", "cupy", "scipy_openblas64", "scipy"}
SPELLED = {  # imported by another name
    "nvidia-cudnn-frontend": "cudnn",
    "mlflow-skinny": "mlflow",
    "pillow": "PIL",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
    "rushlight-lightning-lite": "lightning_lite",
}
FORBIDDEN_STEMS = {"utils", "util", "helpers", "helper", "misc", "common", "stuff", "tools"}
FILE_LINES = 600
FUNCTION_LINES = 60
EMITTER_LINES = 120
EMITTERS = (
    "rushlight/kernels/",
    "rushlight/compiler/",
    "rushlight/machine/",
    "rushlight/fastpath/",
)
EXCEPTIONS = Path(__file__).with_name("structure_exceptions.toml")


@dataclass(frozen=True)
class Source(Parsed):
    """One parsed source file of a package."""

    package: Package

    @cached_property
    def name(self) -> str:
        """Path inside the repository."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @cached_property
    def imports(self) -> list[Import]:
        """Every import, those inside functions too, with relative ones resolved."""
        return list(imports(self))


@dataclass(frozen=True)
class Violation:
    """One broken rule: what, where, and what to do."""

    rule: str
    source: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.rule}: {self.message}"


def sources(package: Package) -> list[Source]:
    """All Python files of a package's src folder; examples are programs, which ci/examples.py
    checks."""
    found = []
    for path in sorted(package.source.rglob("*.py")):
        if path.parent == package.source / "examples":
            continue
        text = path.read_text()
        tree = ast.parse(text, filename=str(path))
        found.append(Source(package.source, path, text, tree, package))
    return found


# -- imports -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Import:
    """One imported module or name: `module` is the dotted path as far as the statement tells."""

    module: tuple[str, ...]
    names: tuple[str, ...]
    line: int


def type_checking_lines(source: Source) -> set[int]:
    """Lines under `if TYPE_CHECKING:`, which import nothing when the program runs."""
    lines: set[int] = set()
    for node in source.nodes:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for child in node.body:
                lines.update(range(child.lineno, child.end_lineno + 1))
    return lines


def imports(source: Source) -> Iterator[Import]:
    """Every import of a file, those inside functions too, with relative ones resolved."""
    skipped = type_checking_lines(source)
    for node in source.nodes:
        if getattr(node, "lineno", None) in skipped:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(tuple(alias.name.split(".")), (), node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base: tuple[str, ...] = ()
            if node.level:
                up = node.level - 1 if source.is_package else node.level
                base = source.module[: len(source.module) - up]
            module = base + tuple(node.module.split(".") if node.module else ())
            yield Import(module, tuple(alias.name for alias in node.names), node.lineno)


def check_layers(source: Source) -> Iterator[Violation]:
    """Core: no import goes up."""
    if source.package is not CORE or len(source.module) < 2:
        return
    own = source.module[1]
    subjects = {path.stem for path in CORE.source.iterdir()}
    for found in source.imports:
        if found.module[:1] != (CORE.module,):
            continue
        if len(found.module) > 1:
            targets = [found.module[1]]
        else:  # `from rushlight import x` takes a submodule, or a name that any layer may provide
            targets = [name if name in subjects else "__init__" for name in found.names]
            targets = targets or ["__init__"]
        for target in targets:
            if target == "__init__":
                message = f"{own} imports the whole package; name the module that holds the thing"
                if layer(own) < DEFAULT_LAYER:
                    yield Violation("layers", source.name, found.line, message)
            elif layer(target) > layer(own):
                message = (
                    f"{own} (layer {layer(own)}) imports {target} (layer {layer(target)}): "
                    "imports go sideways or down"
                )
                yield Violation("layers", source.name, found.line, message)


def check_array_libraries(source: Source) -> Iterator[Violation]:
    """Core: array libraries and compilers are imported in machine/ only."""
    if source.package is not CORE or source.module[1:2] == ("machine",):
        return
    for found in source.imports:
        if found.module and found.module[0] in ARRAY_LIBRARIES:
            message = f"imports {found.module[0]}; write `from rushlight.machine import ...`"
            yield Violation("machine", source.name, found.line, message)


def declared_modules(package: Package) -> set[str]:
    """Import names of what a package's pyproject.toml depends on, extras included."""
    names = {package.module}
    for text in package.requirements(extras=True):
        distribution = re.match(r"[A-Za-z0-9._-]+", text)[0].lower()
        spelled = SPELLED.get(distribution, distribution.replace("-", "_"))
        names.add(re.sub(r"_cuda1\dx$", "", spelled))
    return names


def check_declared(source: Source) -> Iterator[Violation]:
    """What is imported is the standard library, the package itself, or a declared dependency."""
    declared = declared_modules(source.package)
    for found in source.imports:
        if not found.module or found.module[0] in sys.stdlib_module_names:
            continue
        if found.module[0] not in declared:
            message = f"imports {found.module[0]}, which pyproject.toml does not name"
            yield Violation("declared", source.name, found.line, message)


def private(name: str) -> bool:
    """Whether a name is private to its package."""
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def core_aliases(source: Source) -> set[str]:
    """Names that a file binds to rushlight or one of its modules."""
    names: set[str] = set()
    for node in source.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == CORE.module:
                    names.add(alias.asname or CORE.module)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            if (node.module or "").split(".")[0] == CORE.module:
                names.update(a.asname or a.name for a in node.names if a.name.islower())
    return names


def check_public_core(source: Source) -> Iterator[Violation]:
    """Satellites: only public names of rushlight."""
    if source.package not in SATELLITES:
        return
    for found in source.imports:
        if found.module[:1] == (CORE.module,):
            for name in (*found.module, *found.names):
                if private(name):
                    message = f"{'.'.join(found.module)}: {name} is private to rushlight"
                    yield Violation("public", source.name, found.line, message)
    aliases = core_aliases(source)
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and private(node.attr):
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in aliases:
                message = f"{ast.unparse(node)} is private to rushlight"
                yield Violation("public", source.name, node.lineno, message)


# -- sizes and names -----------------------------------------------------------------------------


def check_sizes(source: Source) -> Iterator[Violation]:
    """Files and functions stay within what a reader can hold."""
    lines = source.text.splitlines()
    if len(lines) > FILE_LINES:
        message = f"{len(lines)} lines, at most {FILE_LINES}"
        yield Violation("file-size", source.name, 1, message)
    limit = EMITTER_LINES if any(part in source.name for part in EMITTERS) else FUNCTION_LINES
    for function in source.functions:
        count = code_lines(function, source.code)
        if count > limit:
            message = f"{function.name} has {count} lines of code, at most {limit}"
            yield Violation("function-size", source.name, function.lineno, message)


def check_file_name(source: Source) -> Iterator[Violation]:
    """A file is named for its subject."""
    if source.path.stem.strip("_") in FORBIDDEN_STEMS:
        message = "name the file for its one subject, by a noun"
        yield Violation("file-name", source.name, 1, message)


def check_statements(source: Source) -> Iterator[Violation]:
    """No assert validates (python -O drops it) and no function is only `pass`."""
    for node in source.nodes:
        if isinstance(node, ast.Assert):
            message = "raise an error that names what was given and what was expected"
            yield Violation("assert", source.name, node.lineno, message)
        elif isinstance(node, Function) and all(isinstance(line, ast.Pass) for line in node.body):
            message = f"{node.name} is only `pass`; raise NotImplementedError or say what it is for"
            yield Violation("stub", source.name, node.lineno, message)


# -- documentation -------------------------------------------------------------------------------


def is_overload(function: Function) -> bool:
    """Whether a function is one of several signatures or a property's setter."""
    marks = {ast.unparse(mark).split(".")[-1] for mark in function.decorator_list}
    return bool(marks & {"overload", "setter", "deleter"})


def undocumented(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, int]]:
    """Public functions and classes without a docstring; methods where the class has no base."""
    for node in body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            if isinstance(node, Function) and is_overload(node):
                continue
            if ast.get_docstring(node) is None:
                yield prefix + node.name, node.lineno
            if isinstance(node, ast.ClassDef) and not node.bases:
                yield from undocumented(node.body, f"{prefix}{node.name}.")


def _is_module(name: str) -> bool:
    """Whether a dotted name is a module of one of the packages."""
    first, *rest = name.split(".")
    for package in PACKAGES:
        if package.module == first:
            path = package.source.joinpath(*rest)
            return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()
    return False


def _imported_modules(source: Source) -> set[str]:
    """Names of a file's top level that are modules."""
    found = set()
    for node in source.tree.body:
        if isinstance(node, ast.Import):
            found.update(each.asname or each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.update(
                each.asname or each.name
                for each in node.names
                if _is_module(f"{node.module}.{each.name}")
            )
    return found


def check_hidden_modules(source: Source) -> Iterator[Violation]:
    """A parameter or a local name that hides an imported module: who means the module gets it."""
    modules = _imported_modules(source)
    for function in source.nodes if modules else ():
        if not isinstance(function, Function | ast.Lambda):
            continue
        given = function.args
        names = {a.arg: a.lineno for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
        for node in walk(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.setdefault(node.id, node.lineno)
        for name in sorted(modules & names.keys()):
            yield Violation("hides", source.name, names[name], f"{name!r} hides an imported module")


def check_documented(source: Source) -> Iterator[Violation]:
    """Every module and public name says what it is."""
    if not source.tree.body:
        return
    if ast.get_docstring(source.tree) is None:
        yield Violation("documented", source.name, 1, "the module has no docstring")
    if any(private(part) for part in source.module):
        return
    for name, line in undocumented(source.tree.body):
        yield Violation("documented", source.name, line, f"{name} has no docstring")


def check_all_names(source: Source) -> Iterator[Violation]:
    """`__all__` lists names that the file binds, each once."""
    bound: set[str] = set()
    star = False
    listed: list[str] = []
    line = 1
    lazy = any(function.name == "__getattr__" for function in source.functions)
    for node in source.nodes:
        if isinstance(node, Function | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            star = star or any(alias.name == "*" for alias in node.names)
            bound.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
    for node in source.tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            line = node.lineno
            if isinstance(node.value, ast.List | ast.Tuple):
                listed = [e.value for e in node.value.elts if isinstance(e, ast.Constant)]
    for name in sorted({name for name in listed if listed.count(name) > 1}):
        yield Violation("all", source.name, line, f"__all__ names {name} twice")
    if not (lazy or star):
        for name in listed:
            if name not in bound and not source.path.with_name(name).is_dir():
                if not source.path.with_name(f"{name}.py").is_file():
                    yield Violation("all", source.name, line, f"__all__ names unknown {name}")


CHECKS = (
    check_layers,
    check_array_libraries,
    check_declared,
    check_public_core,
    check_sizes,
    check_file_name,
    check_statements,
    check_hidden_modules,
    check_documented,
    check_all_names,
)


def check_frames() -> Iterator[Violation]:
    """Each distribution has the same frame, and the one licence."""
    licence = (ROOT / "LICENSE").read_text()
    for package in PACKAGES:
        for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "tests", "src"):
            if not (package.path / name).exists():
                yield Violation("frame", f"{package.folder}/{name}", 1, "is missing")
        if (package.path / "LICENSE").read_text() != licence:
            yield Violation("frame", f"{package.folder}/LICENSE", 1, "differs from the root's")


def without_exceptions(violations: list[Violation]) -> list[Violation]:
    """Drop what the exceptions file allows; complain of exceptions that allow nothing."""
    table = tomllib.loads(EXCEPTIONS.read_text()).get("exception", [])
    used = [False] * len(table)
    kept = []
    for violation in violations:
        allowed = False
        for number, entry in enumerate(table):
            text = entry.get("containing", "")
            same = (entry["rule"], entry["file"]) == (violation.rule, violation.source)
            if same and text in violation.message:
                used[number] = allowed = True
        if not allowed:
            kept.append(violation)
    for number, entry in enumerate(table):
        if not used[number]:
            message = f"the exception for {entry['file']} ({entry['rule']}) allows nothing: drop it"
            kept.append(
                Violation("exceptions", EXCEPTIONS.relative_to(ROOT).as_posix(), 1, message)
            )
    return kept


def spread(sizes: list[int]) -> str:
    """Number, median, 95th percentile and largest of some sizes."""
    if not sizes:
        return "none"
    ordered = sorted(sizes)
    high = ordered[int(0.95 * (len(ordered) - 1))]
    return f"{len(ordered)}, median {median(ordered):.0f}, 95th {high}, largest {ordered[-1]}"


def print_summary(all_sources: list[Source]) -> None:
    """Print the figures that the limits are about."""
    for package in PACKAGES:
        files, bodies = [], []
        for source in all_sources:
            if source.package is package:
                lines = source.text.splitlines()
                files.append(len(lines))
                bodies.extend(code_lines(function, source.code) for function in source.functions)
        print(f"{package.folder}: files {spread(files)}; functions {spread(bodies)}")


def main() -> int:
    all_sources = [source for package in PACKAGES for source in sources(package)]
    violations = list(check_frames())
    for source in all_sources:
        for check in CHECKS:
            violations.extend(check(source))
    violations = without_exceptions(violations)
    for violation in violations:
        print(violation)
    print_summary(all_sources)
    print(f"structure: {len(all_sources)} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    raise SystemExit(main())
