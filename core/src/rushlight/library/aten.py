"""``rushlight.ops.aten``: the ops of the table under their ATen names.

``ops.aten.add.Tensor(x, y)`` calls :func:`rushlight.add`. Thin access for programs that name ops
this way: a packet takes the arguments of the public function, and so do its overloads.
"""

from __future__ import annotations

import importlib

from rushlight import refusals
from rushlight.tensor.tensor import Tensor

# Overload names -> the ops that have them; of all other ops: default and out.
_OVERLOADS = {
    "default out Scalar": (
        "acos acosh angle asin asinh atan atanh ceil cos cosh erf erfc exp expm1 floor "
        "lgamma log10 log1p neg sin sinh sqrt tan tanh"
    ),
    "Scalar Tensor": (
        "eq_ fill_ ge_ greater_ greater_equal_ gt_ le_ lerp_ less_ less_equal_ lt_ "
        "masked_fill_ ne_ not_equal_ pow_"
    ),
    "Tensor Scalar": (
        "add_ bitwise_and_ bitwise_or_ bitwise_xor_ copysign_ float_power_ floor_divide_ "
        "fmod_ mul_ multiply_ remainder_ sub_ subtract_ true_divide_"
    ),
    "default Tensor": "clamp_ clamp_max_ clamp_min_ clip_ copy_ narrow values",
    "Tensor Scalar Scalar_out Tensor_out": "greater greater_equal less less_equal not_equal",
    "Tensor Scalar Scalar_out Tensor_out default": "ge gt le lt",
    "default Tensor out Tensor_out": "clamp clamp_max clamp_min clip",
    "default out dtype_out dtype": "addmm baddbmm bmm mm",
    "Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out": (
        "bitwise_and bitwise_or bitwise_xor"
    ),
    "Tensor Scalar out Scalar_out default": "add copysign sub",
    "Tensor Tensor_out": "slice_copy split_copy unsafe_split",
    "array": "dsplit hsplit vsplit",
    "default Sequence": "atleast_1d atleast_2d atleast_3d",
    "default padding": "conv1d conv2d conv3d",
    "default periodic out periodic_out": "bartlett_window blackman_window hann_window",
    "default values": "kthvalue mode topk",
    "int": "select transpose unbind",
    "int_out": "select_copy transpose_copy unbind_copy",
    "x dx": "cumulative_trapezoid trapezoid trapz",
    "Scalar Scalar_out Tensor Tensor_out": "fill masked_fill",
    "Tensor Scalar Scalar_out Tensor_out default Tensor_list": "eq ne",
    "Tensor Scalar Tensor_out Scalar_out": "bucketize rsub",
    "Tensor Scalar out": "multiply true_divide",
    "Tensor Tensor_Scalar Scalar_Tensor Tensor_out Tensor_Scalar_out Scalar_Tensor_out": (
        "bitwise_left_shift bitwise_right_shift"
    ),
    "Tensor_Scalar Tensor": "bitwise_left_shift_ bitwise_right_shift_",
    "default dim correction correction_out": "std_mean var_mean",
    "default dim correction correction_out out": "std var",
    "default dim dim_values out": "median nanmedian",
    "default dim dims": "squeeze squeeze_",
    "default dim dims out dims_out all_out": "all any",
    "default scalar out scalar_out": "nanquantile quantile",
    "input": "conv_transpose2d conv_transpose3d",
    "int default": "size stride",
    "int int_out": "log_softmax softmax",
    "intlist": "moveaxis movedim",
    "Scalar Tensor Scalar_out Tensor_out": "lerp",
    "Tensor": "bernoulli_ slice",
    "default grad_input": "max_pool2d_with_indices_backward",
    "default no_stats": "_native_batch_norm_legit",
    "default vec": "_upsample_bilinear2d_aa",
    "Tensor Scalar Scalar_Tensor": "result_type",
    "Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out default": "remainder",
    "Tensor Scalar Tensor_mode Scalar_mode out out_mode": "divide",
    "Tensor Scalar Tensor_mode Scalar_mode out out_mode Scalar_out Scalar_mode_out default": (
        "div"
    ),
    "Tensor Scalar Tensor_out Scalar_out default": "fmod",
    "Tensor Scalar out Scalar_out left_t right_ default": "mul",
    "Tensor Scalar_Other": "xlogy_",
    "Tensor Scalar_Other Scalar_Self OutTensor OutScalar_Self OutScalar_Other": "xlogy",
    "Tensor Tensor_mode Scalar Scalar_mode": "div_",
    "Tensor Tensor_mode Scalar_mode Scalar": "divide_",
    "Tensor Tensor_out Scalar Scalar_out": "searchsorted",
    "Tensor Tensor_out Tensor_hacked_twin list_int list_float list_bool list_Tensor list_str": (
        "index"
    ),
    "Tensor Tensor_out default": "frexp",
    "Tensor out Scalar": "subtract",
    "Tensor out default": "ldexp",
    "Tensor self_Tensor self_int Tensor_out": "repeat_interleave",
    "Tensor sizes default": "split",
    "Tensor_Tensor Tensor_Scalar Scalar Tensor_Tensor_out Scalar_out Tensor_Scalar_out": (
        "float_power"
    ),
    "bins_tensor bins_tensor_out bin_ct bin_ct_out": "histogram",
    "default Q": "qr",
    "default Scalar out Scalar_out": "floor_divide",
    "default Tensor low_dtype out Tensor_out low_dtype_out": "randint_like",
    "default TensorList": "backward",
    "default U": "svd",
    "default X": "triangular_solve",
    "default a": "geqrf",
    "default center": "stft",
    "default decimals": "round_",
    "default decimals out decimals_out Scalar": "round",
    "default dim dims out dim_out dims_out": "squeeze_copy",
    "default dim out dtype_out": "mean",
    "default dim_IntList dim_IntList_out out": "count_nonzero",
    "default dim_int int_out out": "prod",
    "default dtype": "view",
    "default dtype out dtype_out": "view_copy",
    "default hacked_twin": "index_put_",
    "default indexing": "meshgrid",
    "default int_bins TensorList_bins": "histogramdd",
    "default low out low_out": "randint",
    "default m out m_out": "eye",
    "default memory_format": "is_contiguous",
    "default out Scalar int_int float_float complex_complex": "log",
    "default out hacked_twin": "index_put",
    "default out p Tensor Tensor_out float_out": "bernoulli",
    "default periodic beta out periodic_out beta_out": "kaiser_window",
    "default stable stable_out": "argsort",
    "default stable values_stable values Tensor any": "sort",
    "default start start_step start_out out": "arange",
    "default sublist": "einsum",
    "dim_IntList default IntList_out out": "sum",
    "dtype other dtype_layout prim_Device prim_dtype prim_other": "to",
    "from to default": "random_",
    "int_Tensor int_Scalar": "index_fill_",
    "int_Tensor int_Scalar int_Scalar_out int_Tensor_out": "index_fill",
    "memory_format out": "empty",
    "other default dim dim_max unary_out out": "max",
    "other default dim dim_min unary_out out": "min",
    "scalarint scalararray array scalarrayint scalarrayarray tensorarrayint tensorarray": (
        "gradient"
    ),
    "sections indices tensor_indices_or_sections": "tensor_split",
    "self ScalarOther ScalarSelf Scalar default self_out": "where",
    "self self_out tensors_out tensors tensor any": "dequantize",
    "sparse_dim default": "to_sparse",
    "src value reduce value_reduce": "scatter_",
    "step default out out_": "range",
    "two": "scatter_reduce_",
    "two two_out": "scatter_reduce",
    "using_ints": "flatten",
    "value src reduce value_reduce src_out value_out reduce_out value_reduce_out": "scatter",
}
_OF = {name: words.split() for words, names in _OVERLOADS.items() for name in names.split()}
_REDUCTIONS = ("none", "mean", "sum")


def _softmax(self, dim, half_to_float):
    return importlib.import_module("rushlight").softmax(self, dim)


def _log_softmax(self, dim, half_to_float):
    return importlib.import_module("rushlight").log_softmax(self, dim)


def _to_copy(self, *, dtype=None, device=None, **options):
    return self.to(device=device or self.device, dtype=dtype or self.dtype, copy=True)


def _elu(self, alpha=1, scale=1, input_scale=1):
    functional = importlib.import_module("rushlight.nn.functional")
    return functional.elu(self * input_scale, alpha) * scale


def _loss(name):
    def call(self, target, reduction=1):
        functional = importlib.import_module("rushlight.nn.functional")
        return getattr(functional, name)(self, target, reduction=_REDUCTIONS[reduction])

    return call


# ATen names whose signature is not that of a public function.
_ADAPTED = {
    "_softmax": _softmax,
    "_log_softmax": _log_softmax,
    "_to_copy": _to_copy,
    "_unsafe_view": Tensor.reshape,
    "elu": _elu,
    "l1_loss": _loss("l1_loss"),
    "mse_loss": _loss("mse_loss"),
    "alias": lambda self: self.view_as(self),
}
# Ops that are public in nn.functional only, with ATen's signature.
_FUNCTIONAL = frozenset(
    "gelu glu hardsigmoid hardswish hardtanh leaky_relu linear log_sigmoid mish relu6 silu "
    "softplus softshrink scaled_dot_product_attention pixel_shuffle pixel_unshuffle".split()
)
# Names that only ATen has, of ops/private_names.py.
_PRIVATE = {
    "_batch_norm_with_update": "_batch_norm_with_update",
    "_upsample_bilinear2d_aa": "_upsample_bilinear2d_aa",
    "max_pool2d_with_indices_backward": "max_pool2d_with_indices_backward",
    "slice": "sliced",
}
_PREFIXES = {"linalg_": "linalg", "special_": "special", "fft_": "fft"}


def _function(name):
    """What an ATen name calls; None if there is nothing of that name."""
    root = importlib.import_module("rushlight")
    if name in _ADAPTED:
        return _ADAPTED[name]
    if name in _PRIVATE:
        return getattr(importlib.import_module("rushlight.ops.private_names"), _PRIVATE[name])
    for prefix, module in _PREFIXES.items():
        if name.startswith(prefix):
            part = importlib.import_module("rushlight." + module)
            found = getattr(part, name.removeprefix(prefix), None)
            if callable(found):
                return found
    if name in _FUNCTIONAL:
        return getattr(importlib.import_module("rushlight.nn.functional"), name)
    if name.startswith("__") or name in ("tensor", "load", "save", "compile", "no_grad"):
        return None
    method = getattr(Tensor, name, None)
    if name.endswith("_") and callable(method):
        return method
    try:
        found = getattr(root, name)
    except AttributeError:
        found = None
    if isinstance(found, refusals.Refused) or isinstance(found, type) or not callable(found):
        found = None
    return found or (method if callable(method) else None)


class AtenOverload:
    """One overload of an ATen op."""

    def __init__(self, packet, name):
        self.overloadpacket, self._overloadname = packet, name
        self.__name__, self.namespace = packet.__name__, "aten"
        self.__qualname__, self.__module__ = self.__name__, "rushlight.ops"

    def name(self) -> str:
        """The full name, for example ``aten::add.Tensor``."""
        suffix = "" if self._overloadname == "default" else "." + self._overloadname
        return f"aten::{self.__name__}{suffix}"

    def __call__(*args, **kwargs):  # noqa: N805 - an argument of ATen's ops is called self
        """Call the public function."""
        overload, *args = args
        return overload.overloadpacket(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverload(op='aten.{self.__name__}', overload='{self._overloadname}')>"

    def __str__(self):
        return f"aten.{self.__name__}.{self._overloadname}"


class AtenPacket:
    """An ATen op: call it, or one of its overloads."""

    def __init__(self, name, function):
        self.__name__, self.__qualname__, self._function = name, name, function
        self._qualified_op_name = f"aten::{name}"
        self.__doc__ = function.__doc__
        self._cache = {}

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return list(_OF.get(self.__name__, ("default", "out")))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._cache:
            if name not in self.overloads():
                raise AttributeError(
                    f"The underlying op of 'aten.{self.__name__}' has no overload name '{name}'"
                )
            self._cache[name] = AtenOverload(self, name)
        return self._cache[name]

    def __call__(*args, **kwargs):  # noqa: N805 - an argument of ATen's ops is called self
        """Call the public function; ATen's ``self`` is the first argument."""
        packet, *args = args
        if "self" in kwargs:
            args.insert(0, kwargs.pop("self"))
        return packet._function(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self):
        return f"aten.{self.__name__}"


class AtenNamespace:
    """``rushlight.ops.aten``."""

    def __init__(self):
        self._name, self._packets = "aten", {}

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        packets = self._packets
        if name not in packets:
            function = _function(name)
            if function is None:
                raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
            packets[name] = AtenPacket(name, function)
        return packets[name]

    def __repr__(self):
        return "<operators of aten>"
