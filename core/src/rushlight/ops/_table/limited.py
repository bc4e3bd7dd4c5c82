"""Dtypes that few ops compute in: ``uint16``, ``uint32``, ``uint64``, ``complex32``, ``float8_*``.

PyTorch has kernels of few ops for them: those that move elements, compare them for equality,
multiply or join them. A declaration says so:

- ``limited="unsigned complex eight"`` names those of the kinds that an op computes in. Without it
  kernels take none; views, and what is written with other ops, pass all on; False refuses all.
- ``moves=True``: its kernel only moves elements, so it takes all of them as they are.
- ``barred=`` names the kinds that PyTorch refuses before it looks for a kernel: a RuntimeError.

Each op runs on a dtype that kernels have. None that takes unsigned integers asks for the sign of a
number (but for ``reads_sign=True``), so their bits pass for signed numbers of that width; complex32
is computed in complex64, a float of eight bits in float32, and rounded once. Where an op computes
in another dtype (floats above all), its operands are converted first.
"""

from __future__ import annotations

from rushlight.autograd.mode import mode
from rushlight.devices import meta
from rushlight.dtypes import (
    EIGHT_BITS,
    FIRST_LIMITED,
    bool_,
    complex32,
    complex64,
    float16,
    float32,
    int16,
    int32,
    int64,
    uint16,
    uint32,
    uint64,
)
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE, cast
from rushlight.ops._table.op import TENSORS
from rushlight.tensor.tensor import Tensor, make_tensor

SIGNED = {uint16: int16, uint32: int32, uint64: int64}
WIDER = {complex32: complex64, **dict.fromkeys(EIGHT_BITS, float32)}
STORED_AS = SIGNED | WIDER  # what kernels compute in


def takes(op, dtype):
    """Whether an op computes in one of these dtypes, or passes it on to ops that say so."""
    taken = op.options.get("limited")
    if taken is None:
        return op.kind in ("view", "composite")
    return taken is not False and _kind(dtype) in taken


def _kind(dtype):
    return "complex" if dtype is complex32 else "eight" if dtype in WIDER else "unsigned"


def first_refused(op):
    """The first of these dtypes' codes that an op's kernel does not take as it is, or None."""
    if op.kind in ("view", "composite"):
        return None
    if not takes(op, uint16):
        return FIRST_LIMITED
    if "moves" not in op.options:
        return complex32.code
    return None if takes(op, EIGHT_BITS[0]) else EIGHT_BITS[0].code


def refuse(op, dtype):
    """The error for an op that has no kernel for a dtype."""
    wide = {"complex": "complex64", "eight": "float32"}.get(_kind(dtype), "int64 or float32")
    barred = _kind(dtype) in op.options.get("barred", ())
    kind = RuntimeError if barred else NotImplementedError
    raise kind(
        f'"{op.name.strip("_")}" not implemented for dtype {dtype}: convert the tensor first, for '
        f"example to {wide}"
    )


def check(op, *found):
    """Refuse dtypes of tensors for which an op has no kernel."""
    for dtype in found:
        if dtype.code < FIRST_LIMITED or takes(op, dtype):
            continue
        if dtype is found[0]:
            refuse(op, dtype)
        # an index, or beside a tensor of another dtype
        raise RuntimeError(f"{op.name}(): {dtype} does not go with a tensor of {found[0]}")


# --------------------------------------------------------------------------------- elementwise ops
def with_kernel_operands(call):
    """Make a call of an elementwise op one on dtypes that kernels have: operands in the dtype that
    the op computes in, and those of a limited one in what stands for it."""
    call.values, call.tensors = list(call.values), list(call.tensors)
    op, operand = call.op, call.operand
    if "reads_sign" in op.options:  # the one answer that hangs on the sign: no number here has one
        operand = call.operand = bool_
    stored = STORED_AS.get(operand)
    if stored is not None and not takes(op, operand) or op.options.get("limited") is False:
        refuse(op, operand)
    aside = op.options.get("aside", ())
    for i, position in enumerate(op.tensor_positions):
        value = call.values[position]
        if position in aside:
            continue
        if isinstance(value, Tensor):
            if stored is not None or value._dtype in STORED_AS:
                call.tensors[i] = call.values[position] = _converted(value, operand, stored)
        elif stored is not None:
            call.values[position] = _number(value, operand)
    call.operand = stored or operand
    if call.device is not meta:
        call.kernel_dtypes = tuple([STORED_AS.get(d, d) for d in call.dtypes])


def _converted(tensor, operand, stored):
    if tensor._device is meta:
        return make_tensor(tensor._array, tensor._dtype, meta)
    if operand in WIDER:
        return _as(tensor, WIDER[operand])
    tensor = _as(tensor, operand)
    if stored is None:
        return tensor
    return make_tensor(tensor._array.view(BY_CODE[stored.code]), stored, tensor._device)


def _as(tensor, dtype):
    """A tensor in another dtype, outside of the recorded graph."""
    if tensor._dtype is dtype:
        return tensor
    previous, mode.recording = mode.recording, False
    try:
        return tensor.to(dtype)
    finally:
        mode.recording = previous


def _number(value, operand):
    """A number among operands as the operands' dtype holds it."""
    if operand in EIGHT_BITS:
        return float(cast(np.array(value, np.float32), operand.code))
    if operand is complex32:
        rounded = complex(cast(np.array(value, np.complex64), operand.code).item())
        return rounded if isinstance(value, complex) else rounded.real
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    return _wrapped(value, operand.itemsize)


def _wrapped(number, size):
    """A number as the signed integer of so many bytes with the same low bits."""
    if not -(1 << 64) < number < 1 << 64:
        raise OverflowError("int too big to convert")
    half = 1 << (8 * size - 1)
    return (number + half) % (2 * half) - half


def restored(array, dtype):
    """What a kernel gave, as an array of the dtype that it stands for."""
    if dtype in SIGNED:
        return array.view(BY_CODE[dtype.code])
    return cast(array, dtype.code) if dtype in WIDER else array


# ------------------------------------------------------------------------------ ops of whole arrays
def in_wider(op, found, values):
    """Whether an op of arrays has to compute complex32 or a float of eight bits among the dtypes it
    `found` in a wider one; refuses those that it does not compute at all."""
    wide = any(dtype in WIDER for dtype in found)
    if complex32 in found and _wanted(op, values) is not None:
        return True
    check(op, *found)
    return "moves" not in op.options and wide


def _wanted(op, values):
    """The dtype that a call names to compute in, if it is one that kernels have."""
    position = op.index.get("dtype")
    dtype = None if position is None or "moves" in op.options else values[position]
    return None if dtype is None or dtype.code >= FIRST_LIMITED else dtype


def computed(op, values, run):
    """What `run` gives for an op's values with wider dtypes in place of those of `WIDER`: its
    results in the narrow ones, unless another dtype was asked for; neither wrapped nor recorded."""
    narrow = _narrow(op, values)
    wide = [
        tuple([_whole(v) for v in value]) if op.kinds[i] == TENSORS else _whole(value)
        for i, value in enumerate(values)
    ]
    previous, mode.recording = mode.recording, False
    try:
        results = run(op, wide)
    finally:
        mode.recording = previous
    if _wanted(op, values) is not None:
        narrow = {}
    if isinstance(results, (tuple, list)):
        return tuple([_narrowed(result, narrow) for result in results])
    return _narrowed(results, narrow)


def _narrow(op, values):
    """The narrow dtypes of results, by the wide ones that they are computed in."""
    for i, value in enumerate(values):
        for item in value if op.kinds[i] == TENSORS else (value,):
            if isinstance(item, Tensor) and item._dtype in EIGHT_BITS:
                return {float32: item._dtype}
    return {complex64: complex32, float32: float16}


def _whole(value):
    if isinstance(value, Tensor) and value._dtype in WIDER:
        return _as(value, WIDER[value._dtype])
    return value


def _narrowed(result, narrow):
    dtype = narrow.get(result._dtype)
    return result._array if dtype is None else result.to(dtype)._array
