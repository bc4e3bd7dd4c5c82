"""Build every wheel, install each alone in a clean environment, import it and compute something.

Wheels and sdists are built twice, from another folder and with other times of files: their bytes
must be the same. `twine check` reads their metadata.

Usage: python ci/package.py [PACKAGE ...]
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from packages import PACKAGES, ROOT, Package, package_named

SMOKE = Path(__file__).with_name("smoke")
MEGABYTE = 1024 * 1024


def call(*command: str, cwd: Path = ROOT) -> None:
    """Run a command; end the check with its output if it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        shown = f"{done.stdout}\n{done.stderr}".strip()
        raise SystemExit(f"{' '.join(command)}\n{shown}\nexit status {done.returncode}")


def build_wheel(package: Package, target: Path) -> Path:
    """Build a package's wheel by way of its sdist, so that both are known to be complete."""
    call(
        sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(package.path)
    )
    stem = f"{package.distribution.replace('-', '_')}-{package.version}"
    return target / f"{stem}-py3-none-any.whl"


def sums(folder: Path) -> dict[str, str]:
    """Name -> checksum of the files of a folder."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.iterdir())}  # fmt: skip


def check_again(packages: set[Package], folder: Path) -> None:
    """Build from copies of the packages' folders; other bytes than before are an error."""
    (folder / "copies" / ".git").mkdir(parents=True)  # where the ignored files are looked up
    shutil.copy(ROOT / ".gitignore", folder / "copies")
    for package in packages:
        copy = folder / "copies" / package.folder
        shutil.copytree(
            package.path,
            copy,
            ignore=shutil.ignore_patterns("__pycache__", ".*cache", ".hypothesis"),
        )
        for path in copy.rglob("*"):
            os.utime(path, (1e9, 1e9))
        call(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "again"),
             str(copy))  # fmt: skip
        shutil.rmtree(copy)
    before, now = sums(folder / "dist"), sums(folder / "again")
    changed = [name for name in before if before[name] != now.get(name)]
    if changed:
        raise SystemExit(f"built twice, with other bytes: {changed}")


def check_contents(package: Package, wheel: Path) -> None:
    """The wheel holds the package, the type marker, the licence, stubs, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    info = f"{wheel.name.split('-py3')[0]}.dist-info/"
    for expected in (f"{package.module}/_version.py", f"{package.module}/py.typed"):
        if expected not in names:
            raise SystemExit(f"{wheel.name}: {expected} is missing")
    if f"{info}licenses/LICENSE" not in names:
        raise SystemExit(f"{wheel.name}: the licence is missing")
    folders = (f"{package.module}/", f"{package.module}-stubs/", info)
    strange = [name for name in names if not name.startswith(folders)]
    if strange:
        raise SystemExit(f"{wheel.name}: holds files of nobody: {strange}")


def size_of(folder: Path) -> int:
    """Bytes of all files under a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def try_alone(package: Package, wheels: dict[str, Path], folder: Path) -> str:
    """Install one wheel in a clean environment and run its smoke test; return a table line."""
    environment = folder / f"clean-{package.folder}"
    call(sys.executable, "-m", "virtualenv", "--quiet", str(environment))
    python = str(environment / "bin" / "python")
    chosen = [str(wheels[package.folder])]
    if package is not PACKAGES[0]:
        chosen.append(str(wheels["core"]))  # the core of this tree, not one that an index may hold
    call(python, "-m", "pip", "install", "--quiet", *chosen)
    call(python, "-m", "pip", "check")
    site = next((environment / "lib").glob("python*")) / "site-packages"
    tools = sum(size_of(path) for path in site.glob("pip*"))
    megabytes = (size_of(site) - tools) / MEGABYTE
    elsewhere = folder / f"empty-{package.folder}"
    elsewhere.mkdir()
    start = time.monotonic()
    smoke = (SMOKE / f"{package.folder}.py").read_text()
    call(python, "-W", "error", "-c", smoke, package.version, cwd=elsewhere)
    seconds = time.monotonic() - start
    check_examples(package, environment / "bin" / "rushlight", elsewhere)
    shutil.rmtree(environment)
    wheel_kilobytes = wheels[package.folder].stat().st_size / 1024
    return (
        f"{package.distribution:26} wheel {wheel_kilobytes:7.0f} kB   installed with all it needs "
        f"{megabytes:6.1f} MB   smoke test {seconds:.1f} s"
    )


def check_examples(package: Package, command: Path, elsewhere: Path) -> None:
    """The installed command finds the package's examples."""
    done = subprocess.run([str(command), "examples", "list"], cwd=elsewhere, capture_output=True,
                          text=True, check=True)  # fmt: skip
    wanted = {path.stem for path in (package.source / "examples").glob("[a-z]*.py")}
    missing = wanted - {line.split()[0] for line in done.stdout.splitlines()}
    if missing:
        raise SystemExit(f"{package.distribution}: `rushlight examples list` misses {missing}")


def main() -> int:
    os.environ.setdefault("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    chosen = [package_named(name) for name in sys.argv[1:]] or list(PACKAGES)
    needed = {PACKAGES[0], *chosen}
    with tempfile.TemporaryDirectory(prefix="rushlight-package-") as name:
        folder = Path(name)
        wheels = {each.folder: build_wheel(each, folder / "dist") for each in needed}
        check_again(needed, folder)
        call(sys.executable, "-m", "twine", "check", "--strict",
             *map(str, sorted((folder / "dist").iterdir())))  # fmt: skip
        for package in chosen:
            check_contents(package, wheels[package.folder])
        lines = [try_alone(package, wheels, folder) for package in chosen]
    print("\n".join(lines))
    print(f"package: {len(lines)} wheels built twice alike, installed alone and used")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
