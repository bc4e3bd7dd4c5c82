"""Gradients of gradients of any shapes and layouts, against PyTorch's in float64."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rushlight

torch = pytest.importorskip("torch")

from agreement import WIDE, each, extents, some, tops  # noqa: E402
from drawn import close, exact, examples, on_threads, tensors  # noqa: E402
from families import size_of  # noqa: E402
from test_attention_heads import by_formula  # noqa: E402
from test_elementwise_shapes import (  # noqa: E402
    ACTIVATIONS,
    BINARY,
    JUMPS,
    ONE,
    UNARY,
    function,
    operands,
)

STEPS = ("floor", "ceil", "round", "trunc", "sign", "sgn")  # their gradients are zeros, no more
# PyTorch's derivatives of them are right in ten digits, or it has no second one.
LEFT_OUT = ("digamma", "lgamma", "hardsigmoid")
GATES = ("mish", "silu", "gelu")
SMOOTH = tuple(name for name in ONE if name not in (*STEPS, *LEFT_OUT))
PAIRS = tuple(name for name in BINARY if name not in (*JUMPS, "copysign"))


def second(library, program, given, top, weights):
    """Gradients of arguments and of ``top``, of the sum of the program's gradients times weights;
    None where there is none."""
    top = top.detach().requires_grad_()
    leaves = [t for t in given if isinstance(t, library.Tensor) and t.requires_grad]
    first = library.autograd.grad(program(library, *given), leaves, top, create_graph=True)
    return library.autograd.grad(first, [*leaves, top], weights, allow_unused=True)


def compared(program, given, data, dtype):
    """Second gradients of rushlight and the truth, pair by pair (None: zeros), the gradient that
    came in and the weights of first gradients, in float64."""
    wide = [exact(t) if isinstance(t, rushlight.Tensor) else t for t in given]
    shape = tuple(program(torch, *wide).shape)
    top = data.draw(tops(shape, dtype))
    leaves = [t for t in given if isinstance(t, rushlight.Tensor) and t.requires_grad]
    weights = [data.draw(tensors(tuple(t.shape), dtype)) for t in leaves]

    def run():
        found = second(rushlight, program, given, top, weights)
        beside = [*leaves, top]
        return [rushlight.zeros_like(t) if g is None else g
                for g, t in zip(found, beside, strict=True)]  # fmt: skip

    found = on_threads(run)
    above, into = exact(top), [exact(w) for w in weights]
    truth = second(torch, program, wide, above, into)
    truth = [torch.zeros(tuple(g.shape), dtype=torch.float64) if t is None else t.detach()
             for g, t in zip(found, truth, strict=True)]  # fmt: skip
    return list(zip(found, truth, strict=True)), above, into


def try_one_argument(name, data):
    dtype, bounds = data.draw(WIDE), {**UNARY, **ACTIVATIONS}[name]
    shape = data.draw(extents(st.integers(0, 4), least=0))
    x = data.draw(tensors(shape, dtype, *bounds, grad=True))
    pairs, above, (weight,) = compared(function(name), [x], data, dtype)
    # gates multiply what is left of a difference with the argument
    size = 1.0 + exact(x).detach().abs() if name in GATES else 1.0
    for (ours, right), factor in zip(pairs, (above, 1.0), strict=True):
        close(ours, right, right.abs() + (weight * factor * size).abs(), 64.0)


@given(some(SMOOTH), st.data())
@examples(8)
def test_one_argument(names, data):
    each(names, data, try_one_argument)


def try_two_arguments(name, data):
    dtype, bounds = data.draw(WIDE), BINARY[name]
    a, b = data.draw(operands(*bounds, dtype))
    pairs, above, weights = compared(function(name), [a, b], data, dtype)
    size, most = size_of(above), sum(map(size_of, weights))
    for (ours, right), factor in zip(pairs, (size, size, 1.0), strict=True):
        terms = max(1, above.numel() // max(1, right.numel()))
        # sums over what was repeated, of terms as large as second derivatives get here
        scale = right.abs() + 40.0 * most * factor * terms**0.5 + 1e-30
        close(ours, right, scale, 32.0 + terms**0.5)


@given(some(PAIRS), st.data())
@examples(12)
def test_two_arguments(names, data):
    each(names, data, try_two_arguments)


def leaf(data, shape, dtype, *bounds):
    """A tensor of a shape that gets a gradient."""
    return data.draw(tensors(tuple(shape), dtype, *bounds, grad=True))


def products(data, dtype):
    """Matrices, batches of them that broadcast, vectors."""
    n, k, m = (data.draw(st.integers(1, 24)) for _ in "nkm")
    lead = data.draw(st.sampled_from((((), ()), ((3,), (3,)), ((2, 1), (3,)), ((4,), ()))))
    left, right = (*lead[0], n, k), (*lead[1], k, m)
    kind = data.draw(st.integers(0, 3))
    left, right = ((k,), right) if kind == 1 else (left, (k,)) if kind == 2 else (left, right)
    return (lambda lib, a, b: lib.matmul(a, b)), [leaf(data, left, dtype), leaf(data, right, dtype)]


def linear(data, dtype):
    """Dense layers with an activation behind, of rows and sequences."""
    lead = data.draw(st.sampled_from(((5,), (2, 7), (33,))))
    inner, outer = (data.draw(st.integers(1, 40)) for _ in "io")
    given = [leaf(data, (*lead, inner), dtype), leaf(data, (outer, inner), dtype),
             leaf(data, (outer,), dtype)]  # fmt: skip
    return (lambda lib, x, w, b: lib.nn.functional.linear(x, w, b).tanh()), given


def convolution(data, dtype):
    """One or two dims; strides, padding, dilation, groups; transposed too."""
    dims, groups = data.draw(st.integers(1, 2)), data.draw(st.sampled_from((1, 1, 2)))
    stride, padding, dilation = (data.draw(st.integers(*b)) for b in ((1, 2), (0, 1), (1, 2)))
    kernel = data.draw(st.sampled_from((1, 2, 3)))
    size = [data.draw(st.integers(5, 9)) for _ in range(dims)]
    n, c, out = data.draw(st.integers(1, 2)), *(data.draw(st.integers(1, 3)) * groups for _ in "co")
    is_transposed = data.draw(st.booleans())
    shape = (c, out // groups) if is_transposed else (out, c // groups)
    given = [leaf(data, (n, c, *size), dtype), leaf(data, (*shape, *[kernel] * dims), dtype),
             leaf(data, (out,), dtype)]  # fmt: skip
    name = f"conv{'_transpose' if is_transposed else ''}{dims}d"
    more = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return (lambda lib, x, w, b: getattr(lib.nn.functional, name)(x, w, b, **more)), given


def softmax(data, dtype):
    """Softmax and its logarithm over a dim."""
    name = data.draw(st.sampled_from(("softmax", "log_softmax")))
    shape = data.draw(extents(st.integers(1, 3), 1 << 10))
    dim = data.draw(st.integers(0, len(shape) - 1))
    return (lambda lib, x: getattr(lib, name)(x, dim)), [leaf(data, shape, dtype, -3.0, 3.0)]


def reduction(data, dtype):
    """Sums, products, deviations and norms over dims."""
    shape = data.draw(extents(st.integers(1, 3), 1 << 8))
    dim = data.draw(st.integers(0, len(shape) - 1))
    names = ["sum", "mean", "prod", "logsumexp", "cumsum", "cumprod", "amax", "norm", "nansum"]
    names += ["var", "std"] if shape[dim] > 2 else []
    name = data.draw(st.sampled_from(names))
    low, high = (0.8, 1.2) if name in ("prod", "cumprod") else (0.3, 2.0)
    return (lambda lib, x: getattr(lib, name)(x, dim=dim)), [leaf(data, shape, dtype, low, high)]


def normalization(data, dtype):
    """Batches in training, groups, rows."""
    n, c = data.draw(st.integers(2, 4)), data.draw(st.sampled_from((2, 4, 6)))
    *inner, last = data.draw(extents(st.integers(1, 2), 1 << 6))
    # deviations of a few are small at times, and second gradients very large
    shape = (n, c, *inner, max(last, 4))
    name = data.draw(st.sampled_from(("batch_norm", "group_norm", "layer_norm", "rms_norm")))
    count = shape[-1:] if name in ("layer_norm", "rms_norm") else (c,)
    given = [leaf(data, shape, dtype), leaf(data, count, dtype), leaf(data, count, dtype)]

    def program(lib, x, w, b):
        call = getattr(lib.nn.functional, name)
        x = x + 2.0 * (lib.arange(x.numel()) % 3 - 1).reshape(x.shape)  # never nearly constant
        if name == "batch_norm":
            return call(x, None, None, w, b, True)
        if name == "group_norm":
            return call(x, 2, w, b)
        return call(x, count, w, b) if name == "layer_norm" else call(x, count, w) + b

    return program, given


def losses(data, dtype):
    """Losses of classes, and of pairs."""
    shape, name = data.draw(extents(2, 1 << 10)), data.draw(st.sampled_from((
        "cross_entropy", "mse_loss", "smooth_l1_loss", "huber_loss", "kl_div",
        "binary_cross_entropy_with_logits", "soft_margin_loss")))  # fmt: skip
    usual = "batchmean" if name == "kl_div" else "mean"
    more = {"reduction": data.draw(st.sampled_from((usual, "sum", "none")))}
    if name == "cross_entropy":
        target = data.draw(tensors(shape[:1], "int64", 0, shape[1])).clone()
        more["label_smoothing"] = data.draw(st.sampled_from((0.0, 0.1)))
    else:
        target = data.draw(tensors(shape, dtype, 0.1, 0.9))
    call = lambda lib, x, t: getattr(lib.nn.functional, name)(x, t, **more)  # noqa: E731
    return call, [leaf(data, shape, dtype, -3.0, 3.0), target]


def windows(data, dtype):
    """Pooling, resampling, padding of images."""
    shape = [data.draw(st.integers(*bounds)) for bounds in ((1, 3), (1, 3), (4, 9), (4, 9))]
    kinds = {
        "max_pool2d": lambda f, x: f.max_pool2d(x, 3, 2, 1),
        "avg_pool2d": lambda f, x: f.avg_pool2d(x, 2, 1),
        "adaptive_avg_pool2d": lambda f, x: f.adaptive_avg_pool2d(x, 3),
        "lp_pool2d": lambda f, x: f.lp_pool2d(x, 2.0, 2),
        "interpolate": lambda f, x: f.interpolate(x, scale_factor=1.5, mode="bilinear"),
        "pad": lambda f, x: f.pad(x, (1, 2, 2, 1), mode="reflect"),
        "unfold": lambda f, x: f.unfold(x, 2, 1, 1, 2),
    }
    kind = kinds[data.draw(st.sampled_from(tuple(kinds)))]
    return (lambda lib, x: kind(lib.nn.functional, x * x)), [leaf(data, shape, dtype, 0.5, 2.0)]


def moved(data, dtype):
    """Slices, joined and repeated pieces, elements at indices."""
    rows, width = data.draw(st.integers(2, 30)), data.draw(st.integers(1, 40))
    x, y = (leaf(data, (rows, width), dtype) for _ in "xy")
    index = data.draw(tensors((data.draw(st.integers(1, 50)),), "int64", 0, rows)).clone()
    kinds = (
        lambda lib, a, b, i: lib.cat([a[1:], b, a.T.reshape(-1, width)], 0),
        lambda lib, a, b, i: lib.nn.functional.embedding(i, a) * b[i],
        lambda lib, a, b, i: a.index_select(0, i).exp() + b.index_select(0, i),
        lambda lib, a, b, i: a.index_add(0, i, b[i] * a[i]),
        lambda lib, a, b, i: lib.where(a > b, a * b, a.flip(1)),
        lambda lib, a, b, i: lib.einsum("ij,kj->ik", a, b[:1]).expand(-1, 3) * a[:, :1],
        lambda lib, a, b, i: lib.stack([a * b, a.roll(1, 0) * b], 2),
    )
    return data.draw(st.sampled_from(kinds)), [x, y, index]


def attention(data, dtype):
    """Heads with and without a causal mask."""
    n, h, length, width = (data.draw(st.integers(1, most)) for most in (2, 3, 20, 16))
    causal = data.draw(st.booleans())
    given = [leaf(data, (n, h, length, width), dtype) for _ in "qkv"]

    def program(lib, q, k, v):
        if lib is rushlight:
            return lib.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return by_formula(q, k, v, causal)

    return program, given


FAMILIES = {f.__name__: f for f in (
    products, linear, convolution, softmax, reduction, normalization, losses, windows, moved,
    attention)}  # fmt: skip


@given(st.sampled_from(tuple(FAMILIES)), st.data())
@examples(150)
def test_families(name, data):
    """Sums of a few hundred products: errors are small beside the largest second gradient."""
    dtype = data.draw(WIDE)
    program, given = FAMILIES[name](data, dtype)
    pairs, above, _ = compared(program, given, data, dtype)
    for ours, right in pairs:
        close(ours, right, size_of(right) + size_of(above), 512.0)
