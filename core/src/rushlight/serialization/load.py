"""`load`: checkpoints of ours and of PyTorch, without running code from the file."""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import warnings
from typing import NamedTuple

from rushlight import devices
from rushlight.dtypes import dtype as dtype_class
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE
from rushlight.serialization import locations, names, safe_globals
from rushlight.serialization.archive import Archive, Damaged
from rushlight.serialization.budget import ASIDE, SPARE, Budget, spending
from rushlight.serialization.legacy import LegacyFile
from rushlight.serialization.makers import MAKERS
from rushlight.serialization.rebuild import LoadedStorage
from rushlight.serialization.restricted import Machine, shown
from rushlight.serialization.room import room
from rushlight.tensor.storage import Storage
from rushlight.tensor.storage import _root as root_of

_STORAGE = 400  # bytes of the objects that stand for a storage
_HOLDER = 100  # bytes of the record of a container that was looked into
_TRUE = ("1", "y", "yes", "true")


def _refused(label, module, name):
    """The error for a name that is not on the allow-list."""
    module, name = shown(module)[1:-1], shown(name)[1:-1]
    if module == "torch" and name in names.FOREIGN_DTYPES:
        return pickle.UnpicklingError(
            f"{label} holds tensors of dtype torch.{name}, which Rushlight does not have; convert "
            "them in PyTorch and save again"
        )
    return pickle.UnpicklingError(
        f"Weights only load failed: {label} uses the global {module}.{name}, "
        "which is not allowed by default. If you trust the file, allow the name with "
        f"rushlight.serialization.add_safe_globals([{name}]) or the safe_globals context "
        "manager, or load with weights_only=False, which can run any code in the file."
    )


class _How(NamedTuple):
    """How a file is loaded: only data, mapped, with all checksums, with options of the pickle, and
    with how many bytes beside the file's."""

    restricted: bool
    mapped: bool
    verify: bool
    options: dict
    spare: int = SPARE


class _TrustingUnpickler(pickle.Unpickler):
    """Runs whatever the file says; PyTorch's names stand for ours."""

    def __init__(self, file, persistent, options):
        super().__init__(file, **options)
        self.persistent = persistent

    def find_class(self, module, name):
        """The object behind a name: the fixed ones, ours for PyTorch's, else what Python has."""
        found = safe_globals.find(module, name)
        found = names.ours(module, name) if found is None else found
        return super().find_class(module, name) if found is None else found

    def persistent_load(self, pid):
        """What stands outside of the pickle."""
        return self.persistent(pid)


class _Loading:
    """One call of `load`: where storages go, what may be used, what was found."""

    def __init__(self, label, size, restore, how):
        self.label, self.size, self.restore, self.how = label, size, restore, how
        self.budget = Budget(size + how.spare) if how.restricted else Budget()
        self.storages: list = []

    def find(self, module, name):
        """An allowed name."""
        found = safe_globals.find(module, name)
        if found is None:
            raise _refused(self.label, module, name)
        return found

    def unpickle(self, file, size, persistent):
        """One pickle, as trusted as the call says."""
        if self.how.restricted:
            return self.unpickle_plain(file, size, persistent)
        return _TrustingUnpickler(file, persistent, self.how.options).load()

    def unpickle_plain(self, file, size, persistent):
        """One pickle of data alone."""
        builds = safe_globals.may_build
        return Machine(file, size, self.find, MAKERS, persistent, self.budget, builds).load()

    def spend(self, size):
        """Take memory for the elements of a storage; all of them together fit into the file."""
        if self.budget.left < size:
            raise Damaged("its storages are larger than the file together")
        self.budget.charge(size)

    def storage(self, dtype, count, location, read):
        """A loaded storage; ``read(array_dtype, count)`` brings its elements."""
        if dtype is not names.UNTYPED and not isinstance(dtype, dtype_class):
            raise Damaged(f"a storage has the type {shown(dtype)}")
        if type(count) is not int or not 0 <= count < 1 << 60 or not isinstance(location, str):
            raise Damaged(f"a storage has {shown(count)} elements at {shown(location)}")
        self.budget.charge(_STORAGE)
        device = self.restore.device(location)
        if device.type == "meta":
            found = LoadedStorage(None, dtype, count, device)
        else:
            array = read(BY_CODE[dtype.code], count)
            found = LoadedStorage(array, dtype, count, device)
            self.restore.replace(found, location)
        self.storages.append(found)
        return found

    def seen_as(self, storage, dtype):
        """A loaded storage for tensors of `dtype`, which its first one need not have had."""
        if storage.dtype is dtype:
            storage.named += 1
            return storage
        if dtype is not names.UNTYPED and not isinstance(dtype, dtype_class):
            raise Damaged(f"a storage has the type {shown(dtype)}")
        self.budget.charge(_STORAGE)
        storage.alone = False
        other = copy.copy(storage)
        other.dtype, other.named, other.used = dtype, 1, 0
        other.count = storage.count * storage.dtype.itemsize // dtype.itemsize
        self.storages.append(other)
        return other

    def finished(self, value):
        """The result, storages outside of tensors as users know them."""
        if all(storage.named <= storage.used for storage in self.storages):
            return value
        return _Public(self.budget).of(value)


class _Public:
    """Replaces storages inside of plain containers by what users know, each container once."""

    def __init__(self, budget):
        self.budget = budget
        self.found: dict = {}  # id -> (a container or storage, what it has become)

    def of(self, value):
        """A value without loaded storages."""
        top = [value]
        waiting = [top]
        while waiting:
            holder = waiting.pop()
            self.budget.charge(8 * len(holder))
            for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
                item = holder[key]
                if type(item) is LoadedStorage or type(item) is tuple:
                    holder[key] = self._replaced(item)
                elif isinstance(item, list | dict) and id(item) not in self.found:
                    self._keep(item, item)
                    waiting.append(item)
        return top[0]

    def _replaced(self, item):
        """A storage, or a tuple with storages in it, as users know it."""
        known = self.found.get(id(item))
        if known is not None:
            return known[1]
        if type(item) is LoadedStorage:
            return self._keep(item, item.public())
        if not any(type(x) is LoadedStorage for x in item):
            return self._keep(item, item)
        self.budget.charge(56 + 8 * len(item))
        parts = (self._replaced(x) if type(x) is LoadedStorage else x for x in item)
        return self._keep(item, tuple(parts))

    def _keep(self, item, found):
        self.budget.charge(_HOLDER)
        self.found[id(item)] = (item, found)
        return found


# ----------------------------------------------------------------------------------- positions
class _Restore:
    """What `map_location` says of storages: their device, or a function that replaces them."""

    def __init__(self, location):
        self.function = self.table = None
        self.fixed = self.fault = None
        if isinstance(location, bytes):
            location = location.decode()
        if isinstance(location, str | devices.device):
            self.fixed = _there(location)
        elif isinstance(location, dict):
            self.table = location
        elif callable(location):
            self.function = location
        elif location is None:
            self.function = locations.restored if locations.registered() else None
        else:
            raise TypeError(
                "load: expected 'map_location' to be a device, a string, a dict, a function or "
                f"None, got {type(location).__name__}"
            )

    def device(self, location):
        """The device of a storage that was saved at `location`. One that is not here is read onto
        the CPU, unless it is asked for."""
        if self.fixed is not None:
            return self.fixed
        if self.table is not None and location in self.table:
            return _there(self.table[location])
        if location.startswith("cuda") and self.function is None:
            with contextlib.suppress(RuntimeError):  # it is not here
                return devices.as_device(location)
        return devices.cpu

    def replace(self, storage, location):
        """Let the user's function have its say."""
        if self.function is None:
            return
        try:
            found = self.function(storage.shared, location)
        except Exception as error:
            self.fault = error
            raise
        if found is None or found is storage.shared:
            return
        if not isinstance(found, Storage):
            raise TypeError(
                "load: expected the function 'map_location' to return a storage or None, got "
                f"{type(found).__name__}"
            )
        whole = root_of(found.array).reshape(-1).view("u1")
        if whole.nbytes < storage.array.nbytes:
            raise ValueError(
                f"load: 'map_location' gave a storage of {whole.nbytes} bytes for one of "
                f"{storage.array.nbytes}"
            )
        storage.array = whole[: storage.array.nbytes].view(storage.array.dtype)
        storage.shared = found


def _there(location):
    try:
        device = devices.as_device(location)
    except RuntimeError as error:
        raise RuntimeError(f"load: map_location={location!r}: {error}") from None
    return device


# -------------------------------------------------------------------------------------------- load
def load(
    f,
    map_location=None,
    pickle_module=None,
    *,
    weights_only=None,
    mmap=None,
    verify=False,
    spare=None,
    **pickle_load_args,
):
    """Read a checkpoint from a path or binary file: ours or one of ``torch.save``, old or new.

    By default only tensors, containers, numbers, strings and allowed names are read, and nothing
    in the file can run code; ``weights_only=False`` lifts that for files you trust, and so does
    ``TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1`` in the environment where a call does not say; while
    ``TORCH_FORCE_WEIGHTS_ONLY_LOAD=1`` overrules every call. A restricted load of a damaged or
    hostile file ends with an error that names the file; whatever a file holds, such a load takes no
    more memory than the file's size and 64 MB, and time in proportion to the size. A file of very
    many small objects needs more: `spare` says how many bytes there may be instead of those 64 MB.

    `map_location`: a device or its name (``"meta"`` reads no data), a dict of names, a function
    ``(storage, location) -> storage or None``, or None: the CPU. ``mmap=True`` (paths only) reads
    tensors when they are used. Checksums are compared for everything that is read; `verify` also
    compares those of what a load with `mmap` or on the meta device leaves in the file, which reads
    it once, in little memory. Files from before PyTorch 1.6 have none: RuntimeError.

    >>> rushlight.load(path, mmap=True, verify=True)  # doctest: +SKIP
    """
    weights_only = _how_trusting(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    is_path = isinstance(f, str | os.PathLike)
    if mmap and not is_path:
        raise ValueError("f must be a file path in order to use the mmap argument")
    restore = _Restore(map_location)
    beside = SPARE if spare is None else max(int(spare) - ASIDE, 0)
    if is_path:
        with open(f, "rb") as file:
            label = f"'{os.fspath(f)}'"
            how = _How(weights_only, bool(mmap), bool(verify), pickle_load_args, beside)
            return _load(file, label, restore, how)
    if not hasattr(f, "read") or not hasattr(f, "seek"):
        raise AttributeError(
            "load: expected 'f' to be a path or a binary file with 'read' and 'seek', got "
            f"{type(f).__name__}"
        )
    how = _How(weights_only, False, bool(verify), pickle_load_args, beside)
    return _load(f, "the checkpoint", restore, how)


def _how_trusting(weights_only, pickle_module):
    """Whether the load is restricted, by the call and the environment."""
    force = os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    lift = os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    if force and lift:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` "
            "should be set, but both were set."
        )
    if force:
        return True
    if weights_only is None:
        return not lift and pickle_module is None
    return bool(weights_only)


def _load(file, label, restore, how):
    loading = _Loading(label, _size(file), restore, how)
    restricted = how.restricted
    try:
        with spending(loading.budget):
            return loading.finished(_read(file, loading))
    except pickle.UnpicklingError as error:
        if label in str(error):
            raise
        raise pickle.UnpicklingError(f"{label} is no checkpoint, or damaged: {error}") from error
    except Damaged as error:
        raise RuntimeError(f"{label} is not a checkpoint, or damaged: {error}") from error
    except NotImplementedError as error:
        raise NotImplementedError(f"{label}: {error}") from error
    except Exception as error:
        text = str(error) or type(error).__name__
        theirs = error is restore.fault or text.startswith("load: ")
        if not restricted or theirs or isinstance(error, OSError) or label in text:
            raise
        if isinstance(error, IndexError | KeyError):
            text = "its pickle uses a value that is not there"
        fault = "is refused" if isinstance(error, MemoryError) else "is damaged"
        raise RuntimeError(f"{label} {fault}: {text[:500]}") from error


def _size(file):
    here = file.tell()
    size = file.seek(0, os.SEEK_END)
    file.seek(here)
    return file.tell() - here if size is None else size


def _read(file, loading):
    here = file.tell()
    head = file.read(4)
    file.seek(here)
    if head[:2] == b"PK":
        return _read_archive(Archive(file, loading.budget), loading)
    if head[:1] != b"\x80":
        raise Damaged("it begins neither as a zip archive nor as a pickle")
    if loading.how.mapped or loading.how.verify:
        raise RuntimeError(
            f"{loading.label}: {'mmap' if loading.how.mapped else 'verify'} can only be used with "
            "files saved with `torch.save(_use_new_zipfile_serialization=True)`; save it again in "
            "that format"
        )

    def allocate(dtype, count, location):
        def room(array_dtype, count):
            loading.spend(count * array_dtype.itemsize)
            return np.zeros(count, array_dtype)

        return loading.storage(dtype, count, location, room)

    return LegacyFile(file, loading.size, loading.budget).load(
        loading.unpickle, loading.unpickle_plain, allocate, loading.seen_as
    )


def _read_archive(archive, loading, part="data"):
    """The object of ``data.pkl``; of ``constants.pkl`` where that is the part."""
    storages: dict = {}
    if loading.how.verify:
        archive.check_all()

    def persistent(pid):
        known = isinstance(pid, tuple) and len(pid) > 4 and isinstance(pid[0], str)
        if not known or pid[0] != "storage":
            raise pickle.UnpicklingError("an unknown persistent id")
        _, dtype, key, location, count = pid[:5]
        if not isinstance(key, str | int):
            raise pickle.UnpicklingError("a storage has no name")
        key = str(key)
        if key not in storages:

            def read(array_dtype, count):
                return _elements(archive, loading, f"{part}/{key}", array_dtype, count)

            storages[key] = loading.storage(dtype, count, location, read)
        return loading.seen_as(storages[key], dtype)

    name = part + ".pkl"
    archive.check(name)
    return loading.unpickle(archive.stream(name), archive.entry(name).size, persistent)


def _elements(archive, loading, entry, array_dtype, count):
    """The elements of a storage."""
    size, there = count * array_dtype.itemsize, archive.entry(entry).size
    if there < size:
        raise Damaged(f"{entry[:80]} holds {there} bytes, {size} are needed")
    if loading.how.mapped and not archive.swap:
        return np.asarray(archive.map(entry, size)).view(array_dtype)
    loading.spend(size)
    array = room(count, array_dtype)
    archive.fill(entry, memoryview(array.reshape(-1).view(np.uint8)))
    if archive.swap:
        parts = array.view(array.real.dtype) if array.dtype.kind == "c" else array
        parts.byteswap(inplace=True)
    return array


def names_in(f):
    """The ``(module, name)`` pairs that a zip checkpoint's pickle uses, in order, once each."""
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return names_in(file)
    import pickletools

    data = bytes(Archive(f, Budget()).read("data.pkl"))
    found: dict = {}
    texts: list = []
    for instruction, argument, _ in pickletools.genops(data):
        if instruction.name == "GLOBAL":
            found[tuple(argument.split(" ", 1))] = None
        elif instruction.name == "STACK_GLOBAL" and len(texts) > 1:
            found[texts[-2], texts[-1]] = None
        elif "UNICODE" in instruction.name:
            texts.append(argument)
    return list(found)
