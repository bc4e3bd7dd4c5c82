"""Compare `rushlight_vision.transforms` with torchvision's: every functional on every kind of
input, every transform from the same seeds, every documented name.

Usage: python ci/vision_transforms.py record FILE [--few]   where torchvision is
       python ci/vision_transforms.py compare FILE [--page] where rushlight is
       python ci/vision_transforms.py both [FOLDER]         where rushlight is
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "vision" / "tests" / "transforms"))

import compared  # noqa: E402
import inputs  # noqa: E402
import vision_transforms_page  # noqa: E402
from vision_family import FOLDER, oracle  # noqa: E402


def record(path: str, few: bool) -> int:
    """Run all cases with torchvision, those from `few` seeds beside the tests."""
    lib = inputs.library("torchvision")
    table = compared.everything(lib, range(1) if few else range(8))
    compared.save(path, table)
    print(f"{len(table)} cases: {path}, {Path(path).stat().st_size // 1000} kB")
    return 0


def compare(path: str, page: bool) -> int:
    """Run the same cases with Rushlight; print what differs, or write the page of the docs."""
    lib = inputs.library("rushlight_vision")
    table = compared.everything(lib, range(8))
    expected = compared.load(path)
    failed = 0
    for key, wanted in expected.items():
        why = compared.difference(key, table.get(key, {}), wanted)
        failed += bool(why)
        if why:
            print(f"{key}: {why}")
    print(f"{len(expected)} cases: {failed} differ")
    if page and not failed:
        vision_transforms_page.write(lib, list(expected))
    return 1 if failed else 0


def both(folder: Path) -> int:
    """Record with torchvision, compare with Rushlight."""
    with tempfile.TemporaryDirectory() as work:
        path = str(Path(work) / "transforms.npz")
        subprocess.run([str(oracle(folder)), __file__, "record", path], check=True)
        return compare(path, page=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=("record", "compare", "both"))
    parser.add_argument("path", nargs="?", default=str(FOLDER))
    parser.add_argument("--few", action="store_true", help="the cases kept beside the tests")
    parser.add_argument("--page", action="store_true", help="write the page of the docs")
    arguments = parser.parse_args()
    if arguments.step == "record":
        return record(arguments.path, arguments.few)
    if arguments.step == "compare":
        return compare(arguments.path, arguments.page)
    return both(Path(arguments.path))


if __name__ == "__main__":
    raise SystemExit(main())
