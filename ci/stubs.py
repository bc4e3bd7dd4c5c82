"""Write the stubs that type checkers and editors read: core/stubs/rushlight-stubs.

    python ci/stubs.py            write them
    python ci/stubs.py --check    fail where they are not what would be written, and where what is
                                  written by hand (ci/stub_writer) matches no name any more

In the wheel they are a package of stubs beside the package (PEP 561), marked as partial: modules
without a stub are read from their source.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOME = ROOT / "core" / "stubs" / "rushlight-stubs"

sys.path.insert(0, str(Path(__file__).parent))


def texts() -> dict[Path, str]:
    """Every stub by its file."""
    from stub_writer import modules

    from rushlight.ops._table import deferred

    deferred.load_all()  # a method of a family that is not loaded has no signature
    names = list(dict.fromkeys([*modules.HOMES, *modules.public_modules("rushlight")]))
    found = {HOME / "py.typed": "partial\n", HOME / "_words.pyi": modules.WORDS_TEXT}
    for name, text in modules.described_by([n for n in names if _loads(n)]).items():
        place = HOME.joinpath(*name.split(".")[1:])
        is_package = hasattr(importlib.import_module(name), "__path__")
        found[place / "__init__.pyi" if is_package else place.with_suffix(".pyi")] = text
    for file in list(found):  # a stub is found only where its packages have stubs, too
        for folder in file.parents:
            if HOME in folder.parents:
                found.setdefault(folder / "__init__.pyi", modules.OPEN_TEXT)
    return found


def _loads(name: str) -> bool:
    try:
        importlib.import_module(name)
    except Exception as error:  # of an optional library
        print(f"{name}: left out, {type(error).__name__}: {error}", file=sys.stderr)
        return False
    return True


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    from stub_writer import stale

    wanted = texts()
    there = {p for p in HOME.rglob("*") if p.is_file()} if HOME.exists() else set()
    changed = [p for p, text in wanted.items() if not p.exists() or p.read_text() != text]
    gone = there - set(wanted)
    old = stale.entries()
    for entry in old:
        print(f"matches no name: {entry}")
    if options.check:
        for path in [*changed, *gone]:
            print(f"not as it would be written: {path.relative_to(ROOT)}")
        return 1 if changed or gone or old else 0
    for path in gone:
        path.unlink()
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path])
    print(f"{len(wanted)} stubs, {len(changed)} written, {len(gone)} removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
