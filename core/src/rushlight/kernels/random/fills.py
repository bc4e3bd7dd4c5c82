"""Random numbers by one call: uniforms, normals, whole numbers, kept elements, permutations.

Each function gives a call for a count and an engine of MT19937 (see
:mod:`rushlight.kernels.launch.prepared`), or None where the numbers are left to
:mod:`rushlight.kernels.random.engine`, which draws the same ones: few, other precisions.
The caller holds the engine's lock.
"""

from __future__ import annotations

import functools
import math

from rushlight.kernels.launch.execution import FLOAT32, FLOAT64, REFERENCE
from rushlight.kernels.launch.prepared import prepared
from rushlight.machine import np, threads
from rushlight.machine.memory import empty

__all__ = ["filling", "made", "permuted"]

LEAST = 64  # samples that are worth a compiled call
BLOCK = 16  # normals from which they are drawn in blocks
SHARED = 1 << 14  # normals from which threads share the transform
GRAIN = 16  # times `fill_kernels.BLOCKS` blocks are a thread's part of it
MOST = 1 << 18  # numbers that are permuted by a compiled call
_INT64 = np.dtype(np.int64)
_DTYPES = {"uniform": FLOAT32, "between": FLOAT32, "normal": FLOAT32, "whole": _INT64,
           "kept": FLOAT32, "double": FLOAT64}  # fmt: skip
# The kinds of draws, and of the two numbers that a call takes: none, doubles or integers. Uniforms
# "between" take a span and the least, "whole" the same, "kept" a chance and what is there then.
_KINDS = {"uniform": (1, ""), "normal": (1, "ff"), "whole": (3, "ii"), "kept": (4, "ff"),
          "between": (5, "ff"), "double": (2, "")}  # fmt: skip


@functools.cache
def _normal_words():
    """What the kernel of normals calls: a driver and the transform's descriptor; or None."""
    from rushlight.kernels.random.normals import _kernel

    kernel = _kernel()
    if not hasattr(kernel, "code"):
        return None
    from rushlight.compiler.cpu.programs import driver

    return [driver("flat"), kernel.code().ctypes.data]


def _code(name, count):
    """Address of a kernel and its constants; None where others draw."""
    least = LEAST if threads.is_cold() else 1
    if REFERENCE or count < least:
        return None, None
    from rushlight.kernels.random import mersenne_twister as native

    kind = _KINDS[name][0]
    if name != "normal":
        return native.draw.address(kind=kind), [count]
    from rushlight.kernels.random import fill_kernels

    words = _normal_words()
    if words is None:
        return None, None
    return fill_kernels.normals.address(kind=kind), [count, *words]


def _state(engine):
    bits = getattr(engine, "bits", None)  # generators of GPUs have none
    return None if bits is None else bits.ctypes.state_address


def _shared_normals(code, state, words):
    """``f(array, mean, std)``: fill a flat array, its draws by one thread, the rest by all."""
    from rushlight.kernels.random import fill_kernels
    from rushlight.kernels.random import mersenne_twister as native

    run, count = threads.pool().run, words[0]
    draw = threads.plan(native.draw.address(kind=_KINDS["uniform"][0]), 1, 1, [0] * 4 + words[:1])
    parts = -(-(count // BLOCK) // fill_kernels.BLOCKS)
    share = threads.plan(fill_kernels.transformed.address(kind=0), parts, GRAIN, [0] * 4 + words)
    last = threads.plan(code, 1, 1, [0] * 4 + [BLOCK, *words[1:]])

    def fill(array, mean, std):
        run(draw, state, array)
        run(share, state, array, mean, std)
        if count % BLOCK:
            run(last, state, array[-BLOCK:], mean, std)

    return fill


def _few_normals(engine, shape):
    """``f(mean, std)``: fewer normals than a block in a new array, or None. They come in pairs, of
    which the engine may have kept one."""
    count = math.prod(shape)
    begun = [2 * ((count + 1 - kept) // 2) for kept in (0, 1)]
    draws = [made("double", engine, (n,)) if n else False for n in begun]
    if None in draws:
        return None

    def make(mean, std):
        draw = draws[engine.cached_normal is not None]
        values = [value * std + mean for value in engine.few_normals(count, draw)]
        with np.errstate(over="ignore"):  # what float32 cannot hold is infinite
            return np.array(values, FLOAT32).reshape(shape)

    return make


def made(name, engine, shape):
    """``f(*numbers)``: a new array of a shape, the numbers drawn from the engine."""
    if name == "normal" and 0 < math.prod(shape) < BLOCK:
        return _few_normals(engine, shape)
    code, words = _code(name, math.prod(shape))
    state = _state(engine)
    if code is None or state is None:
        return None
    numbers = _KINDS[name][1]
    if name == "normal" and words[0] >= SHARED:
        fill = _shared_normals(code, state, words)

        def make(mean, std):
            out = empty(shape, FLOAT32)
            fill(out.reshape(-1), mean, std)
            return out

        return make
    if not numbers:
        words = [0, 0, *words]
    return prepared(code, 1, 1, [], [(shape, _DTYPES[name])], words, numbers, head=state)


def filling(name, engine, array):
    """``f(array, *numbers)``: fill a dense array of the kind's dtype."""
    if array.dtype != _DTYPES[name] or not array.flags.c_contiguous:
        return None
    if name == "normal" and 0 < array.size < BLOCK:
        few = _few_normals(engine, (array.size,))
        return few and (lambda array, mean, std: np.copyto(array.reshape(-1), few(mean, std)))
    code, words = _code(name, array.size)
    state = _state(engine)
    if code is None or state is None:
        return None
    if name == "normal" and words[0] >= SHARED:
        fill = _shared_normals(code, state, words)
        return lambda array, mean, std: fill(array.reshape(-1), mean, std)
    plan = threads.plan(code, 1, 1, [state, 0, 0, 0, *words])
    return functools.partial(threads.pool().run, plan, state)


def permuted(engine, count):
    """``f()``: the numbers below `count` in random order."""
    state = _state(engine)
    least = LEAST if threads.is_cold() else 2
    if REFERENCE or not least <= count < MOST or state is None:
        return None
    from rushlight.kernels.random import fill_kernels

    code = fill_kernels.shuffled.address(kind=0)
    return prepared(code, 1, 1, [], [((count,), _INT64)], [0, 0, count], head=state)
