"""Changing dtype or device, copying in, filling."""

from __future__ import annotations

import importlib

from rushlight import devices, dtypes
from rushlight.autograd.mode import mode
from rushlight.dtypes import LARGE
from rushlight.errors import shape_text
from rushlight.kernels.copying import assignment, blocks, conversion
from rushlight.kernels.copying.conversion import converted
from rushlight.kernels.gemm import vectors
from rushlight.kernels.launch.prepared import by_layout
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE, cast, dtype_of
from rushlight.machine.meta_array import MetaArray
from rushlight.ops._table.aten import RUNS, in_aten
from rushlight.ops._table.inplace import check_writable, is_free, written
from rushlight.ops._table.op import composite, op
from rushlight.ops._table.recording import record
from rushlight.ops._table.rules import number_dtype
from rushlight.ops._table.shape_rules import like
from rushlight.ops.creation.program_tensors import _to_copy
from rushlight.tensor import construction
from rushlight.tensor.dispatch import (
    STATE,
    answered,
    captured,
    captured_part,
    dispatched,
    stack,
    through_levels,
)
from rushlight.tensor.memory_format import (
    as_input,
    channels_last,
    channels_last_3d,
    check_format,
    contiguous_format,
    empty_like,
    goes_by_rows,
    lies_by_rows,
    preserve_format,
    suggests,
)
from rushlight.tensor.overriding import call_by_override, overridable
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import EXACT, Tensor, add_methods, make_tensor


@op(
    schemas=(
        "to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
        "MemoryFormat? memory_format=None) -> Tensor(a)",
    ),
    aten_call=lambda input, dtype: ("to", {"self": input, "dtype": dtype}),
    linear=True,
    batching="elements",
    method=False,
    samples=lambda make: [((make(2, 3), dtypes.float64), {})],
    tested_by="dtypes",
    meta=lambda input, dtype: empty_like(input, BY_CODE[dtype.code]),
    limited="unsigned complex eight",
    moves=True,
)
def _cast(input: Tensor, dtype):
    """`input` in another dtype."""
    found = converted(input, BY_CODE[dtype.code])
    found = cast(input, dtype.code) if found is None else found
    return as_input(input, found)


def _prepared_cast(input, dtype):
    target = BY_CODE[dtype.code]
    if lies_by_rows(input):
        return conversion.prepare(input, target) or vectors.converted(input, target)
    return assignment.converted(input, target) if goes_by_rows(input) else None


def _cast_where_it_lies(input, dtype):
    """Arrays in an order of their own, or with gaps."""
    if type(input) is np.ndarray and input.nbytes >= blocks.LEAST and not lies_by_rows(input):
        out = empty_like(input, BY_CODE[dtype.code])
        if assignment.written(out, input):
            return out
    return _cast.op.body(input, dtype)


_cast_kernel = by_layout(_prepared_cast, _cast_where_it_lies)
_cast_kernel.general = _cast.op.body
_cast.cpu(_cast_kernel)
_cast.op.node_name = "ToCopyBackward0"
_cast.gradient(input=lambda grad: grad)  # the engine casts a gradient to its input's dtype


def _converted(tensor, dtype):
    """The tensor in another dtype: integers and booleans carry no gradient."""
    if tensor._node is not None and not (dtype.is_floating_point or dtype.is_complex):
        tensor = tensor.detach()
    return _cast(tensor, dtype)


def _move(tensor, device, non_blocking=False):
    if device is tensor._device:
        return tensor
    if device is devices.meta:
        if STATE.levels and captured_part(tensor) is not None:
            return through_levels(_to_copy, (tensor,), (tensor,), {"device": device})
        found = empty_like(tensor._array, tensor._array.dtype, MetaArray)
        return make_tensor(found, tensor._dtype, device)
    if tensor._device is devices.meta:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    transfers = importlib.import_module("rushlight.ops._table.transfers")
    if tensor._device is devices.cpu:  # pageable memory is read before the call returns
        non_blocking = non_blocking and is_pinned(tensor)
    out = make_tensor(transfers.moved(tensor._array, device, non_blocking), tensor._dtype, device)
    if mode.recording and tensor._node is not None:
        record(_transfer.op, (tensor,), [None, tensor._device, device], (out,))
    return out


@op(
    method=False,
    samples=lambda make: [],
    tested_by="tests/cuda/test_tensors.py",
    meta=lambda input, source, device: empty_like(input, input.dtype),
    limited="unsigned complex eight",
    moves=True,
)
def _transfer(input: Tensor, source, device):
    """`input` on another device: a copy."""
    return importlib.import_module("rushlight.ops._table.transfers").moved(input, device)


_transfer.op.node_name = "ToCopyBackward0"
_transfer.gradient(input=lambda grad, source: grad.to(source))


def parse_to(args, kwargs):
    """The forms of ``to``: (dtype, device, other), ``copy`` and the rest by keyword."""
    dtype, device = kwargs.pop("dtype", None), kwargs.pop("device", None)
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
    copy = kwargs.pop("copy", False)
    non_blocking = kwargs.pop("non_blocking", False)
    memory_format = kwargs.pop("memory_format", None)
    other = kwargs.pop("other", None)
    if kwargs:
        raise TypeError(f"to() received an invalid keyword argument: {next(iter(kwargs))}")
    rest = [dtypes.as_dtype(v) if type(v) is type else v for v in args] if args else []
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    if other is not None:
        dtype, device = other._dtype, other._device
    elif rest and isinstance(rest[0], dtypes.dtype):
        dtype = rest.pop(0)
    elif rest and (rest[0] is None or isinstance(rest[0], (str, int, devices.device))):
        device = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], dtypes.dtype)):
            dtype = rest.pop(0)
    elif rest:
        raise TypeError(f"to() received an invalid argument of type {type(rest[0]).__name__}")
    if rest:
        non_blocking = rest.pop(0)
    if rest:
        copy = rest.pop(0)
    return dtype, device, copy, non_blocking, memory_format


def to(input, *args, **kwargs):
    """`input` with another dtype and/or device: ``to(dtype)``, ``to(device)``,
    ``to(device, dtype)``, ``to(other)``; the tensor itself when nothing changes, unless `copy`."""
    if len(args) == 1 and not kwargs and type(input) in EXACT:  # the usual ways
        (target,) = args
        kind = type(target)
        if kind is dtypes.dtype:
            return input if target is input._dtype else _converted(input, target)
        if target is not None and input._device is devices.cpu and devices.is_cpu(target):
            return input
    elif len(args) == len(kwargs) == 1 and "non_blocking" in kwargs and type(input) in EXACT:
        if args[0] is not None and input._device is devices.cpu and devices.is_cpu(args[0]):
            return input
    if args and isinstance(args[0], Tensor) and type(args[0]) not in EXACT:
        found = call_by_override(to, (input, *args), kwargs)
        if found is not NotImplemented:
            return found
    if STATE.dispatching and (answer := answered(input, "to")):
        return answer(input, *args, **kwargs)
    dtype, device, copy, non_blocking, layout = parse_to(args, kwargs)
    out = input if dtype is None or dtype is input._dtype else _converted(input, dtype)
    if device is not None:
        out = _move(out, devices.as_device(device), non_blocking)
    chosen = check_format("to", layout)
    if chosen is not preserve_format and not (out is input and not copy and _is_as(input, chosen)):
        out = _in_format(out, chosen, out is input)
    return out.clone() if copy and out is input else out


Tensor.to = to


def _in_format(tensor, chosen, shared):
    """A tensor in a format; where it is `shared` a copy, whose strides leave nothing open."""
    return (tensor.clone if shared else tensor.contiguous)(memory_format=chosen)


def _is_as(input, chosen):
    """Whether a tensor counts as having a format: by its strides, also where dimensions of one
    element leave it open; any that is not channels last is contiguous."""
    array = input._array
    last = [f for f in (channels_last, channels_last_3d) if suggests(array.shape, array.strides, f)]
    return chosen in (last or [contiguous_format])


def _converter(name, dtype):
    known = _cast.op.cpu_kernel.short

    def convert(self, memory_format=None):
        if memory_format is not None:
            return self.to(dtype, memory_format=memory_format)
        if self._dtype is dtype:
            return self
        if self._node is None and not STATE.modes:
            out = known.call(self, dtype)
            if out is not NotImplemented:
                return construction.inferred(out) if STATE.inference else out
        return _converted(self, dtype)

    convert.__name__ = name
    convert.__doc__ = f"The tensor as {dtype}."
    return convert


Tensor.half = _converter("half", dtypes.float16)
Tensor.float = _converter("float", dtypes.float32)
Tensor.double = _converter("double", dtypes.float64)
Tensor.short = _converter("short", dtypes.int16)
Tensor.int = _converter("int", dtypes.int32)
Tensor.long = _converter("long", dtypes.int64)
Tensor.chalf = _converter("chalf", dtypes.complex32)
Tensor.cfloat = _converter("cfloat", dtypes.complex64)
Tensor.cdouble = _converter("cdouble", dtypes.complex128)
Tensor.bool = _converter("bool", dtypes.bool_)
Tensor.bfloat16 = _converter("bfloat16", dtypes.bfloat16)
Tensor.byte = _converter("byte", dtypes.uint8)
Tensor.char = _converter("char", dtypes.int8)


def _cpu(self, memory_format=None):
    """The tensor on the CPU."""
    if memory_format is None and self._device is devices.cpu and type(self) in EXACT:
        return self
    return self.to(devices.cpu, memory_format=memory_format)


def _cuda(self, device=None, non_blocking=False, memory_format=None):
    """The tensor on a GPU (the current one by default); raises where there is none."""
    if device is None:
        device = devices.device("cuda") if not self.is_cuda else self._device
    return self.to(device, non_blocking=non_blocking, memory_format=memory_format)


def _type(self, dtype=None, non_blocking=False):
    """The type's name, or the tensor in another dtype."""
    if dtype is None:
        home = "rushlight.cuda" if self.is_cuda else "rushlight"
        return f"{home}.{dtypes.TITLES[self._dtype.name]}Tensor"
    if isinstance(dtype, str):
        found = _FROM_LEGACY.get(dtype.rpartition(".")[2])
        if found is None:
            raise ValueError(f"invalid type: {dtype!r}; expected one such as 'FloatTensor'")
        return self.to(found)
    return self.to(dtype if isinstance(dtype, dtypes.dtype) else dtype.dtype)  # a FloatTensor


_FROM_LEGACY = {short + "Tensor": dtypes.NAMES[name] for name, short in dtypes.TITLES.items()}
add_methods(cpu=_cpu, cuda=_cuda, type=_type)


@overridable(as_given=True)
def type_as(self, other):
    """This tensor in the dtype of `other`."""
    return self.to(other._dtype)


Tensor.type_as = type_as


@op(
    linear="+input,src",
    meta=like,
    method=False,
    tested_by="tests/autograd/test_inplace.py",
    samples=lambda make: [],
    limited="unsigned complex eight",
    moves=True,
    batching="copy",
    schemas=("copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",),
    aten_call=lambda input, src: ("copy", {"self": input, "src": src}),
)
def _copy(input: Tensor, src: Tensor):
    """The values of `src` in the shape and dtype of `input`."""
    return np.broadcast_to(cast(src, dtype_of(input).code), input.shape)


RUNS["copy"] = _copy
_copy.gradient(input=lambda grad: grad * 0, src=lambda grad: grad)
_copy.op.node_name = "CopyBackwards"


def _placed(src, value, device, non_blocking):
    """What is copied from another device: moved before it is broadcast."""
    if src._device.type == "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    non_blocking = non_blocking and device is not devices.cpu and is_pinned(src)
    moved = importlib.import_module("rushlight.ops._table.transfers").moved
    return np.broadcast_to(moved(src._array, device, non_blocking), value.shape)


def _copied_plainly(self, src):
    """Whether the elements of one array are written to another, and nothing is recorded."""
    target, values = self._array, src._array
    if not (type(target) is type(values) is np.ndarray and target.shape == values.shape):
        return False
    if (self._inference and not mode.inference) or (
        mode.recording and not (self._node is None and src._node is None and self._base is None)
    ):
        return False
    if target.nbytes < blocks.LEAST:
        try:
            target[...] = values
        except ValueError:  # it is read-only
            return False
    elif not target.flags.writeable:
        return False
    elif not blocks.copy(target, values):
        assignment.write(target, values)
    storage_of(self).version += 1
    return True


@in_aten(
    "copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
    call=lambda self, other, non_blocking=False: ("copy_", {"self": self, "src": other}),
)
def copy_(self, other, non_blocking=False):
    """Write the elements of `other`, broadcast and cast, into this tensor."""
    if type(self) in EXACT and type(other) in EXACT and not STATE.levels:
        if self._dtype is other._dtype and _copied_plainly(self, other):
            return self
    else:
        if STATE.dispatching and not stack.levels and (answer := answered(self, "copy_")):
            return answer(self, other, non_blocking)
        if not isinstance(other, Tensor):
            raise TypeError(f"copy_(): argument 'other' must be Tensor, not {type(other).__name__}")
        if type(other) not in EXACT:
            found = call_by_override(copy_, (self, other), {"non_blocking": non_blocking})
            if found is not NotImplemented:
                return found
    if STATE.levels and stack.levels:
        found = dispatched(copy_, (self, other))
        if found is not NotImplemented:
            return found
    recording = mode.recording and (self._node is not None or other._node is not None)
    check_writable(self, recording)
    try:
        value = np.broadcast_to(other._array, self._array.shape)
    except ValueError:
        raise RuntimeError(
            f"copy_: other has shape {shape_text(other._array.shape)}, which does not broadcast to "
            f"{shape_text(self._array.shape)}"
        ) from None
    node = None
    if recording:
        node = record(
            _copy.op,
            (self, other),
            [None, None],
            (make_tensor(self._array, self._dtype),),
        )
    if self._device.type != "meta":
        if other._device is not self._device:
            value = _placed(other, value, self._device, non_blocking)
        if type(self._array) is not np.ndarray or not assignment.written(self._array, value):
            self._array[...] = cast(value, self._dtype.code)
    written(self, node)
    return self


@op(
    linear=True,
    meta=like,
    method=False,
    tested_by="tests/autograd/test_inplace.py",
    samples=lambda make: [],
    limited="unsigned complex eight",
    moves=True,
    batching="fill",
    fills=True,
    aten_call=lambda input, value: ("fill", {"self": input, "value": value}),
)
def _fill(input: Tensor, value):
    """Every element replaced by a number."""
    return np.full(input.shape, value, input.dtype)


_fill.gradient(input=lambda grad: grad * 0)


@in_aten(
    "fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
    "fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)",
)
def fill_(self, value):
    """Set every element to `value` (a number or a 0-d tensor)."""
    kind = type(value)
    if (
        (kind is float or kind is int)
        and type(self) in EXACT
        and self._dtype.category == dtypes.FLOAT
        and self._dtype.itemsize > 2
        and -LARGE < value < LARGE
        and is_free(self)
    ):
        if not blocks.fill(self._array, value) and not assignment.written(self._array, value):
            self._array.fill(value)
        written(self, None)
        return self
    if STATE.dispatching and not stack.levels and (answer := answered(self, fill_.__name__)):
        return answer(self, value)
    if STATE.levels and stack.levels:
        found = dispatched(fill_, (self, value))
        if found is not NotImplemented:
            return found
    if isinstance(value, Tensor):
        if kind not in EXACT:
            found = call_by_override(fill_, (self, value), {})
            if found is not NotImplemented:
                return found
        if value.dim():
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} "
                "dimensions."
            )
        return copy_(self, value)
    if number_dtype(value) is None:
        raise TypeError(f"fill_(): argument 'value' must be Number, not {type(value).__name__}")
    recording = mode.recording and self._node is not None
    check_writable(self, recording)
    node = None
    if recording:
        out = make_tensor(self._array, self._dtype)
        node = record(_fill.op, (self,), [None, value], (out,))
    if self._device.type != "meta":
        array, value = self._array, dtypes.held(value, self._dtype)
        if type(array) is not np.ndarray:
            array[...] = value
        elif not blocks.fill(array, value):
            assignment.write(array, value)
    written(self, node)
    return self


@in_aten("zero_(Tensor(a!) self) -> Tensor(a!)")
def zero_(self):
    """Set every element to zero."""
    allowed = not self._inference or mode.inference
    if type(self) in EXACT and not STATE.levels and allowed:
        array = self._array
        free = not mode.recording or self._node is None and self._base is None
        if free and type(array) is np.ndarray and array.flags.writeable:
            if construction.cleared(array) is NotImplemented:
                if not blocks.fill(array, 0) and not assignment.written(array, 0):
                    array.fill(0)
            storage = self._storage
            if storage is None:
                storage = storage_of(self)
            storage.version += 1
            return self
    if STATE.dispatching and (answer := answered(self, "zero_")):
        return answer(self)
    if STATE.levels and (found := captured(zero_, (self,), {})) is not NotImplemented:
        return found
    return fill_(self, 0)


Tensor.copy_, Tensor.fill_, Tensor.zero_ = copy_, fill_, zero_


@composite(samples="unary", differentiable=False)
def detach_copy(input: Tensor):
    """A copy outside the recorded graph."""
    return input.detach().clone()


def detach_(self):
    """Cut this tensor from the graph that made it."""
    if self._base is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead.")
    self._node = None
    return self


Tensor.detach_ = detach_
in_aten("detach(Tensor(a) self) -> Tensor(a)")(Tensor.detach)
in_aten("zero_(Tensor(a!) self) -> Tensor(a!)")(zero_)


def _is_nonzero(self):
    """Whether the only element is not zero; RuntimeError for other numbers of elements."""
    return bool(self)


add_methods(is_nonzero=_is_nonzero)


def pin_memory(self, device=None):
    """A copy in page-locked memory, from which copies to a GPU need not wait; the tensor itself
    where there is no GPU."""
    runtime = importlib.import_module("rushlight.machine.cuda.runtime")
    if self._device is not devices.cpu:
        raise RuntimeError(f"cannot pin '{self.type()}': only dense CPU tensors can be pinned")
    if not runtime.available() or is_pinned(self):
        return self
    array = self._array
    row = runtime.current().allocate_pinned(max(array.nbytes, 1))
    pinned = row[: array.nbytes].view(array.dtype).reshape(array.shape)
    pinned[...] = array
    out = make_tensor(pinned, self._dtype)
    out._pinned = True
    return out


def is_pinned(self, device=None):
    """Whether the memory is page-locked, by :meth:`pin_memory`."""
    tensor = self if self._base is None else self._base
    return tensor.__dict__.get("_pinned", False)


Tensor.pin_memory, Tensor.is_pinned = pin_memory, is_pinned
