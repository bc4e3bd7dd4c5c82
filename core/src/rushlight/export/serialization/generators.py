"""Generators in archives: the pickles that PyTorch writes of them, read without running anything.

Such a pickle makes a generator of a device and gives it a seed, an offset (of GPUs' generators) and
a state: a tensor of bytes, over a storage that stands in the pickle as a file of its own.
"""

from __future__ import annotations

import collections
import io
import pickle
from typing import NamedTuple

from rushlight import devices, dtypes
from rushlight.export.graph_signature import GENERATOR, CustomObjArgument
from rushlight.export.serialization.values import FormatError
from rushlight.ops.random.generators import Generator
from rushlight.serialization import load, makers, save
from rushlight.serialization.budget import Budget
from rushlight.serialization.names import Global
from rushlight.serialization.restricted import Machine
from rushlight.tensor.tensor import Tensor

PREFIX = "opaque_obj_"  # what the names of such files begin with
_LONGEST = 1 << 16  # bytes of a pickle: a state has 5056


def described(argument: CustomObjArgument) -> dict:
    """A generator as an argument."""
    return {"name": argument.name, "class_fqn": argument.class_fqn}


def read_description(found, identifier) -> CustomObjArgument:
    """The same from an archive; FormatError for objects of other classes."""
    if found["class_fqn"] != GENERATOR:
        raise FormatError(
            f"'{found['name']}' is an object of class {found['class_fqn']!r}: of objects that are "
            f"no tensors, generators alone ({GENERATOR}) can be read"
        )
    return CustomObjArgument(identifier(found["name"], "custom_obj"), GENERATOR)


# ----------------------------------------------------------------------------------------- writing
class _Pickler(pickle._Pickler):
    """Writes a generator under the names that PyTorch's classes and functions have."""

    dispatch = dict(pickle._Pickler.dispatch)

    def save_name(self, obj):
        """A name alone, without importing it."""
        self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())

    dispatch[Global] = save_name  # type: ignore[assignment]

    def reducer_override(self, obj):
        """How generators, their devices and states are made."""
        if isinstance(obj, Generator):
            cuda = obj.device.type == "cuda"
            state = obj.initial_seed(), obj.get_offset() if cuda else None, _State(obj.get_state())
            return Global("torch._C", "Generator"), (obj.device,), state
        if isinstance(obj, devices.device):
            return Global("torch", "device"), (str(obj),)
        if isinstance(obj, _State):
            storage = _Storage(obj.tensor)
            rest = (storage, 0, (len(obj.tensor),), (1,), False, collections.OrderedDict())
            return Global("torch._utils", "_rebuild_tensor_v2"), rest
        if isinstance(obj, _Storage):
            file = io.BytesIO()
            held = obj.tensor.storage()
            save(held, file, _use_new_zipfile_serialization=False)
            return Global("torch.storage", "_load_from_bytes"), (file.getvalue(),)
        return NotImplemented


class _State(NamedTuple):
    """A state on its way into a pickle."""

    tensor: Tensor


class _Storage(NamedTuple):
    """The storage of a state."""

    tensor: Tensor


def pickled(generator: Generator, protocol: int) -> bytes:
    """The pickle of a generator, which PyTorch reads."""
    file = io.BytesIO()
    _Pickler(file, protocol).dump(generator)
    return file.getvalue()


# ----------------------------------------------------------------------------------------- reading
class _Read:
    """A generator that is being read: its device, then what it is set to."""

    def __init__(self, device):
        self.generator = Generator(device)

    def __setstate__(self, state):
        seed, _, bytes_of_state = state  # the state has the offset as well
        self.generator.manual_seed(seed).set_state(bytes_of_state)


def _storage(content):
    found = load(io.BytesIO(content), weights_only=True)
    if getattr(found, "dtype", None) is not dtypes.uint8:
        raise FormatError("the state of a generator is no storage of bytes")
    return found


def _tensor(storage, offset, size, stride, *rest):
    if (offset, tuple(size), tuple(stride)) != (0, (len(storage),), (1,)):
        raise FormatError("the state of a generator is no whole storage")
    return storage._row


# What a pickle may name, and what is called for it.
_CALLED = {
    ("torch._C", "Generator"): _Read,
    ("torch", "device"): devices.device,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch.storage", "_load_from_bytes"): _storage,
    ("_codecs", "encode"): makers.encode,
    ("collections", "OrderedDict"): collections.OrderedDict,
}


def _find(module, name):
    if (module, name) not in _CALLED:
        raise FormatError(f"it names {module}.{name}, which is no part of a generator")
    return _CALLED[module, name]


def _no_storage(pid):
    raise FormatError("it names a storage outside of it")


def unpickled(content: bytes, name: str) -> Generator:
    """The generator of a pickle; FormatError, naming the constant, for anything else."""
    try:
        if len(content) > _LONGEST:
            raise FormatError(f"it has {len(content)} bytes, more than {_LONGEST}")
        file, budget = io.BytesIO(content), Budget(64 * _LONGEST)
        found = Machine(file, len(content), _find, {}, _no_storage, budget, _is_read).load()
        if not isinstance(found, _Read):
            raise FormatError(f"it is a {type(found).__name__}")
        return found.generator
    except MemoryError:
        raise
    except Exception as error:
        raise FormatError(
            f"the constant '{name}' is no generator that can be read: {str(error)[:300]}"
        ) from error


def _is_read(value):
    return isinstance(value, _Read)
