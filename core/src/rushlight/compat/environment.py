"""`rushlight torch install`: an environment in which ``torch`` is Rushlight, for pip and Python.

What is written are ordinary packages of pip's format (one module and its metadata each), so that
``pip list`` shows them, requirements such as ``torch>=2.0`` are satisfied, and ``pip uninstall``
takes them away as `remove` does.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import importlib.machinery
import importlib.metadata
import shutil
import sys
import sysconfig
from pathlib import Path

from rushlight.compat import finder, version
from rushlight.compat.paths import DISTRIBUTIONS, is_available

# Lightning's names are not among them: the real package runs on Rushlight.
NAMES = ("torch", "torchvision", "torchaudio", "torchtext")
INSTALLER = "rushlight"

_MODULE = '''\
"""Rushlight under the name {name}: made by `rushlight torch install`."""

try:
    from rushlight.compat import environment
except ModuleNotFoundError as error:
    raise ImportError(
        "{name} stands for Rushlight in this environment, and Rushlight is not installed in it: "
        "install it, or take the name away with `pip uninstall {name}`"
    ) from error

environment.answer(__name__)
'''

_METADATA = """\
Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: Rushlight under the name {name}
"""

_WHEEL = """\
Wheel-Version: 1.0
Generator: rushlight
Root-Is-Purelib: true
Tag: py3-none-any
"""


class NameTaken(RuntimeError):
    """A name that belongs to something else, or an environment that belongs to the system."""


def answer(name: str) -> None:
    """Let the module that is being imported under `name` be Rushlight's.

    Called by the modules that `install` writes.
    """
    # The statement that is importing returns what stands under the name when this is done.
    del sys.modules[name]
    finder.install(children=False)
    importlib.import_module(name)


def site() -> Path:
    """The folder of this Python's packages."""
    return Path(sysconfig.get_path("purelib"))


def install(folder: Path | None = None) -> list[str]:
    """Give an environment the names ``torch``, ``torchvision``, ``torchaudio``, ``torchtext``.

    folder: its ``site-packages``; by default this Python's. Names whose Rushlight package is not
        installed are left out.

    Returns the names, with their versions. Raises `NameTaken` where one of them is taken
    by anything else, before anything is written.
    """
    folder = site() if folder is None else folder
    if folder == site():
        _refuse_managed()
    given = [name for name in NAMES if is_available(name)]
    for name in given:
        _refuse_taken(name, folder)
    for name in given:
        _take_away(name, folder)
        _write(name, folder)
    importlib.invalidate_caches()
    return [f"{name} {version.VERSIONS[name]}" for name in given]


def remove(folder: Path | None = None) -> list[str]:
    """Take away what `install` gave; returns the names. What others installed stays."""
    folder = site() if folder is None else folder
    taken = [name for name in NAMES if _take_away(name, folder)]
    importlib.invalidate_caches()
    return taken


def _refuse_managed() -> None:
    """Environments that a system's package manager keeps are not ours to write into."""
    mark = Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED"
    if sys.prefix == sys.base_prefix and mark.exists():
        raise NameTaken(
            f"{sys.prefix} is kept by the system's package manager; make an environment with "
            "`python3 -m venv FOLDER` and install Rushlight there"
        )


def _refuse_taken(name: str, folder: Path) -> None:
    """Raise where `name` is already something that is not ours."""
    own = _own_metadata(name, folder)
    places = [p for p in (folder / name, folder / f"{name}.py") if p.exists()]
    if places and own is None:
        raise NameTaken(_taken(name, places[0]))
    for metadata in _all_metadata(name, folder):
        if metadata != own:
            raise NameTaken(_taken(name, metadata))
    if folder == site() and not places:
        spec = importlib.machinery.PathFinder.find_spec(name)
        if spec is not None and spec.origin is not None:
            raise NameTaken(_taken(name, spec.origin))


def _taken(name: str, place) -> str:
    return (
        f"{name} is already installed ({place}), and is not replaced. Uninstall it first "
        f"(`pip uninstall {name}`), use another environment, or use `rushlight run`"
    )


def _all_metadata(name: str, folder: Path) -> list[Path]:
    return [*folder.glob(f"{name}-*.dist-info"), *folder.glob(f"{name}-*.egg-info")]


def _own_metadata(name: str, folder: Path) -> Path | None:
    """The metadata folder of a name that `install` gave."""
    for metadata in _all_metadata(name, folder):
        mark = metadata / "INSTALLER"
        if mark.is_file() and mark.read_text().strip() == INSTALLER:
            return metadata
    return None


def _write(name: str, folder: Path) -> None:
    """The module and its metadata, with the record that uninstalling reads."""
    number = version.VERSIONS[name]
    home = f"{name}-{number}.dist-info"
    texts = {
        f"{name}/__init__.py": _MODULE.format(name=name),
        f"{home}/METADATA": _METADATA.format(name=name, version=number) + _requirement(name),
        f"{home}/WHEEL": _WHEEL,
        f"{home}/INSTALLER": INSTALLER + "\n",
        f"{home}/top_level.txt": name + "\n",
    }
    record = [f"{path},sha256={_digest(text)},{len(text)}" for path, text in texts.items()]
    texts[f"{home}/RECORD"] = "\n".join([*record, f"{home}/RECORD,,", ""])
    for path, text in texts.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def _requirement(name: str) -> str:
    """The line that names Rushlight's package, where pip knows of it: pip must not look for one
    that is only in the search path."""
    try:
        importlib.metadata.distribution(DISTRIBUTIONS[name])
    except importlib.metadata.PackageNotFoundError:
        return ""
    return f"Requires-Dist: {DISTRIBUTIONS[name]}\n"


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


def _take_away(name: str, folder: Path) -> bool:
    """Remove the files of a name that `install` gave; whether there were any."""
    metadata = _own_metadata(name, folder)
    if metadata is None:
        return False
    module = folder / name
    (module / "__init__.py").unlink(missing_ok=True)
    shutil.rmtree(module / "__pycache__", ignore_errors=True)
    if module.is_dir() and not any(module.iterdir()):
        module.rmdir()
    shutil.rmtree(metadata)
    return True
