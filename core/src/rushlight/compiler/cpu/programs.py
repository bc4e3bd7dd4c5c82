"""Programs to machine code on this CPU, by the engine in the backends (imported at first need)."""

from __future__ import annotations

import functools

from rushlight.compiler.storage import SIZE
from rushlight.machine import np


def _parts(name):
    """The functions of a driver's module, the driver last, and the passes it is given: loops that
    copy elements become vectors, nothing else does."""
    from rushlight.compiler.cpu import drivers, packing, repeats, tiling
    from rushlight.machine import llvm_passes

    run = drivers.run, drivers.apart, drivers.tail
    rows = packing.copy_run, packing.copy_rows, packing.copy_block
    simplify, optimise = llvm_passes.simplify, llvm_passes.optimise
    return {
        "flat": ((*run, drivers.flat), simplify),
        "rows": ((*run, drivers.tails, drivers.rows), simplify),
        "packed": ((*run, *rows, packing.packed), optimise),
        "repeats": ((*run, *rows, repeats.double_block, repeats.repeats), optimise),
        "tiles": ((*run, tiling.copy_tile, tiling.tiles), optimise),
    }[name]


def _driver_text(key, parts):
    """A module that exports its last function, and `key` as the sign that it is loaded."""
    from rushlight.compiler.cpu.drivers import DECLARATIONS

    *shared, own = (part() for part in parts)
    inside = [text.replace("define ", "define internal ", 1) for text in shared]
    marker = f"define i64 @{key}() {{\n  ret i64 1\n}}"
    return "\n".join([DECLARATIONS, *inside, own, marker])


@functools.cache
def driver(name: str) -> int:
    """Address of the range function of one of the drivers (see `drivers.py`), compiled at first
    need: most programs need two of them."""
    from rushlight.machine.elementwise_engine import engine

    target = engine()
    key = target.key(f"driver {name}")
    parts, passes = _parts(name)
    target.function(key, lambda: (_driver_text(key, parts), 0, passes))
    return target.symbol(f"rl_{name}")


_descriptors: dict = {}  # immortal like the code: built-in functions hold their addresses


def descriptor(program, scalars=frozenset(), streaming=False, narrow=False, target=None):
    """The descriptor words that drivers read (see `drivers.py`), compiled at first need."""
    from rushlight.machine.elementwise_engine import engine

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
        from rushlight.compiler.cpu.emitter import Emitter
        from rushlight.compiler.layout import LEAST_ROW

        most = LEAST_ROW if narrow else None
        emitter = Emitter(program, scalars, target.vector_bits, target.scalef, streaming, most)
        return emitter.module(key), emitter.lanes, None

    address, lanes = target.function(key, build)
    sizes = [SIZE[d] for d in program.dtypes]
    outputs = len(program.outputs)
    steps = [0 if j - outputs in scalars else size for j, size in enumerate(sizes)]
    shift = lanes.bit_length() - 1
    head = [address, shift, len(sizes), outputs, len(program.params), int(streaming)]
    return np.array([*head, *sizes, *steps], np.int64)
