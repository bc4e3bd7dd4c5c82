"""Builder: nodes and constants of an ONNX graph, and the few rules that all operators share."""

from __future__ import annotations

import rushlight
from rushlight.machine import np
from rushlight.onnx._types import NARROW, array_of, number_of, numpy_dtype

# Operators that runtimes seldom have for narrow integers, which are computed as int32.
_WIDE = frozenset(
    "Add Sub Mul Div Mod Neg Abs Max Min Pow Sum ReduceSum ReduceMax ReduceMin".split()
)


class Value:
    """A value of the graph: its name, dtype, and what is known of its shape; `array` of a constant.

    `meta` is the tensor without values of the captured program, for values that it has.
    """

    __slots__ = ("array", "dtype", "meta", "name", "shape")

    def __init__(self, name, dtype=None, shape=None, array=None, meta=None):
        self.name, self.dtype, self.shape = name, dtype, shape
        self.array, self.meta = array, meta

    @property
    def rank(self):
        """The number of dimensions."""
        return len(self.shape)


class Complex:
    """A complex value: two values of the graph, since runtimes have no complex numbers."""

    __slots__ = ("dtype", "imag", "real", "shape")

    def __init__(self, real, imag, dtype=None):
        self.real, self.imag, self.shape = real, imag, real.shape
        self.dtype = dtype or real.dtype.to_complex()

    @property
    def rank(self):
        """The number of dimensions."""
        return len(self.shape)


def _is_list(array):
    """Whether an array has the form of a range of positions."""
    return array.ndim == 1 and array.dtype == np.int64


def is_complex(value):
    """Whether a value, a tensor or a list holds complex numbers."""
    if isinstance(value, tuple | list):
        return any(map(is_complex, value))
    return isinstance(value, Complex) or getattr(getattr(value, "dtype", None), "is_complex", False)


class Builder:
    """The graph in the making. `out` is the result of the step that is being translated, a tensor
    without values (or several), `dtype` its dtype."""

    def __init__(self, opset):
        import onnx

        self.onnx, self.opset = onnx, opset
        self.varies = False  # whether models of other sizes must have the same operators
        self.general = False  # whether what holds at some sizes alone must not be used
        self.tables: dict = {}  # names of constants that are tables -> these, and their numbers
        self.nodes, self.constants, self.inputs = [], {}, []
        self.domains = {}
        self.out = self.dtype = None
        self.origin = ""
        self.taken = frozenset()  # of several results those that are read
        self._names, self._known = {}, {}

    # ----------------------------------------------------------------------------------- names
    def name(self, base):
        """A name that nothing else has."""
        count = self._names.get(base, 0)
        self._names[base] = count + 1
        return self.name(f"{base}_{count}") if count else base

    # -------------------------------------------------------------------------------- constants
    def constant(self, value, dtype=None):
        """A constant of the graph: a tensor, an array, a number or a list of numbers."""
        if isinstance(value, Value):
            return value
        if isinstance(value, rushlight.Tensor):
            return self.tensor(value, "constant")
        array = np.asarray(value, None if dtype is None else numpy_dtype(dtype))
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self._known:
            kind = dtype or rushlight.from_numpy(np.zeros(1, array.dtype)).dtype
            self._known[key] = self._stored("constant", array, kind)
        return self._known[key]

    def integers(self, values):
        """Whole numbers as a list, int64."""
        return self.constant([int(v) for v in values], rushlight.int64)

    def tensor(self, tensor, name):
        """A tensor (a parameter, a constant) as a constant of the graph."""
        if tensor.is_complex():
            tensor = tensor.detach().resolve_conj()
            return Complex(self.tensor(tensor.real, name), self.tensor(tensor.imag, name))
        return self._stored(name, array_of(tensor), tensor.dtype)

    def _stored(self, name, array, dtype):
        found = Value(self.name(name), dtype, tuple(array.shape), array)
        self.constants[found.name] = found
        return found

    def table(self, table, *numbers, dtype=rushlight.int64):
        """A constant that may be computed of its numbers, see :mod:`rushlight.onnx._tables`."""
        array = table.array(*numbers).astype(numpy_dtype(dtype))
        found = self._stored("table", array, dtype)
        self.tables[found.name] = table, numbers
        return found

    # ------------------------------------------------------------------------------------ nodes
    def op(self, kind, *inputs, outputs=1, dtype=None, shape=None, domain="", **attributes):
        """Add an operator; its result, or a tuple of `outputs`. Numbers among the inputs become
        constants of the first tensor's dtype; `dtype` is that of the result where it is another."""
        first = next((v for v in inputs if isinstance(v, Value)), None)
        kind_of = first.dtype if first is not None else None
        values = [v if v is None else self._input(v, kind_of) for v in inputs]
        if kind in _WIDE and kind_of in NARROW and kind_of is not rushlight.bool:
            wide = [None if v is None else self.widened(v, kind_of) for v in values]
            return self.cast(
                self._add(kind, wide, outputs, rushlight.int32, shape, domain, attributes), kind_of
            )
        return self._add(kind, values, outputs, dtype or kind_of, shape, domain, attributes)

    def widened(self, value, kind):
        """A value as int32, if it is of the narrow dtype."""
        return self.cast(value, rushlight.int32) if value.dtype is kind else value

    def _input(self, value, dtype):
        if isinstance(value, Value):
            return value
        if isinstance(value, list | tuple):
            return self.integers(value)
        return self.constant(value, dtype)

    def _add(self, kind, inputs, outputs, dtype, shape, domain, attributes):
        names = [self.name(f"{self.origin or kind.lower()}_{kind}") for _ in range(outputs)]
        while inputs and inputs[-1] is None:
            inputs.pop()
        attributes = {k: v for k, v in attributes.items() if v is not None}
        node = self.onnx.helper.make_node(
            kind, ["" if v is None else v.name for v in inputs], names, domain=domain, **attributes
        )
        node.doc_string = ""
        self.nodes.append(node)
        if domain:
            self.domains.setdefault(domain, 1)
        results = tuple(Value(name, dtype, shape) for name in names)
        return results[0] if outputs == 1 else results

    # ----------------------------------------------------------------------------- common steps
    def cast(self, value, dtype):
        """A value as another dtype."""
        value = self.constant(value)
        if value.dtype is dtype:
            return value
        # a range of positions may be longer at other sizes: its model has the same operators there
        array = value.array
        if array is not None and array.size <= 64 and not _is_list(array):
            if rushlight.bfloat16 not in (dtype, value.dtype):
                return self.constant(value.array.astype(numpy_dtype(dtype)), dtype)
        return self._add("Cast", [value], 1, dtype, value.shape, "", {"to": number_of(dtype)})

    def like(self, number, value):
        """A number as a constant of a value's dtype."""
        return self.constant(number, value.dtype)

    def common(self, *values):
        """Values (and numbers) with the dtype that all of them come to."""
        known = [self._sample(v) for v in values]
        dtype = known[0]
        for other in known[1:]:
            dtype = rushlight.result_type(self._tensor(dtype), self._tensor(other))
        if not isinstance(dtype, rushlight.dtype):
            dtype = self._tensor(dtype).dtype
        return [self.cast(self._number(v, dtype), dtype) for v in values]

    def to(self, dtype, *values):
        """Values (and numbers) as a dtype."""
        return [self.cast(self._number(v, dtype), dtype) for v in values]

    def _number(self, value, dtype):
        return value if isinstance(value, Value) else self.constant(value, dtype)

    @staticmethod
    def _sample(value):
        if not isinstance(value, Value):
            return value
        if value.meta is not None:
            return value.meta
        return rushlight.empty((1,) * len(value.shape or (1,)), dtype=value.dtype, device="meta")

    @staticmethod
    def _tensor(value):
        if isinstance(value, rushlight.dtype):
            return rushlight.empty(1, dtype=value, device="meta")
        return value

    # ----------------------------------------------------------------------------------- shapes
    def sizes(self, sizes):
        """Sizes, numbers or scalars of the graph, as one list of int64."""
        if all(not isinstance(size, Value) for size in sizes):
            return self.integers(sizes)
        parts = [
            self.reshape(self.cast(size, rushlight.int64), [1])
            if isinstance(size, Value)
            else self.integers([size])
            for size in sizes
        ]
        return self._add("Concat", parts, 1, rushlight.int64, (len(sizes),), "", {"axis": 0})

    def reshape(self, value, sizes):
        """A value with other sizes, -1 for one that follows."""
        known = all(not isinstance(s, Value) for s in sizes)
        shape = tuple(sizes) if known else (None,) * len(sizes)
        target = self.sizes(sizes)
        found = self._add(
            "Reshape",
            [value, target],
            1,
            value.dtype,
            shape,
            "",
            {"allowzero": 1} if known and 0 in sizes and self.opset >= 14 else {},
        )
        return found

    def shape_of(self, value):
        """The sizes of a value, a list of int64."""
        shape = None if value.shape is None else (value.rank,)
        return self._add("Shape", [value], 1, rushlight.int64, shape, "", {})

    def size(self, value, dim):
        """One size of a value: a number where it is known, else a scalar of the graph."""
        known = value.shape[dim]
        if isinstance(known, int) and type(known) is int:
            return known
        index = self.constant(dim % value.rank, rushlight.int64)
        return self._add(
            "Gather", [self.shape_of(value), index], 1, rushlight.int64, (), "", {"axis": 0}
        )

    def unsqueeze(self, value, *dims):
        """A value with dimensions of size 1 at positions of the result."""
        return self._add("Unsqueeze", [value, self.integers(dims)], 1, value.dtype, None, "", {})

    def squeeze(self, value, *dims):
        """A value without some dimensions of size 1."""
        return self._add("Squeeze", [value, self.integers(dims)], 1, value.dtype, None, "", {})

    def transpose(self, value, order):
        """A value with its dimensions in another order."""
        if list(order) == list(range(len(order))):
            return value
        shape = None if value.shape is None else tuple(value.shape[d] for d in order)
        return self._add("Transpose", [value], 1, value.dtype, shape, "", {"perm": list(order)})

    def slice(self, value, dim, start, end, step=1):
        """Part of a value along one dimension."""
        ends = [self.sizes([v]) for v in (start, end)]
        extra = [self.integers([dim]), self.integers([step])]
        return self._add("Slice", [value, *ends, *extra], 1, value.dtype, None, "", {})

    def reduce(self, kind, value, dims, keepdim):
        """A reduction over dimensions (None or none: all)."""
        attributes = {"keepdims": int(keepdim)}
        if value.rank == 0 if value.shape is not None else False:
            dims = None
        axes = None if not dims and dims != 0 else [dims] if isinstance(dims, int) else list(dims)
        if axes is not None and value.shape is not None:
            axes = [axis % max(1, value.rank) for axis in axes]
        inputs = [value]
        if axes is not None:
            if kind == "ReduceSum" or self.opset >= 18:
                inputs.append(self.integers(axes))
            else:
                attributes["axes"] = axes
        return self.op(kind, *inputs, **attributes)
