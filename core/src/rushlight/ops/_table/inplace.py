"""In-place variants and ``out=``: the same op, written into memory that exists."""

from __future__ import annotations

import importlib
import warnings

from rushlight.autograd.mode import mode
from rushlight.autograd.node import LEAF, STALE
from rushlight.dtypes import FLOAT, can_cast
from rushlight.errors import shape_text
from rushlight.machine import np
from rushlight.machine.arrays import cast
from rushlight.machine.memory import start_of
from rushlight.ops._table.arrays import collect
from rushlight.ops._table.elementwise import Call
from rushlight.ops._table.op import TABLE
from rushlight.ops._table.recording import record, resave
from rushlight.tensor import construction as make
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import EXACT, Tensor, make_tensor

_UNRECORDED_VIEW = (
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled, "
    "while the tensor it is a view of has a history. Make the view inside of the recorded part, or "
    "write to it under no_grad."
)


def write_directly(op, target, args):
    """``target.op_(...)`` by what the op has for arrays (`op.writes`) where nothing is recorded;
    False, and nothing written, where the general path must do it."""
    if type(target) not in EXACT or not is_free(target):
        return False
    recording = mode.recording
    for value in args:
        if isinstance(value, Tensor):
            if type(value) not in EXACT or recording and value._node is not None:
                return False
    known = getattr(op.writes, "known", None)
    if known is None or known(target, *args) is NotImplemented:
        arrays = [value._array if isinstance(value, Tensor) else value for value in args]
        if not op.writes(target._array, *arrays):
            return False
    written(target, None)
    return True


def run_inplace(op, target, args, kwargs):
    """``target.op_(...)``."""
    if op.writes is not None and not kwargs and write_directly(op, target, args):
        return target
    if op.kind == "elementwise":
        doors = op.paths.inplace_forms
        form = (len(args) + 1, *kwargs) if kwargs else len(args) + 1
        if form in doors:
            door = doors[form]
        else:
            door = doors[form] = _prepared(op, form, True)
        if door is not None:
            result = door(target, *args, **kwargs)
            if result is not NotImplemented:
                return result
        if target._device.type == "cuda":
            result = _on_gpu(op, form, target, args, kwargs)
            if result is not NotImplemented:
                return result
    for value in args:
        if type(value) not in EXACT and getattr(value, "_pattern", None) is not None:  # sparse
            return type(value).__torch_function__(op.inplace, (), (target, *args), kwargs)
    values = op.bind((target, *args), kwargs)
    if op.kind == "elementwise":
        call = Call(op, values)
        tensors, attributes = call.given, call.attributes
        dtype, shape = call.dtypes[0], call.broadcast_shape()
    else:
        tensors, _ = collect(op, values)
        attributes = [None if isinstance(v, Tensor) else v for v in values]
        call, dtype, shape = None, None, None
    recording = mode.recording and any(t is not None and t._node is not None for t in tensors)
    recording = recording and op.options.get("differentiable", True)
    check_writable(target, recording)
    if call is not None:
        check_result(op, target, dtype, shape)
    node = None
    if recording:
        before = make_tensor(target._array, target._dtype)
        node = record(op, tensors, attributes, (before,), complete=False)
        _keep_original(node, target)
    if target._device.type != "meta":
        _compute_into(op, call, values, target)
    written(target, node)
    return target


def _prepared(op, form, inplace):
    """The prepared call for a form of ``x.op_()`` or of ``op(..., out=out)``, or None."""
    from rushlight.ops._calls.elementwise_calls import make_elementwise_door

    return make_elementwise_door(op, form, inplace)


def _on_gpu(op, form, target, args, kwargs):
    """The short way for a tensor on a GPU, or NotImplemented."""
    doors = op.paths.inplace_gpu_forms
    if form not in doors:
        from rushlight.ops._calls.cuda_calls import make_inplace

        doors[form] = make_inplace(op, form)
    door = doors[form]
    return NotImplemented if door is None else door(target, *args, **kwargs)


def _keep_original(node, target):
    """Where a formula needs what the target held before the write, save a copy of that."""
    inputs = node.plan.inputs
    if 0 not in inputs or target._device.type == "meta":
        return
    original = make_tensor(target._array.copy(), target._dtype)
    original._node, original._index = target._node, target._index
    node.saved[inputs.index(0)] = original


def _compute_into(op, call, values, target):
    if call is None:
        with np.errstate(all="ignore"):
            from rushlight.ops._table.arrays import run_arrays

            previous, mode.recording = mode.recording, False
            try:
                result = run_arrays(op, values)
            finally:
                mode.recording = previous
        check_result(op, target, result._dtype, result._array.shape)
        target._array[...] = cast(result._array, target._dtype.code)
        return
    kernel, scalars = call.kernel()
    arrays = [t._array for t in call.tensors if t is not None]
    if call.limited:
        (result,) = call.restored([kernel(*arrays, *scalars)])
        target._array[...] = cast(result, target._dtype.code)
    elif call.dtypes[0] is target._dtype:
        kernel.into((target._array,), *arrays, *scalars)
    else:
        target._array[...] = cast(kernel(*arrays, *scalars), target._dtype.code)


def check_result(op, target, dtype, shape):
    """Refuse results that the target cannot hold."""
    if not can_cast(dtype, target._dtype):
        raise RuntimeError(
            f"{op.name}_: result type {dtype} can't be cast to the desired output type "
            f"{target._dtype}"
        )
    if shape != target._array.shape:
        raise RuntimeError(
            f"{op.name}_: output with shape {shape_text(target._array.shape)} doesn't match the "
            f"broadcast shape {shape_text(shape)}"
        )


def _opened(target):
    """Whether a view that is read-only, because it was expanded, has no element twice and may be
    written to from now on, as what it was taken of may."""
    array, base = target._array, target._base
    if base is None or not base._array.flags.writeable:
        return False
    if any(step == 0 and n > 1 for step, n in zip(array.strides, array.shape, strict=True)):
        return False
    try:
        array.flags.writeable = True
    except ValueError:  # so is the memory that it shows
        return False
    return True


def check_writable(target, recording):
    """The rules for leaves and views that must not be written to."""
    writeable = target._array.flags.writeable or target._device.type == "meta"
    if not writeable and not _opened(target):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location, or its memory is read-only. Please clone() the tensor before "
            "performing the operation."
        )
    if not mode.inference and target.is_inference():
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make "
            "a clone to get a normal tensor before doing inplace update."
        )
    if not mode.recording:
        return
    base = target._base
    if target._writable is not None and (recording or base is not None and base._node is not None):
        raise RuntimeError(target._writable)
    if target._node is LEAF:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )
    if target._base is not None:
        if target._base._node is LEAF:
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place "
                "operation."
            )
        if target._node is None is not target._base._node and target._dtype.category >= FLOAT:
            raise RuntimeError(_UNRECORDED_VIEW)


def is_free(target, value=None):
    """Whether a write into an exact tensor on the CPU, of another's elements where `value` is not
    None, is no more than that: nothing is recorded, refused or redirected."""
    array = target._array
    if STATE.modes or STATE.levels or type(array) is not np.ndarray:
        return False
    if target._inference and not mode.inference:
        return False
    if not array.flags.writeable:
        return False
    if not mode.recording:
        return True
    base = target._base
    recorded = target._node is not None or base is not None and base._node is not None
    return not recorded and (value is None or value._node is None)


def written(target, node):
    """After the write: the version counts up, and history moves to the new value."""
    storage = storage_of(target)
    storage.version += 1
    if node is None:
        return
    resave(node, target)
    take_history(target, node, 0)


def take_history(target, node, number):
    """What was written is output `number` of `node`: the history of the target, of the tensor it
    is a view of, and of other views."""
    storage, base = storage_of(target), target._base
    had = (target if base is None else base)._node is not None
    if base is None:
        target._node, target._index = node, number
        if target._retain is not None:
            target._keep_grad()
        _mark_stale(storage, None, had)
        return
    fresh = make_tensor(target._array, target._dtype)
    fresh._node, fresh._index = node, number
    scatter = TABLE["view_scatter"]
    updated = make_tensor(base._array, base._dtype)
    tensors = (base, fresh)
    record(scatter, tensors, [None, None, target._path], (updated,))
    base._node, base._index = updated._node, 0
    if base._retain is not None:
        base._keep_grad()
    _mark_stale(storage, base, had)


def _mark_stale(storage, base, had):
    """Have views take their history again when they are asked for it; `had` says whether the base
    had one before, without which a view of it was made in no_grad mode."""
    for view in storage.live_views():
        if view is base or not (view._path or view._writable):
            continue
        if view._node is not STALE:
            if view._writable is not None:
                view._path = make.Refusal(view._writable)
            elif had and view._node is None and view._dtype.category >= FLOAT:
                view._path = make.Refusal(_UNRECORDED_VIEW)
        view._node = STALE
        if view._retain is not None:
            view._keep_grad(False)


def _computed_into(op, out, args, kwargs):
    """The result of an elementwise op computed where it is to be written, of exact tensors where
    nothing is recorded; NotImplemented where the general path must do it."""
    if op.kind != "elementwise":
        if "computes" not in op.options:
            return NotImplemented
        found = op.options["computes"](*op.bind(args, kwargs))
        if found is None:
            return NotImplemented
        op, args, kwargs = found[0].op, found[1], {}
    doors, form = op.paths.forms, (len(args), *kwargs, "out")
    if form not in doors:
        doors[form] = _prepared(op, form, False)
    door = doors[form]
    return NotImplemented if door is None else door(*args, **kwargs, out=out)


def into(op, run, out, args, kwargs):
    """``op(..., out=out)``."""
    computed = _computed_into(op, out, args, kwargs)
    if computed is not NotImplemented:
        return computed
    outs = out if isinstance(out, (tuple, list)) else (out,)
    for item in outs:
        if not isinstance(item, Tensor):
            raise TypeError(
                f"{op.name}(): argument 'out' must be Tensor, not {type(item).__name__}"
            )
    if mode.recording:
        tensors = [v for v in (*args, *kwargs.values(), *outs) if isinstance(v, Tensor)]
        if any(t.requires_grad for t in tensors):
            raise RuntimeError(
                f"{op.name}(): functions with out=... arguments don't support automatic "
                "differentiation, but one of the arguments requires grad."
            )
    values = (*args, *kwargs.values())
    for item in outs:
        check_overlap(op, item, values)
    plain = not (STATE.modes or STATE.levels) and EXACT.issuperset(map(type, outs))
    results = op.function(*args, **kwargs) if plain else run(op.bind(args, kwargs))
    many = isinstance(results, tuple)
    for item, result in zip(outs, results if many else (results,), strict=True):
        if item._array.shape != result._array.shape:
            check_dtype_of_out(op, item, result)
            if plain and not item._array.size and _taken_over(item, result, values):
                continue
            if op.kind == "elementwise" and any(value is item for value in values):
                raise RuntimeError(
                    f"{op.name}: output with shape {shape_text(item._array.shape)} doesn't match "
                    f"the broadcast shape {shape_text(result._array.shape)}"
                )
            resize_out(op, item, result._array.shape)
            check_overlap(op, item, values)  # the new extent may reach an argument in the storage
        write_out(op, item, result)
    return out


def _taken_over(out, result, values):
    """Have an empty ``out=``, whose memory nothing shares, hold the memory of the result; False
    where something else may hold that."""
    empty, found = out._array, result._array
    if type(empty) is not np.ndarray or out._storage is not None or empty.base is not None:
        return False
    if type(found) is not np.ndarray or result._storage is not None:
        return False
    if found.base is not None and type(found.base) is not bytearray:  # a view of another array
        return False
    if result._dtype is not out._dtype or not (found.flags.c_contiguous and found.flags.writeable):
        return False
    tensors = (v for value in values for v in (value if type(value) in (list, tuple) else (value,)))
    if any(isinstance(v, Tensor) and (v._array is found or v is out) for v in tensors):
        return False
    check_writable(out, False)
    out._array = found
    written(out, None)
    return True


def check_overlap(op, out, values):
    """Refuse an ``out=`` that shares elements with an argument, or has several at one place."""
    array = out._array
    if type(array) is not np.ndarray or not array.size:
        return
    row_major = array.flags.c_contiguous
    if not row_major and any(
        step == 0 and n > 1 for step, n in zip(array.strides, array.shape, strict=True)
    ):
        raise RuntimeError(
            f"{op.name}: unsupported operation: more than one element of the written-to tensor "
            "refers to a single memory location. Please clone() the tensor before performing the "
            "operation."
        )
    for value in values:
        for item in value if isinstance(value, (tuple, list)) else (value,):
            other = item._array if isinstance(item, Tensor) else None
            if type(other) is not np.ndarray:
                continue
            if array is not other and array.base is other.base is None:
                continue  # each owns its memory
            if not np.may_share_memory(array, other):
                continue
            alike = op.kind in ("elementwise", "composite") and not op.options.get("separate")
            whole = alike and (
                array.strides == other.strides
                and array.shape == other.shape
                and start_of(array) == start_of(other)
            )
            if not whole and np.shares_memory(array, other):
                raise RuntimeError(
                    f"{op.name}: unsupported operation: some elements of the input tensor and the "
                    "written-to tensor refer to a single memory location. Please clone() the "
                    "tensor before performing the operation."
                )


def write_out(op, out, result):
    """Copy a result into the tensor given as ``out=``, resizing it where PyTorch does."""
    check_dtype_of_out(op, out, result)
    if out._array.shape != result._array.shape:
        resize_out(op, out, result._array.shape)
    check_writable(out, False)
    if out._device.type != "meta":
        out._array[...] = cast(result._array, out._dtype.code)
    written(out, None)


def check_dtype_of_out(op, out, result):
    """Refuse an ``out=`` of a dtype that the result cannot be stored as."""
    if op.options.get("exact_out") and out._dtype is not result._dtype:
        raise RuntimeError(
            f"{op.name}: Expected out tensor to have dtype {result._dtype}, but got {out._dtype} "
            "instead"
        )
    if not can_cast(result._dtype, out._dtype):
        raise RuntimeError(
            f"{op.name}: result type {result._dtype} can't be cast to the desired output type "
            f"{out._dtype}"
        )


def resize_out(op, out, shape):
    """Give an ``out=`` the shape of the result, within its storage where there is room."""
    if out._array.size:
        warnings.warn(
            f"{op.name}: an output with one or more elements was resized since it had shape "
            f"{shape_text(out._array.shape)}, which does not match the required output shape "
            f"{shape_text(shape)}.",
            stacklevel=5,
        )
    if isinstance(out._array, np.ndarray):
        importlib.import_module("rushlight.ops.shape.memory_layout").resize_(out, shape)
    else:
        out._array, out._storage = np.empty(shape, out._array.dtype), None
