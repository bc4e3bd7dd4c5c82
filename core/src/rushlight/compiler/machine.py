"""Programs to machine code on this CPU, by the engine in the backends (imported at first need)."""

from __future__ import annotations

import functools

from rushlight.backends import np
from rushlight.compiler.storage import SIZE

NAMES = "flat", "rows", "packed", "repeats", "tiles"  # of drivers


@functools.cache
def _drivers():
    from rushlight.backends.llvm import engine
    from rushlight.compiler import drivers, packing, repeats, tiling

    target = engine()
    key = target.key("drivers")
    marker = f"define i64 @{key}() {{\n  ret i64 1\n}}"
    parts = (
        drivers.run, drivers.apart, drivers.tail, drivers.tails, drivers.flat, drivers.rows,
        packing.copy_run, packing.copy_rows, packing.copy_block, packing.packed,
        repeats.double_block, repeats.repeats, tiling.copy_tile, tiling.tiles,
    )  # fmt: skip

    def text():
        return "\n".join([drivers.DECLARATIONS, *(part() for part in parts), marker])

    target.function(key, lambda: (text(), 0, True))
    return {name: target.symbol(f"rl_{name}") for name in NAMES}


def driver(name: str) -> int:
    """Address of the range function of one of NAMES."""
    return _drivers()[name]


_descriptors: dict = {}  # immortal like the code: built-in functions hold their addresses


def descriptor(program, scalars=frozenset(), streaming=False, narrow=False, target=None):
    """The descriptor words that drivers read (see `drivers.py`), compiled at first need."""
    from rushlight.backends.llvm import engine

    target = target or engine()
    narrow = narrow and target.vector_bits > 256  # else blocks are no longer than that
    how = " streaming" * streaming + " narrow" * narrow
    key = target.key(f"{program.text}|{sorted(scalars)}{how}")
    found = _descriptors.get(key)
    if found is None:
        made = _describe(key, program, scalars, streaming, narrow, target)
        found = _descriptors.setdefault(key, made)
    return found


def _describe(key, program, scalars, streaming, narrow, target):
    def build():
        from rushlight.compiler.emitter import Emitter
        from rushlight.compiler.layout import LEAST_ROW

        most = LEAST_ROW if narrow else None
        emitter = Emitter(program, scalars, target.vector_bits, target.scalef, streaming, most)
        return emitter.module(key), emitter.lanes, False

    address, lanes = target.function(key, build)
    sizes = [SIZE[d] for d in program.dtypes]
    outputs = len(program.outputs)
    steps = [0 if j - outputs in scalars else size for j, size in enumerate(sizes)]
    shift = lanes.bit_length() - 1
    head = [address, shift, len(sizes), outputs, len(program.params), int(streaming)]
    return np.array([*head, *sizes, *steps], np.int64)
