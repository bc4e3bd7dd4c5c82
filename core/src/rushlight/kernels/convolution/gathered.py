"""float32 convolution on matrix units: products whose operands are gathered while they are packed.

The element (line, step of k) of every operand is at ``line offset + step offset`` from its array:
a line of the image operand is an output pixel and a step a (channel, tap); in the weight gradient
lines are (channel, tap) and steps are pixels. Two tables of offsets replace a matrix of windows.
Gathering takes about as long as splitting, so this pays where a packed value meets many others:
small maps with many channels. Images are padded in memory first. Values that cannot be split are
reported, and the plan given as ``otherwise`` runs instead. Import at first need: it imports the
compiler.
"""

from __future__ import annotations

from rushlight.kernels.convolution import pointwise
from rushlight.kernels.convolution.gathered_packing import gather_block, gathering
from rushlight.kernels.gemm import matrix_units as mu
from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm import split as sp
from rushlight.kernels.gemm.matrix_units import SIDE, TILE
from rushlight.kernels.gemm.split import block_bytes, clear_peaks, largest
from rushlight.kernels.launch.prepared import by_layout
from rushlight.kernels.resampling import padding as borders
from rushlight.machine import np, threads
from rushlight.machine.language.functions import array, i64, range_kernel, stack
from rushlight.machine.memory import empty, zeros

# Argument words of packing. The first five are given at each call.
SOURCE, TARGET, PEAKS, LINE_OFFSETS, STEP_OFFSETS, LINES, DEPTH, PARTS, HOW = range(9)
PACKING_WORDS = 9

FLOAT32 = np.dtype(np.float32)
MOST_BYTES = 1 << 31  # offsets are int32
PACKED_LIMIT = 6 << 20  # bytes of packed windows at a time
ONE_IMAGE_LIMIT = 16 << 20  # the same of one image
FEW_PIXELS, SOME_PIXELS = 64, 256  # of a map
WINOGRAD_PIXELS = 64  # from which Winograd's way is quicker
STRIDED_PIXELS = 1024  # of a map; beyond: strided windows are slow to gather


@range_kernel
def pack_kernel(args, lo, hi, tid):
    """Items: panels of 32 lines times parts of k."""
    g = array(i64, args)
    blocks = (g[DEPTH] + SIDE - 1) // SIDE
    peaks = stack(8)
    for item in range(lo, hi):
        panel, part = item // g[PARTS], item % g[PARTS]
        clear_peaks(peaks)
        for block in range(blocks * part // g[PARTS], blocks * (part + 1) // g[PARTS]):
            to = g[TARGET] + (panel * blocks + block) * block_bytes
            gather_block(g[SOURCE], g[LINE_OFFSETS], g[STEP_OFFSETS], g[HOW], g[LINES], g[DEPTH],
                         panel, block, to, peaks)  # fmt: skip
        array(i64, g[PEAKS])[item] = largest(peaks)


# ---- plans ---------------------------------------------------------------------------------------


def _table(*offsets):
    """Sums of every combination of the offsets (in elements), as bytes; padded to whole panels."""
    total = np.zeros(1, np.int64)
    for values in offsets:
        total = (total[:, None] + np.asarray(values, np.int64).reshape(-1)[None]).reshape(-1)
    table = np.zeros(-(-total.size // SIDE) * SIDE, np.int32)
    table[: total.size] = 4 * total
    return table, total.size


def _kind(count):
    """Parameters of the kernels for float32 values of so many planes."""
    return {"planes": count, "size": 4, "block_bytes": count * 2 * TILE}


class Operand:
    """Packing of one operand: ``lines`` and ``steps`` are tables of offsets and their lengths."""

    def __init__(self, kind, lines, steps, is_a, along_steps):
        (self.lines, count), (self.steps, depth) = lines, steps
        words = [0] * PACKING_WORDS
        panels, blocks = -(-count // SIDE), -(-depth // SIDE)
        words[LINES], words[DEPTH] = count, depth
        self.how = words[HOW] = gathering(is_a, along_steps)
        words[PARTS] = max(1, min(blocks // 4, -(-sp.ITEMS // panels)))
        self.items = panels * words[PARTS]
        self.bytes = panels * blocks * kind["block_bytes"]
        self.plan = threads.plan(pack_kernel.address(**kind), self.items, 1, words)

    def run(self, source):
        """The packed operand and its largest magnitudes."""
        packed, peaks = empty((self.bytes,), sp.BYTES), np.empty(self.items, np.int64)
        threads.run(self.plan, source, packed, peaks, self.lines, self.steps)
        return packed, peaks


class _Product:
    """The multiplication of a (perhaps packed) A with a B that is packed first or, for a few
    threads, by each for itself."""

    def __init__(self, kind, m, n, k, a_row, c_row, by_rows, a=None, b=None, **more):
        self.panels, strips, blocks = -(-n // SIDE), -(-m // SIDE), -(-k // SIDE)
        self.kind, self.a, self.b, self.alone = kind, a, b, {}
        chunk = sp.parts_of(blocks, sp.CHUNK_LIMIT)
        self.strips, self.chunk_bytes, self.by_rows = strips, chunk * kind["block_bytes"], by_rows
        group = sp.parts_of(self.panels, sp.GROUP_LIMIT // self.chunk_bytes)
        groups = -(-self.panels // group)
        words = [0] * sp.WORDS
        words[sp.M], words[sp.N], words[sp.K], words[sp.C_ROW] = m, n, k, c_row
        words[sp.A_ROW], words[sp.A_K] = a_row, 4
        words[sp.GROUP], words[sp.CHUNK] = group, chunk * SIDE
        words[sp.ROW_PARTS] = max(1, min(-(-sp.ITEMS // groups), strips))
        words[sp.START] = mk.START_BIAS
        for name, value in more.items():
            words[getattr(sp, name)] = value
        self.words = words
        packed = words.copy()
        packed[sp.A_PACKED] = int(a is not None)
        packed[sp.A_PEAK_COUNT] = 0 if a is None else a.items
        packed[sp.B_PEAK_COUNT] = b.items
        self.packed = threads.plan(
            sp.product_kernel.address(**kind), groups * packed[sp.ROW_PARTS], 1, packed
        )

    def _plan_alone(self, count):
        """One job without shared packing for so many threads; None where that does not pay."""
        words, sizes = self.words.copy(), (self.panels, self.strips, self.chunk_bytes)
        words[sp.GATHER_A] = 0 if self.a is None else self.a.how
        words[sp.GATHER_B] = self.b.how
        return sp.plan_alone(self.kind, words, sizes, self.by_rows, count)

    def run_alone(self, a, b, c, bias, refused):
        """Let every thread pack for itself; False where that does not pay, and nothing is done."""
        count = threads.get_num_threads()
        try:
            plan = self.alone[count]
        except KeyError:
            plan = self.alone[count] = self._plan_alone(count)
        if plan is None:
            return False
        lines, steps = (None, None) if self.a is None else (self.a.lines, self.a.steps)
        threads.run(plan, a, b, c, bias, lines, self.b.lines, steps, self.b.steps, refused)
        return True

    def run_packed(self, a, b, c, bias, refused, packed_a=None):
        """Pack first. `packed_a`: A and its peaks, where it has been packed before."""
        packed_b, peaks_b = self.b.run(b)
        if packed_a is None:
            packed_a = (None, None) if self.a is None else self.a.run(a)
        threads.run(self.packed, a, b, c, bias, packed_a[0], packed_b, packed_a[1], peaks_b,
                    refused)  # fmt: skip


def _padded_image(c, image, padding):
    """(height, width) with padding, and the offsets of channels in it."""
    height, width = (size + 2 * pad for size, pad in zip(image, padding, strict=True))
    return height, width, np.arange(c) * height * width


def _pixel_offsets(n, image_elements, size, stride, width):
    rows = np.arange(size[0]) * stride[0] * width
    return np.arange(n) * image_elements, rows, np.arange(size[1]) * stride[1]


def _tap_offsets(kernel, dilation, width):
    return np.arange(kernel[0]) * dilation[0] * width, np.arange(kernel[1]) * dilation[1]


def _prepared_padding(x, padding):
    """For :func:`by_layout`: a copy with zeros around."""
    (py, px) = padding
    pad = borders.surrounded(x, (px, px, py, py))
    return None if pad is None else lambda x: pad(x, 0.0)


def _padded_slowly(x, padding):
    (n, c, height, width), (py, px) = x.shape, padding
    wide = zeros((n, c, height + 2 * py, width + 2 * px), FLOAT32)
    wide[:, :, py : py + height, px : px + width] = x
    return wide


_with_zeros = by_layout(_prepared_padding, _padded_slowly)


def padded(x, padding):
    """A copy with zeros around, or x itself."""
    return _with_zeros(x, padding) if any(padding) else x


def _groups(n, image_bytes):
    """(first image, images) of parts whose packed windows stay in the caches."""
    most = max(1, PACKED_LIMIT // image_bytes)
    size = sp.parts_of(n, most)
    return [(first, min(size, n - first)) for first in range(0, n, size)]


def fits(n, c, image, o, size, kernel, padding, flipped=False):
    """Whether this way is quicker than the others for a forward convolution (shapes as there)."""
    pixels, depth = size[0] * size[1], c * kernel[0] * kernel[1]
    if o < 96 or depth < 24 or n * pixels < 96:
        return False
    if flipped and pixels > (FEW_PIXELS if kernel != (1, 1) else SOME_PIXELS) and depth >= 32:
        return False  # the weight is gathered too
    return _reachable(n, c, image, padding, depth * pixels)


def fits_weight_gradient(n, c, image, o, size, kernel, padding):
    """Whether this way is quicker than the others for a weight gradient."""
    pixels, lines = size[0] * size[1], c * kernel[0] * kernel[1]
    if o * lines < 75 * (o + lines) or n * pixels < 64:
        return False
    return _reachable(n, c, image, padding, lines * pixels)


def fits_one_plane(n, c, image, o, size, kernel, padding):
    """The same for values of one plane, forward and for either gradient."""
    pixels, depth = size[0] * size[1], c * kernel[0] * kernel[1]
    if min(o, depth) < 32 or n * pixels < 64:
        return False
    return _reachable(n, c, image, padding, depth * pixels)


def _is_slower(size, kernel, stride, is_winograd):
    """Whether Winograd's way is quicker, or strided windows are too many to gather."""
    pixels = size[0] * size[1]
    strided = max(stride) > 1 and kernel != (1, 1)
    return is_winograd and pixels >= WINOGRAD_PIXELS or strided and pixels > STRIDED_PIXELS


def suits_forward(n, c, image, o, size, kernel, stride, padding, flipped, is_winograd, planes):
    """Whether a forward convolution is to be a product of gathered windows."""
    if planes == 1:
        return fits_one_plane(n, c, image, o, size, kernel, padding)
    if _is_slower(size, kernel, stride, is_winograd):
        return False
    large = size[0] * size[1] > SOME_PIXELS and c >= 32
    if large and pointwise.fits(c, image, o, kernel, stride, padding):
        return False
    return fits(n, c, image, o, size, kernel, padding, flipped)


def suits_weight_gradient(n, c, image, o, size, kernel, stride, padding, is_winograd, planes):
    """Whether a weight gradient is to be a product of gathered windows."""
    if planes == 1:
        return fits_one_plane(n, c, image, o, size, kernel, padding)
    if _is_slower(size, kernel, stride, is_winograd):
        return False
    return fits_weight_gradient(n, c, image, o, size, kernel, padding)


def _reachable(n, c, image, padding, windows):
    """Whether offsets have room for the images, and memory for the windows of one."""
    height, width, _ = _padded_image(c, image, padding)
    room = n * c * height * width * 4 < MOST_BYTES and windows * 6 < ONE_IMAGE_LIMIT
    return room and mu.available()


def _run_all(parts, refused):
    """Run products, each with its arrays. Where threads that pack for themselves come upon values
    that cannot be split, all is packed first: whole operands tell which bits are right."""
    if all([product.run_alone(*arrays, refused) for product, *arrays in parts]):
        if not refused[0]:
            return
        refused[0] = 0
    for product, *arrays in parts:
        product.run_packed(*arrays, refused)


class Forward:
    """A forward convolution, or (``flipped``) the gradient of its input at stride 1.

    ``planes`` as in :mod:`split_products`; ``otherwise()`` is a plan for values that cannot be
    split.
    """

    def __init__(self, n, c, image, o, size, kernel, stride, padding, dilation, flipped, planes,
                 otherwise):  # fmt: skip
        self.padding, self.otherwise, kind = padding, otherwise, _kind(planes)
        height, width, channels = _padded_image(c, image, padding)
        taps, pixels = kernel[0] * kernel[1], size[0] * size[1]
        steps = _table(channels, *_tap_offsets(kernel, dilation, width))
        self.weight = None
        if flipped:  # lines are the outputs of this convolution, inputs of the other; taps run back
            lines, back = np.arange(o) * taps, np.arange(taps)[::-1]
            self.weight = Operand(
                kind, _table(lines), _table(np.arange(c) * o * taps, back), True, False
            )
        self.groups, self.plans = _groups(n, c * taps * pixels * 2 * planes), {}
        for count in {count for _, count in self.groups}:
            lines = _table(*_pixel_offsets(count, c * height * width, size, stride, width))
            operand = Operand(kind, lines, steps, False, False)
            self.plans[count] = _Product(
                kind, o, count * pixels, c * taps, 4 * c * taps, 4 * pixels,
                o >= 2 * count * pixels, self.weight, operand, PIXELS=pixels,
                IMAGE_BYTES=4 * o * pixels, ROW_BIAS=1,
            )  # fmt: skip

    def run(self, x, w, y, bias):
        """Write the convolution of x and w, plus bias (or None), into y; all dense."""
        wide, refused = padded(x, self.padding), np.zeros(1, np.int64)
        parts = [
            (self.plans[count], w, wide[first : first + count], y[first : first + count], bias)
            for first, count in self.groups
        ]
        if self.weight is not None:
            packed = self.weight.run(w)
            for product, *arrays in parts:
                product.run_packed(*arrays, refused, packed)
        else:
            _run_all(parts, refused)
        if refused[0]:
            self.otherwise().run(x, w, y, bias)


class WeightGradient:
    """The gradient of the weight; ``otherwise()`` is a plan for values that cannot be split."""

    def __init__(self, n, c, image, o, size, kernel, stride, padding, dilation, planes, otherwise):
        self.padding, self.otherwise, kind = padding, otherwise, _kind(planes)
        height, width, channels = _padded_image(c, image, padding)
        pixels, count = size[0] * size[1], c * kernel[0] * kernel[1]
        lines = _table(channels, *_tap_offsets(kernel, dilation, width))
        rows = _table(np.arange(o) * pixels)
        groups = _groups(n, (count + o) * pixels * 2 * planes)
        operands = {}
        for images in {images for _, images in groups}:
            steps = _table(*_pixel_offsets(images, c * height * width, size, stride, width))
            image = Operand(kind, lines, steps, False, True)
            steps = _table(np.arange(images) * o * pixels, np.arange(pixels))
            operands[images] = image, Operand(kind, rows, steps, True, True)
        self.parts = []
        for first, images in groups:
            image, gradient = operands[images]
            product = _Product(
                kind, o, count, images * pixels, 0, 4 * count, o >= count, gradient, image,
                START=mk.START_C if first else mk.START_ZERO,
            )  # fmt: skip
            self.parts.append((slice(first, first + images), product))

    def run(self, x, dy, dw):
        """Write the gradient into dw; all dense."""
        wide, refused = padded(x, self.padding), np.zeros(1, np.int64)
        _run_all([(p, dy[part], wide[part], dw, None) for part, p in self.parts], refused)
        if refused[0]:
            self.otherwise().run(x, dy, dw)
