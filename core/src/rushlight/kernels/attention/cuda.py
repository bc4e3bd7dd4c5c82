"""Scaled dot-product attention without the matrix of scores in memory, forward and backward.

Float16 and bfloat16 go to cuDNN where it has what is asked, else to kernels on tensor cores where
the device has such (sm_80), else they are computed in float32, as float32 is. float64 and rows of
more than 128 elements take the way through that matrix, as array code.
"""

from __future__ import annotations

import ctypes
import math

from rushlight.kernels.attention import cuda_library as library
from rushlight.kernels.attention import products as host
from rushlight.kernels.launch.cuda import address, empty, launch
from rushlight.machine import np
from rushlight.machine.cuda import runtime, sources

__all__ = ["Dropout", "attention_backward", "attention_forward", "dropout_factors", "fits"]

WIDTHS = (32, 64, 128)
WARPS = 4
_FLOAT32 = np.dtype(np.float32)
_PLACES = ("q", "k", "v", "o", "g", "dq", "dk", "dv")


class Dropout:
    """Dropout of the probabilities with probability ``p``, by the numbers that follow ``state``,
    a device array of two uint64, seed and offset. Forward and backward draw the same ones."""

    def __init__(self, p, state):
        self.p, self.state = p, state


class _Shape(ctypes.Structure):
    """The kernels' struct."""

    _fields_ = tuple(
        [(n, ctypes.c_longlong) for n in "heads shared queries keys width value_width".split()]
        + [(name, ctypes.c_longlong * 3) for name in _PLACES]
        + [
            ("mask", ctypes.c_longlong * 4),
            ("causal", ctypes.c_longlong),
            ("scale", ctypes.c_double),
            ("state", ctypes.c_void_p),
            ("limit", ctypes.c_longlong),
            ("factor", ctypes.c_double),
        ]
    )


def fits(query, key, value) -> bool:
    """Whether these kernels serve: float32, float16 or bfloat16, up to 128 elements a row."""
    dtype = query.dtype
    narrow = dtype.itemsize <= 4 and (dtype.kind == "f" or dtype.name == "bfloat16")
    return narrow and max(query.shape[3], value.shape[3]) <= WIDTHS[-1]


def _dense_rows(array):
    """The array, copied where its last dim is not dense."""
    if array.shape[3] <= 1 or array.strides[3] == array.itemsize:
        return array
    return array.contiguous()


def _shape(query, key, value, mask, causal, scale, dropout=None, **arrays):
    shape = _Shape(
        heads=query.shape[1], shared=key.shape[1], queries=query.shape[2], keys=key.shape[2],
        width=query.shape[3], value_width=value.shape[3], causal=int(causal), scale=scale,
    )  # fmt: skip
    for name, array in {"q": query, "k": key, "v": value, **arrays}.items():
        setattr(shape, name, (ctypes.c_longlong * 3)(
            *[s // array.itemsize for s in array.strides[:3]]
        ))  # fmt: skip
    if mask is not None:
        shape.mask = (ctypes.c_longlong * 4)(*[s // 4 for s in mask.strides])
    if dropout is not None:
        shape.state = dropout.state.address
        shape.limit = round((1.0 - dropout.p) * 2**32)
        shape.factor = 1.0 / (1.0 - dropout.p) if dropout.p < 1 else 0.0
    return shape


def on_tensor_cores(query) -> bool:
    """Whether the kernels for tensor cores serve."""
    current = runtime.current()
    capability = current.properties(query.device).capability
    return query.dtype.itemsize == 2 and capability >= (8, 0) and not current.is_hip


class _Kernels:
    """The kernels for these arrays: tile sizes, shared memory."""

    def __init__(self, query, value, dropout=None):
        need = max(query.shape[3], value.shape[3], 1)
        width = next(w for w in WIDTHS if need <= w)
        self.types = {"T": query.dtype, "WIDTH": width}
        self.file, self.forward_rows, self.backward_rows = "attention", 32, 16
        self.forward_shared = 4 * (32 * (width + 4) + 64 * width)
        self.backward_shared = 4 * (64 * (width + 4) + 32 * width)
        if on_tensor_cores(query) and dropout is None:
            self.file, self.forward_rows, self.backward_rows = "attention_tiles", 64, 64
            self.forward_shared = self.backward_shared = 0
            self.types["IS_HALF"] = int(query.dtype.kind == "f" and query.dtype.name == "float16")

    def launch(self, name, grid, arguments, device, shared=0):
        """Launch one of them."""
        kernel = sources.kernel(self.file, name, **self.types)
        launch(kernel, grid, (32, WARPS, 1), arguments, device, shared)


def _full_mask(mask, query, key):
    """The mask as float32 (B, H, L, S), repeated by strides of 0."""
    if mask is None:
        return None
    full = (*query.shape[:3], key.shape[2])
    return mask.astype(_FLOAT32, copy=False).broadcast_to(full)


def _result(like, heads, width):
    """Memory (B, heads, L, width) for a result: heads side by side where ``like`` has them so."""
    batch, _, length, _ = like.shape
    if like.strides[1] < like.strides[2]:
        made = empty((batch, length, heads, width), like.dtype, like.device)
        return made.transpose(0, 2, 1, 3)
    return empty((batch, heads, length, width), like.dtype, like.device)


def _zero(array):
    if array.size:
        current = runtime.current()
        stream = runtime.streams.current(array.device)
        current.fill_bytes(array.address, 0, array.nbytes, stream)
    return array


def dropout_factors(query, key, dropout):
    """What a :class:`Dropout` multiplies the probabilities of these queries and keys by: 0 or
    1 / (1 - p), float32 (B, H, L, S)."""
    (batch, heads, length, _), keys = query.shape, key.shape[2]
    out = empty((batch, heads, length, keys), _FLOAT32, query.device)
    if out.size:
        shape = _shape(query, key, key, None, False, 1.0, dropout)
        kernel = sources.kernel("attention", "attend_factors", T=_FLOAT32, WIDTH=WIDTHS[0])
        grid = (min(-(-out.size // 1024), 65535), batch, 1)
        launch(kernel, grid, 256, (out.address, shape), query.device)
    return out


def attention_forward(query, key, value, mask, causal, scale, kept=None, dropout=None):
    """``softmax(query @ key.T * scale + mask) @ value``, and the logarithm of each row's sum of
    exponentials (B, H, L), float32.

    Arguments as in :func:`rushlight.kernels.attention.products.attention_forward`. A row that may
    look at nothing gives zeros, and infinity as its logarithm. With ``kept``, what dropout
    multiplies the probabilities by, the reference runs as array code; a :class:`Dropout` needs no
    such array.
    """
    if kept is not None:
        return NotImplemented
    if not fits(query, key, value):
        kept = None if dropout is None else dropout_factors(query, key, dropout)
        return host._forward_reference(query, key, value, mask, causal, scale, kept)
    query, key, value = map(_dense_rows, (query, key, value))
    mask = _full_mask(mask, query, key)
    batch, heads, length, _ = query.shape
    device = query.device
    out = _result(query, heads, value.shape[3])
    sums = empty((batch, heads, length), _FLOAT32, device)
    if not sums.size:
        return out, sums
    if not key.shape[2]:
        _zero(out)
        sums[...] = math.inf
        return out, sums
    if library.serves(query, key, value, mask, dropout):
        if library.written(query, key, value, causal, scale, out, sums):
            return out, sums
    kernels = _Kernels(query, value, dropout)
    shape = _shape(query, key, value, mask, causal, scale, dropout, o=out)
    arguments = (query.address, key.address, value.address, address(mask), out.address,
                 sums.address, shape)  # fmt: skip
    grid = (-(-length // kernels.forward_rows), heads, batch)
    kernels.launch("attend", grid, arguments, device, kernels.forward_shared)
    return out, sums


def attention_backward(grad, query, key, value, mask, out, log_sums, causal, scale, kept=None,
                       dropout=None):  # fmt: skip
    """Gradients of query, key and value, given that of the result of :func:`attention_forward`."""
    if kept is not None:
        return NotImplemented
    if not fits(query, key, value):
        arrays = (grad, query, key, value, mask, out, log_sums)
        kept = None if dropout is None else dropout_factors(query, key, dropout)
        return host._backward_reference(*arrays, causal, scale, kept)
    query, key, value, out = map(_dense_rows, (query, key, value, out))
    grad = _dense_rows(grad.astype(query.dtype, copy=False))
    mask, sums = _full_mask(mask, query, key), log_sums.contiguous()
    batch, heads, length, _ = query.shape
    device = query.device
    dq, dk, dv = [_result(a, a.shape[1], a.shape[3]) for a in (query, key, value)]
    if not out.size or not key.size:
        return tuple(map(_zero, (dq, dk, dv)))
    if library.serves(query, key, value, mask, dropout):
        inputs, found = (query, key, value), (dq, dk, dv)
        if library.taken_back(grad, inputs, causal, scale, out, sums, found):
            return found
    placed = {"o": out, "g": grad, "dq": dq, "dk": dk, "dv": dv}
    shape = _shape(query, key, value, mask, causal, scale, dropout, **placed)
    deltas = empty(sums.shape, _FLOAT32, device)
    kernels = _Kernels(query, value, dropout)
    arguments = (grad.address, out.address, deltas.address, shape)
    kernels.launch("attend_deltas", (-(-length // WARPS), heads, batch), arguments, device)
    given = (grad.address, query.address, key.address, value.address, address(mask), sums.address,
             deltas.address)  # fmt: skip
    rows, shared = kernels.backward_rows, kernels.backward_shared
    grid = (-(-length // rows), heads, batch)
    kernels.launch("attend_query_gradient", grid, (*given, dq.address, shape), device, shared)
    grid = (-(-key.shape[2] // rows), key.shape[1], batch)
    arguments = (*given, dk.address, dv.address, shape)
    kernels.launch("attend_key_gradients", grid, arguments, device, shared)
    return dq, dk, dv
