"""The generated short ways into ops for tensors on a GPU: the texts of the CPU's native calls, with
device arrays where those have NumPy's, and results that know their device.

They are written once a call has been on a GPU; calls on the CPU never look at them.
"""

from __future__ import annotations

from rushlight.compiler.cuda import array_code, translation
from rushlight.compiler.cuda.array_code import running
from rushlight.compiler.cuda.device_array import DeviceArray, from_host
from rushlight.dtypes import FLOAT
from rushlight.ops._calls import array_calls as _doors
from rushlight.ops._calls import elementwise_calls as _elementwise_doors
from rushlight.ops._calls.array_calls import built, texts_of
from rushlight.ops._table import arrays as _arrays
from rushlight.ops._table.elementwise import Call
from rushlight.tensor.construction import in_python
from rushlight.tensor.tensor import Tensor

_INFERENCE = "if STATE.inference and mode.inference:"


def make(op, form):
    """The native call of an op for a form of call on a GPU; None where there can be none."""
    if op.kind == "elementwise":
        return _elementwise(op, form, False)
    return _of_arrays(op, form) if op.kind in ("op", "view") else None


def make_inplace(op, form):
    """The native call of ``x.op_()`` on a GPU; None where there can be none."""
    return _elementwise(op, form, True) if op.kind == "elementwise" else None


# ------------------------------------------------------------------------------------- elementwise
def _elementwise(op, form, inplace):
    found = texts_of(op, form)
    if op.outputs != 1 or found is None:
        return None
    source = _elementwise_doors._Source(op)
    if not source.read_arguments(*found):
        return None
    text, table = source.inplace() if inplace else source.fresh(machine=False), {}
    check = (
        "for a in arrays:\n        if a.block.device != arrays[0].block.device: return NO\n    "
        "entry = known(key)"
    )
    text = text.replace("entry = known(key)", check, 1)
    text = text.replace(_INFERENCE, f"out._device = p0._device\n    {_INFERENCE}", 1)
    space = {
        **_elementwise_doors._SPACE, **source.values, "op": op, "table": table,
        "known": table.get, "ndarray": DeviceArray, "learn": _learn, "quick": None,
    }  # fmt: skip
    return built(op, f"{'in-place' if inplace else 'forward'} call on a GPU", form, text, space)


def _learn(op, table, key, values, count, quick):
    """The entry of a key, from the general path's judgement; None where it has no kernel."""
    call = Call(op, values)
    if call.device.type != "cuda" or call.limited:
        return None
    entry = _elementwise_doors._Entry()
    entry.kernel, scalars = call.kernel()
    if len(scalars) != count or not hasattr(entry.kernel, "printer"):
        return None
    entry.short = entry.short_into = _elementwise_doors._refuse
    entry.dtype, entry.floats = call.dtypes[0], call.operand.category == FLOAT
    if len(table) >= _elementwise_doors._LIMIT:
        table.clear()
    table[key] = entry
    return entry


# -------------------------------------------------------------------------------- arrays and views
def _of_arrays(op, form):
    found = texts_of(op, form)
    if found is None or op.list_position >= 0:
        return None
    source = _doors._Source(op)
    if not source.read_arguments(*found):
        return None
    view = op.kind == "view"
    text = source.view(whole=False) if view else source.arrays(machine=False)
    tensors = [t for t in source.tensors if t != "None" and t not in source.optional]
    if not tensors:
        return None
    home = tensors[0]
    others = [t for t in source.tensors if t not in ("None", home)]
    checks = "".join(
        f"if {t} is not None and {t}._device is not {home}._device: return NO\n    " for t in others
    )
    text = text.replace("r = kernel(", checks + "r = kernel(", 1)
    text = text.replace(_INFERENCE, f"out._device = {home}._device\n    {_INFERENCE}", 1)
    space = {
        **_doors._SPACE, **source.values, "op": op, "make": in_python, "ndarray": DeviceArray,
        "kernel": _launched(op, op.body if view else op.array_kernel), "several": _several,
    }  # fmt: skip
    return built(op, "forward call on a GPU", form, text, space)


def _launched(op, function):
    """The op's kernel or body on device arrays, counted under its name."""
    kernel = getattr(op, "cuda_kernel", None) or translation.on_device(function)
    name, view = op.name, op.kind == "view"

    def call(first, *args, **kwargs):
        before = running.op, running.device
        running.op, running.device = name, first.block.device
        try:
            found = kernel(first, *args, **kwargs)
            if type(found) is DeviceArray or view:
                return found
            if isinstance(found, (tuple, list)):
                return tuple([_there(r, running.device) for r in found])
            return _there(found, running.device)
        finally:
            running.op, running.device = before

    return call


def _there(result, index):
    if result is None or type(result) is DeviceArray:
        return result
    array_code.uploads[running.op] += 1
    return from_host(_arrays.as_array(result), index)


def _several(op, tensors, values, results):
    """Wrap and record several results."""
    device = next(t for t in tensors if isinstance(t, Tensor))._device
    return _arrays.wrap_results(op, tensors, values, results, device)
