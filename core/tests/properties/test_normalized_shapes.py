"""Normalizations of any sizes and layouts, in training and evaluation, against float64."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rushlight

torch = pytest.importorskip("torch")

from agreement import FLOATS, ODD, differentiated, extents, is_low, twin  # noqa: E402
from drawn import close, exact, examples, on_threads, tensors  # noqa: E402

AMOUNTS = st.sampled_from((1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18))
EPS = st.sampled_from((1e-5, 1e-5, 1e-3))


@st.composite
def planes(draw, least_count=2):
    """(N, C, ...) with planes around 25 elements, which is where kernels change, or others."""
    dims = draw(st.integers(0, 3))
    n, c = draw(extents(2, 1 << 9))
    inner = draw(st.one_of(extents(dims, 2000), st.sampled_from(((5, 5), (13, 2), (3, 8), (27,)))))
    while n * c * math.prod(inner) > 1 << 18:
        n, c = max(1, n // 3), max(1, c // 2)
    if n * math.prod(inner) < least_count:
        n = least_count
    return n, c, *inner


def dtype_for(data, terms):
    """A dtype in which so many terms of a few units add up to a number."""
    dtype = data.draw(FLOATS)
    return "bfloat16" if dtype == "float16" and terms > 4000 else dtype


def given_rows(data, count, dtype, forms=("none", "both", "weight")):
    """Weight and bias of so many elements, or None."""
    form = data.draw(st.sampled_from(forms))
    weight = None if form == "none" else data.draw(tensors((count,), dtype, 0.5, 1.5, grad=True))
    bias = data.draw(tensors((count,), dtype, grad=True)) if form == "both" else None
    return weight, bias


def judge(found, truth, above, terms, dtype, centre=0.0):
    """Results within roundings of their own size; sums within those of their terms, and of the
    mean that all terms lack."""
    few = 3.0 if is_low(dtype) else 24.0
    close(found[0], truth[0], truth[0].abs() + 4.0, few)
    most = float(above.abs().max()) if above.numel() else 0.0
    close(found[1], truth[1], truth[1].abs().max() + 4.0 * most, 2 * few)
    for ours, right in zip(found[2:], truth[2:], strict=True):
        walk = most * (4.0 * max(1, terms) ** 0.5 + terms * centre / 8)
        close(ours, right, right.abs() + walk, few + min(terms, 4096) ** 0.5 / 2)


def channels_last(x):
    """A tensor in the layout of its channels last, if it has one."""
    kinds = {4: rushlight.channels_last, 5: rushlight.channels_last_3d}
    return x.contiguous(memory_format=kinds[x.dim()]) if x.dim() in kinds else x


def trained(x, weight, bias, mean, var, momentum, eps):
    """Batch normalization by its definition, which adds up in pairs, and the statistics kept."""
    dims, shape = (0, *range(2, x.dim())), (1, -1, *[1] * (x.dim() - 2))
    centre = x.mean(dims, keepdim=True)
    spread = ((x - centre) ** 2).mean(dims, keepdim=True)
    out = (x - centre) / (spread + eps).sqrt()
    out = out if weight is None else out * weight.reshape(shape)
    out = out if bias is None else out + bias.reshape(shape)
    if mean is None:
        return out, None, None
    count = x.numel() // x.shape[1]
    new = centre.flatten(), spread.flatten() * count / (count - 1)
    pairs = zip((mean, var), new, strict=True)
    return out, *[old * (1 - momentum) + momentum * value.detach() for old, value in pairs]


@given(planes(), st.booleans(), st.data())
@examples(35)
def test_batches(shape, training, data):
    """Batch normalization, its running statistics, and by given ones."""
    terms, eps = shape[0] * math.prod(shape[2:]), data.draw(EPS)
    dtype = dtype_for(data, terms)
    centre = data.draw(st.sampled_from((0.0, 5.0)))
    x = data.draw(tensors(shape, dtype, centre - 2, centre + 2, grad=True))
    if data.draw(st.booleans()):
        x = channels_last(x.detach()).requires_grad_()
    rows = "float32" if is_low(dtype) and data.draw(st.booleans()) else dtype
    weight, bias = given_rows(data, shape[1], rows)
    before = [data.draw(tensors((shape[1],), rows, 0.5, 1.5)) for _ in range(2)]
    kept = training and data.draw(st.booleans())
    momentum = data.draw(st.sampled_from((0.1, 0.1, 0.5)))

    def program(library, t, w, b, mean, var):
        mean, var = (None, None) if training and not kept else (mean.clone(), var.clone())
        if library is torch and training:
            out, *program.statistics = trained(t, w, b, mean, var, momentum, eps)
            return out
        out = library.nn.functional.batch_norm(t, mean, var, w, b, training, momentum, eps)
        program.statistics = mean, var
        return out

    given = [x, weight, bias, *before]
    found, truth, above = differentiated(program, given, data, dtype)
    least = float(exact(x).detach().var((0, *range(2, x.dim())), correction=0).min())
    if training and least < 0.05:
        return  # deviations so small make gradients as large as they like
    judge(found, truth, above, terms, dtype, centre)
    if kept:
        program(rushlight, *given)
        ours = program.statistics
        program(torch, *[exact(t) if t is not None else None for t in given])
        for a, b in zip(ours, program.statistics, strict=True):
            few = 3.0 if is_low(rows) else 12.0 + min(terms, 4096) ** 0.5 / 2
            close(a, b, b.abs() + centre, few)


def spread_enough(x, dims):
    """Whether deviations over dims are so large that gradients are moderate."""
    return float(exact(x).detach().var(dims, correction=0).min()) > 0.05


def reshaped(row, shape):
    """A leaf of another shape, or None."""
    return None if row is None else row.detach().reshape(shape).requires_grad_()


def rows_normalized(x, dims, weight, bias=None, *, eps, centred):
    """Layer or RMS normalization by its definition: its gradient loses fewer digits."""
    x = x - x.mean(dims, keepdim=True) if centred else x
    out = x / ((x * x).mean(dims, keepdim=True) + eps).sqrt()
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


@given(st.sampled_from(("layer_norm", "rms_norm")), st.data())
@examples(60)
def test_rows(name, data):
    shape = data.draw(extents(st.integers(1, 4), data.draw(AMOUNTS)))
    last = data.draw(st.integers(1, len(shape)))
    normalized, eps = shape[-last:], data.draw(EPS)
    dtype = dtype_for(data, math.prod(shape[:-last]))
    n = math.prod(normalized)
    x = data.draw(tensors(shape, dtype, -2.0, 3.0, grad=True))
    rows = (
        "float32" if is_low(dtype) and name == "layer_norm" and data.draw(st.booleans()) else dtype
    )
    forms = ("none", "both", "weight") if name == "layer_norm" else ("none", "weight")
    weight, bias = given_rows(data, n, rows, forms)
    weight, bias = (reshaped(t, normalized) for t in (weight, bias))
    dims = tuple(range(-last, 0))
    if n == 1 and name == "layer_norm" or not spread_enough(x, dims) and n > 1:
        return
    if name == "rms_norm" and float((exact(x).detach() ** 2).mean(dims).min()) < 0.05:
        return

    def program(library, t, w, *b):
        if library is torch:
            return rows_normalized(t, dims, w, *b, eps=eps, centred=name == "layer_norm")
        return getattr(library.nn.functional, name)(t, normalized, w, *b, eps=eps)

    given = [x, weight] + ([bias] if name == "layer_norm" else [])
    found, truth, above = differentiated(program, given, data, dtype)
    judge(found, truth, above, x.numel() // n, dtype)


@given(planes(1), st.data())
@examples(45)
def test_groups(shape, data):
    """Group normalization, and that of every channel of every image."""
    dtype, eps, c = dtype_for(data, math.prod(shape) // shape[1]), data.draw(EPS), shape[1]
    instance = len(shape) > 2 and data.draw(st.integers(0, 2)) == 0
    groups = data.draw(st.sampled_from([g for g in range(1, c + 1) if c % g == 0]))
    per = math.prod(shape[2:]) * (1 if instance else c // groups)
    x = data.draw(tensors(shape, dtype, -2.0, 3.0, grad=True))
    if data.draw(st.booleans()):
        x = channels_last(x.detach()).requires_grad_()
    weight, bias = given_rows(data, c, dtype)
    wide = exact(x).detach().reshape(shape[0] * c if instance else shape[0] * groups, -1)
    if per < 2 or float(wide.var(1, correction=0).min()) < 0.05:
        return

    def program(library, t, w, b):
        if instance:
            return library.nn.functional.instance_norm(t, weight=w, bias=b, eps=eps)
        return library.nn.functional.group_norm(t, groups, w, b, eps)

    found, truth, above = differentiated(program, [x, weight, bias], data, dtype)
    judge(found, truth, above, x.numel() // c, dtype)


@given(st.sampled_from(("layer_norm", "rms_norm", "group_norm", "batch_norm")), st.data())
@examples(60)
def test_nan_and_infinity(name, data):
    """NaN and infinities stay in their rows, groups and channels."""
    shape = data.draw(extents(st.just(3), 1 << 12, 2))
    x = data.draw(tensors(shape, data.draw(FLOATS), odd=ODD))

    def program(library, t):
        call = getattr(library.nn.functional, name)
        if name == "batch_norm":
            return call(t, None, None, training=True)
        return call(t, 1) if name == "group_norm" else call(t, tuple(t.shape[-1:]))

    ours = twin(on_threads(lambda: program(rushlight, x)))
    truth = program(torch, exact(x))
    assert torch.equal(torch.isnan(ours), torch.isnan(truth))
    assert not torch.isinf(ours).any()


@given(st.sampled_from(("normalize", "cosine_similarity", "local_response_norm")), st.data())
@examples(50)
def test_vectors(name, data):
    shape = data.draw(extents(st.integers(2, 4), 1 << 13))
    dim = 1 if name == "local_response_norm" else data.draw(st.integers(0, len(shape) - 1))
    dtype = data.draw(st.sampled_from(("float32", "float64")))
    x, y = (data.draw(tensors(shape, dtype, 0.5, 2.0, grad=True)) for _ in range(2))

    def program(library, a, b):
        call = getattr(library.nn.functional, name)
        if name == "cosine_similarity":
            return call(a, b, dim)
        return (call(a, 5) if name == "local_response_norm" else call(a, dim=dim)) * b

    if name == "local_response_norm" and len(shape) < 3:
        return
    found, truth, above = differentiated(program, [x, y], data, dtype)
    n = shape[dim]
    close(found[0], truth[0], truth[0].abs(), 16.0 + n**0.5)
    most = float(above.abs().max())
    for ours, right in zip(found[1:], truth[1:], strict=True):
        close(ours, right, 6.0 * most + right.abs(), 24.0 + n**0.5)


@given(st.data())
@examples(60)
def test_renorm(data):
    """Slices along a dim whose norms are too large become shorter, the others stay."""
    shape = data.draw(extents(st.integers(2, 4), data.draw(AMOUNTS)))
    dim, dtype = data.draw(st.integers(-len(shape), len(shape) - 1)), data.draw(FLOATS)
    order = data.draw(st.sampled_from((1.0, 2.0, 2.0, 3.0, float("inf"))))
    x = data.draw(tensors(shape, dtype, 0.3, 2.0, grad=True))
    terms = x.numel() // shape[dim]
    others = tuple(d for d in range(len(shape)) if d != dim % len(shape))
    norms = torch.linalg.vector_norm(exact(x).detach(), order, others)
    most = float(norms.median()) * data.draw(st.sampled_from((0.01, 0.9, 1.0, 3.0)))
    if bool(((norms / most - 1).abs() < 1e-4).any()):
        return  # float32 and float64 may see such a norm on either side
    found, truth, above = differentiated(
        lambda library, t: library.renorm(t, order, dim, most), [x], data, dtype
    )
    few = 3.0 if is_low(dtype) else 12.0 + min(terms, 4096) ** 0.5
    close(found[0], truth[0], truth[0].abs(), few)
    # what a slice's gradient lacks is a part of the sum of all its elements
    parts = terms if order == float("inf") else 4.0
    close(found[1], truth[1], truth[1].abs() + parts * float(above.abs().max()), 2 * few)
