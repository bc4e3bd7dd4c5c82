"""Grids, and the one way in which handwritten kernels are launched."""

from __future__ import annotations

from collections import OrderedDict

from rushlight.compiler.cuda.device_array import DeviceArray, empty
from rushlight.machine import np
from rushlight.machine.cuda import runtime, sources

__all__ = [
    "DeviceArray",
    "address",
    "constant",
    "empty",
    "grid_of",
    "launch",
    "outer_inner",
    "row_shape",
]

THREADS = 256
WAVES = 32  # blocks per multiprocessor that a grid-stride loop is given at most
MOST_BLOCKS = 2**31 - 1


def launch(kernel, grid, block, arguments, device, shared=0) -> None:
    """Launch on the device's current stream; `grid` and `block` may be ints."""
    current = runtime.current()
    grid = (grid, 1, 1) if isinstance(grid, int) else grid
    block = (block, 1, 1) if isinstance(block, int) else block
    current.launch(kernel, grid, block, shared, runtime.streams.current(device), arguments)


def address(array) -> int:
    """An array's address; 0 (a null pointer) for None."""
    return 0 if array is None else array.address


_constants: OrderedDict = OrderedDict()
KEPT_CONSTANTS = 256
WORDS = 480  # carried by one launch


def write_words(words, device):
    """8-byte words into new device memory, by launches that carry them: can be captured."""
    table = empty((words.size,), np.dtype(np.int64), device)
    kernel = sources.kernel("words", "write_words", ALWAYS=1)
    for start in range(0, words.size, WORDS):
        part = np.zeros(WORDS, np.int64)
        count = min(WORDS, words.size - start)
        part[:count] = words[start : start + count]
        launch(kernel, 1, 256, (table.address + 8 * start, count, part), device)
    return table


def constant(array, device):
    """A host array of 8-byte elements in device memory, kept for the next time."""
    words = np.ascontiguousarray(array).reshape(-1).view(np.int64)
    stream = runtime.streams.current(device)
    if runtime.current().is_capturing(stream):  # belongs to the graph's memory
        return write_words(words, device)
    key = (device, stream, words.tobytes())
    if key in _constants:
        _constants.move_to_end(key)
    else:
        _constants[key] = write_words(words, device)
        if len(_constants) > KEPT_CONSTANTS:
            _constants.popitem(last=False)
    return _constants[key]


def grid_of(items: int, device: int, threads: int = THREADS) -> int:
    """Blocks for a grid-stride loop over so many items."""
    limit = runtime.current().properties(device).multi_processor_count * WAVES
    return max(1, min(-(-items // threads), limit))


def row_shape(rows: int, n: int, itemsize: int):
    """Grid and block for kernels whose row belongs to a warp (short rows) or a block."""
    packs = -(-n * itemsize // 16)
    if packs <= 128:
        return (-(-rows // 4), 1, 1), (32, 4, 1)
    threads = 128
    while threads < 1024 and threads * 4 < packs:
        threads *= 2
    return (rows, 1, 1), (threads, 1, 1)


def outer_inner(shape, axis: int) -> tuple[int, int, int]:
    """(outer, n, inner) of a shape around an axis."""
    outer = inner = 1
    axis %= max(1, len(shape))
    for n in shape[:axis]:
        outer *= n
    for n in shape[axis + 1 :]:
        inner *= n
    return outer, shape[axis] if shape else 1, inner
