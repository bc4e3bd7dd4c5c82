"""Calls of the table's ops under their ATen names, and the types of what they give."""

from __future__ import annotations

import ast
import re

from rushlight.jit import kinds, runtime, tree
from rushlight.jit.kinds import BOOL, DEVICE, INT, NONE, NUMBER, TENSOR, UNKNOWN, Type
from rushlight.jit.targets import Target
from rushlight.library.aten_schemas import schemas_of
from rushlight.library.operators import lookup
from rushlight.tensor.results import NAMED

_CONVERTED = {
    "dtype": runtime.as_dtype,
    "layout": runtime.as_layout,
    "memory_format": runtime.as_format,
}
# Where a number that stands for a dtype or a memory format may be given by position.
_POSITIONS = {
    "softmax": {2: "dtype"}, "log_softmax": {2: "dtype"}, "_to_copy": {1: "dtype"},
    "contiguous": {1: "memory_format"}, "result_type": {}, "_cast": {1: "dtype"},
    "is_contiguous": {1: "memory_format"}, "view_dtype": {1: "dtype"},
}  # fmt: skip
_INT_LIST, _TENSORS = kinds.list_of(INT), kinds.list_of(TENSOR)
_PAIR, _TRIPLE = Type("Tuple", TENSOR, TENSOR), Type("Tuple", TENSOR, TENSOR, TENSOR)
_RESULTS: dict = {}


def _results(kind, names):
    for name in names.split():
        _RESULTS[name] = kind


_results(BOOL, "is_floating_point is_complex is_contiguous is_nonzero is_signed is_leaf "
         "requires_grad is_cuda is_grad_enabled is_sparse is_mkldnn is_quantized is_meta is_pinned "
         "is_coalesced is_inference is_set_to can_cast is_scripting is_autocast_enabled "
         "is_autocast_cpu_enabled has_names is_distributed is_mps is_xpu is_vulkan is_nested "
         "is_sparse_csr")  # fmt: skip
_results(INT, "dim ndimension numel element_size storage_offset get_device dense_dim sparse_dim "
         "q_zero_point output_nr _version result_type promote_types layout nbytes itemsize ndim "
         "nelement dtype _nnz")  # fmt: skip
_results(NONE, "backward record_stream retain_grad")
_results(_INT_LIST, "shape")
_results(kinds.NONE, "_assert_async")
_results(NUMBER, "item _local_scalar_dense")
_results(DEVICE, "device")
# Of functions that are no ops, or whose declaration gives no schema.
_results(_TENSORS, "gradient unbind_copy meshgrid where_list atleast_list align_tensors "
         "nonzero_numpy unflatten_dense_tensors")  # fmt: skip
_results(_PAIR, "_pack_padded_sequence _pad_packed_sequence")
_results(_PAIR, "median_dim lstm_cell fractional_max_pool2d fractional_max_pool3d lu_factor "
         "_native_multi_head_attention log_sigmoid_forward native_dropout")  # fmt: skip
_results(_TRIPLE, "_native_batch_norm_legit _unique2 unique_dim _lu_with_info")
_results(Type("Tuple", TENSOR, _TENSORS), "histogramdd")
_results(Type("Tuple", TENSOR, TENSOR, TENSOR, TENSOR), "_batch_norm_with_update embedding_bag")
_KINDS = {"Tensor": TENSOR, "Tensor[]": _TENSORS, "bool": BOOL, "int": INT}
_LISTWISE = ("atleast_1d", "atleast_2d", "atleast_3d", "dequantize")
_OF_DIM = {"max": _PAIR, "min": _PAIR, "median": _PAIR, "nanmedian": _PAIR}


def result(name, args, kwargs):
    """The type of the result of an ATen op, by its arguments; with names of several results."""
    kind = _result(name.removeprefix("sym_"), args, kwargs)
    fields = _fields(name) if kind.name == "Tuple" else ()
    return Type("Tuple", *kind.args, fields=fields) if fields else kind


def _fields(name):
    """Names of an op's results: ``values`` and ``indices``."""
    return getattr(NAMED.get(name), "_fields", ())


def _result(name, args, kwargs):
    if name in ("size", "stride"):
        return INT if len(args) > 1 or "dim" in kwargs else _INT_LIST
    if name in _OF_DIM:
        by_dim = "dim" in kwargs or (len(args) > 1 and args[1].type == INT)
        return _OF_DIM[name] if by_dim else TENSOR
    if name == "where" and len(args) == 1:
        return _TENSORS
    if name.startswith(("_foreach_", "_amp_foreach_")):
        return NONE if name.endswith("_") else _TENSORS
    if name in _LISTWISE and args and args[0].type.name in ("List", "Tuple"):
        return _TENSORS
    return _RESULTS.get(name) or _declared(name) or TENSOR


def _declared(name):
    """What all overloads of an op give by its declaration; None where they differ."""
    found = {schema.returns for schema in schemas_of(name).values()}
    if len(found) != 1:
        return None
    of = [_KINDS.get(re.sub(r"\(.*?\)", "", text)) for text in found.pop()]
    if None in of:
        return None
    return of[0] if len(of) == 1 else Type("Tuple", *of)


class Aten(Target):
    """An op by its ATen name. `function` is what runs where that is not the packet."""

    def __init__(self, name, function=None, symbol=None, written="torch."):
        super().__init__(function, name)
        self.symbol, self.form = symbol, written

    def emit(self, builder, call):
        """The call; numbers become dtypes, and what must be a list becomes one."""
        func, given = self.callee(builder, call)
        positions = _POSITIONS.get(self.script, {})
        args = [self._converted(builder, a, positions.get(i)) for i, a in enumerate(given)]
        keywords = [
            ast.keyword(arg=k, value=self._converted(builder, v, k))
            for k, v in call.kwargs.items()
            if not (k in ("layout", "pin_memory") and isinstance(v, tree.Const) and not v.value)
        ]
        made = ast.Call(func=func, args=args, keywords=keywords)
        if call.type.name == "List":
            made = ast.Call(func=builder.shared(list), args=[made], keywords=[])
        return made

    def callee(self, builder, call):
        """What is called, and its arguments."""
        return builder.shared(self.function()), call.args

    def function(self):
        """What runs."""
        if self.python is None:
            self.python = function_of(self.script)
        return self.python

    def _converted(self, builder, node, name):
        convert = _CONVERTED.get(name)
        if convert is None:
            return builder.expr(node)
        if isinstance(node, tree.Const):
            value = convert(node.value)
            return ast.Constant(value=None) if value is None else builder.shared(value)
        return builder.call(convert, [node])

    def written(self, printer, call):
        """``torch.name(...)``, or a method as it was written."""
        if self.form == "method":
            owner, *args = call.args
            return f"{printer.operand(owner)}.{self.script}({printer.arguments(args, call.kwargs)})"
        return f"torch.{self.script}({printer.arguments(call.args, call.kwargs)})"


class Public(Aten):
    """A public function of Rushlight that is called as it is."""

    def written(self, printer, call):
        """``torch.name(...)``, or a function of an archive that does the same."""
        form = printer.form(self, call)
        if form is not None:
            return form
        if printer.exporting and not exists(self.script):
            raise printer.refused(
                f"the function {self.script} cannot be written into an archive: it is no operator "
                "of PyTorch's; write it with operators, or trace the module"
            )
        return super().written(printer, call)


class OnTensor(Aten):
    """A method of a tensor."""

    def __init__(self, name):
        super().__init__(name, written="method")

    def callee(self, builder, call):
        """``x.name``, and the arguments behind it."""
        owner = builder.expr(call.args[0])
        return ast.Attribute(value=owner, attr=self.script, ctx=ast.Load()), call.args[1:]


class Property(Target):
    """A property of a tensor, ``ops.prim.name(x)`` in archives."""

    def __init__(self, name, convert=None):
        super().__init__(script=name)
        self.convert = convert

    def emit(self, builder, call):
        """``x.name``."""
        owner = builder.expr(call.args[0])
        found = ast.Attribute(value=owner, attr=self.script, ctx=ast.Load())
        if self.convert is None:
            return found
        return ast.Call(func=builder.shared(self.convert), args=[found], keywords=[])

    def written(self, printer, call):
        """``x.name``."""
        return f"{printer.operand(call.args[0])}.{self.script}"


PROPERTIES = {
    "dtype": (INT, runtime.NUMBERS.get), "device": (DEVICE, None), "shape": (_INT_LIST, list),
    "is_cuda": (BOOL, None), "requires_grad": (BOOL, None), "ndim": (INT, None),
    "T": (TENSOR, None), "mT": (TENSOR, None), "H": (TENSOR, None), "real": (TENSOR, None),
    "imag": (TENSOR, None), "grad": (kinds.optional(TENSOR), None), "data": (TENSOR, None),
    "is_sparse": (BOOL, None), "is_quantized": (BOOL, None), "is_meta": (BOOL, None),
    "is_leaf": (BOOL, None), "itemsize": (INT, None), "nbytes": (INT, None),
    "is_mps": (BOOL, None), "is_xpu": (BOOL, None), "is_nested": (BOOL, None),
    "layout": (INT, lambda kept: runtime.LAYOUTS.index(str(kept).rpartition(".")[2])),
}  # fmt: skip


def property_of(value, name, at):
    """``tensor.name``; None where tensors have no such property."""
    found = PROPERTIES.get(name)
    if found is None:
        return None
    kind, convert = found
    return tree.Call(Property(name, convert), [value], {}, type=kind, at=at)


def exists(name):
    """Whether the table has an op of an ATen name."""
    try:
        function_of(name)
    except (AttributeError, NotImplementedError):
        return False
    return True


def function_of(name):
    """What an ATen name calls."""
    from rushlight.jit.forms.aten import FORMS

    found = FORMS.get(name)
    if found is not None:
        return found
    try:
        function = getattr(lookup("aten"), name)._function
        return getattr(function, "_jit_replaces", function)  # while a trace runs
    except AttributeError:
        raise NotImplementedError(
            f"the op aten::{name} is not available: save the program with other operations, or "
            "run the Python model instead"
        ) from None


__all__ = ["PROPERTIES", "UNKNOWN", "Aten", "Property", "exists", "function_of", "property_of"]
