"""Making tensors: from data, from a value, from a range."""

from __future__ import annotations

import functools
import importlib
import math
import types

from rushlight import devices, dtypes
from rushlight.dtypes import BOOL, FLOAT, INTEGER, LARGE, as_dtype, default, held, refuse_limited
from rushlight.errors import argument_error
from rushlight.kernels.copying import blocks
from rushlight.kernels.gemm import vectors
from rushlight.machine import memory, np
from rushlight.machine.arrays import BY_ARRAY_DTYPE, BY_CODE, cast, of_one_kind
from rushlight.machine.meta_array import MetaArray, meta_array
from rushlight.ops._calls.new_memory import identity, plainly_alike, plainly_made
from rushlight.ops._table.aten import in_aten
from rushlight.ops._table.number_limits import ends_of_range
from rushlight.ops._table.numbers import plain_numbers
from rushlight.ops._table.numpy_names import first_by_keyword, numpy_names
from rushlight.ops._table.rules import as_numbers, filling_dtype, number_dtype
from rushlight.ops.creation import aten_forms as forms
from rushlight.ops.creation.program_tensors import (
    constant,
    full_like_of_program,
    of_program,
    pretending_array,
)
from rushlight.tensor import construction
from rushlight.tensor.dispatch import STATE, through_levels
from rushlight.tensor.dispatch import stack as transforms
from rushlight.tensor.interchange import array_of_data
from rushlight.tensor.layout import in_layout, only_strided
from rushlight.tensor.memory_format import (
    check_format,
    contiguous_format,
    empty_in,
    lies_by_rows,
    preserve_format,
)
from rushlight.tensor.memory_format import empty_like as _like_strides
from rushlight.tensor.overriding import call_by_override
from rushlight.tensor.shape import as_int, normalize_size
from rushlight.tensor.storage import Storage, row_of
from rushlight.tensor.tensor import EXACT, Tensor, make_tensor


@functools.cache
def _elsewhere():
    """How arrays are made on GPUs and moved there; loaded at first use."""
    return importlib.import_module("rushlight.ops._table.transfers")


def finish(array, dtype, device, requires_grad):
    """A new leaf around an array, moved to the device that was asked for."""
    device = devices.as_device(device)
    if device is not devices.cpu:
        if device is not devices.meta:
            array = _elsewhere().placed(array, device)
        elif not isinstance(array, MetaArray):
            array = _like_strides(array, array.dtype, MetaArray)
    out = make_tensor(array, dtype, device)
    return out.requires_grad_() if requires_grad else out


def _write(out, result, inputs=()):
    from rushlight.ops._table.inplace import check_overlap, write_out

    check_overlap(_Named, out, inputs)
    write_out(_Named, out, result)
    return out


def _given(out, array, dtype, device, requires_grad):
    """An array as a new leaf, or written into the tensor given as ``out=``."""
    if out is not None:
        return _write(out, make_tensor(array, dtype))
    return finish(array, dtype, device, requires_grad)


class _Named:
    name, kind, options = "creation", "function", types.MappingProxyType({})


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new tensor holding a copy of `data`: numbers, nested sequences, arrays or tensors.

    The dtype is found from the data: Python floats become the default dtype, ints int64.

    >>> rushlight.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if STATE.levels and not isinstance(data, Tensor):
        made = constant(tensor, full, data, dtype, device)
        if made is not None:
            return made
    if dtype is not None:
        dtype = as_dtype(dtype)
    if device is None and not requires_grad:
        made = plain_numbers(data, dtype)
        if made is not None:
            return made
    if isinstance(data, Tensor):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or sourceTensor.detach().clone().requires_grad_(True), "
            "rather than rushlight.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
        device = data._device if device is None else device
        array, found = data._array.copy("K"), data._dtype
    else:
        array, found = of_one_kind(data) if type(data) is np.ndarray else (None, None)
        array = blocks.copied(array) if found is not None else None
        if array is None:
            array, found = array_of_data(data, dtype)
    if dtype is not None and dtype is not found:
        array, found = cast(array, dtype.code), dtype
    return finish(array, found, device, requires_grad)


def as_tensor(data, dtype=None, device=None):
    """Like :func:`tensor`, sharing memory with arrays and tensors where nothing must change."""
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=dtype) if (device or dtype) else data
    if isinstance(data, np.ndarray):
        out = from_numpy(data)
        return out.to(device=device, dtype=dtype) if (device or dtype) else out
    if hasattr(data, "__cuda_array_interface__"):
        array = _capsules().from_interface(data)
        out = make_tensor(array, BY_ARRAY_DTYPE[array.dtype])
        return out.to(device=device, dtype=dtype) if (device or dtype) else out
    if isinstance(data, Storage):
        return row_of(data, dtype or dtypes.int64).to(device=device or devices.as_device(None))
    return tensor(data, dtype=dtype, device=device)


def from_numpy(ndarray):
    """A tensor that shares memory with a NumPy array."""
    if devices.current.imagining:
        return pretending_array(from_numpy, ndarray)
    made = construction.shared(ndarray)
    if made is not NotImplemented:
        return construction.inferred(made)
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    array, found = of_one_kind(ndarray)
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type {ndarray.dtype}. The only supported types are: "
            + ", ".join(d.name for d in dtypes.ALL)
            + "."
        )
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array with array.copy().)"
        )
    return make_tensor(array.view(np.ndarray), found)


def from_dlpack(ext_tensor):
    """A tensor that shares memory with any array that speaks DLPack."""
    bare = type(ext_tensor).__name__ == "PyCapsule"
    if not bare and not hasattr(ext_tensor, "__dlpack__"):
        raise argument_error("from_dlpack", "ext_tensor", "object with __dlpack__", ext_tensor)
    kind = getattr(ext_tensor, "__dlpack_device__", lambda: (1, 0))()
    if kind[0] == 2 or bare:
        array = _capsules().from_capsule(ext_tensor if bare else ext_tensor.__dlpack__())
        return make_tensor(array, BY_ARRAY_DTYPE[array.dtype])
    try:
        return from_numpy(np.from_dlpack(ext_tensor))
    except (RuntimeError, BufferError):  # a dtype NumPy does not know; the latter from 2.5 on
        return from_numpy(_capsules().from_capsule(ext_tensor.__dlpack__()))


def _capsules():
    return importlib.import_module("rushlight.compiler.cuda.capsules")


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """A tensor of `obj`, sharing memory where possible; `copy` forces or forbids a copy."""
    out = as_tensor(obj, dtype=dtype, device=device)
    if copy:
        out = out.clone() if isinstance(obj, (Tensor, np.ndarray)) else out
    return out.requires_grad_() if requires_grad else out


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-D tensor that shares memory with an object with the buffer protocol."""
    dtype = as_dtype(dtype)
    array = np.frombuffer(buffer, BY_CODE[dtype.code], count, offset)
    return finish(array, dtype, None, requires_grad)


def beside(tensor, array):
    """A tensor of an array, on the device of another tensor; shares memory where it can."""
    if tensor._device is devices.cpu:
        return from_numpy(array)
    if tensor._device is not devices.meta:
        array = _elsewhere().placed(array, tensor._device)
    return make_tensor(array, BY_ARRAY_DTYPE[array.dtype], tensor._device)


def _filled(name, size, fill, dtype, device, requires_grad, out):
    size = normalize_size(size, name)
    if any(n < 0 for n in size):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(size)}: {list(size)}"
        )
    dtype = default.float if dtype is None else as_dtype(dtype)
    device = devices.as_device(device)
    fill = fill if fill is None else held(fill, dtype)
    if device is devices.meta:
        array = meta_array(size, BY_CODE[dtype.code])
    elif device is not devices.cpu:
        kind = BY_CODE[dtype.code]
        if fill is None:
            array = _elsewhere().empty(size, kind, device)
        else:
            array = _elsewhere().filled(size, kind, device, fill)
    elif fill is None:
        array = memory.empty(size, BY_CODE[dtype.code])
    else:
        array = blocks.filled(size, BY_CODE[dtype.code], fill)
    return _given(out, array, dtype, device, requires_grad)


def size_of(name, sizes, size):
    """The sizes of a new tensor, which were given one by one, or by the keyword `size`."""
    if size is None or sizes:
        raise TypeError(f"{name}(): expected sizes or the keyword size; got {sizes} and {size}")
    return (size,)


@in_aten(forms.sized("empty.memory_format"), call=forms.by_size("empty"))
def empty(
    *sizes, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
    pin_memory=False, memory_format=None,
):  # fmt: skip
    """A tensor of uninitialised memory, of sizes given one by one or as one sequence."""
    if STATE.levels and (made := of_program(empty, sizes, locals())) is not None:
        return made
    if size is not None or not sizes:
        sizes = size_of("empty", sizes, size)
    if layout is not None and layout != "strided":
        return in_layout(zeros(*sizes, dtype=dtype, device=device), layout, requires_grad)
    if out is memory_format is None and not requires_grad:
        made = plainly_made(
            sizes, None, default.float if dtype is None else as_dtype(dtype), device
        )
        if made is not None:
            return made
    size = normalize_size(sizes, "empty")
    made = _filled("empty", size, None, dtype, device, requires_grad, out)
    chosen = check_format("empty", memory_format, contiguous_format)
    if chosen is preserve_format:
        raise RuntimeError("empty: unsupported memory format option preserve_format")
    if chosen.order is not None and made._device.type != "cuda":
        made._array = empty_in(size, made._array.dtype, chosen, type(made._array))
    elif chosen.order is not None:
        made._array = _elsewhere().empty_in(size, made._array.dtype, chosen, made._device)
    return made


@in_aten(forms.sized("zeros"), call=forms.by_size("zeros"))
def zeros(
    *sizes, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
    pin_memory=False,
):  # fmt: skip
    """A tensor filled with 0.

    >>> rushlight.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    if STATE.levels and (made := of_program(zeros, sizes, locals())) is not None:
        return made
    if size is not None or not sizes:
        sizes = size_of("zeros", sizes, size)
    if layout is not None and layout != "strided":
        return in_layout(zeros(*sizes, dtype=dtype, device=device), layout, requires_grad)
    if out is None and not requires_grad:
        made = plainly_made(sizes, 0, default.float if dtype is None else as_dtype(dtype), device)
        if made is not None:
            return made
    return _filled("zeros", sizes, 0, dtype, device, requires_grad, out)


@in_aten(forms.sized("ones"), call=forms.by_size("ones"))
def ones(
    *sizes, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
    pin_memory=False,
):  # fmt: skip
    """A tensor filled with 1."""
    if STATE.levels and (made := of_program(ones, sizes, locals())) is not None:
        return made
    if size is not None or not sizes:
        sizes = size_of("ones", sizes, size)
    if layout is not None:
        only_strided("ones", layout)
    if out is None and not requires_grad:
        made = plainly_made(sizes, 1, default.float if dtype is None else as_dtype(dtype), device)
        if made is not None:
            return made
    return _filled("ones", sizes, 1, dtype, device, requires_grad, out)


def _filled_quickly(size, value, dtype):
    """A tensor of floats on the CPU, or None: what is unusual goes another way."""
    if type(value) is not float or devices.as_device(None) is not devices.cpu:
        return None
    for n in size:
        if type(n) is not int or n < 0:
            return None
    dtype = default.float if dtype is None else as_dtype(dtype)
    if dtype.category != FLOAT:
        return None
    return make_tensor(blocks.filled(size, BY_CODE[dtype.code], held(value, dtype)), dtype)


@in_aten(forms.sized("full", "Scalar fill_value, "), call=forms.full)
def full(
    size, fill_value, *, out=None, dtype=None, layout=None, device=None, requires_grad=False,
    pin_memory=False,
):  # fmt: skip
    """A tensor filled with `fill_value`, whose kind decides the dtype."""
    if STATE.levels and (made := of_program(full, (size, fill_value), locals())) is not None:
        return made
    if layout is not None:
        only_strided("full", layout)
    if out is None and not requires_grad and type(fill_value) is float:
        if dtype in (None, default.float) and -LARGE < fill_value < LARGE:
            made = plainly_made((size,), fill_value, default.float, device)
            if made is not None:
                return made
        made = None
        if device is None and type(size) is tuple:
            made = _filled_quickly(size, fill_value, dtype)
        if made is not None:
            return made
    (fill_value,) = as_numbers("full", fill_value=fill_value)
    dtype = filling_dtype(fill_value) if dtype is None else as_dtype(dtype)
    return _filled("full", (size,), fill_value, dtype, device, requires_grad, out)


def _like(fill):
    def make(
        input=None, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
        memory_format=None, **first,
    ):  # fmt: skip
        if (
            device is memory_format is layout is None
            and not (requires_grad or first)
            and (type(input) is Tensor or type(input) in EXACT)
        ):
            made = plainly_alike(input, fill, dtype)
            if made is not None:
                return made
        if input is None:  # NumPy's names for it, read here: a wrapper would cost each call
            input = first_by_keyword(make.__name__, first)
        if first:
            raise TypeError(f"{make.__name__}() got an unexpected keyword argument {[*first][0]!r}")
        if STATE.levels and transforms.levels:
            options = {"dtype": dtype, "memory_format": memory_format}
            options |= {} if device is None else {"device": device}
            found = through_levels(make, (input,), (input,), options)
            if found is not NotImplemented:
                return found
        if type(input) not in EXACT:
            options = {"dtype": dtype, "layout": layout, "device": device}
            options |= {"requires_grad": requires_grad, "memory_format": memory_format}
            found = call_by_override(make, (input,), {k: v for k, v in options.items() if v})
            if found is not NotImplemented:
                return found
            if not isinstance(input, Tensor):
                raise argument_error(make.__name__, "input", "Tensor", input)
        if (input.layout != "strided" or input.is_nested) and layout is None:
            options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
            return type(input).__torch_function__(make, (), (input,), options)
        dtype = input._dtype if dtype is None else as_dtype(dtype)
        device = input._device if device is None else device
        if layout is not None and layout != "strided":
            if fill == 1:
                only_strided("ones_like", layout)
            made = zeros(input._array.shape, dtype=dtype, device=device)
            return in_layout(made, layout, requires_grad)
        made = _filled("", input._array.shape, fill, dtype, device, requires_grad, None)
        home = made._device
        chosen = check_format("empty_like", memory_format)
        kind, array = BY_CODE[dtype.code], input._array
        on_gpu = home.type == "cuda"
        rest = (home,) if on_gpu else (type(made._array),)
        if chosen.order is not None:
            make_in = _elsewhere().empty_in if on_gpu else empty_in
            made._array = make_in(array.shape, kind, chosen, *rest)
        elif chosen is preserve_format and not (array.size and lies_by_rows(array)):
            alike = _elsewhere().empty_like if on_gpu else _like_strides
            made._array = alike(array, kind, *rest)
        else:
            return made
        if fill is not None and home is not devices.meta:
            made._array[...] = fill
        return made

    return make


def _named_like(name, fill):
    function = _like(fill)
    function.__name__ = function.__qualname__ = name + "_like"
    in_aten(forms.like(name + "_like"), call=forms.alike(name + "_like"))(function)
    function.__doc__ = f":func:`{name}` with the shape, dtype and device of `input`."
    return function


empty_like, zeros_like = _named_like("empty", None), _named_like("zeros", 0)
ones_like = _named_like("ones", 1)


@in_aten(call=forms.full_like)
@numpy_names
def full_like(
    input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False,
    pin_memory=False, memory_format=None,
):  # fmt: skip
    """A tensor filled with `fill_value`, with the shape, dtype and device of `input`."""
    only_strided("full_like", layout)
    if (
        dtype is device is memory_format is None
        and not requires_grad
        and type(fill_value) in _PLAIN
        and type(input) in EXACT
        and input._dtype.category == FLOAT
        and input._dtype.itemsize > 2
        and -LARGE < fill_value < LARGE
    ):
        made = plainly_alike(input, float(fill_value))
        if made is not None:
            return made
    if (
        STATE.levels
        and (made := full_like_of_program(input, fill_value, dtype, device)) is not None
    ):
        return made
    if type(input) not in EXACT:
        options = {"dtype": dtype, "layout": layout, "device": device}
        options |= {"requires_grad": requires_grad, "memory_format": memory_format}
        options = {name: value for name, value in options.items() if value}
        found = call_by_override(full_like, (input, fill_value), options)
        if found is not NotImplemented:
            return found
    if hasattr(input, "_pattern"):
        return ones_like(input, dtype=dtype).fill_(fill_value).requires_grad_(requires_grad)
    made = empty_like(input, dtype=dtype, device=device, memory_format=memory_format)
    if transforms.levels:
        return made.fill_(fill_value)
    if made._device is not devices.meta:
        (fill_value,) = as_numbers("full_like", fill_value=fill_value)
        array = (made._elements if made.is_nested else made)._array
        fill_value = held(fill_value, made._dtype)
        if type(array) is not np.ndarray or not blocks.fill(array, fill_value):
            array[...] = fill_value
    return made.requires_grad_() if requires_grad else made


_SHORT = 64  # numbers below which NumPy is as fast
_PLAIN = (int, float)


@in_aten(
    forms.ranged("arange", "Scalar end"),
    forms.ranged("arange.start", "Scalar start, Scalar end"),
    forms.ranged("arange.start_step", "Scalar start, Scalar end, Scalar step"),
    call=forms.arange,
)
def arange(
    start=None, end=None, step=1, *, out=None, dtype=None, layout=None, device=None,
    requires_grad=False, pin_memory=False,
):  # fmt: skip
    """The numbers from `start` (default 0) up to, not including, `end`, every `step`.

    >>> rushlight.arange(3)
    tensor([0, 1, 2])
    """
    if STATE.levels and (made := of_program(arange, (start, end, step), locals())) is not None:
        return made
    only_strided("arange", layout)
    if end is None:
        start, end = 0, start
    elif start is None:
        start = 0
    if (
        type(start) is type(end) is type(step) is int
        and out is dtype is None
        and step > 0
        and start <= end
        and not requires_grad
        and devices.is_cpu(device)
    ):
        count = -(-(end - start) // step)
        if count < _SHORT:
            array = np.arange(start, end, step, np.int64)
        else:
            array = vectors.whole_steps(count, start, step)
        return construction.inferred(construction.made(array, dtypes.int64))
    if end is None:
        raise TypeError("arange() missing 1 required positional argument: 'end'")
    values = start, end, step = as_numbers("arange", start=start, end=end, step=step)
    if dtype is None and out is not None:
        dtype = out._dtype
    if dtype is None:
        whole = all(isinstance(v, (int, np.integer, np.bool_)) for v in values)
        dtype = dtypes.int64 if whole else default.float
    dtype = as_dtype(dtype)
    refuse_limited("arange", dtype)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not all(math.isfinite(v) for v in (start, end)):
        raise RuntimeError(f"arange: unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is dtypes.int64:
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError(
                "arange: step must be nonzero; as an int64, which the result is, it would be 0"
            )
    count = math.ceil((end - start) / step)
    if dtype.category == INTEGER:  # counted in fractions, written in whole steps
        start, step = int(start), int(step)
    place = devices.as_device(device)
    if place.type == "cuda" and out is None:
        array = _elsewhere().ramp(count, start, step, BY_CODE[dtype.code], place)
        return finish(array, dtype, place, requires_grad)
    if dtype is dtypes.int64 and out is None:
        return finish(vectors.whole_steps(count, start, step), dtype, device, requires_grad)
    exact = np.arange(count, dtype=np.float64 if isinstance(start + step, float) else np.int64)
    array = cast(start + exact * step, dtype.code)
    return _given(out, array, dtype, device, requires_grad)


@in_aten(forms.ranged("linspace", "Scalar start, Scalar end, int steps"), call=forms.linspace)
def linspace(
    start, end, steps, *, out=None, dtype=None, layout=None, device=None, requires_grad=False,
    pin_memory=False,
):  # fmt: skip
    """`steps` numbers from `start` to `end`, both included, evenly spaced."""
    if STATE.levels and (made := of_program(linspace, (start, end, steps), locals())) is not None:
        return made
    only_strided("linspace", layout)
    if (
        type(steps) is int
        and steps > 1
        and type(start) in _PLAIN
        and type(end) in _PLAIN
        and out is dtype is None
        and not requires_grad
        and default.float.itemsize > 2
        and devices.is_cpu(device)
    ):
        array = vectors.evenly_spaced(steps, start, end, BY_CODE[default.float.code])
        return construction.inferred(construction.made(array, default.float))
    start, end = as_numbers("linspace", start=start, end=end)
    dtype = default.float if dtype is None else as_dtype(dtype)
    steps = as_int(steps, "steps", "linspace")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    refuse_limited("linspace", dtype if steps > 1 else default.float)
    start, end = ends_of_range(start, end, steps, dtype)
    real = BY_CODE[dtype.code] if dtype.category == FLOAT and dtype.itemsize > 2 else np.float64
    if dtype.category == FLOAT and dtype.itemsize == 2:
        real = np.float32
    if steps < 2:
        array = np.asarray([start] * steps, real)
    else:
        array = vectors.evenly_spaced(steps, start, end, real)
    return _given(out, cast(array, dtype.code), dtype, device, requires_grad)


def logspace(
    start, end, steps, base=10.0, *, out=None, dtype=None, layout=None, device=None,
    requires_grad=False, pin_memory=False,
):  # fmt: skip
    """`steps` numbers from ``base ** start`` to ``base ** end``, evenly spaced in the exponent."""
    only_strided("logspace", layout)
    dtype = default.float if dtype is None else as_dtype(dtype)
    start, end = as_numbers("logspace", start=start, end=end)
    start, end = ends_of_range(start, end, as_int(steps, "steps", "logspace"), dtype)
    refuse_limited("logspace", dtype)
    exponents = linspace(start, end, steps, dtype=dtypes.float64)
    with np.errstate(over="ignore"):
        array = cast(np.power(float(base), exponents._array), dtype.code)
    return _given(out, array, dtype, device, requires_grad)


@in_aten(
    forms.ranged("eye", "SymInt n"), forms.ranged("eye.m", "SymInt n, SymInt m"), call=forms.eye
)
def eye(
    n, m=None, *, out=None, dtype=None, layout=None, device=None, requires_grad=False,
    pin_memory=False,
):  # fmt: skip
    """The identity matrix of `n` rows and `m` (default `n`) columns."""
    if STATE.levels and (made := of_program(eye, (n, m), locals())) is not None:
        return made
    only_strided("eye", layout)
    dtype = default.float if dtype is None else as_dtype(dtype)
    for name, value in (("n", n), ("m", m)):
        if value is not None and as_int(value, name, "eye") < 0:
            raise RuntimeError(f"eye: {name} must be greater or equal to 0, got {value}")
    if dtype.category != FLOAT:  # those of eight bits hold a one and a zero
        refuse_limited("eye", dtype)
    if out is None and not requires_grad and devices.is_cpu(device):
        made = identity(n, n if m is None else m, dtype)
        if made is not None:
            return made
    array = np.eye(n, m, dtype=BY_CODE[dtype.code])
    return _given(out, array, dtype, device, requires_grad)


def scalar_tensor(
    s, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """A 0-d tensor of the default float dtype."""
    dtype = default.float if dtype is None else as_dtype(dtype)
    number_dtype(s)  # refuses whole numbers of more than 64 bits
    half = dtype.category == FLOAT and dtype.itemsize == 2
    make = tensor if half or dtype.category == BOOL else functools.partial(full, ())
    return make(s, dtype=dtype, device=device, requires_grad=requires_grad)
