"""Nested tensors: sequences of different lengths in one tensor, without padding.

The sequences are one after the other in the elements (total, *); `offsets` (B + 1,) says where each
begins. One dimension is ragged: dimension 1, or a later one after `transpose`. Autograd knows the
elements; elementwise ops, and ops along other dimensions, act on all sequences at once.
"""

from __future__ import annotations

from rushlight import devices
from rushlight.machine import np
from rushlight.ops._table.op import names_of
from rushlight.ops.creation.tensors import from_numpy, full, tensor
from rushlight.ops.indexing import slicing
from rushlight.ops.neural.padding import pad
from rushlight.ops.shape.joining import cat
from rushlight.ops.sparse.held_elements import ElementsTensor, hollow
from rushlight.tensor.layout import jagged, strided
from rushlight.tensor.shape import Size
from rushlight.tensor.tensor import Tensor

RULES: dict = {}
_new = object.__new__


def rule(*ops):
    """Register a function as what ops, given by their functions (or names of what is no op), do
    with nested tensors."""

    def register(function):
        RULES.update(dict.fromkeys(names_of(ops), function))
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
    _asked_by_ops = True  # functions made of ops need not ask it

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        """Run the rule of the op; an elementwise op, or one that acts on every element alone (it
        declares ``nested="elements"``), runs on the elements."""
        kwargs = dict(kwargs or {})
        name = getattr(function, "__name__", str(function))
        found = RULES.get(name)
        if found is not None:
            return found(*args, **kwargs)
        op = getattr(function, "op", None)
        if op is not None and (op.kind == "elementwise" or "nested" in op.options):
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
        """The lengths of the sequences (B,) where there are gaps behind them; None where they are
        one after the other."""
        return None if self._lengths is None else from_numpy(self._lengths)

    def _get_min_seqlen(self):
        return int(self.sequence_lengths().min(initial=0 if len(self) == 0 else None))

    def _get_max_seqlen(self):
        return int(self.sequence_lengths().max(initial=0))

    _min_seqlen = property(_get_min_seqlen, doc="The length of the shortest sequence.")
    _max_seqlen = property(_get_max_seqlen, doc="The length of the longest sequence.")

    def with_elements(self, elements, ragged=None):
        """Other elements in the same sequences, maybe with another ragged dimension."""
        ragged = self._ragged if ragged is None else ragged
        return make_nested(elements, self._offsets, ragged, self._layout, self._lengths)

    def _padded(self):
        """Number of sequences and the longest length."""
        return len(self._offsets) - 1, self._get_max_seqlen()

    def sequence_lengths(self):
        """The length of each sequence, as a NumPy array (B,)."""
        return np.diff(self._offsets) if self._lengths is None else self._lengths

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
        count = self._elements.numel()
        if self._lengths is None or not count:
            return count
        total = self._elements.shape[self._ragged - 1]
        return count // total * int(self._lengths.sum())

    nelement = numel

    def is_contiguous(self, memory_format=None):
        """Whether the ragged dimension is where it was made, and nothing is between."""
        return self._ragged == 1 and self._lengths is None and self._elements.is_contiguous()

    def contiguous(self, memory_format=None):
        """The tensor with dense elements, without gaps."""
        if self._lengths is None:
            return self.with_elements(self._elements.contiguous())
        starts = self._offsets[:-1]
        places = [np.arange(a, a + n) for a, n in zip(starts, self._lengths, strict=True)]
        places = np.concatenate([np.zeros(0, np.int64), *places])
        kept = self._elements.index_select(self._ragged - 1, from_numpy(places))
        return make_nested(kept, _ends(self._lengths), self._ragged, self._layout)

    def to_padded_tensor(self, padding, output_size=None):
        """A dense tensor; see :func:`to_padded`."""
        return to_padded(self, padding, output_size)

    def __iter__(self):
        return iter(unbind(self))

    def __repr__(self):
        if self._layout is jagged:
            shape = ", ".join(map(repr, self.shape))
            node = self.grad_fn
            tail = f", grad_fn=<{node.name()}>" if node is not None else ""
            return (
                f"NestedTensor(size=({shape}), offsets={self.offsets()}, "
                f"contiguous={self._ragged == 1 and self._lengths is None}{tail})"
            )
        body = ",\n".join(repr(t.detach()) for t in unbind(self))
        return "nested_tensor([\n  " + body.replace("\n", "\n  ") + "\n])"

    def _refused(self, *args, **kwargs):
        raise missing("access to memory")

    numpy = __array__ = tolist = item = data_ptr = untyped_storage = storage_offset = _refused
    stride = __bool__ = __setitem__ = _refused

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


NestedTensor.half, NestedTensor.bfloat16 = _converter("half"), _converter("bfloat16")
NestedTensor.float, NestedTensor.double = _converter("float"), _converter("double")
NestedTensor.int, NestedTensor.long = _converter("int"), _converter("long")
NestedTensor.bool = _converter("bool")


def make_nested(elements, offsets, ragged=1, layout=jagged, lengths=None):
    """A nested tensor of elements, (total, *) with the total in dimension ``ragged - 1``; with
    `lengths` the sequences are shorter than from one offset to the next."""
    out = _new(NestedTensor)
    spans = np.diff(offsets) if lengths is None else lengths
    inner = list(elements.shape)
    inner[ragged - 1] = int(spans.max()) if len(spans) else 0
    out._array = hollow((len(spans), *inner), elements._dtype)
    out._dtype, out._node, out._storage = elements._dtype, None, None
    if elements._device is not devices.cpu:
        out._device = elements._device
    out._elements, out._offsets, out._ragged, out._layout = elements, offsets, ragged, layout
    out._lengths = lengths
    return out


def _ends(lengths):
    """Offsets (B + 1,) of sequences of these lengths one after the other."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def without_gaps(input, name):
    """The tensor, whose sequences `name` needs one after the other."""
    if input._lengths is not None:
        raise NotImplementedError(
            f"{name} is not available for nested tensors with gaps between the sequences; call "
            "contiguous() first"
        )
    return input


def same_sequences(first, second):
    """Whether two nested tensors have their sequences in the same positions."""
    if first._ragged != second._ragged or not np.array_equal(first._offsets, second._offsets):
        return False
    return np.array_equal(first.sequence_lengths(), second.sequence_lengths())


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
    offsets = _ends([p.shape[dim] for p in parts])
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
    the given `lengths` (B,); with both there are gaps behind the sequences. `jagged_dim` is their
    dimension in the result: the one before it of `values` has the total.

    >>> offsets, lengths = rushlight.tensor([0, 3, 6]), rushlight.tensor([2, 1])
    >>> x = rushlight.nested.nested_tensor_from_jagged(rushlight.arange(6), offsets, lengths)
    >>> (x * 10).unbind()
    (tensor([ 0, 10]), tensor([30]))
    """
    dim = 1 if jagged_dim is None else jagged_dim
    if not 1 <= dim <= values.dim():
        raise RuntimeError(
            f"nested_tensor_from_jagged(): jagged_dim must be from 1 to {values.dim()} for values "
            f"of shape {list(values.shape)}, got {dim}"
        )
    if offsets is None and lengths is None:
        raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is "
                           "required.")  # fmt: skip
    total = values.shape[dim - 1]
    if offsets is None:
        starts = _ends(lengths._array)
    else:
        starts = np.array(offsets._array, np.int64)
        if lengths is not None:
            return _with_gaps(values, starts, np.array(lengths._array, np.int64), dim)
    if starts[0] != 0 or starts[-1] != total or (np.diff(starts) < 0).any():
        raise RuntimeError(
            f"nested_tensor_from_jagged(): offsets must rise from 0 to the number of values "
            f"{total}, got {starts.tolist()}"
        )
    return make_nested(values, starts, dim)


def _with_gaps(values, starts, lengths, dim):
    """Sequences of given lengths from each of the starts (B + 1,) on."""
    if starts.ndim != 1 or starts.shape != (len(lengths) + 1,):
        raise RuntimeError(
            f"nested_tensor_from_jagged(): offsets must be (B + 1,) and lengths (B,), got shapes "
            f"{list(starts.shape)} and {list(lengths.shape)}"
        )
    room, total = np.diff(starts), values.shape[dim - 1]
    if starts[0] < 0 or starts[-1] > total or (lengths < 0).any() or (lengths > room).any():
        raise RuntimeError(
            "nested_tensor_from_jagged(): each sequence must lie between its offset and the next, "
            f"got offsets {starts.tolist()} and lengths {lengths.tolist()} for {total} values"
        )
    return make_nested(values, starts, dim, jagged, lengths)


def narrow(tensor, dim, start, length, layout=strided):
    """The parts ``start[i] : start[i] + length[i]`` of the rows of a dense tensor (B, L, *): in
    strided layout one `start` and one `length` for all rows, in jagged layout also tensors (B,).
    In jagged layout they share memory with the tensor, with gaps where rows are longer."""
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
    if layout == strided or not starts or not tensor.is_contiguous():
        parts = [tensor[i].narrow(0, starts[i], lengths[i]) for i in rows]
        return as_nested_tensor(parts, layout=layout)
    for i in rows:
        if starts[i] < 0 or lengths[i] < 0 or starts[i] + lengths[i] > tensor.shape[1]:
            raise RuntimeError(
                f"narrow: start ({starts[i]}) + length ({lengths[i]}) exceeds dimension size "
                f"({tensor.shape[1]}) in row {i}"
            )
    return _parts_of_rows(tensor, np.array(starts), np.array(lengths))


def _parts_of_rows(tensor, starts, lengths):
    batch, longest = tensor.shape[:2]
    values = tensor.reshape(batch * longest, *tensor.shape[2:])
    begins = starts + longest * np.arange(batch)
    ends = begins + lengths
    offsets = np.append(begins, ends[-1])
    if (ends == offsets[1:]).all():
        return make_nested(
            values.narrow(0, offsets[0], ends[-1] - offsets[0]), offsets - offsets[0]
        )
    return make_nested(values, offsets, 1, jagged, lengths)


def masked_select(tensor, mask):
    """The elements of a dense tensor (B, L) where `mask`, broadcast, holds, row by row."""
    if tensor.dim() != 2:
        raise missing("masked_select other than of a matrix")
    mask = mask.expand(tensor.shape)
    return make_nested(tensor.masked_select(mask), _ends(mask.sum(1)._array))


def to_padded(input, padding, output_size=None):
    """All sequences in a dense tensor (B, longest, *), filled up with `padding`."""
    front = _to_front(without_gaps(input, "to_padded_tensor"))
    elements, offsets = front._elements, front._offsets
    lengths = np.diff(offsets)
    batch, longest = len(lengths), int(lengths.max()) if len(lengths) else 0
    size = [batch, longest, *elements.shape[1:]]
    rows, home = (batch * longest, *size[2:]), elements.device
    out = full(rows, padding, dtype=elements.dtype, device=home)
    out = out.index_copy(0, _places_in_padded(front), elements).reshape(size)
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


def _places_in_padded(input):
    """Where the elements are among the rows (B * longest, *) of the padded tensor."""
    without_gaps(input, "an operation with a padded tensor")
    batch, longest = input._padded()
    offsets, lengths = input._offsets, input.sequence_lengths()
    before = np.repeat(offsets[:-1] - np.arange(batch) * longest, lengths)
    return from_numpy(np.arange(offsets[-1]) - before)


def _to_front(input):
    """The same sequences with the ragged dimension behind the batch."""
    if input._ragged == 1:
        return input
    elements = input._elements.movedim(input._ragged - 1, 0)
    return make_nested(elements, input._offsets, 1, input._layout)


def sequences_between(input, start, stop):
    """The sequences from number `start` to `stop`, which share memory with the elements."""
    offsets = input._offsets
    first, last = int(offsets[start]), int(offsets[stop])
    part = input._elements.narrow(input._ragged - 1, first, last - first)
    lengths = None if input._lengths is None else input._lengths[start:stop]
    return make_nested(
        part, offsets[start : stop + 1] - first, input._ragged, input._layout, lengths
    )


@rule(slicing.unbind)
def unbind(input, dim=0):
    """The sequences, as dense tensors that share memory with the elements."""
    if dim != 0:
        raise missing("unbind along another dimension than 0")
    starts, lengths = input._offsets.tolist(), input.sequence_lengths().tolist()
    return tuple(
        input._elements.narrow(input._ragged - 1, a, n)
        for a, n in zip(starts[:-1], lengths, strict=True)
    )


def _by_elements(function, name, args, kwargs):
    """Run an elementwise function on the elements of the nested arguments."""
    nested = [v for v in (*args, *kwargs.values()) if isinstance(v, NestedTensor)]
    first = nested[0]
    for other in nested[1:]:
        if not same_sequences(first, other):
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
        without_gaps(like, "an operation with a row for each sequence")
        places = np.repeat(np.arange(len(like)), like.sequence_lengths())
        return rows.index_select(0, from_numpy(places))
    if value.dim() <= like.dim() - 1 and value.shape[value.dim() - behind - 1] == 1:
        return value
    if value.dim() == like.dim() and like._ragged == 1 and tuple(value.shape[:2]) == like._padded():
        return value.reshape(-1, *value.shape[2:]).index_select(0, _places_in_padded(like))
    raise missing(
        f"an operation with a dense tensor of shape {list(value.shape)} across the ragged dimension"
    )
