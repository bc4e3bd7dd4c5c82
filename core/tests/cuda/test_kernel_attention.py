"""Attention kernels on the emulator, against formulas in float64."""

import numpy as np
import pytest
from kernel_cases import BFLOAT16, FLOATS, both_orders, close, on_device, on_host, wide

from rushlight.kernels.attention import cuda as attention
from rushlight.machine import determinism

# batch, heads, heads of keys, queries, keys, width, width of values
CASES = [
    (2, 2, 2, 5, 5, 8, 8),
    (1, 4, 2, 33, 40, 33, 20),
    (1, 1, 1, 70, 65, 64, 64),
    (1, 2, 1, 3, 37, 128, 128),
    (1, 2, 1, 130, 128, 32, 32),  # cuDNN's on a device
]


def reference(q, k, v, mask, causal, scale, grad, kept=1):
    """Result, logarithms of sums and gradients; heads of keys are repeated. `kept`: what dropout
    multiplies the probabilities by."""
    q, k, v, grad = map(wide, (q, k, v, grad))
    many = q.shape[1] // k.shape[1]
    kk, vv = (np.repeat(a, many, 1) for a in (k, v))
    scores = q @ kk.swapaxes(2, 3) * scale
    if mask is not None:
        scores = scores + wide(mask)
    if causal:
        scores = np.where(np.tri(*scores.shape[2:], dtype=bool), scores, -np.inf)
    best = scores.max(3, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        e = np.where(scores == -np.inf, 0, np.exp(scores - best))
        total = e.sum(3, keepdims=True)
        p = np.where(total == 0, 0, e / total)
        sums = np.where(total == 0, np.inf, best + np.log(total))[..., 0]
    out = (p * kept) @ vv
    dp = grad @ vv.swapaxes(2, 3) * kept
    ds = p * (dp - (grad * out).sum(3, keepdims=True)) * scale
    dk, dv = ds.swapaxes(2, 3) @ q, (p * kept).swapaxes(2, 3) @ grad
    fold = lambda a: a.reshape(a.shape[0], -1, many, *a.shape[2:]).sum(2)  # noqa: E731
    return out, sums, ds @ kk, fold(dk), fold(dv)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("kind", ["full", "causal", "masked"])
def test_attention(case, kind, dtype, monkeypatch):
    monkeypatch.setattr(determinism, "asked", [True, False])  # bits are compared
    batch, heads, shared, queries, keys, width, values = case
    generator = np.random.default_rng(0)
    draw = lambda *shape: generator.standard_normal(shape).astype(dtype)  # noqa: E731
    q, k = draw(batch, queries, heads, width), draw(batch, shared, keys, width)
    v, grad = draw(batch, shared, keys, values), draw(batch, heads, queries, values)
    mask = None
    if kind == "masked":
        mask = generator.standard_normal((1, heads, queries, keys)).astype(np.float32)
        mask[mask < -1] = -np.inf
        mask[0, 0, 1] = -np.inf  # a row that sees nothing
    rest = (kind == "causal", 0.3)
    memory, q = q, q.transpose(0, 2, 1, 3)  # (B, L, H, E) in memory
    place = lambda: on_device(memory).transpose(0, 2, 1, 3)  # noqa: E731
    found = both_orders(
        lambda: attention.attention_forward(place(), *map(on_device, (k, v, mask)), *rest)
    )
    expected = reference(q, k, v, mask, *rest, grad)
    close(found[0], expected[0], dtype, 2)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-5, atol=1e-5)
    got = both_orders(
        lambda: attention.attention_backward(
            on_device(grad), place(), *map(on_device, (k, v, mask, found[0], found[1])), *rest
        )
    )
    for a, b in zip(got, expected[2:], strict=True):
        close(a, b, dtype, 6)


@pytest.mark.parametrize("dtype", [BFLOAT16, np.dtype(np.float16)], ids=str)
@pytest.mark.parametrize("cores", [True, False])
def test_low_precision_with_and_without_tensor_cores(dtype, cores, monkeypatch):
    monkeypatch.setattr(attention, "on_tensor_cores", lambda query: cores)
    test_attention((1, 2, 1, 70, 66, 40, 33), "causal", dtype, monkeypatch)


def test_nothing_to_look_at():
    q, k = np.ones((1, 1, 2, 4), np.float32), np.ones((1, 1, 0, 4), np.float32)
    out, sums = both_orders(lambda: attention.attention_forward(
        on_device(q), on_device(k), on_device(k), None, False, 1.0))  # fmt: skip
    assert not out.any() and np.isinf(sums).all()
    got = both_orders(lambda: attention.attention_backward(
        *map(on_device, (q, q, k, k, None, out, sums)), False, 1.0))  # fmt: skip
    assert not got[0].any() and got[1].shape == k.shape


@pytest.mark.parametrize(("dtype", "width"), [(np.float64, 8), (np.float32, 130)])
def test_what_the_kernels_do_not_take(dtype, width):
    generator = np.random.default_rng(0)
    q, k, v, grad = (generator.standard_normal((1, 2, 5, width)).astype(dtype) for _ in range(4))
    on = [on_device(a) for a in (q, k, v)]
    assert not attention.fits(*on)
    out, sums = attention.attention_forward(*on, None, True, 0.2)
    expected = reference(q, k, v, None, True, 0.2, grad)
    close(on_host(out), expected[0], dtype, 4)
    got = attention.attention_backward(on_device(grad), *on, None, out, sums, True, 0.2)
    for a, b in zip(got, expected[2:], strict=True):
        close(on_host(a), b, dtype, 8)


def start(offset=8, seed=42):
    """Where numbers begin, on the device."""
    return on_device(np.array([seed, offset], np.uint64))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("case", CASES[1:3], ids=str)
def test_dropout_draws_its_mask_again_in_the_gradient(case, dtype):
    batch, heads, shared, queries, keys, width, values = case
    generator = np.random.default_rng(1)
    draw = lambda *shape: generator.standard_normal(shape).astype(dtype)  # noqa: E731
    q, k = draw(batch, heads, queries, width), draw(batch, shared, keys, width)
    v, grad = draw(batch, shared, keys, values), draw(batch, heads, queries, values)
    rest = (False, 0.3)
    dropout = lambda: attention.Dropout(0.25, start())  # noqa: E731
    kept = both_orders(lambda: attention.dropout_factors(*map(on_device, (q, k)), dropout()))
    expected = reference(q, k, v, None, *rest, grad, wide(kept))
    found = both_orders(
        lambda: attention.attention_forward(
            *map(on_device, (q, k, v)), None, *rest, dropout=dropout()
        )
    )
    close(found[0], expected[0], dtype, 2)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-5, atol=1e-5)
    got = both_orders(
        lambda: attention.attention_backward(
            *map(on_device, (grad, q, k, v, None, *found)), *rest, dropout=dropout()
        )
    )
    for a, b in zip(got, expected[2:], strict=True):
        close(a, b, dtype, 6)


def factors(shape, p, state):
    """The factors of dropout for queries and keys of ``(batch, heads, queries, keys)``."""
    batch, heads, queries, keys = shape
    q, k = (np.zeros((batch, heads, n, 4), np.float32) for n in (queries, keys))
    dropout = attention.Dropout(p, state)
    return on_host(attention.dropout_factors(on_device(q), on_device(k), dropout))


def test_factors_of_dropout_are_philox_numbers():
    found = factors((2, 3, 9, 50), 0.25, start())
    np.testing.assert_allclose(np.unique(found), [0, 1 / 0.75], rtol=1e-6)
    assert abs((found == 0).mean() - 0.25) < 0.03
    assert 0.15 < (found == 0).mean((2, 3)).min() and (found == 0).mean((2, 3)).max() < 0.35
    for row, head, query, key in ((0, 0, 0, 0), (1, 2, 7, 49), (1, 0, 8, 3)):
        words = philox(42, (row * 3 + head) * 3 + query // 4, 8 // 4 + key)
        assert (found[row, head, query, key] != 0) == (words[query % 4] < 0.75 * 2**32)
    assert (found != factors((2, 3, 9, 50), 0.25, start(offset=12))).any()
    assert not factors((1, 1, 3, 3), 1.0, start()).any()


def philox(seed, subsequence, block):
    """Philox 4x32-10 in integers (Salmon et al., 2011)."""
    low = (1 << 32) - 1
    a, b, c, d = block & low, block >> 32, subsequence & low, subsequence >> 32
    first, second = seed & low, seed >> 32
    for _ in range(10):
        one, two = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (two >> 32) ^ b ^ first, two & low, (one >> 32) ^ d ^ second, one & low
        first, second = (first + 0x9E3779B9) & low, (second + 0xBB67AE85) & low
    return a, b, c, d
