"""PyTorch as the oracle: the same call there, and comparison of what comes back."""

from __future__ import annotations

import importlib

import rushlight
from rushlight.machine import np
from rushlight.machine.arrays import WIDER
from rushlight.tensor.tensor import Tensor


def expect(condition, message):
    """A check of a generated test: AssertionError with the message unless it holds."""
    if not condition:
        raise AssertionError(message)


def torch_or_none():
    """The torch module, or None where it is not installed."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        return None


def torch_function(op, torch):
    """PyTorch's function of the same name, or None."""
    where = op.options.get("oracle")
    if where is None and op.name.startswith("_"):
        return None  # part of something public, which is compared where it is tested
    home = torch
    for part in (where or "").split("."):
        home = getattr(home, part) if part else home
    return getattr(home, op.name, None)


def to_torch(value, torch):
    """A tensor (or nested arguments) as PyTorch's, with the same strides."""
    if isinstance(value, Tensor):
        array = value.detach()._array
        if array.dtype in WIDER:  # NumPy has no such dtype
            return torch.tensor(array.astype(WIDER[array.dtype])).to(_dtype(value.dtype, torch))
        if array.size and not array.flags.c_contiguous:
            out = torch.empty_strided(array.shape, value.stride(), dtype=_dtype(value.dtype, torch))
            if 0 not in value.stride():
                out.copy_(torch.tensor(np.ascontiguousarray(array)))
                return out
            return torch.tensor(np.ascontiguousarray(array))
        return torch.tensor(np.array(array))
    if isinstance(value, rushlight.dtype):
        return _dtype(value, torch)
    if isinstance(value, (list, tuple)):
        return type(value)(to_torch(v, torch) for v in value)
    if isinstance(value, dict):
        return {k: to_torch(v, torch) for k, v in value.items()}
    return value


def _dtype(dtype, torch):
    return getattr(torch, dtype.name)


def flat(result):
    """The tensors in a result."""
    if isinstance(result, (tuple, list)):
        return [t for item in result for t in flat(item)]
    return [result]


def _array(tensor):
    """PyTorch's values as an array, in a wider dtype where NumPy has none like theirs."""
    plain = tensor.detach()
    if str(plain.dtype) == "torch.bfloat16" or "float8" in str(plain.dtype):
        plain = plain.float()
    elif str(plain.dtype) == "torch.complex32":
        plain = plain.cfloat()
    return plain.numpy(force=True)


TOLERANCE = {
    "float16": (2e-3, 2e-3),
    "bfloat16": (1.6e-2, 1e-2),
    "float32": (2e-6, 2e-6),
    "complex32": (2e-3, 2e-3),
    "complex64": (2e-6, 2e-6),
    "float8_e4m3fn": (0.125, 2**-9),  # a step of the numbers that there are
    "float8_e4m3fnuz": (0.125, 2**-10),
    "float8_e5m2": (0.25, 2**-16),
    "float8_e5m2fnuz": (0.25, 2**-17),
}


def assert_same(ours, theirs, rtol=None, atol=None):
    """Equal dtypes, shapes and (within the dtype's tolerance) elements."""
    ours, theirs = flat(ours), flat(theirs)
    expect(len(ours) == len(theirs), f"{len(ours)} results, PyTorch gives {len(theirs)}")
    for a, b in zip(ours, theirs, strict=True):
        if not isinstance(a, Tensor):
            expect(a == b, f"{a!r} is not {b!r}")
            continue
        name = str(b.dtype).split(".")[1]
        expect(a.dtype.name == name, f"dtype {a.dtype.name}, PyTorch gives {name}")
        expect(tuple(a.shape) == tuple(b.shape), f"shape {a.shape}, PyTorch gives {b.shape}")
        low, high = TOLERANCE.get(name, (1e-12, 1e-12))
        wide = np.complex128 if a.is_complex() else np.float64
        left = a.detach()._array.astype(wide)
        right = _array(b).astype(wide)
        np.testing.assert_allclose(left, right, rtol=rtol or low, atol=atol or high)
