"""Reading, writing and adding at indices, with gradients, on any shapes, layouts and dtypes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rushlight

torch = pytest.importorskip("torch")

from agreement import (  # noqa: E402
    FLOATS,
    WIDE,
    alike,
    differentiated,
    extents,
    is_low,
    same,
    twin,
)
from drawn import close, exact, examples, on_threads, tensors  # noqa: E402

AMOUNTS = st.sampled_from((1 << 8, 1 << 12, 1 << 12, 1 << 15, 1 << 17))
MOVED = st.sampled_from(("float32", "float64", "bfloat16", "float16", "int64", "int32", "int16",
                         "uint8", "bool"))  # fmt: skip
INDEX = st.sampled_from(("int64", "int64", "int32"))


def source_of(data, shape, dtype, grad=False):
    """A tensor of any dtype."""
    kind = {"bool": (0, 2), "uint8": (0, 200)}.get(dtype, (-99, 99) if "int" in dtype else ())
    return data.draw(tensors(shape, dtype, *kind, grad=grad))


@st.composite
def places(draw, least=1):
    """A shape, a dim of it, and how many indices go there."""
    shape = draw(extents(st.integers(1, 4), draw(AMOUNTS)))
    dim = draw(st.integers(0, len(shape) - 1))
    count = draw(st.sampled_from((0, 1, 2, 3, 7, 16, 33, 130)))
    room = max(1, (1 << 18) // max(1, rushlight.Size(shape).numel() // shape[dim]))
    return shape, dim, max(least, min(count, room))


def along(data, shape, dim, count, smaller=True):
    """A shape of an index of gather: `count` along the dim, else no more than `shape` has."""
    own = [data.draw(st.sampled_from((n, n, n, max(1, n - 1)))) if smaller else n for n in shape]
    own[dim] = count
    return tuple(own)


@given(places(0), st.booleans(), st.data())
@examples(50)
def test_elements_read(where, smaller, data):
    """gather and take_along_dim, and what comes back to their inputs."""
    shape, dim, count = where
    dtype = data.draw(FLOATS)
    x = source_of(data, shape, dtype, grad=True)
    own = along(data, shape, dim, count, smaller)
    index = data.draw(tensors(own, data.draw(INDEX), 0, shape[dim]))
    program = lambda lib, t, i: lib.gather(t, dim - len(shape), i)  # noqa: E731
    if index.dtype == rushlight.int32:
        index = index.to(rushlight.int64)
    found, truth, above = differentiated(program, [x, index], data, dtype)
    same(found[0], program(torch, twin(x), twin(index)).detach())
    scale = torch.zeros(shape, dtype=torch.float64).scatter_add(dim, twin(index), above.abs())
    close(found[1], truth[1], scale, sum_of(count, dtype))
    if not smaller:
        alike(lambda lib, t, i: lib.take_along_dim(t, i, dim), x.detach(), index)


def sum_of(count, dtype):
    """Roundings of a sum that is kept in the dtype itself while it grows: half its terms, for
    numbers of one sign."""
    return 4.0 + count / (1 if is_low(dtype) else 2)


@given(places(0), st.data())
@examples(50)
def test_slices_read(where, data):
    """index_select and indexing by a tensor of any dims, negative numbers among it."""
    shape, dim, count = where
    dtype = data.draw(FLOATS)
    x = source_of(data, shape, dtype, grad=True)
    index = data.draw(tensors((count,), data.draw(INDEX), 0, shape[dim]))
    program = lambda lib, t, i: lib.index_select(t, dim, i)  # noqa: E731
    wide = index.to(rushlight.int64)
    found, truth, above = differentiated(program, [x, wide], data, dtype)
    same(found[0], program(torch, twin(x), twin(index)).detach())
    same(on_threads(lambda: program(rushlight, x.detach(), index)), twin(found[0].detach()))
    scale = torch.zeros(shape, dtype=torch.float64).index_add(dim, twin(wide), above.abs())
    close(found[1], truth[1], scale, sum_of(count, dtype))
    signed = wide - shape[dim] * (wide % 2)
    before = (slice(None),) * dim
    table = signed.reshape(1, count, 1) if data.draw(st.booleans()) else signed
    alike(lambda lib, t, i: t[(*before, i)], x.detach(), table)


@given(places(), MOVED, st.data())
@examples(35)
def test_elements_of_any_dtype(where, dtype, data):
    """Moved elements keep their bits, whatever their width."""
    shape, dim, count = where
    x = source_of(data, shape, dtype)
    index = data.draw(tensors(along(data, shape, dim, count), "int64", 0, shape[dim]))
    row = data.draw(tensors((count,), "int64", 0, shape[dim]))
    mask = data.draw(tensors(shape, "float32", 0.0, 1.0)) < data.draw(
        st.sampled_from((0.1, 0.5, 1.1))
    )
    alike(lambda lib, t, i: lib.gather(t, dim, i), x, index)
    alike(lambda lib, t, i: lib.index_select(t, dim, i), x, row)
    alike(lambda lib, t, m: lib.masked_select(t, m), x, mask)
    alike(lambda lib, t, m: t[m], x, mask)
    alike(lambda lib, t, m: lib.masked_fill(t, m, 1), x, mask)
    alike(lambda lib, t: lib.nonzero(t), x)
    flat = index.flatten() % max(1, min(shape))
    alike(lambda lib, t, i: lib.take(t, i), x, flat)
    unlike = rushlight.randperm(shape[dim])[:count]
    source = source_of(
        data, tuple([len(unlike) if d == dim else n for d, n in enumerate(shape)]), dtype
    )
    alike(lambda lib, t, i, s: t.clone().index_copy_(dim, i, s), x, unlike, source)
    before = (slice(None),) * dim
    alike(lambda lib, t, i, s: written(t.clone(), (*before, i), s), x, unlike, source)
    alike(lambda lib, t, i: t.clone().index_fill_(dim, i, 1), x, row)


def written(target, index, source):
    """A tensor after an assignment to some of its elements."""
    target[index] = source
    return target


@given(places(), st.data())
@examples(45)
def test_elements_added(where, data):
    """scatter_add and index_add, out of place and in place, and all their gradients."""
    shape, dim, count = where
    dtype = data.draw(FLOATS)
    rows = data.draw(st.booleans())
    x = source_of(data, shape, dtype, grad=True)
    own = along(data, shape, dim, count, not rows)
    source = source_of(data, own, dtype, grad=True)
    index = data.draw(tensors((count,) if rows else own, "int64", 0, shape[dim]))
    name = "index_add" if rows else "scatter_add"
    program = lambda lib, t, i, s: getattr(lib, name)(t, dim, i, s)  # noqa: E731
    found, truth, _ = differentiated(program, [x, index, source], data, dtype)
    scale = program(torch, exact(x).detach().abs(), twin(index), exact(source).detach().abs())
    close(found[0], truth[0], scale, sum_of(count, dtype))
    close(found[1], truth[1], truth[1].abs(), 1.0)
    close(found[2], truth[2], truth[2].abs(), 1.0)
    target = x.detach().clone()
    getattr(target, name + "_")(dim, index, source.detach())
    close(target, truth[0], scale, sum_of(count, dtype))


@given(places(), st.data())
@examples(50)
def test_elements_written(where, data):
    """scatter of a tensor and of a number, at indices that differ."""
    shape, dim, count = where
    dtype = data.draw(FLOATS)
    x = source_of(data, shape, dtype, grad=True)
    count = min(count, shape[dim])
    order = data.draw(tensors(shape, "float32")).argsort(dim)
    index = order.narrow(dim, 0, count)
    source = source_of(data, tuple(index.shape), dtype, grad=True)
    program = lambda lib, t, i, s: lib.scatter(t, dim, i, s)  # noqa: E731
    found, truth, _ = differentiated(program, [x, index, source], data, dtype)
    for ours, right in zip(found, truth, strict=True):
        close(ours, right, right.abs(), 1.0)
    alike(lambda lib, t, i: lib.scatter(t, dim, i, 2.5), x.detach(), index)
    alike(lambda lib, t, i, s: t.clone().scatter_(dim, i, s), x.detach(), index, source.detach())


@given(st.sampled_from(("sum", "prod", "mean", "amax", "amin")), places(), st.booleans(), st.data())
@examples(60)
def test_elements_reduced(way, where, own, data):
    """scatter_reduce, with and without what was there, and its gradients."""
    shape, dim, count = where
    dtype = data.draw(WIDE)
    own = own or way in ("amax", "amin")  # PyTorch counts ties with what is left out
    x = data.draw(tensors(shape, dtype, 0.8, 1.25, grad=True))
    source = data.draw(tensors(along(data, shape, dim, count), dtype, 0.8, 1.25, grad=True))
    index = data.draw(tensors(tuple(source.shape), "int64", 0, shape[dim]))

    def program(lib, t, i, s):
        return lib.scatter_reduce(t, dim, i, s, way, include_self=own)

    found, truth, above = differentiated(program, [x, index, source], data, dtype)
    units = 8.0 + 2 * count
    most = float(above.abs().max()) if above.numel() else 0.0
    close(found[0], truth[0], truth[0].abs(), units)
    for ours, right in zip(found[1:], truth[1:], strict=True):
        close(ours, right, right.abs() + (most if way in ("sum", "mean") else 0.0), units)


@given(st.booleans(), st.data())
@examples(40)
def test_places_put(adding, data):
    """index_put by tensors for several dims that broadcast, masks among them."""
    shape = data.draw(extents(st.integers(2, 4), 1 << 13))
    dtype = data.draw(WIDE)
    x = data.draw(tensors(shape, dtype, grad=True))
    count = data.draw(st.sampled_from((1, 2, 9, 100)))
    first = data.draw(st.integers(0, len(shape) - 2))
    parts = [data.draw(tensors((count,), "int64", -shape[d], shape[d])) for d in (first, first + 1)]
    if data.draw(st.booleans()):
        parts[0] = parts[0].reshape(-1, 1)
    if not adding:  # places that differ
        parts = [rushlight.randperm(shape[d]).narrow(0, 0, 1) for d in (first, first + 1)]
    rest = shape[:first] + tuple((parts[0] + parts[1]).shape) + shape[first + 2 :]
    few = rest[data.draw(st.integers(0, first)) :] if first else rest
    source = data.draw(tensors(few, dtype, grad=True))

    def program(lib, t, s, a, b):
        return lib.index_put(t, (a, b), s, accumulate=adding)

    if first:
        swapped = (*range(first, len(shape)), *range(first))
        x = x.detach().permute(swapped).requires_grad_()
        rest = tuple((parts[0] + parts[1]).shape) + tuple(x.shape[2:])
        source = data.draw(tensors(rest, dtype, grad=True))
    found, truth, _ = differentiated(program, [x, source, *parts], data, dtype)
    wide = [exact(x).detach().abs(), exact(source).detach().abs(), *map(twin, parts)]
    close(found[0], truth[0], program(torch, *wide), 4.0 + count)
    close(found[1], truth[1], truth[1].abs(), 1.0)
    terms = max(1, truth[0].numel() // max(1, source.numel())) + count * count
    close(
        found[2], truth[2], truth[2].abs().max() + 1.0 if source.numel() else None, 8.0 + terms**0.5
    )


@given(st.sampled_from(("masked_fill", "masked_scatter", "where")), st.data())
@examples(60)
def test_masks(name, data):
    """Masks that broadcast, gradients of both sides."""
    shape = data.draw(extents(st.integers(1, 4), data.draw(AMOUNTS)))
    dtype = data.draw(FLOATS if name != "masked_fill" else WIDE)  # float16's sums are too large
    x = source_of(data, shape, dtype, grad=True)
    own = tuple([data.draw(st.sampled_from((n, n, 1))) for n in shape])
    mask = data.draw(tensors(own, "float32", 0.0, 1.0)) < data.draw(
        st.sampled_from((0.1, 0.5, 0.9))
    )
    y = source_of(data, () if name == "masked_fill" else shape, dtype, grad=True)

    def program(lib, t, m, s):
        if name == "where":
            return lib.where(m, t, s)
        return getattr(lib, name)(t, m, s)

    found, truth, above = differentiated(program, [x, mask, y], data, dtype)
    close(found[0], truth[0], truth[0].abs(), 1.0)
    close(found[1], truth[1], truth[1].abs(), 1.0)
    terms = x.numel() if name == "masked_fill" else 1
    close(found[2], truth[2], above.abs().sum() if terms > 1 else truth[2].abs(), 2.0 + terms**0.25)
