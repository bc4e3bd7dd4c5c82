"""``rushlight examples``: programs that installed packages bring, listed, copied or run.

A package names a folder of them in the group ``rushlight.examples`` of its entry points; the folder
is a package, and every module in it whose name begins with a letter is an example.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import runpy
import sys
from pathlib import Path

GROUP = "rushlight.examples"


class NoSuchExampleError(LookupError):
    """No installed package brings an example of that name."""


def found() -> dict[str, tuple[Path, str]]:
    """Name -> its file, and the package that brings it.

    >>> all(path.suffix == ".py" for path, _ in found().values())
    True
    """
    examples = {}
    for entry in importlib.metadata.entry_points(group=GROUP):
        spec = importlib.util.find_spec(entry.value)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            for path in sorted(Path(folder).glob("[a-z]*.py")):
                examples[path.stem] = path, entry.name
    return examples


def path_of(name: str) -> Path:
    """The file of an example; raises :class:`NoSuchExampleError`."""
    examples = found()
    if name not in examples:
        known = ", ".join(sorted(examples)) or "none: no package that brings some is installed"
        raise NoSuchExampleError(f"there is no example {name!r}; there are {known}")
    return examples[name][0]


def title(path: Path) -> str:
    """The first line of what an example says about itself."""
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return said.partition("\n")[0]


def listed() -> str:
    """A line for each example: its name, and what it does."""
    examples = found()
    width = max(map(len, examples), default=0)
    lines, package = [], None
    for name, (path, owner) in examples.items():
        if owner != package:
            lines.append(f"{owner}:")
            package = owner
        lines.append(f"  {name:{width}}  {title(path)}")
    return "\n".join(lines)


def copied(name: str, target: str | None) -> Path:
    """Copy an example into the folder or file `target` (the working directory if None); raises
    FileExistsError where there is such a file."""
    source = path_of(name)
    goal = Path(target or ".")
    if goal.is_dir():
        goal /= source.name
    with goal.open("x", encoding="utf-8") as file:
        file.write(source.read_text(encoding="utf-8"))
    return goal


def run(name: str, arguments: list[str]) -> None:
    """Run an example as a program."""
    path = path_of(name)
    sys.argv = [str(path), *arguments]
    runpy.run_path(str(path), run_name="__main__")


def main(given: list[str]) -> int | None:
    """The command; None where it is none of its own."""
    verb, *rest = given or [""]
    try:
        if verb == "list" and not rest:
            print(listed() or f"no installed package brings examples (entry points of {GROUP!r})")
        elif verb == "copy" and len(rest) in (1, 2):
            print(f"wrote {copied(*rest, *[None][len(rest) - 1 :])}")
        elif verb == "run" and rest:
            run(rest[0], rest[1:])
        else:
            return None
    except (NoSuchExampleError, OSError) as error:
        if isinstance(error, OSError) and verb == "run":
            raise
        print(f"rushlight: {error}", file=sys.stderr)
        return 1
    return 0
