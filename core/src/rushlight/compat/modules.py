"""The modules in ``sys.modules`` under PyTorch's names: their attributes are Rushlight's."""

from __future__ import annotations

import importlib
import types

from rushlight.compat import version
from rushlight.compat.missing import MissingName, describe
from rushlight.compat.paths import OWN_MODULES, OWN_VALUES, PACKAGES, module_behind, other_name

_ROOTS = frozenset(name.partition(".")[0] for name in PACKAGES.values())


def _is_ours(value) -> bool:
    return isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] in _ROOTS


# Settings such as `torch.backends.cudnn.enabled` are of these types.
_SETTINGS = (bool, int, float, str, type(None), tuple, list, dict, set)


def _is_kept(value) -> bool:
    return not isinstance(value, (types.ModuleType, *_SETTINGS))


class Alias(types.ModuleType):
    """A module under PyTorch's name.

    Functions, classes and dtypes are taken over from the module behind it, so that they are as
    quick as any module's names and stand in ``vars``, where programs look them up by name. Flags
    and numbers, which may change, are read there each time. What a program sets
    (``torch.nn.functional.relu = mine``) is set there too.
    """

    def __init__(self, name: str, home: types.ModuleType):
        super().__init__(name, home.__doc__)
        own = self.__dict__
        own["__home__"] = home
        own["__getattr__"] = lambda attribute: _read(self, attribute)
        for public, value in vars(home).items():
            hidden = public.startswith("_") or f"{name}.{public}" in OWN_VALUES
            if not hidden and _is_kept(value):
                own[public] = value
        if getattr(home, "__file__", None) is not None:
            own["__file__"] = home.__file__
        if name == "torch":
            own["torch"] = self  # as PyTorch's package, which imports itself
        if "." not in name:
            own["__version__"] = version.__version__ if name == "torch" else version.VERSIONS[name]

    def __setattr__(self, name, value):
        home, full = self.__dict__["__home__"], f"{self.__name__}.{name}"
        if isinstance(value, types.ModuleType) and module_behind(full) is not None:
            # An import: PyTorch has functions that are named like their files.
            behind = getattr(home, name, value)
            if isinstance(behind, types.ModuleType):
                self.__dict__[name] = value
            return
        if _is_dunder(name):
            self.__dict__[name] = value
            return
        setattr(home, name, value)
        if _is_kept(value):
            self.__dict__[name] = value
        else:
            self.__dict__.pop(name, None)

    def __delattr__(self, name):
        found = self.__dict__.pop(name, None) is not None
        home = self.__dict__["__home__"]
        if name in vars(home):
            delattr(home, name)
        elif not found:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __dir__(self):
        own = {name for name in self.__dict__ if name not in ("__home__", "__getattr__")}
        home, start = self.__dict__["__home__"], self.__name__ + "."
        hidden = {full.removeprefix(start) for full in OWN_VALUES if full.startswith(start)}
        for full in OWN_MODULES:  # `tensor` is a function too
            inner = full.removeprefix(start)
            if isinstance(vars(home).get(inner), types.ModuleType):
                hidden.add(inner)
        listed = set(dir(home))
        return sorted((listed - hidden) | own)

    def __repr__(self):
        return f"<module {self.__name__!r} from Rushlight: {self.__dict__['__home__'].__name__!r}>"


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _read(alias: Alias, name: str):
    """An attribute that was not asked for before."""
    home, full = alias.__dict__["__home__"], f"{alias.__name__}.{name}"
    if _is_dunder(name):
        try:
            return getattr(home, name)
        except AttributeError:
            raise AttributeError(f"module {alias.__name__!r} has no attribute {name!r}") from None
    if full in OWN_VALUES:
        raise MissingName(describe(full))
    try:
        found = getattr(home, name)
    except (AttributeError, NotImplementedError):
        pass
    else:
        # PyTorch has functions that are named like their files: the function is meant.
        if not (isinstance(found, types.ModuleType) and (_is_ours(found) or other_name(full))):
            if _is_kept(found):
                alias.__dict__[name] = found
            return found
        if name in getattr(home, "__all__", ()) and module_behind(full) is None:
            return found  # Rushlight's own, as `torch.safetensors`: `import *` takes it along
    if module_behind(full) is None:
        raise MissingName(describe(full))
    return importlib.import_module(full)
