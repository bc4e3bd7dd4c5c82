"""Making tensors with compressed rows or columns (CSR, CSC) and blocks (BSR, BSC), one matrix or a
batch of them, and changing between layouts."""

from __future__ import annotations

from rushlight.errors import shape_text
from rushlight.machine import np
from rushlight.ops.creation.tensors import as_tensor
from rushlight.ops.sparse.creation import INVARIANTS, _elements, to_coordinates
from rushlight.ops.sparse.patterns import (
    BLOCKED,
    BSC,
    BSR,
    BY_ROW,
    COMPRESSED,
    COO,
    CSC,
    CSR,
    NAMES,
    CompressedPattern,
)
from rushlight.ops.sparse.tensors import as_coo, as_layout, is_sparse, make_sparse
from rushlight.tensor.layout import layout as layout_type
from rushlight.tensor.layout import strided

_PIECE = 1 << 16  # indices that are compared at a time


def sparse_compressed_tensor(
    compressed_indices,
    plain_indices,
    values,
    size=None,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
):
    """A tensor of one of the layouts `sparse_csr`, `sparse_csc`, `sparse_bsr` and `sparse_bsc`.

    The elements (or blocks) of row i are ``values[starts[i]:starts[i + 1]]`` with ``starts`` the
    `compressed_indices` (*B, rows + 1), in the columns `plain_indices` (*B, nnz); for `sparse_csc`
    and `sparse_bsc` rows and columns change places. `values` is (*B, nnz, *dense dims), with the
    two extents of a block behind nnz where there are blocks.

    >>> import rushlight
    >>> m = rushlight.sparse_compressed_tensor(
    ...     [0, 1, 2], [1, 0], [3.0, 4.0], layout=rushlight.sparse_csc
    ... )
    >>> m.to_dense()
    tensor([[0., 4.],
            [3., 0.]])
    """
    if layout is None:
        raise RuntimeError(
            "sparse_compressed_tensor: expected sparse compressed tensor layout but got none"
        )
    return _made(
        "sparse_compressed_tensor", layout, compressed_indices, plain_indices, values, size,
        (dtype, device, requires_grad), check_invariants,
    )  # fmt: skip


def _constructor(layout, text):
    name = f"{str.__str__(layout)}_tensor"
    first, second = NAMES[layout]

    def make(
        compressed_indices,
        plain_indices,
        values,
        size=None,
        *,
        dtype=None,
        device=None,
        pin_memory=False,
        requires_grad=False,
        check_invariants=None,
    ):
        return _made(
            name, layout, compressed_indices, plain_indices, values, size,
            (dtype, device, requires_grad), check_invariants,
        )  # fmt: skip

    code = make.__code__
    names = (first, second, *code.co_varnames[2:])
    make.__code__ = code.replace(co_varnames=names)
    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"{text}; see :func:`rushlight.sparse_compressed_tensor`."
    return make


sparse_csr_tensor = _constructor(CSR, "A tensor of compressed rows")
sparse_csc_tensor = _constructor(CSC, "A tensor of compressed columns")
sparse_bsr_tensor = _constructor(BSR, "A tensor of compressed rows of blocks")
sparse_bsc_tensor = _constructor(BSC, "A tensor of compressed columns of blocks")


def _made(name, layout, first, second, values, size, kind, check):
    """`kind` is the dtype, the device and whether gradients are asked for."""
    if layout not in COMPRESSED:
        raise RuntimeError(f"{name}: expected sparse compressed tensor layout but got {layout}")
    starts, columns = as_tensor(first), as_tensor(second)
    elements = _elements(values, *kind)
    _check_kinds(layout, starts, columns)
    starts, columns = (t.detach().to("cpu")._array.copy() for t in (starts, columns))
    check = INVARIANTS.enabled if check is None else check
    made = _of_arrays(name, layout, starts, columns, elements, size, check)
    return made.requires_grad_() if kind[2] else made


def of_parts(layout, first, second, values, size):
    """A tensor around indices that nobody else writes to; they are checked."""
    _check_kinds(layout, first, second)
    starts, columns = (np.ascontiguousarray(t.to("cpu")._array) for t in (first, second))
    return _of_arrays(f"{str.__str__(layout)}_tensor", layout, starts, columns, values, size, True)


def _of_arrays(name, layout, starts, columns, elements, size, check):
    batch, blocked = starts.ndim - 1, layout in BLOCKED
    if elements.dim() < batch + (3 if blocked else 1):
        raise RuntimeError(
            f"{name}: values must have {batch} batch dimensions, one of elements"
            f"{' and two of blocks' if blocked else ''}, but got {shape_text(elements.shape)}"
        )
    blocksize = tuple(elements.shape[batch + 1 : batch + 3]) if blocked else (1, 1)
    dense = tuple(elements.shape[batch + (3 if blocked else 1) :])
    if size is None:
        majors, minors = starts.shape[-1] - 1, int(columns.max()) + 1 if columns.size else 0
        pair = (majors, minors) if layout in BY_ROW else (minors, majors)
        size = (*starts.shape[:-1], pair[0] * blocksize[0], pair[1] * blocksize[1], *dense)
    pattern = CompressedPattern(starts, columns, tuple(size), layout, blocksize)
    _check_shapes(name, pattern, elements, batch, dense)
    if check:
        _check_places(pattern)
    return make_sparse(pattern, elements)


def _check_kinds(layout, starts, columns):
    names = NAMES[layout]
    if starts.dtype is not columns.dtype or starts.dtype.name not in ("int32", "int64"):
        raise RuntimeError(
            f"{names[0]} and {names[1]} must be an int32 or int64 type, but got: "
            f"{starts.dtype} and {columns.dtype}"
        )
    if starts.dim() < 1 or starts.dim() != columns.dim():
        raise RuntimeError(
            f"number of dimensions of {names[0]} and {names[1]} must be the same, one at least, "
            f"but got {starts.dim()} and {columns.dim()}"
        )


def _check_shapes(name, pattern, elements, batch, dense):
    """What must fit together whatever the indices are."""
    size, starts, columns = pattern.size, pattern.starts, pattern.columns
    first, second = NAMES[pattern.layout]
    if len(size) != batch + 2 + len(dense) or size[:batch] != starts.shape[:-1]:
        raise RuntimeError(
            f"{name}: size {shape_text(size)} does not fit: expected the batch "
            f"{shape_text(starts.shape[:-1])}, two sparse dimensions and the dense ones "
            f"{shape_text(dense)}"
        )
    if size[batch + 2 :] != dense:
        raise RuntimeError(
            f"{name}: values have dense dimensions {shape_text(dense)}, size {shape_text(size)}"
        )
    if columns.shape[:-1] != starts.shape[:-1] or elements.shape[:batch] != starts.shape[:-1]:
        raise RuntimeError(
            f"{name}: all batch dimensions of {first} {shape_text(starts.shape)}, {second} "
            f"{shape_text(columns.shape)} and values {shape_text(elements.shape)} must be equal"
        )
    if columns.shape[-1] != elements.shape[batch]:
        raise RuntimeError(
            f"{name}: number of elements: {second} has {columns.shape[-1]}, values has "
            f"{elements.shape[batch]}"
        )
    if any(n % b for n, b in zip(size[batch:], pattern.blocksize, strict=False) if b):
        raise RuntimeError(
            f"{name}: size {shape_text(size)} must be divisible by the blocks "
            f"{shape_text(pattern.blocksize)}"
        )
    majors = pattern.extents[pattern.layout not in BY_ROW]
    if starts.shape[-1] != majors + 1:
        word = "nrows" if pattern.layout in BY_ROW else "ncols"
        raise RuntimeError(
            f"{name}: {first}.shape[-1] must be equal to {word} + 1 = {majors + 1}, but got "
            f"{starts.shape[-1]}"
        )


def _check_places(pattern):
    """That the indices are in order, inside of the size, and distinct."""
    first, second = NAMES[pattern.layout]
    minors = pattern.extents[pattern.layout in BY_ROW]
    word = "ncols" if pattern.layout in BY_ROW else "nrows"
    starts = pattern.starts.reshape(-1, pattern.starts.shape[-1])
    columns = pattern.columns.reshape(len(starts), pattern.count)
    if (starts[:, 0] != 0).any():
        raise RuntimeError(f"`{first}[..., 0] == 0` is not satisfied.")
    if (starts[:, -1] != pattern.count).any():
        raise RuntimeError(f"`{first}[..., -1] == nnz` is not satisfied.")
    for some in _pieces(starts):
        steps = np.diff(some)
        if (steps < 0).any() or (steps > minors).any():
            raise RuntimeError(
                f"`0 <= {first}[..., 1:] - {first}[..., :-1] <= {word}` is not satisfied."
            )
    if columns.size and not 0 <= columns.min() <= columns.max() < minors:
        raise RuntimeError(f"`0 <= {second} < {word}` is not satisfied.")
    if not all(map(_in_order, starts, columns)):
        raise RuntimeError(
            f"`{second}[..., {first}[..., i - 1]:{first}[..., i]] for all i = 1, ..., "
            f"{'nrows' if word == 'ncols' else 'ncols'} are sorted and distinct along the last "
            "dimension values` is not satisfied."
        )


def _pieces(rows):
    """Parts of each row that overlap by one, small enough to be compared at little cost."""
    for row in rows:
        for at in range(0, len(row) - 1, _PIECE):
            yield row[at : at + _PIECE + 1]


def _in_order(starts, columns):
    """Whether the columns of each row of one matrix grow."""
    for at in range(0, len(columns) - 1, _PIECE):
        piece = columns[at : at + _PIECE + 1]
        falls = at + 1 + np.flatnonzero(piece[1:] <= piece[:-1])  # where a row must begin
        if not np.array_equal(starts[np.searchsorted(starts, falls)], falls):
            return False
    return True


# ------------------------------------------------------------------------------------- conversions
def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """The tensor in COO layout with `sparse_dim` sparse dimensions (default: all), or in another
    `layout`; blocks are of `blocksize`."""
    if layout is not None and not isinstance(layout, layout_type):
        raise TypeError(f"to_sparse(): argument 'layout' must be a layout, got {layout!r}")
    if layout in COMPRESSED:
        return _converted("to_sparse", self, layout, blocksize, dense_dim)
    if layout == strided:
        return self.to_dense() if is_sparse(self) else self
    if blocksize is not None:
        raise RuntimeError("to_sparse: conversion to sparse_coo takes no blocksize")
    if is_sparse(self):
        found = as_coo(self)
        if sparse_dim is not None and self.layout != COO and sparse_dim != 2:
            raise RuntimeError(
                f"to_sparse: a tensor of layout {self.layout} has 2 sparse dimensions, not "
                f"{sparse_dim}"
            )
        return found
    return to_coordinates(self, self.dim() - (dense_dim or 0) if sparse_dim is None else sparse_dim)


def to_sparse_csr(self, dense_dim=None):
    """The matrix, or batch of matrices, with compressed rows."""
    return _converted("to_sparse_csr", self, CSR, None, dense_dim)


def to_sparse_csc(self, dense_dim=None):
    """The matrix, or batch of matrices, with compressed columns."""
    return _converted("to_sparse_csc", self, CSC, None, dense_dim)


def to_sparse_bsr(self, blocksize, dense_dim=None):
    """The matrix, or batch of matrices, with compressed rows of blocks (height, width)."""
    return _converted("to_sparse_bsr", self, BSR, blocksize, dense_dim)


def to_sparse_bsc(self, blocksize, dense_dim=None):
    """The matrix, or batch of matrices, with compressed columns of blocks (height, width)."""
    return _converted("to_sparse_bsc", self, BSC, blocksize, dense_dim)


def _converted(name, tensor, layout, blocksize, dense_dim):
    blocked = layout in BLOCKED
    if blocked != (blocksize is not None):
        raise RuntimeError(
            f"{name}: conversion to {layout} {'needs' if blocked else 'takes no'} blocksize"
        )
    if blocked and (len(blocksize) != 2 or min(blocksize) <= 0):
        raise RuntimeError(
            f"{name}: blocksize must be two positive numbers, got {tuple(blocksize)}"
        )
    if is_sparse(tensor):
        _check_conversion(name, tensor, layout, blocksize, dense_dim)
        batch = None if tensor.layout != COO else 0
        _check_blocks(name, tensor, blocksize, 0 if batch == 0 else len(tensor._pattern.batch))
        return as_layout(tensor, layout, blocksize, batch)
    dense = dense_dim or 0
    if not 0 <= dense <= tensor.dim() - 2:
        raise RuntimeError(
            f"{name}: expected a matrix or a batch of matrices before {dense} dense dimensions, "
            f"got {tensor.dim()} dimensions"
        )
    batch = tensor.dim() - dense - 2
    _check_blocks(name, tensor, blocksize, batch)
    return as_layout(to_coordinates(tensor, batch + 2), layout, blocksize, batch)


def _check_blocks(name, tensor, blocksize, batch):
    if blocksize is not None and any(
        n % b for n, b in zip(tensor.shape[batch : batch + 2], blocksize, strict=True)
    ):
        raise RuntimeError(
            f"{name}: tensor sparse size ({tensor.shape[batch]},{tensor.shape[batch + 1]}) must be "
            f"divisible by given blocksize ({blocksize[0]},{blocksize[1]})"
        )


def _check_conversion(name, tensor, layout, blocksize, dense_dim):
    """The changes between sparse layouts that there are, as in PyTorch."""
    source, pattern = tensor.layout, tensor._pattern
    if dense_dim not in (None, tensor.dense_dim()):
        raise RuntimeError(
            f"{name}: the dense dimensions of a sparse tensor stay ({tensor.dense_dim()}), got "
            f"dense_dim={dense_dim}"
        )
    if source == COO:
        fits = pattern.sparse_dim == 2
    elif source in BLOCKED:
        fits = layout in BLOCKED and tuple(blocksize) == pattern.blocksize
    else:
        fits = layout not in BLOCKED or not pattern.batch
    if not fits:
        kind = "a batch of layout " if source != COO and pattern.batch else ""
        blocks = f" with blocks {pattern.blocksize}" if source in BLOCKED else ""
        raise RuntimeError(
            f"{name}: conversion from {kind}{source}{blocks} to {layout} is not available; convert "
            "the dense tensor: to_dense()"
        )
