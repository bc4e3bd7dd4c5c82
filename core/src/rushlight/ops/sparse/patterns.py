"""Where sparse tensors have elements: coordinates (COO), and compressed rows or columns of single
elements (CSR, CSC) or of blocks (BSR, BSC), for one matrix or a batch of them."""

from __future__ import annotations

from rushlight.kernels.sparse.products import order_of
from rushlight.machine import np
from rushlight.tensor.layout import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr

COO, CSR, CSC, BSR, BSC = sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc
COMPRESSED = (CSR, CSC, BSR, BSC)
BLOCKED = (BSR, BSC)
BY_ROW = (CSR, BSR)
# What PyTorch calls the two kinds of index of a layout.
NAMES = {CSR: ("crow_indices", "col_indices"), CSC: ("ccol_indices", "row_indices"),
         BSR: ("crow_indices", "col_indices"), BSC: ("ccol_indices", "row_indices")}  # fmt: skip
WORDS = {COO: "Sparse", CSR: "SparseCsr", CSC: "SparseCsc", BSR: "SparseBsr", BSC: "SparseBsc"}


class Pattern:
    """Where a COO tensor has elements: indices (sparse dims, nnz), with what follows from them."""

    layout, special = COO, False

    def __init__(self, indices, size, coalesced=None):
        self.indices, self.size = indices, tuple(size)
        self.coalesced = indices.shape[1] < 2 if coalesced is None else coalesced
        self._orders: dict = {}

    sparse_dim = property(lambda self: len(self.indices), doc="Number of sparse dimensions.")
    count = property(lambda self: self.indices.shape[1], doc="Number of places.")

    def linear(self, dims=None):
        """One number for each position, from its indices along `dims` (default: all)."""
        dims = range(self.sparse_dim) if dims is None else dims
        keys = np.zeros(self.count, np.int64)
        for dim in dims:
            keys = keys * self.size[dim] + self.indices[dim]
        return keys

    def by(self, dim):
        """``(starts, order)`` of the positions sorted by their index along `dim`."""
        if dim not in self._orders:
            self._orders[dim] = order_of(self.indices[dim], self.size[dim])
        return self._orders[dim]

    def coordinates(self):
        """The pattern itself."""
        return self

    def moved(self, indices=None, size=None, coalesced=None):
        """Another pattern; indices and size are this one's unless given."""
        return Pattern(
            self.indices if indices is None else indices,
            self.size if size is None else size,
            coalesced,
        )


class CompressedPattern:
    """Where matrices have elements or blocks of `blocksize`: where each row (column) begins,
    `starts` (*B, M + 1), and the columns (rows), `columns` (*B, nnz). ``size`` is (*B, M, N, *dense
    dims)."""

    sparse_dim, coalesced = 2, True

    def __init__(self, starts, columns, size, layout=CSR, blocksize=(1, 1)):
        self.starts, self.columns, self.size = starts, columns, tuple(size)
        self.layout, self.blocksize = layout, tuple(blocksize)
        self._pattern = None

    count = property(lambda self: self.columns.shape[-1], doc="Number of places of each matrix.")
    batch = property(lambda self: self.starts.shape[:-1], doc="The size of the batch.")

    @property
    def extents(self):
        """The rows and columns of elements or blocks."""
        height, width = self.blocksize
        rows, columns = self.size[self.starts.ndim - 1 : self.starts.ndim + 1]
        return rows // height if height else 0, columns // width if width else 0

    @property
    def special(self):
        """Whether this is anything but the CSR form of one matrix."""
        return self.layout != CSR or self.starts.ndim > 1 or len(self.size) > 2

    @property
    def dense_dim(self):
        """Number of dimensions that every element has."""
        return len(self.size) - self.starts.ndim - 1

    def coordinates(self):
        """The positions of all elements as coordinates, in the order of :meth:`flat`."""
        if self._pattern is None:
            self._pattern = self._simple() if not self.special else self._general()
        return self._pattern

    def _simple(self):
        rows = np.repeat(np.arange(self.size[0]), np.diff(self.starts))
        indices = np.stack([rows, self.columns.astype(np.int64, copy=False)])
        pattern = Pattern(indices, self.size, True)
        pattern._orders[0] = (np.ascontiguousarray(self.starts, np.int64), None)
        return pattern

    def _general(self):
        batch, nnz = self.batch, self.count
        matrices = int(np.prod(batch, dtype=np.int64))
        lengths = np.diff(self.starts.reshape(matrices, -1)).astype(np.int64)
        groups = np.tile(np.arange(lengths.shape[1]), matrices)
        major = np.repeat(groups, lengths.reshape(-1))
        minor = self.columns.reshape(-1).astype(np.int64, copy=False)
        rows, columns = (major, minor) if self.layout in BY_ROW else (minor, major)
        height, width = self.blocksize
        if self.layout in BLOCKED:
            rows = rows[:, None, None] * height + np.arange(height)[:, None]
            columns = columns[:, None, None] * width + np.arange(width)
            rows, columns = (x.reshape(-1) for x in np.broadcast_arrays(rows, columns))
        heads = np.unravel_index(np.arange(matrices), batch) if batch else ()
        heads = [np.repeat(head, nnz * height * width) for head in heads]
        indices = np.stack([*heads, rows, columns]).astype(np.int64, copy=False)
        return Pattern(indices, self.size, self.layout == CSR)

    def flat(self, elements):
        """Elements (*B, nnz, *block, *dense) as (positions, *dense): those of
        :meth:`coordinates`."""
        return (
            elements.reshape(-1, *self.size[self.starts.ndim + 1 :]) if self.special else elements
        )


def compressed(pattern):
    """The CSR form of a coalesced pattern of a matrix."""
    starts, _ = pattern.by(0)
    made = CompressedPattern(starts, pattern.indices[1], pattern.size)
    made._pattern = pattern
    return made


def grouped(pattern, batch, layout, blocksize):
    """The compressed form of coordinates with `batch` leading dimensions, and for each position in
    their order where its element belongs among ``(*B, nnz, *block)``, flat.

    RuntimeError where matrices of a batch have different numbers of elements or blocks.
    """
    size, (height, width) = pattern.size, blocksize
    rows, columns = pattern.indices[batch], pattern.indices[batch + 1]
    heads = np.zeros(pattern.count, np.int64)
    for dim in range(batch):
        heads = heads * size[dim] + pattern.indices[dim]
    matrices = int(np.prod(size[:batch], dtype=np.int64))
    extents = size[batch] // height, size[batch + 1] // width
    parts = [rows // height, columns // width]
    if layout not in BY_ROW:
        extents, parts = extents[::-1], parts[::-1]
    keys, place = np.unique(
        (heads * extents[0] + parts[0]) * extents[1] + parts[1], return_inverse=True
    )
    counts = np.bincount(keys // (extents[0] * extents[1] or 1), minlength=matrices)
    if len(set(counts.tolist())) > 1:
        raise RuntimeError(
            "Expect the same number of specified elements per batch, but the matrices have "
            f"{counts.tolist()}"
        )
    nnz = int(counts[0]) if matrices else 0
    starts = np.zeros((matrices, extents[0] + 1), np.int64)
    groups = np.bincount(keys // (extents[1] or 1), minlength=matrices * extents[0])
    np.cumsum(groups.reshape(matrices, extents[0]), axis=1, out=starts[:, 1:])
    made = CompressedPattern(
        starts.reshape(*size[:batch], -1),
        (keys % (extents[1] or 1)).reshape(*size[:batch], nnz),
        size,
        layout,
        blocksize,
    )
    place = place.reshape(-1) * (height * width)
    if height * width > 1:
        place = place + rows % height * width + columns % width
    return made, place
