"""Random tensors of ordinary kind by one compiled call: float32 or int64, dense, on the CPU.

Each function gives None (or False) where a call is not of that kind; the general path of
`rushlight.ops.random.sampling` takes it then, and draws the same numbers.
"""

from __future__ import annotations

from rushlight import devices, dtypes
from rushlight.autograd.mode import mode
from rushlight.errors import argument_error
from rushlight.kernels.launch.execution import FLOAT32
from rushlight.kernels.random import fills
from rushlight.machine import np, threads
from rushlight.ops._calls.direct import lies_plainly, tensor_of
from rushlight.ops._table.inplace import written
from rushlight.ops.random.generators import Generator, default_generator
from rushlight.tensor import construction as make
from rushlight.tensor.dispatch import STATE, stack
from rushlight.tensor.tensor import EXACT

_LIMIT = 1024  # calls remembered for one engine
_ndarray = np.ndarray


def _engine(generator):
    """The engine that draws on the CPU, or None."""
    if generator is None:
        return default_generator.engine
    if not isinstance(generator, Generator):
        raise argument_error("", "generator", "Generator", generator)
    return generator.engine if generator.device is devices.cpu else None


def _known(engine, key, prepare, *arguments):
    """The engine's call for a key, prepared at first need; None where there is none."""
    calls = engine.calls
    try:
        return calls[key]
    except KeyError:
        if len(calls) >= _LIMIT:
            calls.clear()
        found = prepare(*arguments)
        if found is not None or not threads.is_cold():
            calls[key] = found
        return found


def sampled(name, size, generator, device, requires_grad, *numbers):
    """A new tensor of samples `name` (see `kernels.fills.made`), or None."""
    if len(size) == 1 and isinstance(size[0], tuple):
        size = tuple(size[0])
    for n in size:
        if type(n) is not int or n < 0:
            return None
    engine = _engine(generator)
    if engine is None or not devices.is_cpu(device):
        return None
    call = _known(engine, (name, size), fills.made, name, engine, size)
    if call is None:
        return None
    with engine.lock:
        array = call(*numbers)
        engine.fresh = False
    out = tensor_of(array)
    return out.requires_grad_() if requires_grad else out


def repeated(name, *numbers):
    """``f(size)``: :func:`sampled` by the default generator, in the default dtype and device, for
    a size that has been asked for before; else None."""

    def draw(size):
        if len(size) == 1 and type(size[0]) is tuple:
            (size,) = size
        for n in size:
            if type(n) is not int:
                return None
        engine = default_generator.engine
        call = engine.calls.get((name, size))
        if call is None or dtypes.default.float is not dtypes.float32:
            return None
        if devices.current.stack[-1] is not devices.cpu:
            return None
        with engine.lock:
            array = call(*numbers)
            engine.fresh = False
        out = make.made(array, dtypes.float32)
        return make.inferred(out) if STATE.inference else out

    return draw


def alike(name, input, *numbers):
    """:func:`sampled` in the shape of a plain float32 tensor that is row-major, or None."""
    if STATE.modes or input._dtype is not dtypes.float32 or not lies_plainly(input):
        return None
    shape = input._array.shape
    engine = default_generator.engine
    call = engine.calls.get((name, shape))
    if call is None:
        return sampled(name, shape, None, devices.cpu, False, *numbers)
    with engine.lock:
        array = call(*numbers)
        engine.fresh = False
    return tensor_of(array)


def normals(size, dtype, generator, device, requires_grad, mean=0.0, std=1.0):
    """Normals in float32, or None."""
    if (dtypes.default.float if dtype is None else dtype) is not dtypes.float32:
        return None
    return sampled("normal", size, generator, device, requires_grad, mean, std)


def uniforms(size, dtype, generator, device, requires_grad):
    """Uniforms from [0, 1) in float32, or None."""
    if (dtypes.default.float if dtype is None else dtype) is not dtypes.float32:
        return None
    return sampled("uniform", size, generator, device, requires_grad)


UNIFORM = uniforms, repeated("uniform")
NORMAL = normals, repeated("normal", 0.0, 1.0)


def whole(low, high, size, generator, device, requires_grad):
    """Integers from [low, high), or None."""
    if type(low) is not int or type(high) is not int or not 0 < high - low < 1 << 28:
        return None
    return sampled("whole", (size,), generator, device, requires_grad, high - low, low)


def kept(shape, p):
    """``1 / (1 - p)`` with probability ``1 - p``, else 0, in float32; or None."""
    scale = float(np.float32(1) / np.float32(1 - p))
    return sampled("kept", shape, None, devices.cpu, False, float(1 - p), scale)


def chosen(chances, like, generator):
    """Ones with flat float32 chances, else zeros, in the shape of a float32 tensor; or None."""
    if like._dtype is not dtypes.float32:
        return None
    size = tuple(like._array.shape)
    found = sampled("uniform", size, generator, like._device, False)
    if found is not None:
        array = found._array
        np.less(array, chances.reshape(size), out=array, casting="unsafe")
    return found


def permutation(engine, count):
    """An array of the numbers below `count` in random order, or None. The caller holds the lock."""
    if not hasattr(engine, "calls"):
        return None
    call = _known(engine, ("permutation", count), fills.permuted, engine, count)
    if call is None:
        return None
    engine.fresh = False
    return call()


def filled(tensor, name, generator, *numbers):
    """Fill a dense float32 tensor that nothing records; whether that was done."""
    array = tensor._array
    if type(tensor) not in EXACT or type(array) is not _ndarray or stack.levels:
        return False
    if mode.recording and (tensor._node is not None or tensor._base is not None):
        return False
    flags = array.flags
    if array.dtype is not FLOAT32 or not (flags.c_contiguous and flags.writeable):
        return False
    engine = _engine(generator)
    if engine is None or tensor._inference and not mode.inference:
        return False
    call = _known(engine, (name, array.size), fills.filling, name, engine, array)
    if call is None:
        return False
    with engine.lock:
        call(array, *numbers)
        engine.fresh = False
    written(tensor, None)
    return True
