"""Batching rules, which declarations name: those of kinds of ops, and those of single ones.

A rule takes ``(level, op, values)`` with the bound arguments and gives inner results with all
examples in dimension 0, or NotImplemented where one call for each example has to do. A declaration
says ``batching="elements"`` for what aligns like elementwise ops, ``"dims"`` for ops with
dimensions as arguments, ``"trailing"`` for those over the last dimensions of one tensor,
``"trailing of several"`` for those of more, ``"rows"`` for those over (N, C, ...). What has a
reason to be computed differently names the function that does, here or in another file
`_batching_*`: ``"view"`` is :func:`_view`.
"""

from __future__ import annotations

from rushlight.ops._transforms.batching import (
    Batched,
    aligned,
    batched,
    elementwise,
    front,
    in_rows,
    is_batched,
    unbatched,
)
from rushlight.ops._transforms.wrappers import Wrapped, call_op, in_form
from rushlight.ops.elementwise import comparison
from rushlight.ops.indexing import slicing
from rushlight.ops.linalg.matrix_checks import is_vector
from rushlight.ops.losses import squared_errors
from rushlight.ops.reduction import sorting
from rushlight.ops.reduction import sums_and_extremes as reductions
from rushlight.ops.shape import flipping as turning
from rushlight.ops.shape import views as shaping
from rushlight.tensor.memory_format import contiguous_format, preserve_format
from rushlight.tensor.shape import normalize_size, wrap_dim
from rushlight.tensor.tensor import Tensor

RULES = {}


def rule(function):
    """Register a rule under its name, dashes around it left out, which declarations give."""
    RULES[function.__name__.strip("_")] = function
    return function


def shifted(dim, ndim):
    """A dimension, or a tuple of them, of one example as one of the batch."""
    if isinstance(dim, (tuple, list)):
        return tuple(wrap_dim(d, ndim) + 1 for d in dim)
    return wrap_dim(dim, ndim) + 1


def same_ndim(level, op, values, count=None):
    """The tensor arguments with all examples in front and equally many dimensions."""
    positions = op.tensor_positions[:count]
    tensors = [values[p] for p in positions if isinstance(values[p], Tensor)]
    ndim = max(t._array.ndim for t in tensors)
    found = list(values)
    for p in positions:
        if isinstance(values[p], Tensor):
            found[p] = aligned(values[p], level, ndim)
            if not is_batched(values[p], level):
                shape = values[p]._array.shape
                lead = (1,) * (ndim - len(shape))
                found[p] = values[p].reshape((1, *lead, *shape)).expand((level.size, *lead, *shape))
    return found, ndim


# ------------------------------------------------------------------------ dimensions as arguments
_FLATTENING = (reductions.argmax.op, reductions.argmin.op, turning.roll.op, reductions.prod.op)


@rule
def _masked_fill(level, op, values):
    ndim = max(t._array.ndim for t in values[:2])
    input = aligned(values[0], level, ndim)
    if not is_batched(values[0], level):
        input = front(input, level)
    return op.function(input, aligned(values[1], level, ndim), values[2])


def with_dims(level, op, values):
    """The same op with its dimensions counted from behind the first."""
    found, ndim = same_ndim(level, op, values)
    if not ndim:
        return _of_scalars(level, op, values)
    first = op.tensor_positions[0]
    whole = False
    for name in ("dim", "dims", "dim0", "dim1", "dim2", "dimension"):
        at = op.index.get(name)
        if at is None:
            continue
        dim = found[at]
        if dim is None or dim == () and op is not turning.flip.op:
            if op in _FLATTENING:
                whole = tuple(found[first]._array.shape)
                found[first] = in_rows(found[first], level)
                found[at] = 1 if op is not turning.roll.op else (1,)
                continue
            found[at] = tuple(range(1, ndim + 1))
        else:
            found[at] = shifted(dim, ndim)
    result = call_op(op, found)
    return _unflattened(op, result, found, whole) if whole else result


def _unflattened(op, result, values, shape):
    """The result of an op over all elements, flattened for the call."""
    if op is turning.roll.op:
        return result.reshape(shape)
    if values[op.index["keepdim"]]:
        return result.reshape((shape[0], *(1,) * (len(shape) - 1)))
    return result


def _of_scalars(level, op, values):
    """Examples without dimensions: as one element each, and back."""
    found = list(values)
    for p in op.tensor_positions:
        if isinstance(values[p], Tensor):
            found[p] = front(values[p], level).unsqueeze(1)
    if op is shaping.transpose.op:
        return found[0].squeeze(1)
    for name in ("dim", "dims"):
        at = op.index.get(name)
        if at is not None:
            many = isinstance(values[at], (tuple, list)) or values[at] is None
            many = many and op not in _FLATTENING
            found[at] = (1,) if many else 1
    if op is turning.flip.op and values[op.index["dims"]] == ():
        return found[0].squeeze(1)
    if op is slicing.unfold.op:
        return call_op(op, [found[0], 1, *values[2:]]).reshape(level.size, values[2])
    result = call_op(op, found)
    if isinstance(result, Tensor):
        return result.reshape(level.size) if result._array.ndim > 1 else result
    items = [r.reshape(level.size) for r in result]
    return in_form(result, items)


@rule
def _clone(level, op, values):
    """Formats count dimensions, so the examples keep the order they have in memory."""
    whole = values[1] if values[1] is contiguous_format else None
    return values[0]._inner.clone(memory_format=whole or preserve_format)


@rule
def _median_of_all(level, op, values):
    rows = in_rows(values[0]._inner, level)
    median = sorting._nanmedian if values[1] else sorting._median
    return median(rows, 1, False)[0]


@rule
def _unsqueeze(level, op, values):
    return values[0]._inner.unsqueeze(wrap_dim(values[1], values[0]._array.ndim + 1) + 1)


@rule
def _squeeze(level, op, values):
    shape, dim = values[0]._array.shape, values[1]
    dims = range(len(shape)) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    dims = [wrap_dim(d, len(shape)) for d in dims]
    chosen = tuple(d + 1 for d in dims if shape and shape[d] == 1)
    return call_op(op, [values[0]._inner, chosen])


@rule
def _permute(level, op, values):
    dims = (values[1],) if isinstance(values[1], int) else tuple(values[1])
    ndim = values[0]._array.ndim
    if len(dims) != ndim:
        op.body(values[0]._array.view(), dims)
    return call_op(op, [values[0]._inner, (0, *[wrap_dim(d, ndim) + 1 for d in dims])])


@rule
def _t(level, op, values):
    inner = values[0]._inner
    if inner._array.ndim > 3:
        op.body(values[0]._array)
    return inner.transpose(1, 2) if inner._array.ndim == 3 else inner.view_as(inner)


@rule
def _expand(level, op, values):
    size = values[1]
    size = normalize_size((size,) if not isinstance(size, (tuple, list)) else (tuple(size),))
    inner = aligned(values[0], level, max(len(size), values[0]._array.ndim))
    kept = [-1 if i < len(size) - values[0]._array.ndim and n == -1 else n
            for i, n in enumerate(size)]  # fmt: skip
    if len(size) < values[0]._array.ndim or any(
        n == -1 for n in size[: len(size) - values[0]._array.ndim]
    ):
        op.body(values[0]._array, size)
    return inner.expand((level.size, *kept))


@rule
def _view(level, op, values):
    from rushlight.ops.shape.views import infer_size

    shape = infer_size(values[1], values[0]._array.size, op.name)
    return call_op(op, [values[0]._inner, (level.size, *shape)])


@rule
def _repeat(level, op, values):
    repeats = (values[1],) if isinstance(values[1], int) else tuple(values[1])
    return call_op(op, [aligned(values[0], level, len(repeats)), (1, *repeats)])


@rule
def _sum_to_size(level, op, values):
    size, ndim = tuple(values[1]), values[0]._array.ndim
    lead = (1,) * (ndim - len(size))
    found = call_op(op, [values[0]._inner, (level.size, *lead, *size)])
    return found.reshape((level.size, *size)) if lead else found


@rule
def _slice(level, op, values):
    return call_op(op, [values[0]._inner, (slice(None), *values[1])])


def _spread(base, value):
    """A tensor to write `value` to: with the batches of lower levels that `value` has."""
    own, other = (t._level.depth if isinstance(t, Wrapped) else 0 for t in (base, value))
    if not other or own and not isinstance(base, Batched):
        return base
    if own > other:
        return batched(_spread(base._inner, value), base._level)
    if own == other:
        return batched(_spread(base._inner, value._inner), base._level)
    inner = _spread(base, value._inner)
    if not isinstance(value, Batched):
        return inner
    return batched(inner.expand((value._level.size, *inner.shape)).clone(), value._level)


@rule
def _copy(level, op, values):
    return op.function(front(values[0], level), aligned(values[1], level, values[0]._array.ndim))


@rule
def _fill(level, op, values):
    return op.function(values[0]._inner, values[1])


@rule
def _view_scatter(level, op, values):
    base, value, path = values
    value = front(value, level)
    out = batched(_spread(front(base, level).clone(), value), level)
    part = out
    for step, attributes in path:
        part = step.function(part, *attributes)
    part._inner.copy_(value)
    return out


@rule
def _diag_embed(level, op, values):
    inner, offset, dim1, dim2 = values[0]._inner, *values[1:]
    ndim = values[0]._array.ndim + 1
    return call_op(op, [inner, offset, wrap_dim(dim1, ndim) + 1, wrap_dim(dim2, ndim) + 1])


@rule
def _cat(level, op, values):
    tensors = [t for t in values[0] if t._array.shape != (0,)] or list(values[0])
    fronts = [front(t, level) for t in tensors]
    return call_op(op, [fronts, shifted(values[1], tensors[0]._array.ndim)])


@rule
def _stack(level, op, values):
    fronts = [front(t, level) for t in values[0]]
    return call_op(op, [fronts, shifted(values[1], values[0][0]._array.ndim + 1)])


# ---------------------------------------------------------------- last dimensions, any before them
def trailing(level, op, values):
    """The op works on the last dimensions and takes any number before them."""
    result = call_op(op, unbatched(values, level))
    if isinstance(result, Tensor):
        return result
    items = [r if r is None or r.numel() else _empty(r, level) for r in result]
    return in_form(result, items)


def _empty(result, level):
    """A result without elements that stands for one not asked for, in front of nothing."""
    shape = result._array.shape
    return result if shape[:1] == (level.size,) else front(result, level)


@rule
def _int8_linear(level, op, values):
    """Rows of many examples are rows; layers that differ are multiplied by steps."""
    if any(is_batched(value, level) for value in values[1:4]):
        return op.options["captured"](*values)
    return trailing(level, op, values)


def trailing_of_several(level, op, values):
    """The same for several tensors, whose dimensions before the last ones are made equal."""
    found, _ = same_ndim(level, op, values)
    return call_op(op, found)


def aligned_front(value, level, ndim):
    """All examples in dimension 0, each with `ndim` dimensions."""
    shape = value._array.shape
    return front(value, level).reshape((level.size, *(1,) * (ndim - len(shape)), *shape))


@rule
def _ldl_solve(level, op, values):
    """Matrices, their pivots and right sides, with equally many dimensions before the last."""
    ndim = max(values[0]._array.ndim, values[2]._array.ndim)
    LD, pivots, B = (
        aligned_front(value, level, count)
        for value, count in zip(values[:3], (ndim, ndim - 1, ndim), strict=True)
    )
    return op.function(LD, pivots, B, hermitian=values[3])


@rule
def _solve(level, op, values):
    A, B, left, check = values
    vector = is_vector(A._array, B._array)
    if vector:
        B = B.unsqueeze(-1)
    found, _ = same_ndim(level, op, [A, B, left, check])
    result = call_op(op, found)
    solution = result[0].squeeze(-1) if vector else result[0]
    info = result[1].reshape((level.size, *A._array.shape[:-2]))
    return type(result)(solution, info)


@rule
def _lstsq(level, op, values):
    A, B, *rest = values
    vector = is_vector(A._array, B._array)
    found, _ = same_ndim(level, op, [A, B.unsqueeze(-1) if vector else B, *rest])
    solution, *others = call_op(op, found)
    results = (solution.squeeze(-1) if vector else solution, *others)
    return tuple(r if r.numel() else front(r, level) for r in results)


# ------------------------------------------------------------------------------- (N, C, ...) shapes
def _folded(level, op, values):
    """The examples join the first dimension of the call, and leave it again."""
    found = list(values)
    rows = None
    for p in op.tensor_positions:
        if isinstance(values[p], Tensor):
            inner = front(values[p], level)
            rows = inner._array.shape[1]
            found[p] = inner.reshape((level.size * rows, *inner._array.shape[2:]))
    at = op.index.get("shape")
    if at is not None:
        found[at] = (level.size * rows, *values[at][1:])
    return _split_first(call_op(op, found), level.size, rows)


def _split_first(result, size, rows):
    if isinstance(result, Tensor):
        return result.reshape((size, rows, *result._array.shape[1:]))
    return tuple(None if r is None else _split_first(r, size, rows) for r in result)


@rule
def _attention(level, op, values):
    """(B, N, H, L, E) as (B * N, H, L, E), the mask too."""
    found, rows = list(values), values[0]._array.shape[0]
    for p in range(3):
        inner = front(values[p], level)
        found[p] = inner.reshape((level.size * rows, *inner._array.shape[2:]))
    mask = values[3]
    if is_batched(mask, level):
        inner = aligned(mask, level, 4)
        inner = inner.expand((level.size, rows, *inner._array.shape[2:]))
        found[3] = inner.reshape((level.size * rows, *inner._array.shape[2:]))
    elif mask is not None and mask._array.ndim == 4 and mask._array.shape[0] != 1:
        found[3] = mask.repeat(level.size, 1, 1, 1)
    kept = values[6]
    if is_batched(kept, level):
        inner = front(kept, level)
        found[6] = inner.reshape((level.size * rows, *inner._array.shape[2:]))
    elif kept is not None:
        found[6] = kept.repeat(level.size, 1, 1, 1)
    return _split_first(call_op(op, found), level.size, rows)


@rule
def _cross_entropy(level, op, values):
    """Written out with other ops: each example has a mean of its own."""
    from rushlight.ops.losses.pointwise_losses import _target_probabilities

    input, target, weight, reduction, ignore_index, smoothing = values
    dim = 0 if input.dim() == 1 else 1
    goal = _target_probabilities(input, target, weight, ignore_index, smoothing, dim)
    sums = input.logsumexp(dim)
    losses = (goal * (sums.unsqueeze(dim) - input)).sum(dim)
    kept = target != ignore_index
    counts = kept.to(input.dtype)
    if weight is not None:
        counts = weight[comparison._where(kept, target, 0)] * counts
    count = counts.sum()
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.sum() / count
    parts = (losses, sums, count)
    return tuple(p if is_batched(p, level) else front(p, level) for p in parts)


@rule
def _diagonal_copy(level, op, values):
    return values[0].diagonal(values[1]).clone()


@rule
def _trace(level, op, values):
    return values[0].diagonal().sum()


@rule
def _squared_errors(level, op, values):
    input, target, mean = values
    losses = squared_errors._squared_error(input, target)
    return losses.mean() if mean else losses.sum()


@rule
def _nll_mean(level, op, values):
    """Written out with other ops, likewise."""
    input, target, ignore_index = values
    kept, where = target != ignore_index, comparison._where
    picked = input.gather(1, where(kept, target, 0).unsqueeze(1)).squeeze(1)
    mean = -(picked * kept.to(input.dtype)).sum() / kept.sum()
    return mean if is_batched(mean, level) else front(mean, level)


RULES.update(
    {
        "elements": elementwise,
        "dims": with_dims,
        "trailing": trailing,
        "trailing of several": trailing_of_several,
        "rows": _folded,
    }
)


def rule_of(op):
    """The rule that an op's declaration names, or None."""
    name = op.options.get("batching")
    return None if name is None else RULES[name]


def families():
    """Rules that stand in files of their own are declared by importing these."""
    from rushlight.ops._transforms import (  # noqa: F401
        batching_convolution as _batching_convolution,
    )
    from rushlight.ops._transforms import (
        batching_indices as _batching_indices,  # noqa: F401
    )
    from rushlight.ops._transforms import (
        batching_matrix as _batching_matrix,  # noqa: F401
    )
    from rushlight.ops._transforms import (
        batching_norms as _batching_norms,  # noqa: F401
    )


families()
