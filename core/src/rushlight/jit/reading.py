"""Reads archives of TorchScript programs: the zip file, its two pickles, its code.

Nothing of a file is run: pickles are read by the machine of restricted loads, code is parsed and
compiled to the intermediate form, in which only ops and the archive's own classes can be reached.
Memory is charged to one budget, as in :mod:`rushlight.serialization`.
"""

from __future__ import annotations

import os
import pickle

from rushlight.jit import modules, objects
from rushlight.jit.kinds import ClassType
from rushlight.jit.library import Library
from rushlight.jit.source import CompileError
from rushlight.serialization.archive import Archive, Damaged
from rushlight.serialization.budget import spending
from rushlight.serialization.load import _How, _read_archive, _Restore, _size
from rushlight.serialization.load import _Loading as _LoadingOfData
from rushlight.serialization.makers import MAKERS
from rushlight.serialization.restricted import Machine, shown

_CODE = 256 << 10  # bytes of source that a file may have beside 40 for each one it takes packed
_RATIO = 40
_NUMBER, _NEWEST = 8, 10
_ARRAYS = {"build_intlist", "build_tensorlist", "build_doublelist", "build_boollist"}


class Shell:
    """An object of a class of the archive before its class is known."""

    name: str

    def __new__(cls, *args):
        """Made like any object, or called with values."""
        made = object.__new__(cls)
        made.args, made.state = args, None
        return made

    def __setstate__(self, state):
        self.state = state


class _Unpickler(Machine):
    """The machine of restricted loads; enums are called with a value that is no tuple."""

    def call(self, function, args):
        """Call what the allow-list gave."""
        plain = isinstance(function, type) and issubclass(function, Shell)
        return super().call(function, (args,) if plain and type(args) is not tuple else args)


class _Loading(_LoadingOfData):
    """One call of `jit.load`."""

    def __init__(self, *args):
        super().__init__(*args)
        self.shells: dict = {}

    def find(self, module, name):
        """A class of the archive, a function that marks types, or an allowed name."""
        if module == "__torch__" or module.startswith("__torch__."):
            full = f"{module}.{name}"
            if full not in self.shells:
                self.budget.charge(2000)
                self.shells[full] = type("Shell", (Shell,), {"name": full})
            return self.shells[full]
        if module == "torch.jit._pickle":
            if name == "restore_type_tag" or name in _ARRAYS:
                return _typed
        return super().find(module, name)

    def unpickle(self, file, size, persistent):
        """One pickle of data alone."""
        builds = _is_shell
        return _Unpickler(file, size, self.find, MAKERS, persistent, self.budget, builds).load()


def _typed(value, text=""):
    """A container with the text of its type, which its class says too."""
    return value


def _is_shell(value):
    return isinstance(value, Shell)


class Reader:
    """An open archive."""

    def __init__(self, file, loading):
        self.loading = loading
        self.archive = Archive(file, loading.budget, program=True)
        if loading.how.verify:
            self.archive.check_all()
        constants = _read_archive(self.archive, loading, "constants")
        if not isinstance(constants, tuple | list):
            raise Damaged(f"its constants are a {type(constants).__name__}, not a tuple")
        self.library = Library(self.text, (), self.version())
        self.made: dict = {}
        self.library.constants = tuple(self.value(c) for c in constants)

    def version(self):
        """The version of the operators."""
        there = self.archive.folder + "version" in self.archive.entries
        name = "version" if there else ".data/version"  # since version 10
        text = bytes(self.archive.unpacked(name, _NUMBER)).strip()
        if not text.isdigit():
            raise Damaged(f"its version is {shown(text)}")
        if int(text) > _NEWEST:
            raise Damaged(f"it is of version {int(text)}, the newest known is {_NEWEST}")
        return int(text)

    def text(self, path):
        """The source of a file under ``code/``; None if there is none."""
        name = "code/" + path
        entry = self.archive.entries.get(self.archive.folder + name)
        if entry is None:
            return None
        most = _CODE + _RATIO * entry.packed
        self.loading.budget.charge(min(entry.packed, most))
        data = self.archive.unpacked(name, most)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Damaged(f"{name[:80]} is no text: {error}") from None

    def extra(self, name):
        """The bytes of an extra file; None if there is none."""
        full = self.archive.folder + "extra/" + name
        if full not in self.archive.entries:
            return None
        return self.archive.unpacked("extra/" + name, self.archive.size * 1000)

    def module(self):
        """The program's module."""
        found = self.value(_read_archive(self.archive, self.loading))
        if not isinstance(found, modules.ScriptModule):
            raise Damaged(f"it holds a {type(found).__name__}, not a module")
        return found

    # -------------------------------------------------------------------------------- values
    def value(self, value):
        """A value of a pickle with objects in place of shells."""
        if isinstance(value, Shell):
            return self.object(value)
        if type(value) not in (list, dict, tuple):
            return value
        known = self.made.get(id(value))
        if known is not None:
            return known[1]
        if type(value) is tuple:
            return tuple(self.value(v) for v in value)
        self.made[id(value)] = (value, value)
        if type(value) is list:
            value[:] = [self.value(v) for v in value]
        else:
            for key, item in list(value.items()):
                value[key] = self.value(item)
        return value

    def object(self, shell):
        """The object that a shell stands for, made once."""
        known = self.made.get(id(shell))
        if known is not None:
            return known[1]
        kind = self.library.type(shell.name)
        if kind.kind in ("enum", "tuple"):
            if kind.python is None:
                raise Damaged(f"an object of the interface {kind} is made")
            found = kind.python(*(self.value(a) for a in shell.args))
            self.made[id(shell)] = (shell, found)
            return found
        return self.instance(shell, kind)

    def instance(self, shell, kind: ClassType):
        """A module or an object with attributes."""
        made = kind.python.__new__(kind.python)
        if kind.kind == "module":
            modules.Module.__init__(made)
            made.__dict__.pop("training", None)
        self.made[id(shell)] = (shell, made)
        state = shell.state
        if self.library.has_method(kind, "__setstate__"):
            self.library.method(kind, "__setstate__").code(made, self.value(state))
            return made
        if not isinstance(state, dict):
            raise Damaged(f"the state of a {kind} is {shown(state)}")
        if kind.kind == "module":
            return modules.fill(made, state, self.value)
        for name, value in state.items():
            if name not in kind.attributes:
                raise Damaged(f"a {kind} has the attribute {shown(name)}, which its class has not")
            objects.ScriptObject.__setattr__(made, name, self.value(value))
        return made


# ------------------------------------------------------------------------------------------- load
def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """Read a program that PyTorch or :func:`save` has written: a module that runs compiled code.

    `f`: a path or a binary file. `map_location`: a device or its name for all tensors, or what
    :func:`rushlight.load` takes. `_extra_files`: a dict whose values are replaced by the bytes of
    the archive's extra files of those names. Nothing in the file can run code of Python; an op
    that is not here is a NotImplementedError with its name, file and line.

    >>> model = rushlight.jit.load("model.pt")  # doctest: +SKIP
    """
    if isinstance(f, str | os.PathLike):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {os.fspath(f)} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {os.fspath(f)} is a directory")
        with open(f, "rb") as file:
            return _load(file, f"'{os.fspath(f)}'", map_location, _extra_files)
    if not hasattr(f, "read") or not hasattr(f, "seek"):
        raise TypeError(
            "jit.load: expected 'f' to be a path or a binary file with 'read' and 'seek', got "
            f"{type(f).__name__}"
        )
    return _load(f, "the archive", map_location, _extra_files)


def _load(file, label, map_location, extra):
    how = _How(True, False, False, {})
    loading = _Loading(label, _size(file), _Restore(map_location), how)
    try:
        with spending(loading.budget):
            reader = Reader(file, loading)
            found = reader.module()
            _compile_all(reader, found)
            for name in extra or {}:
                data = reader.extra(name)
                if data is not None:
                    extra[name] = data
    except (CompileError, NotImplementedError) as error:
        kind = NotImplementedError if isinstance(error, NotImplementedError) else RuntimeError
        raise kind(f"{label} cannot run here: {error}") from None
    except (Damaged, pickle.UnpicklingError) as error:
        raise RuntimeError(f"{label} is no TorchScript archive, or damaged: {error}") from error
    except Exception as error:
        if error is loading.restore.fault or isinstance(error, OSError):
            raise
        text = str(error) or type(error).__name__
        fault = "is refused" if isinstance(error, MemoryError) else "is damaged"
        raise RuntimeError(f"{label} {fault}: {text[:500]}") from error
    return found


def _compile_all(reader, module):
    """Compile the methods of all modules, so that what cannot run is known now."""
    done: set = set()
    for part in module.modules():
        kind = getattr(type(part), "_script_type", None)
        if kind is None or kind.text in done:
            continue
        done.add(kind.text)
        for name in reader.library.methods_of(kind.scope[1]):
            reader.library.method(kind, name)
