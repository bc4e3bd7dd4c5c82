"""Philox on the emulator: the published test vectors, and where numbers go."""

import numpy as np
import pytest
from kernel_cases import BFLOAT16, FLOATS, both_orders, close, emulator, on_device, on_host

from rushlight.compiler.cuda.device_array import empty
from rushlight.kernels.random import cuda as random
from rushlight.machine.cuda.runtime import streams


def philox(counter, key):
    """Philox 4x32-10 as its authors state it, in Python's integers."""
    a, b, c, d = counter
    k0, k1 = key
    low = 0xFFFFFFFF
    for _ in range(10):
        first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (second >> 32) ^ b ^ k0, second & low, (first >> 32) ^ d ^ k1, first & low
        k0, k1 = (k0 + 0x9E3779B9) & low, (k1 + 0xBB67AE85) & low
    return a, b, c, d


def test_the_reference_is_philox():
    assert philox((0,) * 4, (0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    ones = 0xFFFFFFFF
    assert philox((ones,) * 4, (ones, ones)) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)


def outputs(n, seed, offset, together=4):
    """Raw 32-bit outputs in the order in which a fill of n elements uses them."""
    properties = emulator().properties(0)
    most = properties.multi_processor_count * (properties.max_threads_per_multi_processor // 256)
    threads = 256 * min(-(-n // 256), most)
    key = (seed & 0xFFFFFFFF, seed >> 32)
    rounds = -(-n // (threads * together))
    drawn = np.array(
        [[philox((offset // 4 + r, 0, t, 0), key) for t in range(threads)] for r in range(rounds)],
        np.uint64,
    )
    return drawn  # (rounds, threads, 4)


def in_place(drawn, n):
    """Four outputs a thread, a grid apart."""
    return drawn.transpose(0, 2, 1).reshape(-1)[:n]


SEED = (7 << 32) + 123


def state(offset=0):
    return on_device(np.array([SEED, offset], np.uint64))


@pytest.mark.parametrize("n", [1, 255, 1025])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_uniform(n, dtype):
    u = in_place(outputs(n, SEED, 8), n).astype(np.float32)
    u = u * np.float32(2**-32) + np.float32(2**-33)
    found = both_orders(lambda: random.uniform_(empty((n,), dtype), -1.0, 3.0, state(8)))
    expected = (u * np.float32(4) - np.float32(1)).astype(dtype)
    expected = np.where(expected == 3, np.asarray(-1, dtype), expected)
    np.testing.assert_array_equal(found, expected)


def test_a_generator_moves_on_by_whole_fours():
    generator = state()
    first = on_host(random.uniform_(empty((10,), np.float32), 0, 1, generator))
    assert on_host(generator).tolist() == [SEED, 4]
    second = on_host(random.uniform_(empty((10,), np.float32), 0, 1, generator))
    assert on_host(generator).tolist() == [SEED, 8]
    assert not np.intersect1d(first, second).size
    again = on_host(random.uniform_(empty((10,), np.float32), 0, 1, state()))
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("n", [5, 1030])
def test_normal(n):
    drawn = outputs(n, SEED, 0).astype(np.float64)
    u, v = drawn[..., 0::2] * 2.0**-32 + 2.0**-33, drawn[..., 1::2] * 2.0**-32 + 2.0**-33
    radius, angle = np.sqrt(-2 * np.log(u)), 2 * np.pi * v
    values = np.stack([radius * np.sin(angle), radius * np.cos(angle)], -1)
    expected = in_place(values.reshape(drawn.shape), n) * 2 + 5
    found = both_orders(lambda: random.normal_(empty((n,), np.float32), 5.0, 2.0, state()))
    close(found, expected, np.float32, 2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, BFLOAT16], ids=str)
def test_distributions(dtype):
    n = 20000
    x = on_host(random.normal_(empty((n,), dtype), 0, 1, state())).astype(np.float64)
    assert abs(x.mean()) < 0.03 and abs(x.std() - 1) < 0.03
    assert abs((x**3).mean()) < 0.1 and abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 0.03
    x = on_host(random.exponential_(empty((n,), dtype), 2.0, state())).astype(np.float64)
    assert abs(x.mean() - 0.5) < 0.02 and x.min() >= 0
    x = on_host(random.uniform_(empty((n,), dtype), 0, 1, state())).astype(np.float64)
    assert abs(x.mean() - 0.5) < 0.01 and x.min() >= 0 and x.max() < 1
    x = on_host(random.bernoulli_(empty((n,), dtype), 0.3, state())).astype(np.float64)
    assert set(x) == {0, 1} and abs(x.mean() - 0.3) < 0.02


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float32], ids=str)
def test_integers(dtype):
    n = 1030
    found = both_orders(lambda: random.integers_(empty((n,), dtype), -3, 8, state()))
    raw = in_place(outputs(n, SEED, 0), n)
    np.testing.assert_array_equal(found, (raw.astype(np.int64) % 11 - 3).astype(dtype))


def test_wide_integers():
    found = on_host(random.integers_(empty((300,), np.int64), -(2**63), 2**63, state()))
    assert found.min() < -(2**61) and found.max() > 2**61


@pytest.mark.parametrize("n", [1024, 1026, 1025])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_dropout(n, dtype):
    x = np.ones(n, dtype)
    out, mask = both_orders(lambda: random.dropout_forward(on_device(x), 0.25, state()))
    assert mask.dtype == bool and 0.7 < mask.mean() < 0.8
    np.testing.assert_array_equal(out, (mask * np.float32(1 / 0.75)).astype(dtype))
    back = on_host(random.dropout_backward(on_device(x), on_device(mask), 2.0))
    np.testing.assert_array_equal(back, (mask * 2.0).astype(dtype))
    if n == 1024:  # four neighbours of one thread
        u = outputs(256 * 4, SEED, 0)[0, :256].reshape(-1) * 2.0**-32 + 2.0**-33
        np.testing.assert_array_equal(mask, u < 0.75)


def test_what_is_reserved_can_be_drawn_again():
    words = state(8)
    kept = random.reserved(words, 5)
    assert on_host(kept).tolist() == [SEED, 8] and on_host(words).tolist() == [SEED, 16]
    random.dropout_forward(on_device(np.ones(8, np.float32)), 0.5, words)
    assert on_host(words).tolist() == [SEED, 20]


def test_a_replayed_graph_draws_new_numbers():
    runtime, generator = emulator(), state()
    out = empty((50,), np.float32)
    stream = runtime.stream_create(0)
    old = streams.set_current(stream)
    runtime.graph_begin(stream)
    random.uniform_(out, 0, 1, generator)
    graph = runtime.graph_end(stream)
    streams.set_current(old)
    eager = state()
    for _ in range(2):
        graph.launch(stream)
        expected = on_host(random.uniform_(empty((50,), np.float32), 0, 1, eager))
        np.testing.assert_array_equal(on_host(out), expected)
    assert on_host(generator).tolist() == [SEED, 8]
