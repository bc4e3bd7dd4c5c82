"""Attention kernels against float64: odd sizes, strides, masks, shared heads, blind rows."""

import numpy as np
import pytest

import rushlight
from rushlight.kernels.attention import products as attention
from rushlight.kernels.gemm import matrix_units
from rushlight.machine import threads

# B, heads, heads of keys, L, S, E, V
SHAPES = {
    "small": (2, 3, 3, 5, 7, 4, 4),
    "one": (1, 1, 1, 1, 1, 1, 1),
    "blocks": (1, 2, 2, 200, 190, 32, 32),
    "one more": (2, 4, 4, 65, 65, 64, 64),
    "long": (1, 1, 1, 40, 3000, 16, 16),
    "shared": (2, 6, 2, 33, 40, 24, 24),
    "wide values": (2, 2, 1, 30, 31, 17, 45),
    "more queries": (1, 2, 2, 100, 37, 40, 8),
    "one query": (2, 4, 4, 1, 41, 32, 32),
    "one query, long": (1, 2, 2, 1, 3000, 64, 50),
    "one query, shared": (2, 8, 2, 1, 300, 24, 40),
    "one query, shared by many": (1, 18, 2, 1, 50, 16, 16),
    "few queries": (1, 4, 2, 3, 130, 33, 17),
    "strips": (1, 4, 2, 270, 140, 70, 66),
}
KINDS = ("plain", "causal", "mask", "row mask")


@pytest.fixture(params=[True, False], ids=["matrix units", "vector units"])
def units(request, monkeypatch):
    """Plans for matrix units where there are any, and without."""
    if not request.param:
        monkeypatch.setattr(matrix_units, "available", lambda: False)
    elif not matrix_units.available():
        pytest.skip("this processor has no matrix units")
    monkeypatch.setattr(attention, "_plans", type(attention._plans)())


def problem(rng, name, strided):
    b, h, g, n, s, e, v = SHAPES[name]

    def make(heads, length, width):
        if strided:  # as split projections come: heads side by side, with others between
            big = np.full((b, length, heads, width + 5), np.nan, np.float32)
            view = big[..., :width].transpose(0, 2, 1, 3)
            view[...] = rng.standard_normal(view.shape)
            return view
        return rng.standard_normal((b, heads, length, width)).astype(np.float32)

    return make(h, n, e), make(g, s, e), make(g, s, v), make(h, n, v)


def mask_of(rng, kind, shape):
    b, h, n, s = shape
    if kind == "mask":
        return rng.standard_normal((b, h, n, s)).astype(np.float32)
    if kind == "row mask":
        mask = np.where(rng.random((b, 1, n, s)) < 0.3, -np.inf, 0).astype(np.float32)
        mask[0, 0, 0] = -np.inf  # this row sees nothing
        return mask
    return None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_against_float64(rng, units, name, strided, kind):
    q, k, v, grad = problem(rng, name, strided)
    mask, causal = mask_of(rng, kind, (*q.shape[:3], k.shape[2])), kind == "causal"
    scale = q.shape[-1] ** -0.5
    out, sums = attention.attention_forward(q, k, v, mask, causal, scale)
    want, want_sums = attention.attention_forward.reference(q, k, v, mask, causal, scale)
    assert out.dtype == np.float32 and out.shape == want.shape
    assert np.allclose(out, want, atol=3e-6)
    assert np.allclose(sums, want_sums, rtol=1e-5, atol=1e-5)
    found = attention.attention_backward(grad, q, k, v, mask, out, sums, causal, scale)
    wanted = attention.attention_backward.reference(
        grad, q, k, v, mask, want, want_sums, causal, scale
    )
    for got, right in zip(found, wanted, strict=True):
        assert got.shape == right.shape
        assert np.allclose(got, right, atol=2e-5 * max(1, np.abs(right).max()))


@pytest.mark.parametrize("name", ["blocks", "shared", "strips", "one query, long", "few queries"])
@pytest.mark.parametrize("causal", [False, True])
def test_same_bits_for_any_number_of_threads(rng, units, name, causal):
    q, k, v, grad = problem(rng, name, True)
    results = []
    before = threads.get_num_threads()
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            out, sums = attention.attention_forward(q, k, v, None, causal, 0.3)
            back = attention.attention_backward(grad, q, k, v, None, out, sums, causal, 0.3)
            results.append([a.tobytes() for a in (out, sums, *back)])
    finally:
        threads.set_num_threads(before)
    assert results[0] == results[1] == results[2]


def test_nothing_to_look_at(rng):
    q, k, v, grad = problem(rng, "small", False)
    out, sums = attention.attention_forward(q, k[:, :, :0], v[:, :, :0], None, False, 1.0)
    assert not out.any() and np.isinf(sums).all()
    dq, dk, dv = attention.attention_backward(
        grad, q, k[:, :, :0], v[:, :, :0], None, out, sums, False, 1.0
    )
    assert not dq.any() and dk.size == dv.size == 0


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 3, 33, 16), (2, 3, 33, 16)),
        ((1, 4, 70, 8), (1, 2, 45, 8)),
        ((1, 2, 150, 64), (1, 1, 131, 64)),
    ],
)
def test_dropout(rng, units, causal, shapes):
    """Probabilities multiplied by given factors, both ways."""
    query, key, value, grad = (
        rng.standard_normal(shapes[i]).astype(np.float32) for i in (0, 1, 1, 0)
    )
    heads, rows = shapes[0][1], (*shapes[0][:3], shapes[1][2])
    kept = (rng.random(rows) < 0.7).astype(np.float32) / 0.7
    mask = rng.standard_normal(rows).astype(np.float32) if heads == 3 else None
    out, sums = attention.attention_forward(query, key, value, mask, causal, 0.3, kept)
    exact, exact_sums = attention._forward_reference(
        *(a.astype(np.float64) for a in (query, key, value)), mask, causal, 0.3, kept
    )
    np.testing.assert_allclose(out, exact, rtol=1e-5, atol=2e-6)
    np.testing.assert_allclose(sums, exact_sums, rtol=1e-5, atol=2e-6)
    found = attention.attention_backward(
        grad, query, key, value, mask, out, sums, causal, 0.3, kept
    )
    wide = [a.astype(np.float64) for a in (grad, query, key, value)]
    expected = attention._backward_reference(*wide, mask, exact, exact_sums, causal, 0.3, kept)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("extreme", [3e38, 1e-30, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", [0, 1, 2, 3])
def test_values_that_cannot_be_split(rng, units, extreme, which):
    """Infinities, NaN and the ends of float32 stay in the heads they are in."""
    arrays = list(problem(rng, "strips", False))
    if extreme == 1e-30:
        arrays[which] *= np.float32(extreme)
        heads, owners = slice(None), slice(None)
    else:
        arrays[which][0, 1, 5, 7] = extreme
        heads, owners = ([0, 2, 3], 1) if which in (0, 3) else ([0, 1], 0)
    q, k, v, grad = arrays
    attend = attention.attention_forward, attention.attention_backward
    out, sums = attend[0](q, k, v, None, False, 0.1)
    back = attend[1](grad, q, k, v, None, out, sums, False, 0.1)
    with np.errstate(all="ignore"):
        want, more = attend[0].reference(q, k, v, None, False, 0.1)
        right = attend[1].reference(grad, q, k, v, None, want, more, False, 0.1)
    found = [(out, want, heads), *zip(back, right, (heads, owners, owners), strict=True)]
    for got, wanted, clean in found:
        got, wanted = got[:, clean], wanted[:, clean]
        assert np.allclose(got, wanted, rtol=1e-4, atol=2e-5 * np.abs(wanted).max())
    if which == 2 and extreme != 1e-30:  # where a value of V goes, and nowhere else
        spoilt = ~np.isfinite(want) if extreme != 3e38 else np.abs(want) > 1e30
        assert np.array_equal(~np.isfinite(out) | (np.abs(out) > 1e30), spoilt) and spoilt.any()


@pytest.mark.parametrize(("dtype", "bits"), [("bfloat16", 8), ("float16", 11)])
@pytest.mark.parametrize("shape", [(1, 2, 128, 64), (2, 3, 200, 40), (1, 1, 130, 130)])
@pytest.mark.parametrize("causal", [False, True])
def test_operands_of_low_precision(shape, dtype, bits, causal):
    """Within what rounding the probabilities and the result to the dtype does, against float64."""
    draws = np.random.default_rng(0)
    kind = getattr(rushlight, dtype)
    low = [rushlight.tensor(1.5 * draws.standard_normal(shape)).to(kind) for _ in range(3)]
    q, k, v = (x.double().numpy() for x in low)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(shape[-1])
    if causal:
        scores = np.where(np.tri(shape[2], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    found = rushlight.nn.functional.scaled_dot_product_attention(*low, is_causal=causal)
    assert found.dtype is kind
    error, expected = np.abs(found.double().numpy() - weights @ v), np.abs(weights @ v)
    allowed = 2.0**-bits * (expected + weights @ np.abs(v)) + 1e-6
    assert (error <= 1.05 * allowed).all()
    assert np.sqrt((error**2).mean()) < 0.4 * np.sqrt((allowed**2).mean())


def test_gradients_of_operands_of_low_precision():
    draws = np.random.default_rng(1)
    arrays = [draws.standard_normal((1, 2, 160, 64)) for _ in range(3)]
    low = [rushlight.tensor(a).bfloat16().requires_grad_() for a in arrays]
    exact = [x.detach().double().requires_grad_() for x in low]
    grad = rushlight.tensor(draws.standard_normal((1, 2, 160, 64)))
    attend = rushlight.nn.functional.scaled_dot_product_attention
    attend(*low).backward(grad.bfloat16())
    attend(*exact).backward(grad.bfloat16().double())
    for ours, wanted in zip(low, exact, strict=True):
        difference = ours.grad.double() - wanted.grad
        assert difference.norm() < 2.0**-7 * wanted.grad.norm()
