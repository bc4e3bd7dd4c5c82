"""Names and attributes that bodies of functions use must exist: mypy reads all of them.

mypy infers types of everything, annotated or not, and says which names, attributes of modules and
attributes of objects it cannot find. What the op table binds at import it cannot know: an attribute
of a class counts as found where the class has it once the package is imported. The rest that is
right for another reason stands in ci/internals_known.toml, each with that reason; an entry there
that is not needed is an error, too.

Usage: python ci/internals.py [PACKAGE ...]
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import warnings
from pathlib import Path

import known_failures
import numpy
from packages import PACKAGES, ROOT, Package, package_named

KNOWN = Path(__file__).with_name("internals_known.toml")
OPTIONS = (
    "--config-file=", "--python-version=3.11", "--cache-dir=.nox/.mypy_internals",
    "--check-untyped-defs", "--ignore-missing-imports", "--follow-imports=silent",
    "--no-error-summary", "--no-color-output", "--hide-error-context",
)  # fmt: skip
_LINE = re.compile(
    r"(?P<file>[^:]+):(?P<line>\d+): error: (?P<text>.*)  \[(attr|name|used-before)-def(ined)?\]$"
)
_ATTRIBUTE = re.compile(r'"?(?P<owner>.+?)"? has no attribute "(?P<name>\w+)"')


def complaints(package: Package) -> list[re.Match]:
    """What mypy does not find; examples are programs, of which it knows less."""
    command = [sys.executable, "-m", "mypy", *OPTIONS, str(package.source.relative_to(ROOT))]
    # The sources come first: stubs that an editable install of core puts in place say less of it.
    sources = os.pathsep.join(str(each.source.parent) for each in PACKAGES)
    run = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "MYPYPATH": sources}
    )
    if run.returncode not in (0, 1):
        raise SystemExit(f"mypy could not read {package.folder}:\n{run.stdout}{run.stderr}")
    lines = [line for line in run.stdout.splitlines() if "/examples/" not in line]
    return [found for line in lines if (found := _LINE.match(line))]


def classes(packages: list[Package]) -> dict[str, list[type]]:
    """The classes of the packages by name, every module imported that can be."""
    found: dict[str, list[type]] = {}
    for package in packages:
        top = importlib.import_module(package.module)
        names = [each.name for each in pkgutil.walk_packages(top.__path__, f"{top.__name__}.")]
        for name in names:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    module = importlib.import_module(name)
            except Exception as error:  # noqa: BLE001 - a module for a device that is not here
                print(f"not imported: {name}: {type(error).__name__}")
                continue
            for value in list(vars(module).values()):
                if inspect.isclass(value) and value.__module__.startswith(package.module):
                    found.setdefault(value.__name__, []).append(value)
    return found


def family(kind: type) -> list[type]:
    """A class, what it inherits from, and all that inherit from it: a mixin uses what they have."""
    found, rest = dict.fromkeys(kind.__mro__[:-1]), [kind]
    while rest:
        below = [each for each in rest.pop().__subclasses__() if each not in found]
        rest.extend(below)
        found.update(dict.fromkeys(below))
    return list(found)


@functools.cache
def made_by(kind: type) -> frozenset[str]:
    """Names of the attributes that the methods of a class make."""
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):
        return frozenset()
    targets = re.findall(
        r"^ +((?:\w+\.\w+|\w+)(?:, ?\w+(?:\.\w+)?)*(?: = [\w.]+(?:, [\w.]+)*)*) = ", source, re.M
    )
    declared = re.findall(r"^    (\w+):", source, re.M)
    return frozenset(re.findall(r"\.(\w+)", " ".join(targets))) | frozenset(declared)


def is_bound(complaint: re.Match, known: dict[str, list[type]]) -> bool:
    """Whether the attribute is there once the packages are imported."""
    match = _ATTRIBUTE.match(complaint["text"])
    if match is None:
        return False
    name = re.sub(r"^type\[(\w+)\]$", r"\1", match["owner"])
    kinds = [each for owner in known.get(name, ()) for each in family(owner)]
    if name == "Tensor" and complaint["file"].startswith("core/src/rushlight/ops/"):
        kinds.append(numpy.ndarray)  # bodies of ops take arrays where their signatures say Tensor
    wanted = match["name"]
    return any(hasattr(each, wanted) for each in kinds) or any(
        wanted in made_by(each) for each in kinds
    )


def described(complaint: re.Match) -> str:
    """Name of a complaint in the file of those that are right: file, owner and attribute."""
    match = _ATTRIBUTE.match(complaint["text"])
    file = complaint["file"].partition("/src/")[2]
    if match is None:
        return f"{file}: {complaint['text']}"
    owner = re.sub(r"^(def|Callable|_Wrapped|overloaded function).*", "function", match["owner"])
    return (
        f"{file}: {owner}.{match['name']}" if owner != "function" else f"function.{match['name']}"
    )


def main() -> int:
    chosen = [package_named(name) for name in sys.argv[1:]] or list(PACKAGES)
    found = {package: complaints(package) for package in chosen}
    known = classes(list(PACKAGES))
    failing: dict[str, str] = {}
    for matches in found.values():
        for each in matches:
            if not is_bound(each, known):
                failing.setdefault(described(each), each[0])
    on_record = known_failures.reasons(KNOWN)
    for name, line in failing.items():
        if name not in on_record:
            print(line)
    examined = [
        name
        for name in on_record
        if any(name.startswith((f"{package.module}/", "function.")) for package in chosen)
    ]
    return 1 if known_failures.surprises(KNOWN, list(failing), examined) else 0


if __name__ == "__main__":
    raise SystemExit(main())
