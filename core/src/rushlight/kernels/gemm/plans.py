"""Compiled matrix products: plans and range kernels behind :mod:`rushlight.kernels.gemm.products`.

Large products are those of :mod:`rushlight.kernels.gemm.panels` or, where vectors are short, of
:mod:`rushlight.kernels.gemm.blocked`; those of one row or column have kernels of their own
(:mod:`rushlight.kernels.gemm.lines`). Those with few columns or little work, of float64 where
one unit multiplies and adds, and batches of small matrices go to OpenBLAS at one thread, in chunks
over the pool, of rows or columns, whichever are more, and within them in blocks that it multiplies
without packing. All depends on shapes and the processor only.
This module imports the compiler: import it at first need.
"""

from __future__ import annotations

from rushlight.kernels.copying import assignment
from rushlight.kernels.gemm import lines
from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.microkernel import PANEL, START_BIAS, START_C
from rushlight.kernels.gemm.precision import planes_of_float32
from rushlight.kernels.launch.execution import language_type
from rushlight.machine import np, threads
from rushlight.machine.language.functions import array, f32, function, i32, i64, range_kernel, real
from rushlight.machine.openblas import NO_TRANSPOSE, ROW_MAJOR, TRANSPOSE, dgemm, sgemm
from rushlight.machine.processors import has_two_wide_units

# Argument words. The first four are given at each call, the next two where they are needed.
A, B, C, BIAS, PACKED, EPILOGUE, M, N, K, A_ROW, A_K, B_ROW, TRANS_A, TRANS_B, C_ROW = range(15)
ACCUMULATE, TILE, GROUP, ROW_PARTS, DEPTH, OFFSETS_A, OFFSETS_B, MOST, LAST_TILE = range(15, 24)
BLOCK_ROWS, BLOCK_COLUMNS = GROUP, ROW_PARTS  # of C that one call of OpenBLAS computes
BY_ROWS = 24  # whether BIAS has a value for each row instead of each column
GATHERED = OFFSETS_A  # whether all columns of A are gathered before the product
# Where A meets many matrices B: groups of panels of one of them, bytes from one B to the next, and
# from one C.
GROUPS, B_IMAGE, C_IMAGE = range(25, 28)
FIRST_TILE = 28  # where panels are packed as tiles read them
WORDS = 29

SMALL_WORK = 33_000  # multiply-adds below which OpenBLAS wins
DOUBLE_WORK, DOUBLE_LIMIT = 500_000, 1 << 32  # the same of float64, and where it wins again
INLINE_WORK = 130_000  # multiply-adds below which a second thread does not pay
SPLIT_SIDES = 40  # m * n / (m + n) from which splitting (m + n) * k values pays
# Columns of B from which, and bytes of a packed A up to which, parts pack what they need of B.
HERE_COLUMNS, HERE_LIMIT = 768, 640 << 10
SPLIT_WORK = 1_500_000  # multiply-adds from which two more launches pay
# Rows of A up to which B is read where it is, once for all: of columns that are dense, of long ones
# (from LONG values on) and of rows.
FEW_BY_DOTS, FEW_BY_LONG_DOTS, FEW_BY_SUMS, LONG = 4, 8, 3, 256
# Columns of B up to which the tiles of one row, and those of short vectors, read it where it is
READ_ONCE_BY_ONE, READ_ONCE_SHORT = 2048, 1024
HALF_SIDES = 12  # the same where operands are bfloat16 already
BLAS_TILE = 8  # rows or columns of a part that OpenBLAS computes are a multiple of this
BLAS_BLOCK = 32  # rows and columns of a block of such a part
BLAS_SMALL = 950_000  # multiply-adds of a block up to which OpenBLAS packs nothing
BLOCKED = mk.VL < 16  # tiles are so low that panels have to stay in the first cache
# rows from which that is so, by bytes of an element: OpenBLAS takes some of float64 as they are
LOWEST = {4: 2, 8: 12}
READS_IN_PLACE = mk.VL == 16  # OpenBLAS has kernels that pack nothing for AVX-512 alone
BLAS_BLOCKS = 1 << 28  # multiply-adds of a product from which packing pays


@function
def blas_product(g, a, b, c, rows, columns):
    """OpenBLAS on a rectangle of C."""
    trans_a = i32(TRANSPOSE) if g[TRANS_A] != 0 else i32(NO_TRANSPOSE)
    trans_b = i32(TRANSPOSE) if g[TRANS_B] != 0 else i32(NO_TRANSPOSE)
    beta = real(1) if g[ACCUMULATE] != 0 else real(0)
    if real is f32:
        sgemm(ROW_MAJOR, trans_a, trans_b, rows, columns, g[K], 1.0, a, g[A_ROW], b, g[B_ROW],
              beta, c, g[C_ROW])  # fmt: skip
    else:
        dgemm(ROW_MAJOR, trans_a, trans_b, rows, columns, g[K], 1.0, a, g[A_ROW], b, g[B_ROW],
              beta, c, g[C_ROW])  # fmt: skip


@range_kernel
def blas_kernel(args, lo, hi, tid):
    """Items are rows of C, or columns if there are more of them. Strides count elements."""
    g = array(i64, args)
    size = 4 if real is f32 else 8
    row, rows, column, columns = i64(0), g[M], lo, hi - lo
    if g[N] <= g[M]:
        row, rows, column, columns = lo, hi - lo, i64(0), g[N]
    c = g[C] + size * (row * g[C_ROW] + column)
    for i in range(row, row + rows, g[BLOCK_ROWS]):
        tall = min(g[BLOCK_ROWS], row + rows - i)
        a = g[A] + size * (i if g[TRANS_A] != 0 else i * g[A_ROW])
        for j in range(column, column + columns, g[BLOCK_COLUMNS]):
            b = g[B] + size * (j * g[B_ROW] if g[TRANS_B] != 0 else j)
            broad = min(g[BLOCK_COLUMNS], column + columns - j)
            blas_product(g, a, b, g[C] + size * (i * g[C_ROW] + j), tall, broad)
    if g[BIAS] != 0:
        bias = array(real, g[BIAS] + size * (row if g[BY_ROWS] != 0 else column))
        for i in range(rows):
            line = array(real, c + size * i * g[C_ROW])
            if g[BY_ROWS] != 0:
                for j in range(columns):
                    line[j] += bias[i]
            else:
                for j in range(columns):
                    line[j] += bias[j]


@range_kernel
def batch_kernel(args, lo, hi, tid):
    """Items are whole products; the operands are at byte offsets from two tables."""
    g = array(i64, args)
    size = 4 if real is f32 else 8
    offsets_a, offsets_b = array(i64, g[OFFSETS_A]), array(i64, g[OFFSETS_B])
    for item in range(lo, hi):
        c = g[C] + size * item * g[M] * g[N]
        blas_product(g, g[A] + offsets_a[item], g[B] + offsets_b[item], c, g[M], g[N])


# ---- plans ---------------------------------------------------------------------------------------


def layout(shape, strides, itemsize):
    """(row stride in bytes, is transposed) of a matrix BLAS can read, or None: copy it first."""
    (rows, columns), (down, across) = shape, strides
    if across == itemsize or columns == 1:
        if rows == 1 or (columns == 1 and down == itemsize):
            return columns * itemsize, False
        if down >= columns * itemsize and down % itemsize == 0:
            return down, False
    if (down == itemsize or rows == 1) and across >= rows * itemsize and across % itemsize == 0:
        return across, True
    return None


def packs_here(m, n, k):
    """Whether A is so small that B is used a few times only: parts of the product then pack what
    they need of B, and it never leaves the second cache."""
    return n >= HERE_COLUMNS and -(-m // 32) * -(-k // 32) * 6144 <= HERE_LIMIT


def fit_matrix_units(m, n, k):
    """Whether a product of these sizes is quicker on matrix units, packing included."""
    if k < 32 or m * n < SPLIT_SIDES * (m + n) or m * n * k < SPLIT_WORK:
        return False
    from rushlight.kernels.gemm import matrix_units

    return matrix_units.available()


def is_read_once(m, n, k, a_row):
    """Whether tiles of a float32 product read rows of B where they are: one tile has all rows of A.
    Of rows that are far apart, that of short vectors would take a line or two each time."""
    if n < PANEL or m * n * k < SMALL_WORK or m > mk.most_rows(a_row):
        return False
    if BLOCKED:
        return m > 1 and n <= READ_ONCE_SHORT
    return m > 1 or n <= READ_ONCE_BY_ONE


def is_few_rows(m, n, k, by_dots):
    """Whether a float32 product has so few rows that packing B costs more than the product."""
    if m * n * k < SMALL_WORK:
        return False
    if not by_dots:
        return m <= FEW_BY_SUMS
    return m <= (FEW_BY_DOTS if k < LONG else FEW_BY_LONG_DOTS)


def bfloat16_plan(a_shape, a_strides, b_shape, b_strides):
    """How to multiply bfloat16 matrices by instructions for them, or None: convert them first."""
    (m, k), n = a_shape, b_shape[1]
    a, b = layout(a_shape, a_strides, 2), layout(b_shape, b_strides, 2)
    if a is None or b is None:
        return None
    from rushlight.kernels.gemm import matrix_units
    from rushlight.kernels.gemm import pairs as pair_products

    if matrix_units.available():
        if k < 32 or m * n < HALF_SIDES * (m + n):
            return None
        from rushlight.kernels.gemm.split import SplitProduct

        return SplitProduct(m, n, k, a, b, START_BIAS, 0)
    if not pair_products.fits(m, n, k):
        return None
    start = np.zeros(1, np.int64)
    return pair_products.PairProduct(m, n, k, a, b, (start, start))


def bfloat16_batch(a_shape, a_strides, b_shape, b_strides, batch, by_rows=False):
    """:func:`bfloat16_plan` for batches of matrices."""
    (m, k), n = a_shape[-2:], b_shape[-1]
    a = layout(a_shape[-2:], a_strides[-2:], 2)
    b = layout(b_shape[-2:], b_strides[-2:], 2)
    if a is None or b is None:
        return None
    from rushlight.kernels.gemm import matrix_units
    from rushlight.kernels.gemm import pairs as pair_products

    if matrix_units.available():
        one = (given[-2:] for given in (a_shape, a_strides, b_shape, b_strides))
        plan = None if by_rows else bfloat16_plan(*one)
        return None if plan is None else EachProduct(plan, batch)
    if not pair_products.fits(m, n, k):
        return None
    offsets = _offsets(a_shape, a_strides, batch), _offsets(b_shape, b_strides, batch)
    return pair_products.PairProduct(m, n, k, a, b, offsets, by_rows)


class EachProduct:
    """How to run a batch of products, one after the other, each by all threads."""

    __slots__ = ("batch", "dtype", "plan")

    def __init__(self, plan, batch):
        self.plan, self.batch, self.dtype = plan, batch, None

    def run(self, a, b, out, bias):
        """Write the products (plus a float32 bias of columns) into a dense ``out``."""
        a = np.broadcast_to(a, (*self.batch, *a.shape[-2:]))
        b = np.broadcast_to(b, (*self.batch, *b.shape[-2:]))
        for place in np.ndindex(*self.batch):
            self.plan.run(a[place], b[place], out[place], bias)


def _blas_blocks(m, n, k):
    """Rows and columns of C that one call of OpenBLAS computes: so few, where they are not so few
    that packing them costs more, that it reads the matrices where they are."""
    rows, columns = min(m, BLAS_BLOCK), min(n, BLAS_BLOCK)
    if not READS_IN_PLACE or rows * columns * k > BLAS_SMALL or m * n * k > BLAS_BLOCKS:
        return m, n
    if rows == m:
        columns = min(n, max(columns, BLAS_SMALL // (2 * rows * k) // BLAS_TILE * BLAS_TILE))
    elif columns == n:
        rows = min(m, max(rows, BLAS_SMALL // (2 * columns * k) // BLAS_TILE * BLAS_TILE))
    return rows, columns


class Product:
    """How to run ``C = op(A) op(B)`` for one set of shapes, strides and dtype."""

    __slots__ = ("by_rows", "copy_a", "copy_b", "dtype", "finishes", "panels", "split", "words")

    def __init__(self, a_shape, a_strides, b_shape, b_strides, dtype, accumulate, by_rows=False):
        size, self.dtype = dtype.itemsize, dtype
        a, b = layout(a_shape, a_strides, size), layout(b_shape, b_strides, size)
        self.copy_a, self.copy_b = a is None, b is None
        a, b = a or (a_shape[1] * size, False), b or (b_shape[1] * size, False)
        (m, k), n = a_shape, b_shape[1]
        words = [0] * WORDS
        words[M], words[N], words[K] = m, n, k
        words[A_ROW], words[B_ROW], words[C_ROW] = a[0], b[0], n * size
        words[TRANS_A], words[TRANS_B], words[ACCUMULATE] = a[1], b[1], accumulate
        words[BY_ROWS] = self.by_rows = by_rows
        self.split = self.panels = None
        self.finishes = False  # whether the kernel runs light epilogues on its tiles
        if size == 4 and fit_matrix_units(m, n, k):
            from rushlight.kernels.gemm.split import SplitProduct

            start = START_C if accumulate else START_BIAS
            self.split = SplitProduct(m, n, k, a, b, start, planes_of_float32())
        elif size == 4 and not b[1] and is_read_once(m, n, k, a[0]):
            self._tiled(words, dtype, "unpacked")
        elif m == 1 or n == 1:
            self.words = self._line(words, dtype)
        elif size == 4 and not by_rows and not a[1] and is_few_rows(m, n, k, b[1]):
            self.words = self._few_rows(words, dtype)
        elif BLOCKED and n * size >= PANEL * 4 and m >= LOWEST[size] and m * n * k >= SMALL_WORK:
            self._tiled(words, dtype, "blocked")
        elif self._is_paneled(m, n, k, size):
            self._tiled(words, dtype, "panels")
        else:
            self.words = self._blas(words, dtype)

    def _tiled(self, words, dtype, way):
        """By the tiles of :mod:`microkernel`, which run epilogues of sums that are long enough."""
        from rushlight.kernels.gemm import blocked, panels, unpacked

        self.finishes = words[K] >= mk.FINISHES_FROM
        if way == "panels":
            made = panels.PanelProduct(words, dtype)
            self.words = made.words
            self.panels = made if made.gather is not None else None  # one launch does the others
        else:
            self.words = (unpacked if way == "unpacked" else blocked).plan(words, dtype)

    @staticmethod
    def _is_paneled(m, n, k, size):
        """Whether tiles win against OpenBLAS, whose own for float64 are as good for one unit."""
        if size == 4:
            return n >= PANEL and m * n * k >= SMALL_WORK
        is_wide = n >= 2 * PANEL and m >= LOWEST[size]
        pays = DOUBLE_WORK <= m * n * k < DOUBLE_LIMIT
        return is_wide and pays and has_two_wide_units()

    def _line(self, words, dtype):
        """One row or one column of outputs: a vector, which is copied where it is not dense, times
        a matrix."""
        size, is_row = dtype.itemsize, words[M] == 1
        if is_row:
            self.copy_a |= bool(words[TRANS_A]) and words[A_ROW] != size
            outputs, row = words[N], words[B_ROW]
            by_dots = words[TRANS_B] or outputs == 1 and row == size
        else:
            self.copy_b |= not words[TRANS_B] and words[B_ROW] != size
            outputs, row, by_dots = words[M], words[A_ROW], not words[TRANS_A]
        one_bias = bool(words[BY_ROWS]) == is_row
        return lines.plan(outputs, words[K], row, not is_row, by_dots, words[ACCUMULATE],
                                  one_bias, dtype, WORDS, (1, 0))  # fmt: skip

    @staticmethod
    def _few_rows(words, dtype):
        """A few dense rows of A times B, which is read where it is."""
        return lines.plan(words[N], words[K], words[B_ROW], False, words[TRANS_B],
                                  words[ACCUMULATE], False, dtype, WORDS,
                                  (words[M], words[A_ROW]))  # fmt: skip

    @staticmethod
    def _blas(words, dtype):
        for stride in (A_ROW, B_ROW, C_ROW):
            words[stride] //= dtype.itemsize
        m, n, k = words[M], words[N], words[K]
        items = max(m, n)  # parts pack their own share of the larger matrix, and all of the other
        words[BLOCK_ROWS], words[BLOCK_COLUMNS] = rows, columns = _blas_blocks(m, n, k)
        parts = 8 if (rows, columns) == (m, n) else 16
        grain = items if m * n * k < INLINE_WORK else -(-items // parts)
        if grain < items:
            grain = -(-grain // BLAS_TILE) * BLAS_TILE
        code = blas_kernel.address(real=language_type(dtype))
        return threads.plan(code, items, grain, words)

    def run(self, a, b, out, bias, epilogue=None):
        """Write the product (plus bias, or plus ``out``) into a dense ``out``, then run an
        :class:`rushlight.kernels.gemm.epilogues.Epilogue` on that.

        The bias has a value for each column, or with ``by_rows`` for each row.
        """
        if epilogue is not None and not (self.finishes and epilogue.is_light):
            self.run(a, b, out, bias)
            epilogue.run(out)
            return
        if self.copy_a:
            a = assignment.by_rows(a)
        if self.copy_b:
            b = assignment.by_rows(b)
        if self.split is not None:
            by_rows = self.by_rows and bias is not None
            self.split.run(a, b, out, None if by_rows else bias)
            if by_rows:
                out += bias[:, None]
        elif self.panels is not None:
            self.panels.run(a, b, out, bias, epilogue)
        elif epilogue is not None:
            threads.run(self.words, a, b, out, bias, None, epilogue.table)
        else:
            threads.run(self.words, a, b, out, bias)


def images_plan(m, n, k, transposed, images):
    """How to multiply one float32 matrix (m, k), or its transpose that is row-major, with each
    of dense (images, k, n), by one launch; None where each is to be a product of its own."""
    if BLOCKED or n < PANEL or fit_matrix_units(m, n, k):
        return None
    from rushlight.kernels.gemm.panels import PanelProduct

    words = [0] * WORDS
    words[M], words[N], words[K] = m, n, k
    words[A_ROW], words[B_ROW], words[C_ROW] = 4 * (m if transposed else k), 4 * n, 4 * n
    words[TRANS_A], words[BY_ROWS] = transposed, True
    return PanelProduct(words, np.dtype(np.float32), images)


class BatchProduct:
    """How to run a batch of small products with broadcast batch dimensions."""

    __slots__ = ("copy_a", "copy_b", "keep", "words")

    def __init__(self, a_shape, a_strides, b_shape, b_strides, dtype, batch):
        size = dtype.itemsize
        a = layout(a_shape[-2:], a_strides[-2:], size)
        b = layout(b_shape[-2:], b_strides[-2:], size)
        m, n, k = a_shape[-2], b_shape[-1], a_shape[-1]
        # for AVX-512 OpenBLAS takes short ones as they are
        are_lines = min(m, n) == 1 and (BLOCKED or m == n)
        if are_lines and m == 1 and a is not None and a[1] and a[0] != size:
            a = None  # a vector has to be dense
        elif are_lines and m > 1 and b is not None and not b[1] and b[0] != size:
            b = None
        self.copy_a, self.copy_b = a is None, b is None
        if a is None:
            a, a_strides = (a_shape[-1] * size, False), _dense_strides(a_shape, size)
        if b is None:
            b, b_strides = (b_shape[-1] * size, False), _dense_strides(b_shape, size)
        self.keep = (_offsets(a_shape, a_strides, batch), _offsets(b_shape, b_strides, batch))
        tables = [offsets.ctypes.data for offsets in self.keep]
        items = self.keep[0].size
        grain = max(1, min(items, INLINE_WORK // 2 // (m * n * k)))
        kind = language_type(dtype)
        if are_lines:
            row, by_dots = (b[0], b[1]) if m == 1 else (a[0], not a[1])
            by_dots |= m == n and row == size  # a column that is like a row
            words = lines.batch_words(max(m, n), k, row, m > 1, by_dots, tables, WORDS)
            code = lines.batch_of_lines.address(real=kind)
        else:
            words = [0] * WORDS
            words[M], words[N], words[K] = m, n, k
            words[A_ROW], words[B_ROW], words[C_ROW] = a[0] // size, b[0] // size, n
            words[TRANS_A], words[TRANS_B] = a[1], b[1]
            words[OFFSETS_A], words[OFFSETS_B] = tables
            code = batch_kernel.address(real=kind)
        self.words = threads.plan(code, items, grain, words)

    def run(self, a, b, out):
        """Write the products into a dense ``out``."""
        if self.copy_a:
            a = assignment.by_rows(a)
        if self.copy_b:
            b = assignment.by_rows(b)
        threads.run(self.words, a, b, out)


def _dense_strides(shape, size):
    strides = []
    for length in reversed(shape):
        strides.append(size)
        size *= length
    return tuple(reversed(strides))


def _offsets(shape, strides, batch):
    """Byte offset of every matrix of the broadcast batch."""
    total = np.zeros(batch, np.int64)
    extra = len(batch) - (len(shape) - 2)
    for dim, (length, stride) in enumerate(zip(shape[:-2], strides[:-2], strict=True)):
        if length > 1:
            steps = np.arange(length, dtype=np.int64) * stride
            total += steps.reshape([-1] + [1] * (len(batch) - extra - dim - 1))
    return assignment.by_rows(total.reshape(-1))
