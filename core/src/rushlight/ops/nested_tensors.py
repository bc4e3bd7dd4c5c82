"""Nested tensors: sequences of different lengths in one tensor, without padding.

The sequences lie one after the other in the elements (total, *); `offsets` (B + 1,) says where each
begins. One dimension is ragged: dimension 1, or a later one after `transpose`. Autograd knows the
elements; elementwise ops, and ops along other dimensions, act on all sequences at once.
"""

from __future__ import annotations

from rushlight import devices
from rushlight.backends import np
from rushlight.ops.creation import from_numpy, full, tensor
from rushlight.ops.held_elements import ElementsTensor, hollow
from rushlight.ops.joining import cat
from rushlight.ops.padding import pad
from rushlight.tensor.layout import jagged, strided
from rushlight.tensor.shape import Size
from rushlight.tensor.tensor import Tensor

RULES: dict = {}
_new = object.__new__


def rule(*names):
    """Register a function as what the ops of these names do with nested tensors."""

    def register(function):
        for name in names:
            RULES[name] = function
        return function

    return register


def missing(name):
    """The error for what nested tensors cannot do."""
    return NotImplementedError(
        f"{name} is not available for nested tensors; use to_padded_tensor() and a mask, or "
        "unbind() and a loop"
    )


class RaggedExtent(int):
    """The extent of the ragged dimension: it has none, and stands for -1 in shapes given to
    `view` and `reshape`."""

    def __new__(cls):
        """The one extent there is."""
        return int.__new__(cls, -1)

    def __repr__(self):
        return "j1"

    __str__ = __repr__


class NestedTensor(ElementsTensor):
    """A tensor of sequences of different lengths; made by `rushlight.nested.nested_tensor`."""

    is_nested = True

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        """Run the rule of the op, or an elementwise op on the elements."""
        kwargs = dict(kwargs or {})
        name = getattr(function, "__name__", str(function))
        found = RULES.get(name)
        if found is not None:
            return found(*args, **kwargs)
        op = getattr(function, "op", None)
        if op is not None and (op.kind == "elementwise" or op.name in _BY_ELEMENTS):
            return _by_elements(function, name, args, kwargs)
        raise missing(name)

    # ------------------------------------------------------------------ parts
    layout = property(lambda self: self._layout, doc="`jagged` or `strided`.")

    def values(self):
        """The elements of all sequences: (total, *), the ragged dimension in its place; of strided
        layout (numel,)."""
        return self._elements if self._layout is jagged else self._elements.reshape(-1)

    def offsets(self):
        """Where each sequence begins, and the end: (B + 1,)."""
        return from_numpy(self._offsets)

    def lengths(self):
        """None: the sequences lie one after the other without gaps."""
        return None

    def _get_min_seqlen(self):
        return int(self.sequence_lengths().min(initial=0 if len(self) == 0 else None))

    def _get_max_seqlen(self):
        return int(self.sequence_lengths().max(initial=0))

    _min_seqlen = property(_get_min_seqlen, doc="The length of the shortest sequence.")
    _max_seqlen = property(_get_max_seqlen, doc="The length of the longest sequence.")

    def with_elements(self, elements):
        """Other elements in the same sequences."""
        return make_nested(elements, self._offsets, self._ragged, self._layout)

    def sequence_lengths(self):
        """The length of each sequence, as a NumPy array (B,)."""
        return np.diff(self._offsets)

    # ------------------------------------------------------------------ shape
    @property
    def shape(self):
        """The extents; that of the ragged dimension is a :class:`RaggedExtent`."""
        inner = list(self._elements.shape)
        inner[self._ragged - 1] = RaggedExtent()
        return Size((len(self._offsets) - 1, *inner))

    def size(self, dim=None):
        """The shape, or one extent; the ragged one has no number."""
        if dim is None:
            return self.shape
        if self._layout is strided and dim % self.dim() == self._ragged:
            raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
        return tuple(self.shape)[dim]

    def numel(self):
        """Number of elements of all sequences."""
        return self._elements.numel()

    nelement = numel

    def is_contiguous(self, memory_format=None):
        """Whether the ragged dimension is where it was made."""
        return self._ragged == 1 and self._elements.is_contiguous()

    def contiguous(self, memory_format=None):
        """The tensor with dense elements."""
        return self.with_elements(self._elements.contiguous())

    def to_padded_tensor(self, padding, output_size=None):
        """A dense tensor; see :func:`to_padded`."""
        return to_padded(self, padding, output_size)

    def __getitem__(self, index):
        """The sequence with one number."""
        if not isinstance(index, int):
            raise missing("an index other than the number of a sequence")
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"index {index} is out of bounds for {count} sequences")
        return unbind(self)[index]

    def __iter__(self):
        return iter(unbind(self))

    def __repr__(self):
        if self._layout is jagged:
            shape = ", ".join(map(repr, self.shape))
            node = self.grad_fn
            tail = f", grad_fn=<{node.name()}>" if node is not None else ""
            return (
                f"NestedTensor(size=({shape}), offsets={self.offsets()}, "
                f"contiguous={self._ragged == 1}{tail})"
            )
        body = ",\n".join(repr(t.detach()) for t in unbind(self))
        return "nested_tensor([\n  " + body.replace("\n", "\n  ") + "\n])"

    def _refused(self, *args, **kwargs):
        raise missing("access to memory")

    numpy = __array__ = tolist = item = data_ptr = untyped_storage = storage_offset = _refused
    stride = __bool__ = __setitem__ = __deepcopy__ = __reduce_ex__ = _refused

    # ------------------------------------------------------------------ dtypes
    def to(self, *args, **kwargs):
        """Another dtype; the tensor itself where nothing changes."""
        made = self._elements.to(*args, **kwargs)
        return self if made is self._elements else self.with_elements(made)

    def cpu(self, memory_format=None):
        """The tensor, which is on the CPU."""
        return self


def _converter(name):
    def convert(self, memory_format=None):
        return self.with_elements(getattr(self._elements, name)())

    convert.__name__ = name
    convert.__doc__ = f"The tensor with elements of dtype {name}."
    return convert


for _name in ("half", "float", "double", "bfloat16", "int", "long", "bool"):
    setattr(NestedTensor, _name, _converter(_name))


def make_nested(elements, offsets, ragged=1, layout=jagged):
    """A nested tensor of elements, (total, *) with the total in dimension ``ragged - 1``."""
    out = _new(NestedTensor)
    lengths = np.diff(offsets)
    inner = list(elements.shape)
    inner[ragged - 1] = int(lengths.max()) if len(lengths) else 0
    out._array = hollow((len(lengths), *inner), elements._dtype)
    out._dtype, out._node, out._storage = elements._dtype, None, None
    if elements._device is not devices.cpu:
        out._device = elements._device
    out._elements, out._offsets, out._ragged, out._layout = elements, offsets, ragged, layout
    return out


# --------------------------------------------------------------------------------------- creation
def as_nested_tensor(ts, dtype=None, device=None, layout=None):
    """A nested tensor of a list of tensors, or of the rows of a tensor; gradients reach them."""
    if isinstance(ts, NestedTensor):
        return ts
    layout = strided if layout is None else layout
    if layout not in (strided, jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    parts = list(ts.unbind(0)) if isinstance(ts, Tensor) else list(ts)
    parts = [p if isinstance(p, Tensor) else tensor(p) for p in parts]
    if not parts:
        return make_nested(full((0,), 0.0, dtype=dtype), np.zeros(1, np.int64), 1, layout)
    dims = [p.dim() for p in parts]
    if len(set(dims)) > 1:
        raise RuntimeError(
            "When constructing a nested tensor, all tensors in list must have the same dim; got "
            f"{dims}"
        )
    if not dims[0]:
        raise missing("a nested tensor of numbers")
    ragged = [d for d in range(dims[0]) if len({p.shape[d] for p in parts}) > 1] or [0]
    if len(ragged) > 1:
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor: only one dimension of the "
            f"tensors may differ, got the shapes {[tuple(p.shape) for p in parts]}"
        )
    dim = ragged[0]
    offsets = np.concatenate([[0], np.cumsum([p.shape[dim] for p in parts])]).astype(np.int64)
    dtype = parts[0].dtype if dtype is None else dtype
    return make_nested(cat([p.to(dtype) for p in parts], dim), offsets, dim + 1, layout)


def nested_tensor(
    tensor_list, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """A nested tensor with copies of a list of tensors or nested lists of numbers.

    >>> x = rushlight.nested.nested_tensor([rushlight.ones(2), rushlight.ones(3)])
    >>> x.to_padded_tensor(0.0)
    tensor([[1., 1., 0.],
            [1., 1., 1.]])
    """
    parts = [p.detach() if isinstance(p, Tensor) else p for p in tensor_list]
    made = as_nested_tensor(parts, dtype, device, layout)
    return made.requires_grad_() if requires_grad else made


def nested_tensor_from_jagged(
    values, offsets=None, lengths=None, jagged_dim=None, min_seqlen=None, max_seqlen=None
):
    """A nested tensor over `values` (total, *), whose sequences begin at `offsets` (B + 1,) or have
    the given `lengths` (B,). `jagged_dim` is their dimension in the result: the one before it of
    `values` has the total."""
    dim = 1 if jagged_dim is None else jagged_dim
    if not 1 <= dim <= values.dim():
        raise RuntimeError(
            f"nested_tensor_from_jagged(): jagged_dim must be from 1 to {values.dim()} for values "
            f"of shape {list(values.shape)}, got {dim}"
        )
    if offsets is None and lengths is None:
        raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is "
                           "required.")  # fmt: skip
    if offsets is None:
        starts = np.concatenate([[0], np.cumsum(lengths._array)]).astype(np.int64)
    elif lengths is not None:
        raise missing("nested_tensor_from_jagged with offsets and lengths (gaps)")
    else:
        starts = np.array(offsets._array, np.int64)
    total = values.shape[dim - 1]
    if starts[0] != 0 or starts[-1] != total or (np.diff(starts) < 0).any():
        raise RuntimeError(
            f"nested_tensor_from_jagged(): offsets must rise from 0 to the number of values "
            f"{total}, got {starts.tolist()}"
        )
    return make_nested(values, starts, dim)


def narrow(tensor, dim, start, length, layout=strided):
    """The parts ``start[i] : start[i] + length[i]`` of the rows of a dense tensor (B, L, *): in
    strided layout one `start` and one `length` for all rows, in jagged layout also tensors (B,)."""
    if dim != 1:
        raise missing("narrow other than along dimension 1")
    if layout == strided and not (isinstance(start, int) and isinstance(length, int)):
        raise RuntimeError(
            "start and length for torch.nested.narrow NT construction need to be numbers in "
            "strided layout; give layout=jagged for tensors of them"
        )
    rows = range(tensor.shape[0])
    starts, lengths = ([int(v)] * len(rows) if isinstance(v, int) else v.tolist()
                       for v in (start, length))  # fmt: skip
    return as_nested_tensor(
        [tensor[i].narrow(0, starts[i], lengths[i]) for i in rows], layout=layout
    )


def masked_select(tensor, mask):
    """The elements of a dense tensor (B, L) where `mask` holds, row by row."""
    if tensor.dim() != 2 or tensor.shape != mask.shape:
        raise missing("masked_select other than of a matrix by a mask of its shape")
    lengths = mask.sum(1)._array
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return make_nested(tensor.masked_select(mask), offsets)


def to_padded(input, padding, output_size=None):
    """All sequences in a dense tensor (B, longest, *), filled up with `padding`."""
    front = _to_front(input)
    elements, offsets = front._elements, front._offsets
    lengths = np.diff(offsets)
    batch, longest = len(lengths), int(lengths.max()) if len(lengths) else 0
    size = [batch, longest, *elements.shape[1:]]
    out = full((batch * longest, *elements.shape[1:]), padding, dtype=elements.dtype)
    places = np.arange(len(elements)) - np.repeat(
        offsets[:-1] - np.arange(batch) * longest, lengths
    )
    out = out.index_copy(0, from_numpy(places), elements).reshape(size)
    if input._ragged != 1:
        out = out.movedim(1, input._ragged)
    if output_size is None:
        return out
    wanted = list(output_size)
    if len(wanted) != out.dim() or any(w < n for w, n in zip(wanted, out.shape, strict=True)):
        raise RuntimeError(
            f"Value in output_size is less than NestedTensor padded size. Truncation is not "
            f"supported: {wanted} for {list(out.shape)}"
        )
    pads = [n for w, have in zip(wanted[::-1], list(out.shape)[::-1], strict=True)
            for n in (0, w - have)]  # fmt: skip
    return pad(out, pads, "constant", padding)


def _to_front(input):
    """The same sequences with the ragged dimension behind the batch."""
    if input._ragged == 1:
        return input
    elements = input._elements.movedim(input._ragged - 1, 0)
    return make_nested(elements, input._offsets, 1, input._layout)


@rule("unbind")
def unbind(input, dim=0):
    """The sequences, as dense tensors that share memory with the elements."""
    if dim != 0:
        raise missing("unbind along another dimension than 0")
    starts = input._offsets.tolist()
    return tuple(
        input._elements.narrow(input._ragged - 1, a, b - a)
        for a, b in zip(starts[:-1], starts[1:], strict=True)
    )


# Ops that are no elementwise ops of the table, but act on every element alone.
_BY_ELEMENTS = frozenset(
    "dropout clone gelu silu mish relu6 leaky_relu elu selu celu hardtanh hardswish hardsigmoid "
    "softplus logsigmoid where clamp div softsign tanhshrink gelu_ nan_to_num masked_fill sigmoid "
    "relu alpha_dropout feature_dropout type_as".split()
)


def _by_elements(function, name, args, kwargs):
    """Run an elementwise function on the elements of the nested arguments."""
    nested = [v for v in (*args, *kwargs.values()) if isinstance(v, NestedTensor)]
    first = nested[0]
    for other in nested[1:]:
        if other._ragged != first._ragged or not np.array_equal(other._offsets, first._offsets):
            raise RuntimeError(
                f"cannot call binary pointwise function {name} with inputs of shapes "
                f"{tuple(first.shape)} and {tuple(other.shape)}: their sequences have the lengths "
                f"{first.sequence_lengths().tolist()} and {other.sequence_lengths().tolist()}"
            )
    out = function(
        *[_elements_of(v, first) for v in args],
        **{k: _elements_of(v, first) for k, v in kwargs.items()},
    )
    if name.endswith("_") and not name.endswith("__"):
        return first
    return first.with_elements(out)


def _elements_of(value, like):
    """A nested argument's elements; a dense one as it broadcasts with them."""
    if isinstance(value, NestedTensor):
        return value._elements
    if not isinstance(value, Tensor) or not value.dim():
        return value
    behind = like.dim() - like._ragged - 1  # dimensions behind the ragged one
    if value.dim() <= behind:
        return value
    if value.dim() == like.dim() and value.shape[like._ragged] == 1 and like._ragged == 1:
        rows = value.squeeze(1)
        if rows.shape[0] == 1:
            return rows
        places = np.repeat(np.arange(len(like)), like.sequence_lengths())
        return rows.index_select(0, from_numpy(places))
    if value.dim() <= like.dim() - 1 and value.shape[value.dim() - behind - 1] == 1:
        return value
    raise missing(
        f"an operation with a dense tensor of shape {list(value.shape)} across the ragged dimension"
    )
