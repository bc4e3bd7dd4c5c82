"""Batching rules of reading and writing by index, and indices that are wrapped tensors."""

from __future__ import annotations

from rushlight.dtypes import bool_, uint8
from rushlight.machine import np
from rushlight.ops._transforms.batching import batched, front, in_rows, is_batched
from rushlight.ops._transforms.batching_rules import rule, shifted
from rushlight.ops._transforms.wrappers import Wrapped, call_op, tracing_level
from rushlight.ops.elementwise import comparison
from rushlight.ops.indexing import gathering, recorded_items
from rushlight.tensor.shape import wrap_dim
from rushlight.tensor.tensor import Tensor


def _range(level, ndim):
    """The numbers of the examples, shaped (B, 1, ...)."""
    from rushlight.ops.creation.tensors import arange

    return arange(level.size, device="cpu").reshape((level.size, *(1,) * ndim))


# ------------------------------------------------------------------------------ index arrays alike
def _separated(index):
    """Whether slices stand between the arrays of an index: NumPy then puts their dims first."""
    places = [i for i, item in enumerate(index) if not isinstance(item, (slice, type(None)))]
    return bool(places) and places[-1] - places[0] + 1 != len(places)


def _width(index):
    """How many dimensions the arrays of an index broadcast to."""
    arrays = [i for i in index if isinstance(i, np.ndarray)]
    shapes = [(int(a.sum()),) if a.dtype == bool else a.shape for a in arrays]
    return len(np.broadcast_shapes(*shapes))


@rule
def _index(level, op, values):
    inner, index = values[0]._inner, values[1]
    found = op.function(inner, (slice(None), *index))
    return found.movedim(_width(index), 0) if _separated(index) else found


@rule
def _index_put(level, op, values):
    input, new, index, accumulate = values
    base = front(input, level)
    if is_batched(new, level):
        probe = np.broadcast_to(np.zeros(()), input._array.shape)[index]
        inner = new._inner
        lead = probe.ndim - new._array.ndim
        if lead > 0:
            inner = inner.reshape((level.size, *(1,) * lead, *new._array.shape))
        elif lead < 0:
            inner = inner.reshape((level.size, *new._array.shape[-lead:]))
        if _separated(index):
            inner = inner.expand((level.size, *probe.shape)).movedim(0, _width(index))
        new = inner
    return op.function(base, new, (slice(None), *index), accumulate)


# --------------------------------------------------------------------------- dim, index and values
@rule
def _along(level, op, values):
    """Indices of the shape of the values: one more dimension."""
    found = list(values)
    ndim = max(values[p]._array.ndim for p in op.tensor_positions)
    for p in op.tensor_positions:
        found[p] = front(values[p], level)
        if not values[p]._array.ndim:
            found[p] = found[p].unsqueeze(1)
    found[op.index["dim"]] = shifted(values[op.index["dim"]], max(ndim, 1))
    result = call_op(op, found)
    shape = values[op.index["index"] if op is gathering.gather.op else 0]._array
    return result if shape.ndim else result.squeeze(1)


def _spread(index, dim, shape):
    """A vector of indices for each example, for every position beside `dim`."""
    view = index.reshape(
        (index._array.shape[0], *(-1 if d == dim else 1 for d in range(len(shape))))
    )
    return view.expand(
        (index._array.shape[0], *(-1 if d == dim else n for d, n in enumerate(shape)))
    )


@rule
def _index_select(level, op, values):
    input, dim, index = values
    ndim = input._array.ndim
    if not is_batched(index, level):
        inner = input._inner
        if not ndim:
            return op.function(inner.unsqueeze(1), 1, index.reshape(-1)[:1]).squeeze(1)
        return op.function(inner, shifted(dim, ndim), index)
    if not ndim:
        return front(input, level).view_as(front(input, level))
    dim = wrap_dim(dim, ndim)
    flat = in_rows(index._inner, level)
    spread = _spread(flat, dim, input._array.shape)
    return gathering.gather(front(input, level), dim + 1, spread)


@rule
def _index_writes(level, op, values):
    input, dim, index = values[:3]
    ndim = input._array.ndim
    source = values[3]
    if not ndim:
        source = source.reshape(-1) if isinstance(source, Tensor) else source
        given = [input.unsqueeze(0), dim, index.reshape(-1), source, *values[4:]]
        return call_op(op, given)._inner.squeeze(1)
    dim = wrap_dim(dim, ndim)
    base = front(input, level)
    if not is_batched(index, level):
        source = front(source, level) if isinstance(source, Tensor) else source
        if isinstance(source, Tensor) and source._array.ndim == 1:
            source = source.reshape((level.size, *(1,) * ndim))
        return call_op(op, [base, dim + 1, index, source, *values[4:]])
    flat = in_rows(index._inner, level)
    shape = list(input._array.shape)
    shape[dim] = flat._array.shape[1]
    spread = _spread(flat, dim, shape)
    if op is gathering._index_fill.op:
        source = base.detach().new_full((level.size, *shape), source)
        return gathering._scatter(base, dim + 1, spread, source)
    source = front(source, level).reshape((level.size, *shape))
    if op is gathering.index_copy.op:
        return gathering._scatter(base, dim + 1, spread, source)
    if op is gathering.index_add.op:
        source = source if values[4] == 1 else source * values[4]
        return gathering.scatter_add(base, dim + 1, spread, source)
    return NotImplemented


@rule
def _take(level, op, values):
    input, index = values
    if not is_batched(input, level):
        return op.function(input, index._inner)
    flat = in_rows(input._inner, level)
    places = front(index, level)
    count = flat._array.shape[1]
    places = comparison.where(places < 0, places + count, places)
    found = gathering.gather(flat, 1, in_rows(places, level))
    return found.reshape(tuple(places.shape))


@rule
def _put(level, op, values):
    input, index, source, accumulate = values
    flat, index = input.reshape(-1), index.reshape(-1)
    places = comparison.where(index < 0, index + flat.numel(), index)
    write = gathering.scatter_add if accumulate else gathering._scatter
    return write(flat, 0, places, source.reshape(-1)).reshape(tuple(input.shape))


@rule
def _masked_scatter(level, op, values):
    input, mask, source = values
    shape = np.broadcast_shapes(input._array.shape, mask._array.shape)
    input, mask = input.expand(shape), mask.expand(shape).reshape(-1)
    if not source._array.size:
        return input
    places = (mask.long().cumsum(0) - 1).clamp(0, source._array.size - 1)
    found = source.reshape(-1).gather(0, places)
    return comparison.where(mask, found, input.reshape(-1)).reshape(shape)


@rule
def _embedding(level, op, values):
    weight, indices, padding_idx, scale = values
    if not is_batched(weight, level):
        return op.function(weight, indices._inner, padding_idx, scale)
    if scale:
        return NotImplemented
    rows = weight._array.shape[0]
    indices = front(indices, level)
    places = indices + rows * _range(level, indices._array.ndim - 1)
    table = weight._inner.reshape((level.size * rows, *weight._array.shape[1:]))
    found = op.function(table, places, -1, False)
    if padding_idx is None or padding_idx < 0:
        return found
    padded = (indices == padding_idx).unsqueeze(-1)
    return comparison.where(padded, found.detach(), found)


@rule
def _embedding_backward(level, op, values):
    output, indices, count, padding_idx, scale = values
    if scale:
        return NotImplemented
    output, indices = front(output, level), front(indices, level)
    if padding_idx is not None and padding_idx >= 0:
        output = output.masked_fill((indices == padding_idx).unsqueeze(-1), 0.0)
    places = indices + count * _range(level, indices._array.ndim - 1)
    found = op.function(output, places, count * level.size, -1, False)
    return found.reshape((level.size, count, *found._array.shape[1:]))


@rule
def _searchsorted(level, op, values):
    ordered, input = values[:2]
    if not is_batched(ordered, level) and values[-1] is None and ordered._array.ndim == 1:
        return call_op(op, [ordered, input._inner, *values[2:]])
    shape = front(input, level)
    if ordered._array.ndim == 1 and input._array.ndim != 1:
        flat = in_rows(shape, level)
        found = _searchsorted_rows(level, op, values, flat)
        return found.reshape(tuple(shape.shape))
    return _searchsorted_rows(level, op, values, shape)


def _searchsorted_rows(level, op, values, rows):
    sorter = values[-1] if values[-1] is None else front(values[-1], level)
    return call_op(
        op, [front(values[0], level).contiguous(), rows.contiguous(), *values[2:-1], sorter]
    )


@rule
def _masked_select(level, op, values):
    input, mask = values
    if is_batched(mask, level):
        return _dynamic(level, op, values)
    shape = np.broadcast_shapes(input._array.shape, mask._array.shape)
    places = mask.expand(shape).reshape(-1).nonzero().squeeze(1)
    return input.expand(shape).reshape(-1).index_select(0, places)


@rule
def _dynamic(level, op, values):
    raise RuntimeError(
        f"vmap: We do not support batching operators that can output dynamic shape. Attempted to "
        f"vmap over {op.name.lstrip('_')}: torch.where(condition, a, b) keeps the shape."
    )


# --------------------------------------------------------------------------------- wrapped indices
def getitem_wrapped(self, items):
    """``self[items]`` with wrapped tensors in the index: read at the deepest level among them."""
    found = [i for i in items if isinstance(i, Wrapped)]
    if isinstance(self, Wrapped):
        found.append(self)
    level = max((w._level for w in found), key=lambda x: x.depth)
    if level.kind != "vmap":
        return _at_recording_level(self, items, level)
    _refuse_masks(items, level)
    items = _without_ellipsis(items, self.dim())
    numbers = [i for i in items if isinstance(i, Tensor)]
    arrays = [i for i in items if isinstance(i, (int, Tensor)) and not isinstance(i, bool)]
    width = max(n._array.ndim for n in numbers)
    arrays_at = [k for k, i in enumerate(items) if any(i is a for a in arrays)]
    inner = [_index_item(i, level, width) for i in items]
    if not is_batched(self, level):
        result = self[tuple(inner)]
        moved = arrays_at[-1] - arrays_at[0] + 1 != len(arrays_at)
        first = (
            0
            if moved
            else sum(i is not None for i in items[: arrays_at[0]])
            + sum(i is None for i in items[: arrays_at[0]])
        )
        return batched(result.movedim(first, 0), level)
    lead = _range(level, width)
    result = self._inner[(lead, *inner)]
    moved = arrays_at[-1] + 1 != len(arrays_at)
    if not moved or arrays_at[-1] - arrays_at[0] + 1 != len(arrays_at):
        return batched(result, level)  # the examples, then the indices, then the rest
    # separated only by the number of the example: the indices belong behind the slices before them
    before = arrays_at[0]
    for k in range(width):
        result = result.movedim(1 + k, 1 + k) if not before else result
    order = list(range(result.dim()))
    indices, rest = order[1 : 1 + width], order[1 + width :]
    result = result.permute((0, *rest[:before], *indices, *rest[before:]))
    return batched(result, level)


def _index_item(item, level, width):
    if isinstance(item, Tensor):
        inner = item._inner if is_batched(item, level) else item
        shape = item._array.shape
        if is_batched(item, level):
            return inner.reshape((level.size, *(1,) * (width - len(shape)), *shape))
        return inner if inner.dim() else inner.reshape(1)
    return item


def _without_ellipsis(items, ndim):
    found = []
    used = sum(i is not None and i is not Ellipsis for i in items)
    for item in items:
        if item is Ellipsis:
            found += [slice(None)] * (ndim - used)
        else:
            found.append(item)
    return found


def _refuse_masks(items, level):
    for item in items:
        if isinstance(item, Tensor) and item._dtype in (bool_, uint8):
            raise RuntimeError(
                "vmap: It looks like you're attempting to index by a mask inside of vmap. We do "
                "not support batching operators that can output dynamic shape: use torch.where."
            )


def _at_recording_level(self, items, level):
    inner = tuple(i._inner if is_batched(i, level) else i for i in items)
    if all(a is b for a, b in zip(inner, items, strict=True)):
        return recorded_items.getitem(self, items)
    return self[inner]


def setitem(self, index, value):
    """``self[index] = value`` with wrapped tensors in the index."""
    items = index if isinstance(index, tuple) else (index,)
    tracing = tracing_level([i for i in items if isinstance(i, Wrapped)])
    if tracing is not None:
        tracing.process(tracing, put, (self, items, value, False), {})
        return
    recording = recorded_items.recording_level(self, *items, value)
    if recording is not None and _captures(items):
        recorded_items.setitem(recording, self, items, value)
        return
    if not isinstance(value, Tensor):
        value = self.detach().new_tensor(value) if isinstance(value, (list, tuple)) else value
    self.copy_(put_at(self, items, value, False))


def _captures(items):
    """Whether a tensor of a program that is captured is part of an index."""
    return any(isinstance(i, Wrapped) and i._level.kind == "capture" for i in items)


def index_put_(self, indices, values, accumulate):
    """Write values where wrapped indices say."""
    recording = recorded_items.recording_level(self, *indices, values)
    if recording is not None and _captures(indices):
        return recorded_items.index_put_(recording, self, indices, values, accumulate)
    return self.copy_(put_at(self, indices, values, accumulate))


def index_put(self, indices, values, accumulate):
    """A copy with values written where wrapped indices say."""
    if recorded_items.recording_level(self, *indices, values) and _captures(indices):
        return recorded_items.index_put(self, indices, values, accumulate)
    return put_at(self, indices, values, accumulate)


def put(self, index, values, accumulate):
    """``self[index] = values``, as a trace records it."""
    self[index] = values


def put_at(self, items, value, accumulate):
    """`self` with `value` (a number or a tensor) written or added where wrapped indices say."""
    from rushlight.ops.creation.tensors import arange, full

    masks = [i for i in items if isinstance(i, Tensor) and i._dtype in (bool_, uint8)]
    if masks:
        if len(items) != 1:
            raise NotImplementedError(
                "writing by a mask beside other indices inside of vmap: use torch.where"
            )
        mask = masks[0].to(bool_)
        mask = mask.reshape((*mask.shape, *(1,) * (self.dim() - mask.dim())))
        if isinstance(value, Tensor) and value.dim() > 1:
            raise NotImplementedError(
                "writing several values by a mask inside of vmap: use torch.where"
            )
        new = value + self if accumulate else value
        return comparison.where(mask, new, self).to(self._dtype)
    places = arange(self.numel(), device=self._device).reshape(tuple(self.shape))[tuple(items)]
    if not isinstance(value, Tensor):
        value = full((), value, dtype=self._dtype, device=self._device)
    value = value.to(self._dtype)
    while value.dim() > places.dim() and value.shape[0] == 1:
        value = value.squeeze(0)
    value = value.expand(tuple(places.shape)).reshape(-1)
    write = gathering.scatter_add if accumulate else gathering._scatter
    return write(self.reshape(-1), 0, places.reshape(-1), value).reshape(tuple(self.shape))
