"""The import finder that answers for PyTorch's packages with Rushlight's."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import os
import sys
from pathlib import Path

from rushlight.compat import spelling, version
from rushlight.compat.missing import MissingModule, describe
from rushlight.compat.modules import Alias
from rushlight.compat.paths import PACKAGES, gives_way, is_available, module_behind

VARIABLE = "RUSHLIGHT_COMPAT"
STARTUP = str(Path(__file__).with_name("startup"))


class _Loader:
    """Makes the alias of one module."""

    def __init__(self, home: str):
        self.home = home

    def create_module(self, spec):
        """The alias, over the module that is imported now."""
        return Alias(spec.name, importlib.import_module(self.home))

    def exec_module(self, module):
        """Nothing remains to be run: the names are read when they are asked for."""


class Distribution(importlib.metadata.Distribution):
    """What ``importlib.metadata`` tells of ``torch`` and the others."""

    def __init__(self, name: str):
        self._name = name

    def read_text(self, filename):
        """The metadata file; there are no others."""
        if filename != "METADATA":
            return None
        name = self._name.replace("_", "-")
        return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version.VERSIONS[self._name]}\n"

    def locate_file(self, path):
        """Where a file of the package would be."""
        return Path(STARTUP).parent / path


class Finder(importlib.abc.MetaPathFinder):
    """Answers imports of PyTorch's packages, and questions for their versions."""

    def find_spec(self, fullname, path=None, target=None):
        """The spec of an alias; None for names that are not PyTorch's.

        Raises `MissingModule` where a program imports what is not there. ``importlib.util
        .find_spec``, by which programs ask, gets None.
        """
        top = fullname.partition(".")[0]
        if top not in PACKAGES or gives_way(top):
            return None
        home = module_behind(fullname)
        if home is None:
            if sys._getframe(2).f_code.co_name == "find_spec":
                return None
            raise MissingModule(describe(fullname))
        return importlib.machinery.ModuleSpec(fullname, _Loader(home), is_package=True)

    def find_distributions(self, context=None):
        """The distributions of one name, or of all."""
        asked = None if context is None else context.name
        wanted = None if asked is None else asked.lower().replace("-", "_").replace(".", "_")
        for name in PACKAGES:
            if wanted in (None, name) and is_available(name) and not gives_way(name):
                if not _has_metadata(name):  # which `rushlight torch install` has written
                    yield Distribution(name)


def _has_metadata(name: str) -> bool:
    """Whether the environment itself says the same of a name as `Distribution` would."""
    context = importlib.metadata.DistributionFinder.Context(name=name)
    given = importlib.metadata.MetadataPathFinder.find_distributions(context)
    return any(found.version == version.VERSIONS[name] for found in given)


_finder = Finder()


def _foreign() -> list[str]:
    """Packages that are imported and are not ours."""
    return [
        name
        for name in PACKAGES
        if not gives_way(name)
        and sys.modules.get(name) is not None
        and not isinstance(sys.modules[name], Alias)
    ]


def is_installed() -> bool:
    """Whether ``import torch`` means Rushlight."""
    return _finder in sys.meta_path


def install(*, children: bool = True) -> None:
    """Let ``import torch``, ``torchvision``, ... import Rushlight's packages from now on.

    children: Python processes that this one starts (``multiprocessing`` with spawn or forkserver,
        ``subprocess`` with ``sys.executable``) do the same. They inherit ``RUSHLIGHT_COMPAT=1``
        and a folder in ``PYTHONPATH`` that holds a ``sitecustomize`` module; one of your own is
        still run. ``python -I`` and ``-E`` ignore both variables.

    Raises RuntimeError where the real package is imported already.
    """
    foreign = _foreign()
    if foreign:
        raise RuntimeError(
            f"rushlight.compat.install(): {', '.join(foreign)} is already imported in this process "
            f"(from {getattr(sys.modules[foreign[0]], '__file__', 'an unknown place')}); "
            "call install() before anything imports it"
        )
    if not is_installed():
        sys.meta_path.insert(0, _finder)
        spelling.use_pytorch_names()
    if children:
        os.environ[VARIABLE] = "1"
        paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
        if STARTUP not in paths:
            os.environ["PYTHONPATH"] = os.pathsep.join([STARTUP, *paths])


def uninstall() -> None:
    """Take back `install`: ``import torch`` looks for PyTorch again, here and in new processes.

    Names that a program has imported already stay what they are.
    """
    if is_installed():
        sys.meta_path.remove(_finder)
        spelling.use_own_names()
    for name in [name for name, module in sys.modules.items() if isinstance(module, Alias)]:
        del sys.modules[name]
    os.environ.pop(VARIABLE, None)
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p != STARTUP]
    if paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    else:
        os.environ.pop("PYTHONPATH", None)
