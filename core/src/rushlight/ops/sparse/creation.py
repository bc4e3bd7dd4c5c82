"""Making tensors of sparse layout, and changing between layouts."""

from __future__ import annotations

from rushlight.errors import shape_text
from rushlight.machine import np
from rushlight.ops.creation.tensors import as_tensor, ones, zeros
from rushlight.ops.shape import copying, rearranging
from rushlight.ops.sparse.history import only_first, unchanged, whole
from rushlight.ops.sparse.patterns import BLOCKED, CSR
from rushlight.ops.sparse.tensors import (
    COO,
    CompressedPattern,
    Pattern,
    SparseTensor,
    add_up,
    adopt,
    as_before,
    as_coo,
    coalesced,
    is_sparse,
    make_sparse,
    missing,
    refuse_gpu,
    rule,
    with_elements,
)
from rushlight.tensor.shape import normalize_size
from rushlight.tensor.tensor import Tensor


class _Invariants:
    enabled = False


INVARIANTS = _Invariants()


def sparse_coo_tensor(
    indices=None,
    values=None,
    size=None,
    *,
    dtype=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
    is_coalesced=None,
):
    """A tensor with `values` (nnz, *dense dims) at `indices` (sparse dims, nnz), zero elsewhere.

    Without `size` it is as large as the indices need. Elements at the same position add up.
    Gradients reach `values`.

    >>> i = rushlight.tensor([[0, 1], [2, 0]])
    >>> rushlight.sparse_coo_tensor(i, rushlight.tensor([3.0, 4.0]), (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if isinstance(indices, int) or (values is None and size is None and indices is not None):
        size, indices = indices, None  # only a size was given
    if indices is None:
        size = normalize_size(size if isinstance(size, tuple | list) else (size,))
        empty = Pattern(np.empty((len(size), 0), np.int64), size, True)
        return make_sparse(empty, zeros(0, dtype=dtype)).requires_grad_(requires_grad)
    indices = as_tensor(indices)
    places = np.ascontiguousarray(indices.detach().to("cpu")._array, np.int64)
    elements = _elements(values, dtype, device, requires_grad)
    if places.ndim != 2:
        raise RuntimeError(
            f"indices must be sparse_dim x nnz, but got: {shape_text(indices.shape)}"
        )
    if elements.dim() == 0:
        elements = elements.expand(places.shape[1]) if places.shape[1] == 1 else elements
    if elements.dim() == 0 or elements.shape[0] != places.shape[1]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {places.shape[1]}, "
            f"nnz from values: {elements.shape[0] if elements.dim() else 1}"
        )
    if size is None:
        _check_negative(places)
        head = places.max(1) + 1 if places.shape[1] else np.zeros(len(places), np.int64)
        size = (*(int(n) for n in head), *elements.shape[1:])
    size = tuple(size)
    _check_size(places, elements, size)
    if INVARIANTS.enabled if check_invariants is None else check_invariants:
        _check_places(places, size)
    made = make_sparse(Pattern(places, size, is_coalesced), elements)
    return made.requires_grad_() if requires_grad else made


def _elements(values, dtype, device, requires_grad):
    elements = as_tensor(values, dtype=dtype, device=device)
    return elements.detach() if requires_grad else elements


def _check_negative(places):
    for dim, row in enumerate(places):
        if row.size and row.min() < 0:
            raise RuntimeError(f"found negative index {row.min()} for dim {dim}")


def _check_size(places, elements, size):
    sparse, dense = len(places), elements.dim() - 1
    if len(size) != sparse + dense:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, "
            f"sparse_dim = {sparse}, dense_dim = {dense}"
        )
    if tuple(elements.shape[1:]) != size[sparse:]:
        raise RuntimeError(
            f"values has incorrect size, expected [{elements.shape[0]}, "
            f"{', '.join(map(str, size[sparse:]))}], got {shape_text(elements.shape)}"
        )


def _check_places(places, size):
    _check_negative(places)
    for dim, row in enumerate(places):
        if row.size and row.max() >= size[dim]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {size[dim]} but found "
                f"index {row.max()}"
            )


class check_sparse_tensor_invariants:  # noqa: N801 - PyTorch's public name
    """Whether indices are checked when sparse tensors are made: a context manager, and a switch by
    its static methods."""

    def __init__(self, enable=True):
        self.wanted, self.saved = enable, None

    @staticmethod
    def is_enabled() -> bool:
        """Whether indices are checked."""
        return INVARIANTS.enabled

    @staticmethod
    def enable() -> None:
        """Check indices from now on."""
        INVARIANTS.enabled = True

    @staticmethod
    def disable() -> None:
        """Check no indices from now on."""
        INVARIANTS.enabled = False

    def __enter__(self):
        self.saved, INVARIANTS.enabled = INVARIANTS.enabled, self.wanted
        return self

    def __exit__(self, *exc):
        INVARIANTS.enabled = self.saved

    def __call__(self, function):
        """As a decorator."""

        def call(*args, **kwargs):
            with type(self)(self.wanted):
                return function(*args, **kwargs)

        return call


# ---------------------------------------------------------------------------------------- layouts
def to_coordinates(tensor, count):
    """A dense tensor in COO layout with `count` sparse dimensions."""
    least = min(tensor.dim(), 1)
    if not least <= count <= tensor.dim():
        raise RuntimeError(
            f"sparse_dim argument must be >= {least} and <= {tensor.dim()} (the number of "
            f"dimensions), got {count}"
        )
    refuse_gpu(tensor)
    dense = tensor.detach().resolve_conj()
    array = dense._array
    used = (array != 0).any(axis=tuple(range(count, array.ndim)))
    places = np.ascontiguousarray(
        np.stack(np.nonzero(used)) if count else np.zeros((0, int(used)), np.int64)
    )
    pattern = Pattern(places.astype(np.int64, copy=False), tensor.shape, True)
    return make_sparse(pattern, _picked(tensor, pattern))


def _picked(dense, pattern):
    """The elements of a dense tensor at the positions of a pattern: (nnz, *dense dims)."""
    count = pattern.sparse_dim
    from rushlight.ops.sparse.tensors import _tensor

    flat = dense.reshape(-1, *pattern.size[count:]) if count else dense.unsqueeze(0)
    return flat.index_select(0, _tensor(pattern.linear()))


@rule("to_dense", every=True)
def to_dense(self, dtype=None, *, masked_grad=None):
    """The tensor in dense layout. Its gradient has the positions of the tensor, or all of them
    where `masked_grad` is False."""
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    return _dense_of_layout(self) if masked_grad is False else _dense(self)


def _dense(self):
    tensor = as_coo(self)
    pattern, elements = tensor._pattern, tensor._elements
    count = pattern.sparse_dim
    total = int(np.prod(pattern.size[:count], dtype=np.int64))
    if pattern.indices.size and not 0 <= pattern.indices.min():
        raise RuntimeError("to_dense: found a negative index")
    _check_places(pattern.indices, pattern.size)
    return add_up(elements, pattern.linear(), total).reshape(pattern.size)


_dense_of_layout = whole(as_before, node="ToDenseBackward0")(_dense)
# For operations that dense tensors have, too: the gradient is the dense one.
to_dense_wholly = whole(unchanged, node="ToDenseBackward0")(_dense)


@rule("coalesce")
def coalesce(self):
    """The same tensor with sorted, distinct indices."""
    self._check_layout("coalesce", COO)
    return coalesced(self)


@only_first
def _masked(grad, self, mask):
    if grad.layout == "strided":
        return sparse_mask(grad, mask)
    return with_elements(grad, grad._elements.contiguous())


def sparse_mask(self, mask):
    """The elements of a dense tensor at the positions of a sparse one."""
    if not is_sparse(mask):
        raise RuntimeError("sparse_mask(): expected mask to be sparse")
    if tuple(self.shape) != mask._pattern.size:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size "
            f"{shape_text(self.shape)} but mask has size {shape_text(mask.shape)}"
        )
    return (_common if is_sparse(self) else _at_places)(self, mask.detach())


@whole(_masked, node="SparseMaskBackward0")
def _common(self, mask):
    if self._pattern is mask._pattern:
        return with_elements(self, self._elements)
    mask = coalesced(mask)
    picked = _picked(to_dense(self), mask._pattern.coordinates())
    return with_elements(mask, picked.reshape(mask._elements.shape))


def _at_places(self, mask):
    picked = _picked(self, mask._pattern.coordinates())
    return with_elements(mask, picked.reshape(mask._elements.shape))


# ------------------------------------------------------------------------------------- bookkeeping
@rule(copying.clone, every=True)
@whole(unchanged, node="CloneBackward0")
def _clone(input, *, memory_format=None):
    return with_elements(input, input._elements.clone())


@rule("zeros_like", "empty_like", every=True)
def _zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, **options):
    dtype, pattern = dtype or input.dtype, input._pattern
    if pattern.layout == COO:
        pattern = Pattern(np.empty((pattern.sparse_dim, 0), np.int64), pattern.size, True)
        shape = (0, *input._elements.shape[1:])
    else:
        batch = len(pattern.batch)
        shape = (*pattern.batch, 0, *input._elements.shape[batch + 1 :])
        starts, columns = np.zeros_like(pattern.starts), pattern.columns[..., :0]
        pattern = CompressedPattern(
            starts, columns, pattern.size, pattern.layout, pattern.blocksize
        )
    return make_sparse(pattern, zeros(shape, dtype=dtype).requires_grad_(requires_grad))


@rule("ones_like", every=True)
def _ones_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, **options):
    if input.layout == COO:
        raise missing("ones_like")
    home = input._elements.device
    elements = ones(input._elements.shape, dtype=dtype or input.dtype, device=home)
    return with_elements(input, elements.requires_grad_(requires_grad))


@rule(rearranging.fill, inplace=True, every=True)
def _fill(self, value):
    if self.layout == COO:
        raise missing("fill_")
    return adopt(self, with_elements(self, self._elements.detach().clone().fill_(value)))


def _drawn(name):
    def call(self, *args, **options):
        if self.layout == COO:
            raise missing(name)
        drawn = getattr(self._elements.detach().clone(), name)(*args, **options)
        return adopt(self, with_elements(self, drawn))

    call.__name__, call.__doc__ = name, f"The elements filled by :meth:`Tensor.{name}`."
    return call


SparseTensor.normal_ = rule("normal_", every=True)(_drawn("normal_"))
SparseTensor.uniform_ = rule("uniform_", every=True)(_drawn("uniform_"))


@rule("copy_", every=True)
def _copy(self, src, non_blocking=False):
    if not is_sparse(self) or not is_sparse(src):
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented!")
    if self.layout != src.layout:
        raise RuntimeError(
            f"copy_: both tensors need one layout, got {src.layout} for {self.layout}"
        )
    return adopt(self, with_elements(src, src._elements.clone().to(self.dtype)))


@rule("zero_", every=True)
def _zero(self):
    return adopt(self, _zeros_like(self))


def sparse_resize_(self, size, sparse_dim, dense_dim):
    """Change the size of a COO tensor in place; its elements stay where they are."""
    self._check_layout("sparse_resize_", COO)
    pattern = self._pattern
    if sparse_dim + dense_dim != len(size):
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, "
            f"sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )
    if pattern.count:
        if sparse_dim != pattern.sparse_dim or dense_dim != self.dense_dim():
            raise RuntimeError(
                "changing the number of sparse or dense dimensions on a non-empty sparse tensor is "
                "not supported."
            )
        if any(new < old for new, old in zip(size, pattern.size, strict=True)):
            raise RuntimeError(
                "shrinking the size of dimensions on a non-empty sparse tensor is not supported."
            )
        if tuple(size[sparse_dim:]) != pattern.size[sparse_dim:]:
            raise missing("sparse_resize_ of the dense dimensions of a non-empty tensor")
        moved = pattern.moved(size=size, coalesced=pattern.coalesced)
        return adopt(self, make_sparse(moved, self._elements))
    return sparse_resize_and_clear_(self, size, sparse_dim, dense_dim)


def resize_as_sparse_(self, the_template):
    """:func:`sparse_resize_` to the size and dimensions of another COO tensor."""
    return sparse_resize_(
        self, the_template._pattern.size, the_template.sparse_dim(), the_template.dense_dim()
    )


def resize_(self, *size, memory_format=None):
    """Give a compressed tensor more rows and columns in place, without elements in them."""
    size, pattern = normalize_size(size), self._pattern
    if pattern.layout == COO:
        return sparse_resize_(self, size, self.sparse_dim(), len(size) - self.sparse_dim())
    if pattern.layout in BLOCKED or pattern.batch or self.dense_dim() or len(size) != 2:
        raise missing("resize_ of blocks, batches and dense dimensions", self)
    if any(new < old for new, old in zip(size, pattern.size, strict=True)):
        raise RuntimeError(
            f"resize_: a tensor of layout {pattern.layout} and size {list(pattern.size)} cannot "
            f"become smaller, got {list(size)}"
        )
    count = size[0 if pattern.layout == CSR else 1] + 1 - len(pattern.starts)
    starts = np.append(pattern.starts, np.repeat(pattern.starts[-1:], count))
    made = CompressedPattern(starts, pattern.columns, size, pattern.layout, pattern.blocksize)
    return adopt(self, make_sparse(made, self._held))


def sparse_resize_and_clear_(self, size, sparse_dim, dense_dim):
    """Change the size of a COO tensor in place and drop its elements."""
    empty = Pattern(np.empty((sparse_dim, 0), np.int64), size, True)
    elements = zeros((0, *size[sparse_dim:]), dtype=self.dtype, device=self.device)
    return adopt(self, make_sparse(empty, elements))


Tensor.sparse_mask = sparse_mask
SparseTensor.resize_, SparseTensor.resize_as_sparse_ = resize_, resize_as_sparse_
