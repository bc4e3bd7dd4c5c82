"""Tensors of sparse layout: coordinates (COO), compressed rows and columns (CSR, CSC), and those
of blocks (BSR, BSC).

A sparse tensor is a pattern (where elements are) and a dense tensor of the elements there. Every op
on sparse tensors is made of ops on the elements, so gradients reach them, and dense operands, by
the ordinary graph; leaves of sparse layout are the subject of `sparse_history`. The ops a sparse
tensor takes are registered in `RULES` by name; every other one raises NotImplementedError.
"""

from __future__ import annotations

import copy as _copy
import functools

from rushlight import devices
from rushlight.autograd.node import LEAF
from rushlight.dtypes import FLOAT
from rushlight.machine import np
from rushlight.ops._table.op import names_of
from rushlight.ops.sparse.held_elements import ElementsTensor, hollow
from rushlight.ops.sparse.history import elements as recorded_elements
from rushlight.ops.sparse.history import only_first, unchanged, whole
from rushlight.ops.sparse.patterns import (
    BLOCKED,
    COO,
    CSR,
    NAMES,
    CompressedPattern,
    Pattern,
    compressed,
    grouped,
)
from rushlight.tensor.tensor import Tensor, make_tensor

RULES: dict = {}
_new = object.__new__


def rule(*ops, inplace=False, every=False):
    """Register a function as what ops, given by their functions (or names of what is no op), or
    the forms that write into their input, do with sparse tensors: those with coordinates and CSR
    matrices, or of `every` layout, batches included."""
    names = names_of(ops, inplace)

    def register(function):
        if not every:
            function = _plain_only(function, names[0])
        for name in names:
            RULES[name] = function
            _make_method(name, function)
        return function

    return register


def _make_method(name, function):
    """Give sparse tensors the method or property that dense ones have of this name."""
    dense = vars(Tensor).get(name)
    if isinstance(dense, property):
        doc = f"The {name} part of every element."
        setattr(SparseTensor, name, property(function, doc=doc))
    elif dense is not None and name != "__getitem__":  # the class has its own, which asks `RULES`
        setattr(SparseTensor, name, function)


def _plain_only(function, name):
    """The function, refusing layouts for which PyTorch does not have it either."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        for value in args:
            if type(value) is SparseTensor and value._pattern.special:
                raise missing(name, value)
        return function(*args, **kwargs)

    return call


def missing(name, tensor=None):
    """The error for what sparse tensors cannot do."""
    kind = "tensors of sparse layout"
    if tensor is not None:
        batch = "batches of matrices of layout " if tensor.dim() > 2 else "tensors of layout "
        kind = batch + tensor.layout
    return NotImplementedError(f"{name} is not available for {kind}; call to_dense() first")


class SparseTensor(ElementsTensor):
    """A tensor of sparse layout; made by `sparse_coo_tensor`, `to_sparse`, ..."""

    is_sparse = property(lambda self: self._pattern.layout == COO, doc="True for COO.")
    is_sparse_csr = property(lambda self: self._pattern.layout == CSR, doc="True for CSR.")
    layout = property(lambda self: self._pattern.layout, doc="Such as ``sparse_coo``.")

    _asked_by_ops = True  # functions made of ops need not ask it

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        """Run the rule of the op; NotImplementedError where there is none. Classes that define
        ``__torch_dispatch__`` come first."""
        if any(getattr(kind, "_dispatches", False) for kind in types):
            return NotImplemented
        kwargs = dict(kwargs or {})
        name = getattr(function, "__name__", str(function))
        found = RULES.get(name)
        if found is None:
            raise missing(name)
        out = kwargs.pop("out", None)
        result = found(*args, **kwargs)
        return result if out is None else out.copy_(result)

    # ------------------------------------------------------------------ autograd
    @property
    def _elements(self):
        """The elements, recorded: what operations are made of."""
        return recorded_elements(self)

    @property
    def requires_grad(self):
        """Whether operations on the tensor are recorded."""
        return self._node is not None or self._held.requires_grad

    @requires_grad.setter
    def requires_grad(self, value):
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad=True):
        """Start or stop recording what is done to this leaf."""
        if self._held.requires_grad:
            self._held.requires_grad_(requires_grad)
            return self
        return Tensor.requires_grad_(self, requires_grad)

    @property
    def is_leaf(self):
        """True if nothing was recorded for it."""
        return self._node is LEAF or not self.requires_grad

    @property
    def grad_fn(self):
        """The recorded call that made the tensor, or its elements."""
        return self._held.grad_fn if self._node is None else Tensor.grad_fn.fget(self)

    @property
    def grad(self):
        """The gradient, sparse or dense; None until a backward pass."""
        if self._node is not None or not self._held.requires_grad:
            return self._grad
        return ElementsTensor.grad.fget(self)

    @grad.setter
    def grad(self, value):
        if self._node is not None or not self._held.requires_grad:
            Tensor.grad.fset(self, value)
        else:
            ElementsTensor.grad.fset(self, value)

    def retain_grad(self):
        """Keep the gradient of a computed tensor."""
        (ElementsTensor if self._node is None else Tensor).retain_grad(self)

    def register_hook(self, hook):
        """Call ``hook(grad)`` with the gradient; a result replaces it."""
        return (ElementsTensor if self._node is None else Tensor).register_hook(self, hook)

    _version = property(lambda self: self._held._version)
    _writes = property(lambda self: self._held._writes)

    def detach(self):
        """The same elements, outside of the recorded graph."""
        return make_sparse(self._pattern, self._held.detach())

    _alias = detach

    def detach_(self):
        """Forget the history."""
        self._held, self._node = self._held.detach(), None
        return self

    # ------------------------------------------------------------------ parts
    def with_elements(self, elements):
        """Other elements in the same positions."""
        return make_sparse(self._pattern, elements)

    def _nnz(self):
        return self._pattern.count

    def sparse_dim(self):
        """Number of sparse dimensions."""
        return self._pattern.sparse_dim

    def dense_dim(self):
        """Number of dense dimensions, which every element has."""
        pattern = self._pattern
        return self._held.dim() - 1 if pattern.layout == COO else pattern.dense_dim

    def is_coalesced(self):
        """Whether the indices are sorted and distinct."""
        self._check_layout("is_coalesced", COO)
        return self._pattern.coalesced

    def _check_layout(self, name, layout):
        if self._pattern.layout != layout:
            words = {COO: "sparse coordinate", CSR: "sparse row compressed"}
            raise RuntimeError(
                f"{name} expected {words[layout]} tensor layout but got {self._pattern.layout}"
            )

    def _part(self, name):
        """The index of that name of a compressed tensor."""
        pattern = self._pattern
        names = NAMES.get(pattern.layout, ())
        if name not in names:
            kind = "row" if name in NAMES[CSR] else "column"
            raise RuntimeError(
                f"{name} expected sparse {kind} compressed tensor layout but got {pattern.layout}"
            )
        return _tensor((pattern.starts, pattern.columns)[names.index(name)])

    def _indices(self):
        self._check_layout("_indices", COO)
        return _tensor(self._pattern.indices)

    def _values(self):
        return self._held.detach()

    def indices(self):
        """The indices (sparse dims, nnz) of a coalesced tensor."""
        self._check_layout("indices", COO)
        if not self._pattern.coalesced:
            raise RuntimeError(
                "Cannot get indices on an uncoalesced tensor, please call .coalesce() first"
            )
        return _tensor(self._pattern.indices)

    def values(self):
        """The elements (nnz, *dense dims); of a coalesced tensor if it is COO."""
        if not self._pattern.coalesced:
            raise RuntimeError(
                "Cannot get values on an uncoalesced tensor, please call .coalesce() first"
            )
        return recorded_elements(self, adjacent=False)

    def crow_indices(self):
        """Where each row (of blocks) begins, of a CSR or BSR tensor."""
        return self._part("crow_indices")

    def col_indices(self):
        """The columns of a CSR or BSR tensor."""
        return self._part("col_indices")

    def ccol_indices(self):
        """Where each column (of blocks) begins, of a CSC or BSC tensor."""
        return self._part("ccol_indices")

    def row_indices(self):
        """The rows of a CSC or BSC tensor."""
        return self._part("row_indices")

    is_sum = False  # of several gradients

    def taken(self):
        """A gradient as ``.grad`` takes it over. As in PyTorch it then is not known to be
        coalesced, unless it has to be copied: its elements share memory, or it is a sum."""
        elements, pattern = self._held, self._pattern
        if self.is_sum or not elements.is_contiguous() or pattern.count < 2:
            return make_sparse(pattern, elements.detach())
        return make_sparse(pattern.moved(coalesced=False), elements.detach().clone())

    # ------------------------------------------------------------------ memory
    def stride(self, dim=None):
        """Zeros: the elements are no strided block."""
        if self._pattern.layout != COO:
            raise RuntimeError("Sparse compressed tensors do not have strides")
        return (0,) * self.dim() if dim is None else 0

    def _no_storage(self, *args, **kwargs):
        raise NotImplementedError(
            "Cannot access storage of a sparse tensor; use values() and indices()"
        )

    untyped_storage = storage_offset = data_ptr = share_memory_ = _no_storage

    def is_contiguous(self, memory_format=None):
        """False: the elements are no dense block."""
        return False

    def numpy(self, *, force=False):
        """Sparse tensors have no array."""
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def __array__(self, *args, **kwargs):
        """Sparse tensors have no array."""
        return self.numpy()

    def tolist(self):
        """The elements of the dense tensor as nested lists."""
        raise missing("tolist")

    def item(self):
        """The number in a tensor of one element."""
        if self._array.size != 1:
            raise RuntimeError(
                f"a Tensor with {self._array.size} elements cannot be converted to Scalar"
            )
        return RULES["to_dense"](self).item()

    def __bool__(self):
        """The truth of a tensor of one element."""
        if self._array.size != 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.item())

    def __deepcopy__(self, memo):
        """A copy of indices and elements."""
        if id(self) not in memo:
            made = with_elements(self, _copy.deepcopy(self._held, memo))
            memo[id(self)] = made.requires_grad_() if self._node is LEAF else made
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        """Pickled as pattern and elements."""
        indices = self._pattern
        parts = (
            (indices.indices, indices.coalesced)
            if indices.layout == COO
            else (indices.starts, indices.columns, indices.blocksize)
        )
        leaf = self._node is LEAF
        return _rebuild, (indices.layout, parts, indices.size, self._held, leaf)

    def __repr__(self):
        from rushlight.ops.sparse.printing import sparse_text

        return sparse_text(self)

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def __getitem__(self, index):
        """Integers select; see :mod:`rushlight.ops.sparse.arrangement`."""
        return RULES["getitem"](self, index)

    def __setitem__(self, index, value):
        raise missing("assignment to parts")


def _tensor(array):
    """An int64 tensor (int32 where CSR indices are) over an array of indices."""
    from rushlight.ops.creation.tensors import from_numpy

    return from_numpy(array)


def _rebuild(layout, parts, size, elements, leaf=False):
    if layout == COO:
        pattern = Pattern(parts[0], size, parts[1])
    else:
        pattern = CompressedPattern(*parts[:2], size, layout, *parts[2:])
    made = make_sparse(pattern, elements)
    return made.requires_grad_() if leaf else made


def refuse_gpu(tensor):
    """The error for elements on a GPU, where there are no sparse tensors."""
    if tensor.is_cuda:
        raise NotImplementedError(
            "sparse tensors are not on GPUs in this version: make them of tensors on the CPU, or "
            "move to_dense() there"
        )


def make_sparse(pattern, elements):
    """A sparse tensor of a pattern and its elements (nnz, *dense dims)."""
    refuse_gpu(elements)
    out = _new(SparseTensor)
    out._array, out._dtype = hollow(pattern.size, elements._dtype), elements._dtype
    out._node = out._storage = None
    if elements._device is not devices.cpu:
        out._device = elements._device
    out._pattern, out._held = pattern, elements
    return out


def with_elements(tensor, elements):
    """Other elements in the positions of a sparse tensor."""
    return make_sparse(tensor._pattern, elements)


def adopt(tensor, other):
    """Let a sparse tensor be what another one is: how in-place ops write."""
    leaf = tensor._node is LEAF or tensor._held._node is LEAF
    if leaf and other.requires_grad:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )
    tensor._pattern, tensor._held = other._pattern, other._held
    tensor._node, tensor._index = other._node, other._index
    tensor._array, tensor._dtype = other._array, other._dtype
    return tensor


def is_sparse(value):
    """Whether a value is a tensor of sparse layout."""
    return isinstance(value, SparseTensor)


@only_first
def as_before(grad, tensor, *args, **options):
    """The gradient in the layout of the tensor."""
    pattern = tensor._pattern
    if pattern.layout == COO:
        return grad.to_sparse(pattern.sparse_dim) if grad.layout == "strided" else as_coo(grad)
    blocksize = pattern.blocksize if pattern.layout in BLOCKED else None
    return grad.to_sparse(layout=pattern.layout, blocksize=blocksize, dense_dim=pattern.dense_dim)


def as_coo(tensor):
    """The same tensor with coordinates."""
    return tensor if tensor._pattern.layout == COO else _with_coordinates(tensor)


@whole(as_before, node="ToSparseBackward1")
def _with_coordinates(tensor):
    pattern = tensor._pattern
    return make_sparse(pattern.coordinates(), pattern.flat(tensor._elements))


def as_csr(tensor):
    """The same matrix with compressed rows."""
    return tensor if tensor._pattern.layout == CSR else _with_rows(tensor)


@whole(as_before, node="ToSparseBackward1")
def _with_rows(tensor):
    tensor = coalesced(as_coo(tensor))
    return make_sparse(compressed(tensor._pattern), tensor._elements)


def as_layout(tensor, layout, blocksize=None, batch=None):
    """The same tensor in a layout. A batch is what a compressed tensor has in front, or as many
    leading dimensions as said; blocks are of `blocksize`."""
    pattern = tensor._pattern
    if layout == COO:
        return coalesced(as_coo(tensor))
    blocksize = tuple(blocksize) if layout in BLOCKED else (1, 1)
    if pattern.layout == layout and pattern.blocksize == blocksize:
        return tensor
    return _compressed(tensor, layout, blocksize, batch)


@whole(as_before, node="ToSparseBackward1")
def _compressed(tensor, layout, blocksize, batch):
    pattern = tensor._pattern
    if batch is None:
        batch = 0 if pattern.layout == COO else pattern.starts.ndim - 1
    tensor = coalesced(as_coo(tensor))
    made, places = grouped(tensor._pattern, batch, layout, blocksize)
    dense = tensor._elements.shape[1:]
    shape = (*made.columns.shape, *(blocksize if layout in BLOCKED else ()), *dense)
    count = made.columns.size * blocksize[0] * blocksize[1]
    if count == len(places):  # every position has one element: they only change their order
        order = np.empty(count, np.int64)
        order[places] = np.arange(count)
        elements = tensor._elements.index_select(0, _tensor(order))
    else:
        elements = add_up(tensor._elements, places, count)
    return make_sparse(made, elements.reshape(shape))


def coalesced(tensor):
    """The same tensor with sorted, distinct indices: elements at the same position are added."""
    return tensor if tensor._pattern.coalesced else _coalesced(tensor)


@whole(unchanged, node="CoalesceBackward0")
def _coalesced(tensor):
    pattern = tensor._pattern
    elements = tensor._elements
    keys = pattern.linear()
    if pattern.count < 2 or bool((keys[1:] > keys[:-1]).all()):
        return make_sparse(pattern.moved(coalesced=True), elements)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    made = pattern.moved(np.ascontiguousarray(pattern.indices[:, first]), coalesced=True)
    return make_sparse(made, add_up(elements, inverse.reshape(-1), len(first)))


def first_of_each(tensor):
    """A coalesced tensor that has the first of the elements at each position."""
    pattern = tensor._pattern
    _, first = np.unique(pattern.linear(), return_index=True)
    made = pattern.moved(np.ascontiguousarray(pattern.indices[:, first]), coalesced=True)
    return make_sparse(made, tensor._elements.index_select(0, _tensor(first)))


def add_up(elements, places, count):
    """Elements (nnz, *) added up by the numbers in `places`: (count, *)."""
    from rushlight.ops.creation.tensors import zeros
    from rushlight.ops.neural.embedding import _embedding_backward

    shape = (count, *elements.shape[1:])
    few = count <= 4 * len(places) + 1024  # the kernel sorts by counting: it looks at every row
    if few and elements.dtype.category == FLOAT and elements.numel():
        rows = elements.reshape(elements.shape[0], -1)
        index = _tensor(places.astype(np.int64, copy=False))
        return _embedding_backward(rows, index, count, -1, False).reshape(shape)
    if elements._dtype.name == "bool":
        found = np.zeros(shape, bool)
        np.logical_or.at(found, places, elements._array)
        return make_tensor(found, elements._dtype)
    out = zeros(shape, dtype=elements.dtype, device=elements.device)
    return out.index_add(0, _tensor(places.astype(np.int64, copy=False)), elements)
