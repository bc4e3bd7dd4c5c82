"""Grids, and the one way in which handwritten kernels are launched."""

from __future__ import annotations

from rushlight.backends.cuda import runtime
from rushlight.backends.cuda.device_array import DeviceArray, empty

__all__ = ["DeviceArray", "address", "empty", "grid_of", "launch", "outer_inner", "row_shape"]

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
