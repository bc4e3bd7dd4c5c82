"""Reductions over any dims of tensors of any layout, and running reductions along a dim."""

from __future__ import annotations

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import rushlight

torch = pytest.importorskip("torch")

from agreement import (  # noqa: E402
    FLOATS,
    ODD,
    WIDE,
    alike,
    differentiated,
    extents,
    is_low,
    same,
    some,
    truth_of,
    twin,
)
from drawn import close, exact, examples, name_of, on_threads, tensors  # noqa: E402

# Enough elements for rows and columns that threads share, rarely.
AMOUNTS = st.sampled_from((1 << 12, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 3 << 18))


@st.composite
def shapes_and_dims(draw, least=1, dims=(0, 5)):
    """A shape, dims to reduce (None: all), and whether they are kept."""
    shape = draw(extents(st.integers(*dims), draw(AMOUNTS), least))
    choice = (
        st.lists(st.sampled_from(range(len(shape))), min_size=1, unique=True) if shape else None
    )
    axes = draw(st.one_of(st.none(), choice)) if shape else None
    if axes is not None:
        axes = tuple([d - len(shape) if draw(st.booleans()) else d for d in axes])
    return shape, axes, draw(st.booleans())


def counted(shape, axes):
    """How many elements make one of the result."""
    total = 1
    for d, n in enumerate(shape):
        total *= n if axes is None or d in axes or d - len(shape) in axes else 1
    return max(total, 1)


def allowed(shape, axes):
    """Roundings of a sum: a random walk through a run of 4096, which are added in float64."""
    return 4.0 + min(counted(shape, axes), 4096) ** 0.5 / 2


def reduction(name, axes, keepdim, **more):
    """``f(library, x)`` of a reduction by its name."""

    def run(library, x):
        call = library.linalg.vector_norm if name == "vector_norm" else getattr(library, name)
        if axes is None and not keepdim and name != "logsumexp":
            return call(x, **more)
        dims = tuple(range(x.ndim)) if axes is None else axes
        return call(x, dim=dims, keepdim=keepdim, **more)

    return run


@given(st.sampled_from(("sum", "mean", "nansum")), shapes_and_dims(least=0), st.data())
@examples(60)
def test_sums(name, where, data):
    shape, axes, keepdim = where
    dtype = data.draw(FLOATS)
    if dtype == "float16" and counted(shape, axes) > 20_000:
        dtype = "bfloat16"  # its sums are numbers still
    x = data.draw(tensors(shape, dtype, -1.0, 2.0, grad=True))
    program = reduction(name, axes, keepdim)
    found, truth, above = differentiated(program, [x], data, dtype)
    scale = program(torch, exact(x).detach().abs())
    close(found[0], truth[0], scale, 2.0 if is_low(dtype) else allowed(shape, axes))
    close(found[1], truth[1], truth[1].abs(), 2.0 if is_low(dtype) else 4.0)


@given(st.sampled_from(("var", "std")), shapes_and_dims(dims=(1, 4)), st.data())
@examples(90)
def test_variances(name, where, data):
    shape, axes, keepdim = where
    dtype, centre = data.draw(WIDE), data.draw(st.sampled_from((0.0, 0.0, 30.0)))
    correction = data.draw(st.sampled_from((0, 1, 1, 2)))
    terms = counted(shape, axes)
    if terms <= correction + 1:
        return
    x = data.draw(tensors(shape, dtype, centre - 1.0, centre + 1.0, grad=True))

    def program(library, t):
        if library is rushlight:
            return reduction(name, axes, keepdim, correction=correction)(library, t)
        apart = t - reduction("mean", axes, True)(library, t)  # one pass is less exact
        var = reduction("sum", axes, keepdim)(library, apart * apart) / (terms - correction)
        return var if name == "var" else var.sqrt()

    found, truth, above = differentiated(program, [x], data, dtype)
    # a mean that is off by a rounding of the centre adds its square only
    close(found[0], truth[0], truth[0].abs() + 1e-6 * (centre + 1), 12.0 + allowed(shape, axes))
    slope = 4.0 * (2.0 + centre) / (1 if name == "var" else truth[0].abs().min()) / terms
    close(
        found[1], truth[1], slope * above.abs().max() + truth[1].abs(), 12.0 + allowed(shape, axes)
    )


@given(
    st.sampled_from((0, 1, 2, 3, 0.5, float("inf"), float("-inf"))), shapes_and_dims(), st.data()
)
@examples(50)
def test_norms(order, where, data):
    shape, axes, keepdim = where
    dtype = data.draw(WIDE)
    x = data.draw(tensors(shape, dtype, 0.3, 2.0, grad=True))

    def program(library, t):
        if library is rushlight or order in (0, float("inf"), float("-inf")):
            return reduction("vector_norm", axes, keepdim, ord=order)(library, t)
        powers = reduction("sum", axes, keepdim)(library, t**order)  # added in pairs
        return powers ** (1 / order)

    if order == 0:
        x = x.detach()
        close(on_threads(lambda: program(rushlight, x)), truth_of(program, [x])[0])
        return
    found, truth, above = differentiated(program, [x], data, dtype)
    close(found[0], truth[0], truth[0].abs(), 12.0 + 2 * allowed(shape, axes))
    close(
        found[1],
        truth[1],
        truth[1].abs() + 1e-6 * above.abs().max(),
        60.0 + 2 * allowed(shape, axes),
    )


@given(shapes_and_dims(), st.data())
@examples(60)
def test_logsumexp(where, data):
    shape, axes, keepdim = where
    dtype = data.draw(FLOATS)
    x = data.draw(tensors(shape, dtype, -20.0, 20.0, grad=True))
    program = reduction("logsumexp", axes, keepdim)
    found, truth, above = differentiated(program, [x], data, dtype)
    few = 2.0 if is_low(dtype) else 8.0
    close(found[0], truth[0], truth[0].abs() + 1.0, few)
    least = 2.0**-14 if dtype == "float16" else 1e-6  # of its numbers that are not rounded more
    close(found[1], truth[1], truth[1].abs() * 20.0 + least * above.abs().max(), few)


@given(shapes_and_dims(least=0, dims=(1, 4)), st.data())
@examples(40)
def test_products(where, data):
    shape, _, keepdim = where
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    dtype = data.draw(WIDE)
    n = max(shape[dim], 1)
    x = data.draw(tensors(shape, dtype, 1 - 1 / n, 1 + 1 / n, grad=True))
    if data.draw(st.booleans()):  # some zeros: gradients without a division
        zeros = data.draw(tensors(shape, "float32", 0, 1)) < data.draw(st.sampled_from((0.02, 0.3)))
        x = x.detach().masked_fill(zeros, 0.0).requires_grad_()
    program = reduction("prod", dim, keepdim)
    found, truth, above = differentiated(lambda lib, t: program(lib, t), [x], data, dtype)
    close(found[0], truth[0], truth[0].abs(), 8.0 + n)
    close(found[1], truth[1], truth[1].abs(), 12.0 + n)


@given(st.sampled_from(("amax", "amin")), shapes_and_dims(), st.data())
@examples(50)
def test_extremes(name, where, data):
    """Values equal PyTorch's; a gradient goes to equal elements in equal parts."""
    shape, axes, keepdim = where
    keepdim = keepdim and bool(shape)
    dtype = data.draw(FLOATS)
    x = data.draw(tensors(shape, dtype, odd=ODD))
    if data.draw(st.booleans()):
        x = (x * 2).round()
    x = x.detach().requires_grad_()
    if axes is None and not keepdim:  # shares the gradient of NaN
        name = name[1:]
    program = reduction(name, axes, keepdim)
    found, truth, above = differentiated(program, [x], data, dtype)
    same(found[0], program(torch, twin(x)).detach())
    close(found[1], truth[1], truth[1].abs(), 3.0)


KINDS = st.sampled_from(("float32", "float32", "float64", "bfloat16", "int64", "int32", "uint8"))


@given(st.sampled_from(("max", "min", "argmax", "argmin")), shapes_and_dims(dims=(1, 4)), st.data())
@examples(60)
def test_extremes_and_their_places(name, where, data):
    """The first place of equal elements and of NaN."""
    shape, _, keepdim = where
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    dtype = data.draw(KINDS)
    odd = ODD if "float" in dtype else ()
    low, high = (
        data.draw(st.sampled_from(((None, None), (0, 3)))) if "int" in dtype else (None, None)
    )
    x = data.draw(tensors(shape, dtype, low, high, odd=odd))
    if odd and data.draw(st.booleans()):
        x = x.round()
    program = lambda library, t: tuple_of(getattr(library, name)(t, dim, keepdim))  # noqa: E731
    found = on_threads(lambda: program(rushlight, x))
    truth = program(torch, twin(x))
    same(found[0], truth[0])
    if len(truth) > 1:
        same(found[1], truth[1])
    whole = lambda library, t: getattr(library, name)(t)  # noqa: E731
    alike(whole, x)


def tuple_of(value):
    """Results as a tuple, one of one."""
    return tuple(value) if isinstance(value, tuple) else (value,)


@given(st.sampled_from(("any", "all")), shapes_and_dims(least=0), st.data())
@examples(60)
def test_truth(name, where, data):
    shape, axes, keepdim = where
    dtype = data.draw(
        st.sampled_from(("float32", "float64", "int32", "int64", "uint8", "bfloat16"))
    )
    x = data.draw(tensors(shape, dtype, 0, 5))
    if data.draw(st.booleans()):
        x = x * 0 + (1 if name == "all" else 0)
    if data.draw(st.booleans()):
        x = x > 0
    alike(reduction(name, axes, keepdim), x)


@given(st.sampled_from(("sum", "prod", "count_nonzero", "mean")), shapes_and_dims(), st.data())
@examples(60)
def test_integers(name, where, data):
    shape, axes, keepdim = where
    x = data.draw(
        tensors(shape, data.draw(st.sampled_from(("int64", "int32", "uint8", "int8"))), 0, 4)
    )
    if data.draw(st.integers(0, 3)) == 0:
        x = x > 1
    if name == "mean":
        alike(reduction(name, axes, keepdim, dtype=None), x.to(rushlight.float64))
    elif name == "prod":
        dim = data.draw(st.integers(0, len(shape) - 1)) if shape else None
        alike(lambda library, t: library.prod(t, dim) if shape else library.prod(t), x)
    elif name == "count_nonzero":
        alike(lambda library, t: library.count_nonzero(t, dim=axes), x)
    else:
        alike(reduction(name, axes, keepdim), x)


SPECIAL = st.sampled_from(("sum", "mean", "var", "prod", "logsumexp", "vector_norm"))


@given(SPECIAL, shapes_and_dims(), st.data())
@examples(80)
def test_nan_and_infinity(name, where, data):
    shape, axes, keepdim = where
    dtype = data.draw(FLOATS if name not in ("prod", "vector_norm") else WIDE)
    x = data.draw(tensors(shape, dtype, odd=ODD))
    if name == "prod":
        axes, keepdim = (len(shape) - 1 if shape else None), False
    program = reduction(name, axes, keepdim)
    if name == "var" and counted(shape, axes) < 2:
        return
    ours = twin(on_threads(lambda: program(rushlight, x)))
    truth = program(torch, exact(x))
    assert torch.equal(torch.isnan(ours), torch.isnan(truth))
    assert torch.equal(torch.isposinf(ours), torch.isposinf(truth))
    assert torch.equal(torch.isneginf(ours), torch.isneginf(truth))


@given(st.sampled_from(("cumsum", "cumprod", "logcumsumexp")), st.data())
@examples(60)
def test_running_sums(name, data):
    shape = data.draw(extents(st.integers(0, 4), data.draw(AMOUNTS), 0))
    dim = data.draw(st.integers(-len(shape), len(shape) - 1)) if shape else 0
    n, dtype = max(shape[dim] if shape else 1, 1), data.draw(WIDE)
    low, high = (1 - 1 / n, 1 + 1 / n) if name == "cumprod" else (-3.0, 3.0)
    x = data.draw(tensors(shape, dtype, low, high, grad=True))
    program = lambda library, t: getattr(library, name)(t, dim)  # noqa: E731
    found, truth, above = differentiated(program, [x], data, dtype)
    wide = exact(x).detach().abs()
    scale = wide.cumsum(dim) if name == "cumsum" else truth[0].abs() + (name == "logcumsumexp")
    close(found[0], truth[0], scale, 8.0 + (2 * n**0.5 if name != "cumprod" else n))
    tail = above.abs() if not shape else above.abs().flip(dim).cumsum(dim).flip(dim)
    close(found[1], truth[1], 9.0 * tail, 16.0 + (2 * n**0.5 if name != "cumprod" else n))


@given(st.sampled_from(("cummax", "cummin")), st.data())
@examples(60)
def test_running_extremes(name, data):
    shape = data.draw(extents(st.integers(1, 4), data.draw(AMOUNTS), 0))
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    dtype = data.draw(st.sampled_from(("float32", "float64", "int64", "int32")))
    whole = {"low": 0, "high": 5} if "int" in dtype else {"odd": ODD}
    x = data.draw(tensors(shape, dtype, **whole))
    if "float" in dtype and data.draw(st.booleans()):
        x = x.round()
    alike(lambda library, t: tuple(getattr(library, name)(t, dim)), x)


@given(st.sampled_from(("cumsum", "cumprod", "logcumsumexp")), st.data())
@examples(40)
def test_running_sums_of_nan_and_infinity(name, data):
    shape = data.draw(extents(st.integers(1, 3), 1 << 13))
    dim = data.draw(st.integers(0, len(shape) - 1))
    x = data.draw(tensors(shape, "float32", 0.5, 1.5, odd=ODD))
    ours = twin(on_threads(lambda: getattr(rushlight, name)(x, dim)))
    truth = getattr(torch, name)(exact(x), dim)
    assert torch.equal(torch.isnan(ours), torch.isnan(truth))
    assert torch.equal(torch.isneginf(ours), torch.isneginf(truth))


@given(st.data())
@examples(50)
def test_differences_of_neighbours(data):
    shape = data.draw(extents(st.integers(1, 4), data.draw(AMOUNTS)))
    dim = data.draw(st.integers(0, len(shape) - 1))
    dtype, times = data.draw(WIDE), data.draw(st.integers(1, 2))
    x = data.draw(tensors(shape, dtype, grad=True))
    program = lambda library, t: library.diff(t, n=times, dim=dim)  # noqa: E731
    found, truth, above = differentiated(program, [x], data, dtype)
    close(found[0], truth[0], 16.0, 2.0)
    if above.numel():
        close(found[1], truth[1], 4 * above.abs().max(), 2.0)
    assert name_of(found[0]) == dtype


OF_LONG = ("sum", "mean", "var", "std", "amax", "any", "all", "vector_norm", "argmin", "median")
LONG = st.sampled_from(((1 << 18,), ((1 << 18) + 1,), (2, 131_073), (3, 200_001), (524_289,),
                        (17, 16_385), (131_073, 2), (65_537, 9), (40_001, 16)))  # fmt: skip


@given(some(OF_LONG, 3), LONG,
       st.integers(-1, 1), st.data())  # fmt: skip
@examples(12)
def test_long_rows(names, shape, dim, data):
    """Rows and columns that several threads share."""
    x = data.draw(tensors(shape, data.draw(WIDE), 0.0, 2.0))
    axes = None if dim < 0 else (dim % len(shape),)
    for name in names:
        note(name)
        if name in ("var", "std") and counted(shape, axes) < 16:
            continue  # two elements may be equal but for their last bits
        if name in ("any", "all"):
            alike(reduction(name, axes, False), x > (1.999 if name == "any" else 1e-5))
        elif name == "argmin":
            alike(lambda library, t: library.argmin(t, axes and axes[0]), x)
        elif name == "median":
            alike(lambda library, t: library.median(t.flatten(), 0)[0], x)
        elif name == "amax":
            alike(reduction(name, axes, False), x)
        else:
            found = on_threads(lambda name=name: reduction(name, axes, False)(rushlight, x))
            truth = reduction(name, axes, False)(torch, exact(x))
            # PyTorch adds rows of float64 up one after the other, and so do norms of long columns
            few = counted(shape, axes) ** 0.5 if name in ("vector_norm", "std", "var") else 0.0
            close(found, truth, truth.abs(), 12.0 + allowed(shape, axes) + 4.0 * few)
