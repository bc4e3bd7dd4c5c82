"""Values of PyTorch's carried over to Rushlight and back, and functions found by their names."""

from __future__ import annotations

import contextlib
import types

import torch

import rushlight

LARGEST = 1 << 22  # elements of a storage that is carried over whole
DEVICE = "cpu"  # where ours are; PyTorch's stay on the CPU


# What NumPy does not know, and the dtype in which its bits are carried over.
_BITS = {torch.bfloat16: torch.int16, torch.complex32: torch.int32}


class Mismatch(AssertionError):
    """A result that is not PyTorch's."""


class Unavailable(Exception):
    """A sample that cannot be carried over (a sparse tensor, a dtype not in Rushlight's list)."""


class Refused(Unavailable):
    """A sample that PyTorch itself does not take (a view that needs dense memory)."""


# ---------------------------------------------------------------------- carrying over
def ours(value):
    """A value of PyTorch's as Rushlight's: tensors with their strides, dtypes, devices, lists."""
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, torch.dtype):
        return _named(str(value).split(".")[1])
    if isinstance(value, torch.memory_format):
        return _named(str(value).split(".")[1])
    if isinstance(value, torch.layout):
        return _named(str(value).split(".")[1])
    if isinstance(value, torch.device):
        return rushlight.device(DEVICE if value.type == "cpu" else str(value))
    if isinstance(value, torch.Size):
        return rushlight.Size(value)
    if isinstance(value, torch.nn.Module):
        found = getattr(rushlight.nn, type(value).__name__, None)
        if found is None or value._parameters:
            raise Unavailable(type(value).__name__)
        return found()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[ours(v) for v in value])
    if isinstance(value, (list, tuple)):
        return type(value)(ours(v) for v in value)
    if isinstance(value, dict):
        return {k: ours(v) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(ours(value.start), ours(value.stop), ours(value.step))
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType)):
        return translated(value)
    return DEVICE if type(value) is str and value == "cpu" else value


def _named(name):
    found = getattr(rushlight, name, None)
    if found is None:
        raise Unavailable(f"rushlight has no {name}")
    return found


def _sparse(tensor):
    """A sparse tensor in coordinates or compressed rows."""
    with torch.no_grad():
        values, shape = _tensor(tensor.detach().values()), tuple(tensor.shape)
        if tensor.layout == torch.sparse_csr:
            parts = _tensor(tensor.crow_indices()), _tensor(tensor.col_indices())
            made = rushlight.sparse_csr_tensor(*parts, values, shape)
        else:
            index = _tensor(tensor.detach().indices())
            made = rushlight.sparse_coo_tensor(index, values, shape, is_coalesced=True)
    return made.requires_grad_() if tensor.requires_grad else made


def _tensor(tensor):
    if tensor.layout == torch.sparse_csr or tensor.is_sparse and tensor.is_coalesced():
        return _sparse(tensor)
    if tensor.layout != torch.strided or tensor.is_nested or tensor.is_quantized:
        raise Unavailable(f"a {tensor.layout} tensor")
    if tensor.device.type == "meta":
        made = rushlight.empty_strided(tuple(tensor.shape), tensor.stride(), device="meta")
        return made.to(ours(tensor.dtype))
    if tensor.ndim > 64:
        raise Unavailable("a tensor of more than 64 dimensions")
    plain = tensor.detach().resolve_conj().resolve_neg()
    dtype = ours(tensor.dtype)
    if _shared is not None:
        return _of_shared(plain, tensor, dtype)
    count = plain.untyped_storage().nbytes() // plain.element_size()
    whole = plain.is_contiguous() and count == plain.numel() and count > 0
    if not whole and count <= LARGEST:
        plain = plain.as_strided((count,), (1,), 0)
    if plain.dtype in _BITS:
        made = rushlight.tensor(plain.contiguous().view(_BITS[plain.dtype]).numpy()).view(dtype)
    else:
        made = rushlight.tensor(plain.contiguous().numpy())
    made = made.to(DEVICE)
    if not whole and count <= LARGEST:
        made = made.as_strided(tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
    made = made.detach()
    return made.requires_grad_() if tensor.requires_grad else made


# While error inputs are carried over: the tensors and storages met so far, so that what is one
# tensor there is one here, and what shares memory there shares it here.
_shared: dict | None = None


@contextlib.contextmanager
def sharing():
    """Inside of this, tensors that share memory there share it here."""
    global _shared
    _shared = {}
    try:
        yield
    finally:
        _shared = None


def _of_shared(plain, tensor, dtype):
    if id(tensor) in _shared:
        return _shared[id(tensor)]
    key = plain.untyped_storage().data_ptr(), plain.dtype
    if plain.numel() and not key[0]:
        raise Unavailable("a tensor whose storage was never allocated")  # by a call that failed
    if key not in _shared or not plain.numel():
        count = plain.untyped_storage().nbytes() // plain.element_size()
        flat = plain.as_strided((count,), (1,), 0)
        if plain.dtype in _BITS:
            _shared[key] = rushlight.tensor(flat.view(_BITS[plain.dtype]).numpy()).view(dtype)
        else:
            _shared[key] = rushlight.tensor(flat.numpy())
    offset = tensor.storage_offset()
    made = _shared[key].as_strided(tuple(tensor.shape), tensor.stride(), offset).detach()
    _shared[id(tensor)] = made
    return made.requires_grad_() if tensor.requires_grad else made


def theirs(value):
    """A result of Rushlight's as PyTorch's, detached; of a sparse tensor its elements, all."""
    if isinstance(value, rushlight.Tensor):
        value = value if value.layout == "strided" else value.detach().to_dense()
        array = value.detach().cpu().contiguous()
        unknown = getattr(torch, value.dtype.name)
        if unknown in _BITS:
            bits = array.view(getattr(rushlight, str(_BITS[unknown])[6:]))
            return torch.from_numpy(bits.numpy()).view(unknown)
        return torch.from_numpy(array.numpy().copy())
    if isinstance(value, (list, tuple)):
        return [theirs(v) for v in value]
    if isinstance(value, dict):
        return {k: theirs(v) for k, v in value.items()}
    if isinstance(value, rushlight.dtype):
        return getattr(torch, value.name)
    if isinstance(value, rushlight.Size):
        return torch.Size(value)
    return value


class _Shim(types.ModuleType):
    """`torch` for a function written against it: Rushlight's names."""

    def __getattr__(self, name):
        return getattr(rushlight, name)


_SHIM = _Shim("torch")
_translations: dict = {}
_GLOBALS = {"torch": _SHIM, "F": rushlight.nn.functional}


def translated(function):
    """The same function of Rushlight: by name, or, for a lambda of the table, by its code."""
    if hasattr(function, "func"):  # functools.partial
        inner = translated(function.func)
        return lambda *a, **k: inner(*function.args, *a, **{**function.keywords, **k})
    code = getattr(function, "__code__", None)
    module = getattr(function, "__module__", "") or ""
    wrapped = code is not None and "torch.testing" in module
    if not wrapped:
        return _by_name(function)
    if function in _translations:
        return _translations[function]
    cells = function.__closure__
    if cells:
        cells = tuple(types.CellType(_cell(c.cell_contents)) for c in cells)
    space = {**function.__globals__, **_GLOBALS}
    made = types.FunctionType(code, space, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__ = function.__kwdefaults__
    _translations[function] = made  # before its callees, which may call it
    for name in code.co_names:  # the table's own functions, and PyTorch's that it imports by name
        value = space.get(name)
        if isinstance(value, types.FunctionType) and "torch" in (value.__module__ or ""):
            space[name] = _seeded if name == "wrapper_set_seed" else translated(value)
    return made


def _seeded(function, *args, **kwargs):
    """The table's wrapper of random functions: every call starts from one seed."""
    rushlight.manual_seed(42)
    return function(*args, **kwargs)


def _cell(value):
    return translated(value) if callable(value) and not isinstance(value, type) else ours(value)


_HOMES = {
    "torch._C._nn": "nn.functional", "torch._C._linalg": "linalg", "torch._C._fft": "fft",
    "torch._C._special": "special", "torch._VariableFunctions": "", "torch": "",
}  # fmt: skip


def _by_name(function):
    name = getattr(function, "__name__", "")
    module = getattr(function, "__module__", "") or ""
    for start, home in (("torch.masked", "masked"), ("torch.nn.functional", "nn.functional")):
        if module.startswith(start):
            return lookup(f"{home}.{name}")
    return lookup(name)


def lookup(name):
    """The public function of a dotted name; AttributeError if Rushlight has none."""
    home = rushlight
    parts = name.split(".")
    if parts[0] == "torch":
        parts = parts[1:]
    for part in parts:
        found = getattr(home, part, None)
        if found is None and home is rushlight:
            found = getattr(rushlight.Tensor, part, None)
        if found is None:
            raise AttributeError(f"rushlight has no {name}")
        home = found
    return home


def function_of(info):
    """Rushlight's counterpart of a table entry's function."""
    code = getattr(info.op, "__code__", None)
    if hasattr(info.op, "func") or (
        code is not None and "torch.testing" in (getattr(info.op, "__module__", "") or "")
    ):
        return translated(info.op)
    if isinstance(info.op, (torch._ops.OpOverloadPacket, torch._ops.OpOverload)):
        return lookup("ops." + str(info.op))  # such as ops.aten.slice.Tensor
    if isinstance(info.op, type(torch.Tensor.add)):  # the entry is a method, not a function
        return method_of(info.op)
    return lookup(info.name)


def method_of(variant):
    """Rushlight's counterpart of a method that the table names, or of a function in its place."""
    name = getattr(variant, "__name__", "<lambda>")
    if name == "<lambda>" or not isinstance(variant, type(torch.Tensor.add)):
        return translated(variant)
    method = getattr(rushlight.Tensor, name, None)
    if method is None:
        raise Mismatch(f"Tensor has no method {name}")
    return method


def dense(tensor):
    """All elements of a tensor of PyTorch's; None of None."""
    return (
        tensor if tensor is None or tensor.layout == torch.strided else tensor.detach().to_dense()
    )
