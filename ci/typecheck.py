"""Check the types of the packages' public signatures with mypy.

Usage: python ci/typecheck.py [PACKAGE ...]

Packages are checked beside core's sources, and those in `_AGAINST_STUBS` again with core's stubs
alone, as after an installation. Without names, the stubs are checked, too: that they are what
ci/stubs.py would write, that `mypy --strict` finds nothing in them, that it finds in
ci/typed_programs what their comments say and nothing else, and nothing in the calls of
ci/typed_calls.txt, which PyTorch's stubs allow.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from packages import PACKAGES, ROOT, SATELLITES, Package, package_named

CONFIGURATION = Path(__file__).with_name("mypy.ini")


_STUBS = ROOT / "core" / "stubs" / "rushlight-stubs"
_PROGRAMS = Path(__file__).with_name("typed_programs")
_CALLS = Path(__file__).with_name("typed_calls.txt")
# Folders of the packages in which mypy finds nothing with core's stubs alone (16 s of CPU).
_AGAINST_STUBS = ("vision", "text", "audio", "lightning_lite")


def check_stubs() -> int:
    """Whether stubs are as they would be written, and say what is wrong in them and what programs
    are told by them."""
    stubs = Path(__file__).with_name("stubs.py")
    status = subprocess.run([sys.executable, str(stubs), "--check"], cwd=ROOT).returncode
    programs = sorted(_PROGRAMS.glob("*.py"))
    with tempfile.TemporaryDirectory() as folder:
        link_installed(folder)
        of_stubs = mypy(folder, "--strict", "-p", "rushlight")
        of_programs = mypy(folder, "--strict", "--follow-imports=silent", *map(str, programs))
        refused = of_calls(folder, _CALLS.read_text().splitlines())
    lines = re.findall(r".*: error: .*", of_stubs)
    for program in programs:
        lines += [f"{program.name}: {line}" for line in differences(program, of_programs)]
    lines += [f"{_CALLS.name}: {call}: {text}" for call, text in refused.items()]
    for line in lines:
        print(line)
    return 1 if lines else status


def of_calls(folder: str, calls: list[str]) -> dict[str, str]:
    """What mypy says of each of some calls on a tensor `x` that it finds a mistake in."""
    head = ["import rushlight as T", "x: T.Tensor", "t: T.Tensor", "G: T.Generator"]
    program = Path(folder, "typed_calls.py")
    program.write_text("\n".join([*head, *calls]) + "\n")
    said = mypy(folder, "--follow-imports=silent", program.name)
    found = re.findall(rf"{program.name}:(\d+): error: (.*)", said)
    return {calls[int(number) - 1 - len(head)]: text for number, text in reversed(found)}


def check_against_stubs(packages: list[Package]) -> int:
    """Whether the sources of packages fit core's stubs; print what does not."""
    modules = [f"--package={package.module}" for package in packages]
    if not modules:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        link_installed(folder)
        said = mypy(folder, "--ignore-missing-imports", "--follow-imports=silent", *modules)
    print(said, end="")
    return 1 if said else 0


def link_installed(folder: str) -> None:
    """Put core's stubs and the other packages' sources into a folder, as after an installation."""
    Path(folder, "rushlight").symlink_to(_STUBS)
    for package in SATELLITES:
        Path(folder, package.module).symlink_to(package.source)


def mypy(folder: str, *arguments: str) -> str:
    """What mypy says with a folder's packages; its cache stays there."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--config-file="]
    environment = {**os.environ, "MYPYPATH": folder}
    return subprocess.run(
        [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        cwd=folder, env=environment,
    ).stdout  # fmt: skip


def differences(program: Path, said: str) -> list[str]:
    """Where mypy, which `said` this, finds something else than a program's comments say."""
    told: dict[int, str] = {}
    lines = re.findall(rf"{re.escape(program.name)}:(\d+): (error|note): (.*)", said)
    for number, kind, text in lines:
        if kind == "error" or "Revealed type" in text:
            told[int(number)] = told.get(int(number), "") + _bare(text)
    wanted = {
        number: _bare(line.partition("# ")[2].split(": ", 1)[1])
        for number, line in enumerate(program.read_text().splitlines(), 1)
        if re.search(r"# (error|note): ", line)
    }
    return [
        f"line {number}: mypy says {told.get(number, 'nothing')!r}, expected {wanted.get(number)!r}"
        for number in sorted({*told, *wanted})
        if number not in told or number not in wanted or wanted[number] not in told[number]
    ]


def _bare(text: str) -> str:
    """What mypy says, classes without their modules."""
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z_])", "", text)


def main() -> int:
    chosen = [package_named(name) for name in sys.argv[1:]] or list(PACKAGES)
    statuses = [] if sys.argv[1:] else [check_stubs()]
    for package in chosen:
        print(f"--- {package.distribution}", flush=True)
        command = [sys.executable, "-m", "mypy", "--config-file", str(CONFIGURATION)]
        statuses.append(subprocess.run([*command, str(package.source)], cwd=ROOT).returncode)
    print("--- with core's stubs alone", flush=True)
    statuses.append(check_against_stubs([each for each in chosen if each.folder in _AGAINST_STUBS]))
    return 1 if any(statuses) else 0


if __name__ == "__main__":
    raise SystemExit(main())
