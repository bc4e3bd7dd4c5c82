"""NumPy's elementwise functions and reductions on device arrays, by kernels in place of array code.

A ufunc whose word the compiler has becomes a generated kernel in the dtypes that NumPy would
compute in; sums, extremes and their like become the handwritten reductions. What gives None here is
left to array code.
"""

from __future__ import annotations

import functools
import importlib

from rushlight.compiler.cuda import array_code
from rushlight.compiler.cuda.device_array import DeviceArray, empty, zeros
from rushlight.compiler.cuda.kernel import DeviceKernel
from rushlight.compiler.cuda.text import is_printable
from rushlight.compiler.graph import trace
from rushlight.compiler.storage import COMPLEX, NAME, is_float
from rushlight.compiler.vocabulary import xp
from rushlight.machine import np

used: dict[str, int] = {"elementwise": 0, "reduction": 0}

_SAME = (
    "add subtract multiply maximum minimum negative sqrt exp exp2 expm1 log log2 log10 log1p sin "
    "cos tan sinh cosh tanh floor ceil trunc isnan isinf isfinite signbit less less_equal greater "
    "greater_equal equal not_equal logical_and logical_or logical_xor logical_not bitwise_and "
    "bitwise_or bitwise_xor invert left_shift right_shift copysign hypot power floor_divide "
    "remainder fmod"
)
_RENAMED = {
    "true_divide": "divide",
    "absolute": "abs",
    "rint": "round",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
}


def _fmax(x, y):
    return xp.where(xp.isnan(x), y, xp.where(xp.isnan(y), x, xp.maximum(x, y)))


def _fmin(x, y):
    return xp.where(xp.isnan(x), y, xp.where(xp.isnan(y), x, xp.minimum(x, y)))


WORDS = {getattr(np, name): getattr(xp, name) for name in _SAME.split()}
WORDS |= {getattr(np, name): getattr(xp, word) for name, word in _RENAMED.items()}
WORDS |= {
    np.square: lambda x: x * x,
    np.positive: lambda x: x,
    np.conjugate: lambda x: x,
    np.fmax: _fmax,
    np.fmin: _fmin,
    np.sign: lambda x: xp.where(xp.isnan(x), x, xp.sign(x)),
    np.reciprocal: lambda x: 1 / x,
}
WORDS[np.nextafter] = lambda x, y: xp.nextafter(x, y)
_FLOATS_ONLY = {np.reciprocal, np.power}


def _kind(value):
    """How an argument takes part: a dtype, or a Python type that adapts; None where it cannot."""
    kind = type(value)
    if kind is DeviceArray:
        return value.dtype
    if kind is int or kind is float:
        return kind
    if kind is bool:
        return np.dtype(bool)
    if isinstance(value, np.generic) or kind is np.ndarray and value.ndim == 0:
        return value.dtype
    return None


@functools.lru_cache(maxsize=4096)
def _kernel(word, kinds, loops, out):
    """The kernel of a word, or None. `kinds`: the dtype of an array, or None for a number."""
    shorts = [NAME.get(d) for d in loops]
    target = NAME.get(out)
    stored = [None if d is None else NAME.get(d) for d in kinds]
    if (
        target is None
        or None in shorts
        or any(s is None for s, d in zip(stored, kinds, strict=True) if d is not None)
    ):
        return None
    if target in COMPLEX or any(s in COMPLEX for s in (*shorts, *stored) if s):
        return None
    names = [f"x{i}" for i in range(len(kinds))]
    inputs = {n: s for n, s in zip(names, stored, strict=True) if s is not None}
    operands = {n: loop for n, s, loop in zip(names, stored, shorts, strict=True) if s is not None}
    scalars = {
        n: "f64" if loop in ("f16", "bf16") or is_float(loop) else "i64"
        for n, s, loop in zip(names, stored, shorts, strict=True)
        if s is None
    }

    def body(**named):
        return word(
            *[
                named[n] if n in inputs else xp.cast(named[n], loop)
                for n, loop in zip(names, shorts, strict=True)
            ]
        )

    try:
        program = trace(body, inputs, operands, scalars, {}, (target,))
    except TypeError:  # the word does not take the dtype, such as a difference of bools
        return None
    return DeviceKernel(program) if is_printable(program) else None


def _call(word, inputs, loops, out_dtype, out=None):
    arrays = [x for x in inputs if type(x) is DeviceArray]
    kinds = tuple(x.dtype if type(x) is DeviceArray else None for x in inputs)
    kernel = _kernel(word, kinds, loops, out_dtype)
    if kernel is None or len({x.device for x in arrays}) != 1:
        return None
    numbers = []
    for x, loop in zip(inputs, loops, strict=True):
        if type(x) is not DeviceArray:
            number = x.item() if isinstance(x, (np.generic, np.ndarray)) else x
            if loop.kind in "biu":
                number = int(number)
            elif isinstance(number, complex):
                return None
            else:
                number = float(number)
            numbers.append(number)
    used["elementwise"] += 1
    if out is None:
        return kernel(*arrays, *numbers)
    kernel.into((out,), *arrays, *numbers)
    return out


def ufunc(function, inputs, kwargs):
    """``function(*inputs, **kwargs)`` by a generated kernel, or None."""
    if function is np.matmul and not kwargs:
        return _product(*inputs)
    word = WORDS.get(function)
    if word is None or function.nout != 1:
        return None
    out = kwargs.get("out")
    if out is not None:
        out = out[0] if type(out) is tuple else out
        if type(out) is not DeviceArray:
            return None
    if any(k not in ("out", "casting", "dtype") for k in kwargs):
        return None
    inputs = _on_device(inputs)
    kinds = tuple(map(_kind, inputs))
    if any(k is None for k in kinds):
        return None
    wanted = kwargs.get("dtype")
    found = _resolved(function, kinds, None if wanted is None else np.dtype(wanted))
    if found is None:
        return None
    *loops, result = found
    if function in _FLOATS_ONLY and any(d.kind in "biu" for d in loops):
        return None
    if function is np.nextafter and loops[0].itemsize < 4:  # neighbours in another format
        return None
    shape = None if out is None else out.shape
    if out is not None and shape != np.broadcast_shapes(*[np.shape(x) for x in inputs], shape):
        return None
    target = result if out is None else out.dtype
    if target != result and not np.can_cast(result, target, "same_kind"):
        return None
    return _call(word, inputs, tuple(loops), target, out)


def _on_device(inputs):
    """The inputs with arrays of the host, such as index tables, on the device."""
    if any(type(x) is np.ndarray and x.ndim for x in inputs):
        return tuple(
            array_code._uploaded(x) if type(x) is np.ndarray and x.ndim else x for x in inputs
        )
    return inputs


def _product(a, b):
    """``np.matmul`` by the runtime's products, or None."""
    if type(a) is not DeviceArray or type(b) is not DeviceArray:
        return None
    found = importlib.import_module("rushlight.kernels.gemm.cuda").matmul(a, b)
    return None if found is NotImplemented else found


@functools.lru_cache(maxsize=4096)
def _resolved(function, kinds, wanted):
    try:
        if wanted is None:
            return function.resolve_dtypes((*kinds, None))
        signature = (None,) * function.nin + (wanted,)
        return function.resolve_dtypes((*kinds, None), signature=signature, casting="unsafe")
    except (TypeError, ValueError):
        return None


def where(condition, *choices):
    """``np.where`` of three arguments by a generated kernel, or None."""
    if len(choices) != 2:
        return None
    condition, *choices = _on_device((condition, *choices))
    kinds = [_kind(x) for x in (condition, *choices)]
    if any(k is None for k in kinds):
        return None
    result = np.result_type(*[x if type(x) in (int, float) else _kind(x) for x in choices])
    loops = (np.dtype(bool), result, result)
    return _call(xp.where, (condition, *choices), loops, result)


def clip(array, low=None, high=None, out=None, **options):
    """``np.clip`` by generated kernels, or None."""
    if options or type(array) is not DeviceArray or (low is None and high is None):
        return None
    found = array
    for function, bound in ((np.maximum, low), (np.minimum, high)):
        if bound is not None:
            found = ufunc(function, (found, bound), {})
            if found is None:
                return None
    if out is None:
        return found
    out[...] = found
    return out


# ------------------------------------------------------------------------------------- reductions
_REDUCERS = {
    np.add: "sum",
    np.multiply: "product",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_or: "any",
    np.logical_and: "all",
}


@functools.cache
def _reductions():
    return importlib.import_module("rushlight.kernels.reduction.cuda")


def reduce(kind, array, axis=None, dtype=None, out=None, keepdims=False, **options):
    """A reduction by the handwritten kernels, or None."""
    if options or out is not None or type(array) is not DeviceArray:
        return None
    if array.dtype.kind == "c" or NAME.get(array.dtype) is None:
        return None
    keepdims = bool(keepdims) and keepdims is not np._NoValue
    if not array.size or not array.ndim:
        return _trivial(kind, array, axis, dtype, keepdims)
    if kind == "mean" and array.dtype.kind in "biu":
        array = array.astype(np.float64)
    if dtype is not None:
        array = array.astype(dtype, copy=False)
    if kind in ("sum", "product") and array.dtype.kind == "u":
        return None
    used["reduction"] += 1
    return _reductions().reduced(array, axis, keepdims, kind)


_EMPTY = {"sum": 0, "product": 1, "any": 0, "all": 1}


def _trivial(kind, array, axis, dtype, keepdims):
    """Reductions of a single number, and of no elements; None where NumPy knows better."""
    truth = kind in ("any", "all")
    if kind in ("sum", "product") and dtype is None:
        dtype = np.int64 if array.dtype.kind in "bi" else array.dtype
    dtype = np.dtype(bool) if truth else array.dtype if dtype is None else np.dtype(dtype)
    if array.dtype.kind == "u" and not truth:
        return None
    if not array.ndim:
        known = kind in ("sum", "product", "max", "min", "any", "all") or dtype.kind == "f"
        if kind == "count_nonzero" or axis not in (None, (), 0, -1) or not known:
            return None
        return array.astype(dtype)
    if kind not in _EMPTY:
        return None
    axes = range(array.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = {a % array.ndim for a in axes}
    shape = [1 if d in axes else n for d, n in enumerate(array.shape) if keepdims or d not in axes]
    out = empty(tuple(shape), dtype, array.device)
    out[...] = _EMPTY[kind]
    return out


_FOLDED = (np.bitwise_xor, np.bitwise_or)  # no kernel and not in CuPy; the empty result is 0


def _fold(function, array, axis=None, keepdims=False):
    """A reduction in halves: as many calls as the count of elements has binary digits."""
    axes = range(array.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = [a % array.ndim for a in axes]
    kept = [d for d in range(array.ndim) if d not in axes]
    rows = array.transpose(*kept, *axes).reshape(*(array.shape[d] for d in kept), -1)
    if not rows.shape[-1]:
        rows = zeros((*rows.shape[:-1], 1), array.dtype, array.device)
    while rows.shape[-1] > 1:
        half = -(-rows.shape[-1] // 2)
        joined = function(rows[..., : rows.shape[-1] - half], rows[..., half:])
        if rows.shape[-1] % 2:
            joined = np.concatenate([joined, rows[..., half - 1 : half]], -1)
        rows = joined
    shape = [1 if d in axes else n for d, n in enumerate(array.shape) if keepdims or d in kept]
    return rows.reshape(shape)


def ufunc_reduce(function, inputs, kwargs):
    """``function.reduce(...)``, or None."""
    kind = _REDUCERS.get(function)
    if kind is None and function not in _FOLDED:
        return None
    names = ("array", "axis", "dtype", "out", "keepdims")
    named = {**dict(zip(names, inputs, strict=False)), **kwargs}
    named.setdefault("axis", 0)
    if function in _FOLDED:
        return _fold(function, **named)
    return reduce(kind, named.pop("array"), **named)


def arg_reduce(largest, array, axis=None, out=None, *, keepdims=False):
    """``argmax`` or ``argmin``, or None."""
    if out is not None or type(array) is not DeviceArray or not array.size:
        return None
    if array.dtype.kind == "c" or not array.ndim:
        return None
    used["reduction"] += 1
    keepdims = bool(keepdims) and keepdims is not np._NoValue
    return _reductions().argreduced(array, axis, keepdims, largest, False)[1]


METHODS = {
    "sum": functools.partial(reduce, "sum"),
    "prod": functools.partial(reduce, "product"),
    "max": functools.partial(reduce, "max"),
    "min": functools.partial(reduce, "min"),
    "any": functools.partial(reduce, "any"),
    "all": functools.partial(reduce, "all"),
    "mean": functools.partial(reduce, "mean"),
    "argmax": functools.partial(arg_reduce, True),
    "argmin": functools.partial(arg_reduce, False),
    "clip": clip,
}


def _extreme(kind, function):
    def call(array, axis=None, out=None, keepdims=False, initial=None, **options):
        found = reduce(kind, array, axis, None, out, keepdims, **options)
        known = initial is None or initial is np._NoValue
        return found if found is None or known else ufunc(function, (found, initial), {})

    return call


_max, _min = _extreme("max", np.maximum), _extreme("min", np.minimum)


def _any(array, axis=None, out=None, keepdims=False, **options):
    return reduce("any", array, axis, None, out, keepdims, **options)


def _all(array, axis=None, out=None, keepdims=False, **options):
    return reduce("all", array, axis, None, out, keepdims, **options)


def _count(array, axis=None, *, keepdims=False):
    return reduce("count_nonzero", array, axis, None, None, keepdims)


METHODS |= {"max": _max, "min": _min, "any": _any, "all": _all}
FUNCTIONS = {
    np.where: where,
    np.clip: clip,
    np.sum: METHODS["sum"],
    np.prod: METHODS["prod"],
    np.max: _max,
    np.amax: _max,
    np.min: _min,
    np.amin: _min,
    np.any: _any,
    np.all: _all,
    np.mean: METHODS["mean"],
    np.argmax: METHODS["argmax"],
    np.argmin: METHODS["argmin"],
    np.count_nonzero: _count,
}


# ------------------------------------------------------------------------------- joining by copies
def concatenate(arrays, axis=0, out=None, dtype=None, casting="same_kind"):
    """``np.concatenate`` by copies into the parts of a new array, or None."""
    arrays = list(arrays)
    if out is not None or axis is None or any(type(a) is not DeviceArray for a in arrays):
        return None
    first = arrays[0]
    axis %= max(first.ndim, 1)
    rest = [(*a.shape[:axis], *a.shape[axis + 1 :]) for a in arrays]
    if not first.ndim or any(
        r != rest[0] or a.ndim != first.ndim for r, a in zip(rest, arrays, strict=True)
    ):
        return None
    dtype = np.result_type(*[a.dtype for a in arrays]) if dtype is None else np.dtype(dtype)
    total = sum(a.shape[axis] for a in arrays)
    made = empty((*first.shape[:axis], total, *first.shape[axis + 1 :]), dtype, first.device)
    start, before = 0, (slice(None),) * axis
    for a in arrays:
        made[(*before, slice(start, start + a.shape[axis]))] = a
        start += a.shape[axis]
    return made


def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    """``np.stack`` by copies, or None."""
    arrays = list(arrays)
    if out is not None or any(type(a) is not DeviceArray for a in arrays):
        return None
    if any(a.shape != arrays[0].shape for a in arrays):
        return None
    axis %= arrays[0].ndim + 1
    index = (*(slice(None),) * axis, None)
    return concatenate([a[index] for a in arrays], axis, dtype=dtype)


FUNCTIONS |= {np.concatenate: concatenate, np.stack: stack}
