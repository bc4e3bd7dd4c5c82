"""Scaled dot-product attention and its gradients without the L x S matrix in memory.

An item of the forward pass is a block of query rows of one head: its scores against all keys fit
into L2, where they become probabilities and are multiplied by the values; only the result and one
logarithm per row (of the sum of exponentials) go to memory. The backward pass computes the scores
of a block once more from that (Dao et al., 2022, FlashAttention: the same algebra, blocks of whole
rows). Products run on the tile kernels of the matrix product, or on matrix units where rows are
long and the processor has them. Shapes alone decide the chunks.

float32 arrays (B, H, L, E), (B, G, S, E) and (B, G, S, V) with any strides; H is a multiple of G.
Other dtypes are computed by the formulas of the reference.
"""

from __future__ import annotations

import functools

from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.launch.execution import FLOAT32, referenced_by
from rushlight.kernels.launch.prepared import Remembered
from rushlight.machine import np, threads
from rushlight.machine.memory import empty

__all__ = ["attention_backward", "attention_forward", "result_like"]

SCORE_BYTES = 256 * 1024  # of the scores of a block of query rows
MIN_BLOCK = 14  # query rows
SHARED_HEADS = 16  # below which threads share the rows of a head
# Query rows of a head, and heads of one row, up to which keys and values are read where they are.
FEW_ROWS, FEW_HEADS = 4, 8
STRIP_BYTES = 1200 << 10  # of packed operands of a head for matrix units
_plans = Remembered()


# ---- reference -----------------------------------------------------------------------------------
def _spread(array, heads):
    return np.repeat(array.astype(np.float64), heads // array.shape[1], 1)


def _reference_probabilities(query, key, mask, causal, scale):
    """Probabilities and logarithms of the sums of exponentials, in float64."""
    scores = query.astype(np.float64) @ _spread(key, query.shape[1]).swapaxes(-1, -2) * scale
    if mask is not None:
        scores = scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    best = scores.max(-1, keepdims=True, initial=-np.inf)
    parts = np.exp(scores - np.where(np.isinf(best), 0, best))
    total = parts.sum(-1, keepdims=True)
    blind = total == 0
    sums = np.where(blind, np.inf, best + np.log(np.where(blind, 1, total)))
    return parts / np.where(blind, 1, total), sums[..., 0]


def _forward_reference(query, key, value, mask, causal, scale, kept=None, planes=3):
    weights, sums = _reference_probabilities(query, key, mask, causal, scale)
    weights = weights if kept is None else weights * kept
    out = (weights @ _spread(value, query.shape[1])).astype(query.dtype)
    return out, sums.astype(query.dtype)


def _backward_reference(grad, query, key, value, mask, out, log_sums, causal, scale, kept=None):
    weights, _ = _reference_probabilities(query, key, mask, causal, scale)
    factors = 1 if kept is None else kept
    heads, shared = query.shape[1], key.shape[1]
    dy = grad.astype(np.float64)
    change = dy @ _spread(value, heads).swapaxes(-1, -2)
    change = weights * (change * factors - (dy * out).sum(-1, keepdims=True)) * scale
    dq = change @ _spread(key, heads)

    def gathered(array):
        grouped = array.reshape(len(array), shared, heads // shared, *array.shape[2:])
        return grouped.sum(2).astype(query.dtype)

    dk = gathered(change.swapaxes(-1, -2) @ query.astype(np.float64))
    return dq.astype(query.dtype), dk, gathered((weights * factors).swapaxes(-1, -2) @ dy)


# ---- plans ---------------------------------------------------------------------------------------
def _rows(array):
    """An array whose last dim is dense."""
    if array.strides[-1] == 4 or array.shape[-1] == 1:
        return array
    return by_rows(array)


def _mask_rows(mask, key):
    """A mask (..., S) whose last dim is dense, or None."""
    if mask is None:
        return None
    if mask.shape[-1:] != key.shape[2:3]:
        mask = np.broadcast_to(mask, (*mask.shape[:-1], key.shape[2]))
    return _rows(mask)


def _strides(array):
    """Bytes between batches, heads and rows of an array: 0 where all have the same."""
    if array is None:
        return 0, 0, 0
    own = [s if n > 1 else 0 for n, s in zip(array.shape[:-1], array.strides, strict=False)]
    return (0,) * (3 - len(own)) + tuple(own)


def result_like(like, heads, width, make=empty):
    """Memory (B, heads, L, width) for a result: its dims are laid out as those of ``like``."""
    batch, _, length, _ = like.shape
    sizes, dims = _order((batch, heads, length), like.strides)
    memory = make((*sizes, width), FLOAT32)
    return memory if dims is None else memory.transpose(dims)


@functools.lru_cache(512)
def _order(sizes, strides):
    """Sizes in the order in which memory of these strides has them, and how its dims are turned
    back; None where they need not be."""
    order = sorted(range(3), key=lambda dim: -strides[dim] if sizes[dim] > 1 else 0)
    back = (*(order.index(dim) for dim in range(3)), 3)
    return tuple(sizes[dim] for dim in order), None if back == (0, 1, 2, 3) else back


class _Plan:
    """The jobs of one set of shapes and strides: on matrix units where there are any, and on vector
    units, for values that cannot be split."""

    __slots__ = ("by_strips", "by_tiles")

    def __init__(self, arrays, causal, backward, dropping, planes=3):
        from rushlight.kernels.gemm import matrix_units

        setting = arrays, causal, backward, dropping
        self.by_strips = self.by_tiles = None
        if not backward and _are_few_rows(*arrays[:2]):
            self.by_tiles = _few_rows_job(arrays, causal, dropping)
            return
        if matrix_units.available() and _strips_pay(*arrays[:3], causal, backward, planes):
            self.by_strips = _strip_job(*setting, planes)
        if self.by_strips is None:
            self.by_tiles = _tile_job(*setting)

    def run(self, setting, *arguments, rest=()):
        """Compute; `rest` are the arguments that only the backward pass has."""
        if self.by_strips is not None:
            refused = np.zeros(1, np.int64)
            threads.run(self.by_strips, *arguments, refused, *rest)
            if not refused[0]:
                return
            if self.by_tiles is None:
                self.by_tiles = _tile_job(*setting[:4])
        threads.run(self.by_tiles, *arguments, None, *rest)


def _are_few_rows(query, key):
    """Whether so few query rows share keys and values that these are not worth packing."""
    (_, heads, length, _), shared = query.shape, key.shape[1]
    return length <= FEW_ROWS and (length > 1 or heads // shared <= FEW_HEADS)


def _strips_pay(query, key, value, causal, backward, planes):
    """Whether packing is a small part of the work, and what is packed stays in the second cache."""
    length, width, keys = query.shape[2], query.shape[3], key.shape[2]
    if 2 * planes * keys * (width + value.shape[3]) > STRIP_BYTES:
        return False
    if backward and (causal or min(width, value.shape[3]) < 64):
        return False
    return min(length, keys) >= 128


def _words(arrays, causal, blocks, tables):
    """Argument words of both kinds of kernels."""
    from rushlight.kernels.attention import compiled as native

    query, key, value = arrays[:3]
    (_, heads, length, width), (_, shared, keys, _) = query.shape, key.shape
    words = [0] * native.HEADS
    words += [heads, heads // shared, length, keys, width, value.shape[3], int(causal), blocks]
    words += tables
    for array in arrays:
        words += _strides(array)
    return words


def _job(code, arrays, backward, blocks, words):
    (batch, heads, length, width), (_, shared, keys, _) = arrays[0].shape, arrays[1].shape
    items = batch * shared if backward else batch * heads * blocks
    grain = 1
    if batch >= 2 * threads.get_num_threads():  # else threads write neighbouring lines of memory
        grain = items // batch
    elif not backward and batch * heads >= SHARED_HEADS:
        grain = blocks
    work = batch * heads * length * keys * width
    return threads.plan(code, items, items if work < 100_000 else grain, words)


def _tile_job(arrays, causal, backward, dropping):
    from rushlight.kernels.attention import compiled as native
    from rushlight.machine.language.functions import f32

    length, keys = arrays[0].shape[2], arrays[1].shape[2]
    block = max(MIN_BLOCK, min(native.MAX_BLOCK, SCORE_BYTES // (4 * max(1, keys))))
    blocks = max(1, -(-length // block))
    kernel = native.backward_heads if backward else native.forward_blocks
    code = kernel.address(real=f32, biased=int(arrays[4] is not None), dropping=int(dropping))
    columns = max(arrays[0].shape[3], arrays[2].shape[3])
    tables = native.tiles_for(length, keys, causal, blocks, columns)
    return _job(code, arrays, backward, blocks, _words(arrays, causal, blocks, tables))


def _few_rows_job(arrays, causal, dropping):
    from rushlight.kernels.attention import few_rows as native
    from rushlight.machine.language.functions import f32

    (batch, _, length, width), (_, shared, keys, _) = arrays[0].shape, arrays[1].shape
    biased = int(arrays[4] is not None)
    code = native.forward_rows.address(real=f32, biased=biased, dropping=int(dropping))
    items, work = batch * shared, batch * arrays[0].shape[1] * length * keys * width
    grain = items if work < 100_000 else -(-items // threads.get_num_threads())
    return threads.plan(code, items, grain, _words(arrays, causal, 1, (0, 0, 0)))


def _strip_job(arrays, causal, backward, dropping, planes):
    from rushlight.kernels.attention import strips as native
    from rushlight.machine.language.functions import f32

    (batch, heads, length, _) = arrays[0].shape
    strips = -(-length // native.SIDE)
    if backward:
        blocks = -(-strips // native.ROW_STRIPS)
    else:
        blocks = min(strips, -(-SHARED_HEADS // (batch * heads)))
    kernel = native.backward_strips if backward else native.forward_strips
    biased = int(arrays[4] is not None)
    kind = native.kind_of(planes)
    code = kernel.address(real=f32, biased=biased, dropping=int(dropping), **kind)
    return _job(code, arrays, backward, blocks, _words(arrays, causal, blocks, (0, 0, 0)))


def _planned(*setting):
    arrays, *rest = setting
    layouts = [None if a is None else (a.shape, a.strides) for a in arrays]
    key = (threads.get_num_threads(), *rest, *layouts)
    plan = _plans.get(key)
    if plan is None:
        plan = _plans.keep(key, _Plan(*setting))
    return plan


# ---- public --------------------------------------------------------------------------------------
@referenced_by(_forward_reference)
def attention_forward(query, key, value, mask, causal, scale, kept=None, planes=3):
    """``softmax(query @ key.T * scale + mask) @ value``, and the logarithm of each row's sum of
    exponentials (B, H, L).

    ``mask`` is None or float32 and broadcasts to (B, H, L, S); with ``causal`` row i sees the first
    i + 1 keys. A row that may look at nothing gives zeros, and infinity as its logarithm. ``kept``
    (B, H, L, S) is what dropout multiplies the probabilities by, or None. ``planes``: how many
    bfloat16 values each operand is the sum of, 1 where it was bfloat16; matrix units then round the
    probabilities to as many, as PyTorch rounds them to the operands' dtype.
    """
    if query.dtype != FLOAT32:
        return _forward_reference(query, key, value, mask, causal, scale, kept)
    query, key, value, mask = _rows(query), _rows(key), _rows(value), _mask_rows(mask, key)
    batch, heads, length, _ = query.shape
    if kept is None:
        out = result_like(query, heads, value.shape[3])
    else:
        out = empty((*query.shape[:3], value.shape[3]), FLOAT32)
    sums = np.empty((batch, heads, length), np.float32)
    if not out.size or not key.shape[2]:
        out[...], sums[...] = 0, np.inf
        return out, sums
    setting = (query, key, value, out, mask), causal, False, kept is not None, planes
    arguments = query, key, value, out, sums, mask, float(scale), by_rows(kept)
    _planned(*setting).run(setting, *arguments)
    return out, sums


@referenced_by(_backward_reference)
def attention_backward(grad, query, key, value, mask, out, log_sums, causal, scale, kept=None):
    """Gradients of query, key and value, given that of the result of :func:`attention_forward`."""
    if query.dtype != FLOAT32:
        arrays = (grad, query, key, value, mask, out, log_sums)
        return _backward_reference(*arrays, causal, scale, kept)
    query, key, value, mask = _rows(query), _rows(key), _rows(value), _mask_rows(mask, key)
    grad, out = _rows(grad), _rows(out)
    (_, heads, _, width), (_, shared, keys, _) = query.shape, key.shape
    dq, dk = result_like(query, heads, width), result_like(key, shared, width)
    dv = result_like(value, shared, value.shape[3])
    if not out.size or not keys:
        dq[...], dk[...], dv[...] = 0, 0, 0
        return dq, dk, dv
    setting = (query, key, value, out, mask, grad, dq, dk, dv), causal, True, kept is not None
    arguments = query, key, value, out, by_rows(log_sums), mask, float(scale), by_rows(kept)
    _planned(*setting).run(setting, *arguments, rest=(grad, dq, dk, dv))
    return dq, dk, dv
