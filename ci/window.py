"""Test the satellites with the lowest core that they allow.

A released core is built from the commit recorded in ci/releases.toml. While the lowest core allowed
is the version of the tree itself, which is not released yet, the tree is that core.

Usage: python ci/window.py FOLDER [PACKAGE ...]
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

from packages import CORE, ROOT, SATELLITES, Package, package_named

RELEASES = Path(__file__).with_name("releases.toml")


def lowest_core(package: Package) -> str:
    """The lowest version of rushlight that a satellite allows."""
    for text in package.requirements():
        if re.match(rf"{CORE.distribution}\b(?!-)", text):
            return re.search(r">=\s*([0-9.]+)", text)[1]
    raise SystemExit(f"{package.folder}/pyproject.toml: no dependency on {CORE.distribution}")


def core_source(version: str, folder: Path) -> Path:
    """The folder of the core's sources in that version."""
    commits = tomllib.loads(RELEASES.read_text()).get(CORE.folder, {})
    if version not in commits:
        if version == CORE.version:
            return CORE.path
        raise SystemExit(f"{RELEASES.name}: no commit recorded for {CORE.folder} {version}")
    there = ["git", "cat-file", "-e", f"{commits[version]}^{{commit}}"]
    if subprocess.run(there, cwd=ROOT, stderr=subprocess.DEVNULL).returncode:
        raise SystemExit(
            f"the commit of {CORE.folder} {version}, {commits[version]}, is not in this clone: "
            "run `git fetch --unshallow`"
        )
    target = folder / f"core-{version}"
    target.mkdir(parents=True, exist_ok=True)
    archive = folder / f"core-{version}.tar"
    command = ["git", "archive", "--output", str(archive), commits[version], CORE.folder]
    subprocess.run(command, cwd=ROOT, check=True)
    # Python 3.11 before 3.11.4 knows no filters; later ones warn without
    careful = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as opened:
        opened.extractall(target, **careful)
    return target / CORE.folder


def main() -> int:
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    folder = Path(sys.argv[1])
    chosen = [package_named(name) for name in sys.argv[2:]] or list(SATELLITES)
    pip = [sys.executable, "-m", "pip", "install", "--quiet"]
    statuses = []
    for package in chosen:
        version = lowest_core(package)
        source = core_source(version, folder)
        print(f"--- {package.distribution} on {CORE.distribution} {version} ({source})", flush=True)
        build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir"]
        subprocess.run([*build, str(folder / "dist"), str(source)], check=True)
        wheel = folder / "dist" / f"{CORE.distribution}-{version}-py3-none-any.whl"
        needs = [str(wheel), "-e", str(package.path), "pytest>=8", "rich>=13.7"]
        subprocess.run([*pip, "--force-reinstall", "--no-deps", str(wheel)], check=True)
        subprocess.run([*pip, *needs], check=True)
        tests = [sys.executable, str(ROOT / "ci" / "testing.py"), package.folder]
        statuses.append(subprocess.run(tests).returncode)
    return 1 if any(statuses) else 0


if __name__ == "__main__":
    raise SystemExit(main())
