"""``rushlight.ops.aten``: the ops of the table under their ATen names.

``ops.aten.add.Tensor(x, y)`` calls :func:`rushlight.add`. Thin access for programs that name ops
this way: a packet takes the arguments of the public function, and so do its overloads.
"""

from __future__ import annotations

import importlib
import inspect

from rushlight import refusals
from rushlight.library.aten_tags import tags_of
from rushlight.library.kinds import OpOverload, OpOverloadPacket
from rushlight.ops._table.aten import HOMES, RUNS, name_in
from rushlight.ops._table.op import TABLE
from rushlight.tensor.dispatch import call_overrides, overriding, stack
from rushlight.tensor.tensor import Tensor

# Overload names of functions that are no ops of the table, whose declarations say theirs.
_OVERLOADS = {
    "_native_batch_norm_legit": "default no_stats",
    "_upsample_bilinear2d_aa": "default vec",
    "arange": "default start start_step start_out out",
    "atleast_1d": "default Sequence",
    "atleast_2d": "default Sequence",
    "backward": "default TensorList",
    "bernoulli": "default out p Tensor Tensor_out float_out",
    "bernoulli_": "Tensor",
    "copy_": "default Tensor",
    "dequantize": "self self_out tensors_out tensors tensor any",
    "einsum": "default sublist",
    "empty": "memory_format out",
    "eye": "default m out m_out",
    "index": (
        "Tensor Tensor_out Tensor_hacked_twin list_int list_float list_bool list_Tensor list_str"
    ),
    "index_put": "default out hacked_twin",
    "index_put_": "default hacked_twin",
    "is_contiguous": "default memory_format",
    "max": "other default dim dim_max unary_out out",
    "meshgrid": "default indexing",
    "min": "other default dim dim_min unary_out out",
    "randint": "default low out low_out",
    "randint_like": "default Tensor low_dtype out Tensor_out low_dtype_out",
    "random_": "from to default",
    "result_type": "Tensor Scalar Scalar_Tensor",
    "size": "int default",
    "slice": "Tensor",
    "stride": "int default",
    "to": "dtype other dtype_layout prim_Device prim_dtype prim_other",
    "to_sparse": "sparse_dim default",
    "values": "default Tensor",
}
_REDUCTIONS = ("none", "mean", "sum")


def _loss(name):
    def call(self, target, reduction=1):
        functional = importlib.import_module("rushlight.nn.functional")
        return getattr(functional, name)(self, target, reduction=_REDUCTIONS[reduction])

    return staticmethod(call)


class _Adapted:
    """ATen names whose signature is not that of a public function."""

    @staticmethod
    def _softmax(self, dim, half_to_float):
        return self.softmax(dim)

    @staticmethod
    def _log_softmax(self, dim, half_to_float):
        return self.log_softmax(dim)

    @staticmethod
    def _to_copy(self, *, dtype=None, device=None, **options):
        return self.to(device=device or self.device, dtype=dtype or self.dtype, copy=True)

    @staticmethod
    def elu(self, alpha=1, scale=1, input_scale=1):
        functional = importlib.import_module("rushlight.nn.functional")
        if input_scale != 1:
            self = self * input_scale
        out = functional.elu(self, alpha)
        return out if scale == 1 else out * scale

    @staticmethod
    def alias(self):
        return self.view_as(self)

    @staticmethod
    def _pin_memory(self, device=None):
        return self.pin_memory() if device is None else self.pin_memory(device)

    l1_loss, mse_loss = _loss("l1_loss"), _loss("mse_loss")
    _unsafe_view = staticmethod(Tensor.reshape)


# Functions that are no ops, where they are.
_PRIVATE = {
    "_upsample_bilinear2d_aa": "ops.former.private_names._upsample_bilinear2d_aa",
    "_upsample_bicubic2d_aa": "ops.former.private_names._upsample_bicubic2d_aa",
    "slice": "ops.former.private_names.sliced",
    "_sparse_addmm": "sparse.addmm",
}
_PREFIXES = {"linalg_": "linalg", "special_": "special", "fft_": "fft"}


def _overloads(name):
    """The overload names of an ATen op whose family is loaded."""
    words = _of_op(TABLE.get(name), "aten")
    if words is None and name.endswith("_"):
        words = _of_op(TABLE.get(name[:-1]), "aten_inplace")
    if words is None:
        words = (_of_op(_with_alias(name), "aten_aliases") or _OVERLOADS).get(name, "default out")
    return words.split()


def _of_op(op, option):
    return None if op is None else op.options.get(option)


def _with_alias(name):
    """The op that declares an ATen name of another op than its own; None if there is none."""
    return next((op for op in TABLE.values() if name in op.options.get("aten_aliases", ())), None)


def _beside_namespaces(name):
    """The function of an op that is in no namespace of PyTorch's, or in that of layers alone, and
    says that ATen has it."""
    importlib.import_module("rushlight.ops.former.private_names")
    op = TABLE.get(name)
    if op is None or not (
        "aten" in op.options or name in map(name_in, _of_op(op, "schemas") or ())
    ):
        op = _with_alias(name)
    if op is None:
        return None
    if op.options.get("oracle") == "nn.functional":
        return getattr(importlib.import_module("rushlight.nn.functional"), op.name)
    return op.function


def _in_place(name):
    """The in-place form of an op that is no method: ``relu6_``."""
    op = TABLE.get(name[:-1]) if name.endswith("_") else None
    return None if op is None else op.inplace


def _elsewhere(name):
    """What an ATen name calls that is in a namespace of its own; None if it is in none."""
    if name in _PRIVATE:
        module, _, function = _PRIVATE[name].rpartition(".")
        return getattr(importlib.import_module("rushlight." + module), function)
    for prefix, module in _PREFIXES.items():
        if name.startswith(prefix):
            part = importlib.import_module("rushlight." + module)
            found = getattr(part, name.removeprefix(prefix), None)
            if callable(found):
                return found
    return None


# Functions of the top level that are not ATen's, and must not be reached from programs in files.
_NO_OPS = frozenset(("tensor", "load", "save", "compile", "no_grad", "from_file"))


def _function(name):
    """What an ATen name calls; None if there is nothing of that name."""
    root = importlib.import_module("rushlight")
    importlib.import_module("rushlight.nn.functional")
    importlib.import_module("rushlight.ops.indexing.captured_items")
    importlib.import_module("rushlight.ops.former.core_names")
    adapted = getattr(_Adapted, name, None) or RUNS.get(name)
    if adapted is not None:
        return adapted
    found = _elsewhere(name)
    if found is not None:
        return found
    if name.startswith("__") or name in _NO_OPS:
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
    found = found or (method if callable(method) else _beside_namespaces(name))
    return found or HOMES.get(name) or _in_place(name)


def _schemas():
    return importlib.import_module("rushlight.library.aten_schemas")


class AtenOverload(OpOverload):
    """One overload of an ATen op."""

    def __init__(self, packet, name):
        self.overloadpacket = self._overloadpacket = packet
        self._overloadname = name
        self.__name__, self.namespace = packet.__name__, "aten"
        self.__qualname__ = f"aten.{self.__name__}.{name}"
        self.__module__ = "rushlight.ops"

    @property
    def _schema(self):
        """Its arguments and results, as declared; AttributeError where they are not."""
        found = _schemas().schemas_of(self.__name__).get(self._overloadname)
        if found is None:
            found = _schemas().writing_out(self.__name__, self._overloadname)
        if found is None:
            raise AttributeError(f"{self}: its declaration gives no schema of this overload")
        return found

    @property
    def tags(self):
        """What PyTorch says of it, as a list of :class:`~rushlight.Tag`.

        >>> rushlight.ops.aten.add_.Tensor.tags
        [<Tag.inplace: 6>, <Tag.pointwise: 16>, <Tag.pt2_compliant_tag: 17>]
        """
        return tags_of(self)

    @property
    def _nondeterministic_seeded(self):
        """Whether it takes numbers from a generator, as its arguments tell."""
        return self.overloadpacket._samples()

    @property
    def _writes(self):
        """Whether it writes to an argument; where no schema is declared, as its names tell."""
        schema = getattr(self, "_schema", None)
        if schema is None:
            return self.__name__.endswith("_") or "out" in self._overloadname.split("_")
        return schema.is_mutable

    def name(self) -> str:
        """The full name, for example ``aten::add.Tensor``."""
        suffix = "" if self._overloadname == "default" else "." + self._overloadname
        return f"aten::{self.__name__}{suffix}"

    def __call__(*args, **kwargs):  # noqa: N805 - an argument of ATen's ops is called self
        """Call the public function; classes that override functions are asked about the overload,
        so that a traced graph has it as the node's target. Those of ours that know ops alone, such
        as sparse tensors, are asked by these."""
        overload, *args = args
        if stack.overrides:
            found = [
                value for value in overriding(args, kwargs)
                if getattr(value, "_level", None) is None
                and not (isinstance(value, Tensor) and getattr(value, "_asked_by_ops", False))
            ]  # fmt: skip
            if found:
                return call_overrides(overload, found, tuple(args), kwargs)
        return overload.overloadpacket(*args, **kwargs)

    def __deepcopy__(self, memo):
        """The object itself, as of a function: copied tables keep their keys."""
        return self

    def __repr__(self):
        return f"<OpOverload(op='aten.{self.__name__}', overload='{self._overloadname}')>"

    def __str__(self):
        return f"aten.{self.__name__}.{self._overloadname}"


# Arguments that only functions of random numbers have together.
_SAMPLING = (
    {"generator"}, {"p", "train"}, {"dropout", "train"}, {"dropout_p"},
    {"lower", "upper", "training"},
)  # fmt: skip


def _parameters(function):
    """The names of a function's parameters; none where it has no signature."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


class AtenPacket(OpOverloadPacket):
    """An ATen op: call it, or one of its overloads."""

    def __init__(self, name, function):
        self.__name__, self.__qualname__, self._function = name, name, function
        self._qualified_op_name = f"aten::{name}"
        self.__doc__ = function.__doc__
        self._cache = {}

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return _overloads(self.__name__)

    def _samples(self):
        """Whether a call takes numbers from a generator: it takes the generator itself, a
        probability to drop with, or bounds of random slopes."""
        names = {a.name for s in _schemas().schemas_of(self.__name__).values() for a in s.arguments}
        names.update(_parameters(self._function))
        return any(marks <= names for marks in _SAMPLING)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._cache:
            if name not in self.overloads() and name not in _schemas().schemas_of(self.__name__):
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

    def __deepcopy__(self, memo):
        """The object itself, as of a function: copied tables keep their keys."""
        return self

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
