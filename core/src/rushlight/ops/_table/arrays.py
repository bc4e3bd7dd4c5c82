"""Running ops whose bodies take arrays: plain ops, reductions and views."""

from __future__ import annotations

import functools
import importlib

from rushlight import devices
from rushlight.autograd.mode import mode
from rushlight.dtypes import FIRST_LIMITED
from rushlight.errors import argument_error
from rushlight.machine import np
from rushlight.machine.arrays import BY_ARRAY_DTYPE, BY_CODE, as_array, cast
from rushlight.machine.meta_array import MetaArray, meta_array
from rushlight.ops._table.op import OPTIONAL, TENSORS
from rushlight.ops._table.recording import argument_name, note, record
from rushlight.ops._table.rules import result_type
from rushlight.tensor import construction as make
from rushlight.tensor.memory_format import by_columns, follow, format_giver
from rushlight.tensor.tensor import EXACT, Parameter, Tensor, make_tensor

ndarray = np.ndarray


@functools.cache
def _cuda():
    """How ops run on GPUs; loaded with the first tensor there."""
    return importlib.import_module("rushlight.ops._table.cuda")


@functools.cache
def _limited():
    """How ops run on dtypes that few of them take; loaded with the first tensor of one."""
    return importlib.import_module("rushlight.ops._table.limited")


def run_arrays(op, values):
    """Execute bound values of an `op`; results are new tensors."""
    tensors, arrays = _plain(op, values)
    device = devices.cpu
    if tensors is None:
        tensors, device = collect(op, values)
        arrays = _to_arrays(op, values, tensors)
        if arrays is None:
            results = _limited().computed(op, values, run_arrays)
            return wrap_results(op, tensors, values, results, device)
    if device is devices.meta:
        results = _meta(op, arrays)
    elif device is not devices.cpu:
        results = _cuda().results_of(op, arrays, device)
    elif len(arrays) == op.positional:
        results = op.cpu_kernel(*arrays)
    else:
        results = op.cpu_kernel(*_positional(op, arrays), **_keywords(op, arrays))
    return wrap_results(op, tensors, values, results, device)


def wrap_results(op, tensors, values, results, device=devices.cpu):
    """New tensors around what a kernel gave, recorded where one of `tensors` asks for it."""
    many = isinstance(results, (tuple, list))
    outs = [None if r is None else _wrap(r, device) for r in (results if many else (results,))]
    if mode.recording:
        for tensor in tensors:
            if tensor is not None and tensor._node is not None:
                attributes = [None if isinstance(v, Tensor) else v for v in values]
                record_outputs(op, tensors, attributes, outs)
                break
    if not many:
        return outs[0]
    named = op.options.get("result")
    return named._make(outs) if named is not None else tuple(outs)


def _plain(op, values):
    """Tensors and arrays of a call whose tensor arguments are plain and need no cast; or Nones."""
    if op.rule is not None or op.list_position >= 0:
        return None, None
    tensors, arrays = [], values.copy()
    for position in op.tensor_positions:
        value = values[position]
        kind = type(value)
        if kind is Tensor or kind is Parameter:
            array = value._array
            if type(array) is not ndarray or value._dtype.code >= FIRST_LIMITED:
                return None, None
            arrays[position] = array
        elif value is not None or op.kinds[position] != OPTIONAL:
            return None, None
        tensors.append(value)
    return tensors, arrays


def record_outputs(op, tensors, values, outs):
    """Record a call that one of its tensors asks to record."""
    if not op.options.get("differentiable", True):
        return
    if not op.formulas and op.joint is None:
        raise NotImplementedError(f"the derivative of '{op.name}' is not implemented")
    note(op, tensors, values, outs)


def _positional(op, arrays):
    return arrays[: op.positional]


def _keywords(op, arrays):
    return dict(zip(op.names[op.positional :], arrays[op.positional :], strict=True))


def _wrap(result, device):
    array = result if device is not devices.cpu else as_array(result)
    dtype = BY_ARRAY_DTYPE.get(array.dtype)
    if dtype is None:
        raise TypeError(f"a kernel returned dtype {array.dtype}")
    return make_tensor(array, dtype, device)


def _meta(op, arrays):
    """Shapes and dtypes only: the op's own rule, or its body where it only arranges metadata."""
    rule = op.options.get("meta")
    if rule is None:
        raise NotImplementedError(
            f"{op.name}: no shape rule for meta tensors; compute it on the CPU "
            f"(tensor.to_empty or tensor.to('cpu'))"
        )
    results = rule(*_positional(op, arrays), **_keywords(op, arrays))
    many = isinstance(results, list)
    found = [_without_memory(result) for result in (results if many else (results,))]
    for position in op.options.get("columns", ()):
        found[position] = by_columns(found[position])
    ranks = op.options.get("keeps_format")
    giver = format_giver(arrays, ranks, op.options.get("formats_of", 1)) if ranks else None
    if giver is not None:
        found = [follow(giver, result) for result in found]
    return found if many else found[0]


def _without_memory(result):
    """What a shape rule gave, as a meta array: row-major, unless the rule made one."""
    if type(result) is MetaArray:
        return result
    shape, dtype = result
    return meta_array(shape, BY_CODE[dtype.code])


def collect(op, values):
    """The tensor arguments, lists flattened, and their common device; wrong types are refused."""
    tensors, device = [], None
    for position in op.tensor_positions:
        value, kind = values[position], op.kinds[position]
        if kind == TENSORS:
            if not isinstance(value, (tuple, list)):
                raise argument_error(op.name, op.names[position], "tuple of Tensors", value)
            for i, item in enumerate(value):
                if not isinstance(item, Tensor):
                    raise TypeError(
                        f"{op.name}(): expected Tensor as element {i} in argument "
                        f"'{op.names[position]}', but got {type(item).__name__}"
                    )
                tensors.append(item)
        elif isinstance(value, Tensor):
            tensors.append(value)
        elif value is None and kind == OPTIONAL:
            tensors.append(None)
        else:
            raise argument_error(op.name, op.names[position], "Tensor", value)
    for tensor in tensors:
        if tensor is None or tensor._device is device:
            continue
        if device is None:
            device = tensor._device
        else:
            return tensors, common_device(op, tensors)
    return tensors, device or devices.cpu


def common_device(op, tensors):
    """The device of tensors that are not all on one: 0-d tensors of the CPU may join a GPU's. Else
    the error that names two arguments and where they are."""
    found, first = devices.cpu, None
    for i, tensor in enumerate(tensors):
        if tensor is not None and tensor._device is not devices.cpu:
            found, first = tensor._device, i
            break
    for i, tensor in enumerate(tensors):
        if tensor is None or tensor._device is found:
            continue
        if tensor._device is devices.cpu and not tensor._array.ndim and found is not devices.meta:
            continue
        names = [argument_name(op, n, len(tensors)) for n in (first, i)]
        raise RuntimeError(
            f"{op.name}: Expected all tensors to be on the same device, but found at least two "
            f"devices, {found} and {tensor._device}! (argument '{names[0]}' is on {found}, "
            f"argument '{names[1]}' on {tensor._device})"
        )
    return found


def _to_arrays(op, values, tensors):
    """The bound values with tensors replaced by arrays in the op's compute dtype; None where the
    arrays are of a dtype that is computed in another."""
    code = None
    if op.rule is None:
        if _is_limited(op, tensors, values):
            return None
    else:
        present = [t for t in tensors if t is not None]
        if not present:  # an empty list, which the body refuses
            return [() if i == op.list_position else v for i, v in enumerate(values)]
        promoted = result_type([present[0]] if op.options.get("first_dtype") else present)
        try:
            operand, _ = op.rule(promoted)
        except NotImplementedError as error:
            raise NotImplementedError(f'"{op.name.strip("_")}" {error}') from None
        code = operand.code
        if code >= FIRST_LIMITED or op.options.get("limited") is False:
            if _is_limited(op, present, values):
                return None
    arrays = list(values)
    for position in op.tensor_positions:
        value = values[position]
        if op.kinds[position] == TENSORS:
            arrays[position] = [t._array if code is None else cast(t._array, code) for t in value]
        elif value is not None:
            keep = code is None or position in op.options.get("aside", ())
            arrays[position] = value._array if keep else cast(value._array, code)
    return arrays


def _is_limited(op, tensors, values):
    """Refuse dtypes that the op has no kernel for; whether there are some that it computes in
    another."""
    for tensor in tensors:
        if tensor is not None and tensor._dtype.code >= FIRST_LIMITED:
            return _limited().in_wider(op, [t._dtype for t in tensors if t is not None], values)
    return False


# ------------------------------------------------------------------------------------------- views
def run_view(op, values):
    """Execute a view op: the result shares the first argument's memory and history."""
    base = values[0]
    if not isinstance(base, Tensor):
        raise argument_error(op.name, op.names[0], "Tensor", base)
    array = base._array
    if type(array) is ndarray or base._device.type != "cuda":
        array = op.body(array, *values[1 : op.positional])
    else:
        array = _cuda().view_of(op, array, values[1 : op.positional])
    if isinstance(array, (tuple, list)):
        return _many_views(op, base, array, values)
    found = base._dtype
    if array.dtype is not base._array.dtype:  # complex numbers seen as pairs, or back
        found = BY_ARRAY_DTYPE[array.dtype]
    out = make_tensor(array, found, base._device)
    if make.shares(array, base._array):
        link(out, base, op, values)
        if mode.inference:
            make.seen(base, out)
    if mode.recording and base._node is not None:
        record(op, (base,), [None, *values[1:]], (out,))
    return out


def link(out, base, op, values):
    """Note that `out` is a view of `base`, taken by an op with these values."""
    make.link(out, base, (op, values[1:]))


@functools.cache
def one_of_many(name):
    """Why a view that is one of several refuses writes."""
    return (
        f"Output of '{name}' is a view and is being modified inplace. This view is the output "
        "of a function that returns multiple views. Such functions do not allow the output views "
        "to be modified inplace. You should replace the inplace operation by an out-of-place one."
    )


def _many_views(op, base, arrays, values):
    outs, reason, step = [], one_of_many(op.name), (op, values[1:])
    view, inference = make.view, mode.inference
    plain = type(base) in EXACT and not inference
    for array in arrays:
        out = view(base, array, step) if plain and type(array) is ndarray else NotImplemented
        if out is NotImplemented:
            out = make_tensor(array, base._dtype, base._device)
            link(out, base, op, values)
        if inference:
            make.seen(base, out)
        out._path = ()
        out._writable = reason
        outs.append(out)
    if mode.recording and base._node is not None and outs:
        record(op, (base,), [None, *values[1:]], outs)
    return tuple(outs)
