"""Files of a folder, found by their endings."""

from __future__ import annotations

import importlib
import mimetypes
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from os import PathLike

IMAGE_EXTENSIONS = {
    ending for ending, kind in mimetypes.types_map.items() if kind.startswith("image/")
}


def get_files(
    path: str | PathLike[str],
    extensions: Iterable[str] | None = None,
    recurse: bool = True,
    folders: Iterable[str] | None = None,
    followlinks: bool = True,
) -> list[Path]:
    """The files below `path` in sorted order, without hidden ones.

    `extensions`: their endings, such as `[".png"]` (all by default); `recurse`: whether to go into
    folders; `folders`: which of those in `path` itself. FileNotFoundError without a folder there.

    Args:
        followlinks: whether to go into folders that are links.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "a.txt").touch()
    ...     Path(folder, "b.png").touch()
    ...     print([file.name for file in get_files(folder, [".txt"])])
    ['a.txt']
    """
    path = Path(path)
    if not path.is_dir():
        raise FileNotFoundError(f"get_files: path={str(path)!r} is no folder")
    endings = None if extensions is None else {each.lower() for each in extensions}
    wanted = None if folders is None else set(folders)
    found = []
    for place, inside, names in os.walk(path, followlinks=followlinks):
        if not recurse:
            inside[:] = []
        elif wanted is not None and Path(place) == path:
            inside[:] = [each for each in inside if each in wanted]
            names = [] if "." not in wanted else names
        inside[:] = [each for each in inside if not each.startswith(".")]
        files = (Path(place, name) for name in names if not name.startswith("."))
        found += [file for file in files if endings is None or file.suffix.lower() in endings]
    return sorted(found)


def get_image_files(
    path: str | PathLike[str], recurse: bool = True, folders: Iterable[str] | None = None
) -> list[Path]:
    """The pictures below `path`; see `get_files`.

    Args:
        recurse: whether to go into folders.
        folders: which folders of `path` are looked into, all by default.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "a.txt").touch()
    ...     Path(folder, "b.png").touch()
    ...     print([file.name for file in get_image_files(folder)])
    ['b.png']
    """
    return get_files(path, IMAGE_EXTENSIONS, recurse, folders)


def get_text_files(
    path: str | PathLike[str], recurse: bool = True, folders: Iterable[str] | None = None
) -> list[Path]:
    """The `.txt` files below `path`; see `get_files`.

    Args:
        recurse: whether to go into folders.
        folders: which folders of `path` are looked into, all by default.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "a.txt").touch()
    ...     print([file.name for file in get_text_files(folder)])
    ['a.txt']
    """
    return get_files(path, [".txt"], recurse, folders)


def FileGetter(
    suf: str = "",
    extensions: Iterable[str] | None = None,
    recurse: bool = True,
    folders: Iterable[str] | None = None,
) -> Callable[[Any], list[Path]]:
    """A function that finds the files of the folder `suf` in the path it is given.

    Args:
        extensions: endings of the files, all by default.
        recurse: whether to go into folders.
        folders: which folders of `path` are looked into, all by default.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "train").mkdir()
    ...     Path(folder, "train", "a.txt").touch()
    ...     print([file.name for file in FileGetter("train", [".txt"])(folder)])
    ['a.txt']
    """
    return lambda path: get_files(Path(path, suf), extensions, recurse, folders)


def read_csv(what: str, path: Any, name: str, options: dict[str, Any]) -> Any:
    """The table `path/name` by pandas, whose `options` that are None are left out.
    ModuleNotFoundError without it: `what` needs it."""
    try:
        pandas = importlib.import_module("pandas")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{what} needs pandas: pip install pandas") from error
    given = {key: each for key, each in options.items() if each is not None or key == "header"}
    return pandas.read_csv(Path(path) / name, **given)
