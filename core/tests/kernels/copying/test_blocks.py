"""Dense memory made, filled and copied by compiled calls."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.compiler import kernel
from rushlight.kernels.copying import blocks, moving
from rushlight.machine import memory, threads
from rushlight.machine import processors as cpu
from rushlight.machine.processors import fuses_vectors

SIZES = (8191, 8192, 50_001, 100_000, 300_007, 4_300_003)
DTYPES = ("float32", "float64", "int64", "int32", "uint8", "bool", "int16", "float16")


@pytest.fixture(autouse=True, scope="module")
def a_pool():
    """Before any kernel has run, all is left to NumPy."""
    threads.pool()


@pytest.fixture(params=[None, 1 << 15], ids=["cached", "past the caches"])
def way(request, monkeypatch):
    """Stores into the caches, or past them from few bytes on."""

    def forget():
        for known in (blocks._filled, blocks._copied):
            known.clear()
        for plan in (blocks._fill_plan, blocks._copy_plan):
            plan.cache_clear()

    if request.param:
        monkeypatch.setattr(blocks, "streams_from", lambda: request.param)
        monkeypatch.setattr(blocks, "_OTHER_NUMBERS", 1)
        forget()
    yield
    if request.param:
        forget()


@pytest.mark.compiled("the reference leaves memory to NumPy")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_filled_and_copied(size, dtype, way):
    kind = np.dtype(dtype)
    value = True if dtype == "bool" else 2.5 if kind.kind == "f" else 77
    made = blocks.filled((size,), kind, value)
    assert made.dtype == kind
    assert np.array_equal(made, np.full(size, value, kind))
    if made.nbytes >= blocks.LEAST:
        made[::3] = 1
        copy = blocks.copied(made)
        assert copy.base is not made
        assert np.array_equal(copy, made)


@pytest.mark.compiled("the reference leaves memory to NumPy")
@pytest.mark.parametrize("offset", [0, 1, 7])
@pytest.mark.parametrize("size", SIZES)
def test_written_in_place_at_any_address(size, offset, way):
    around = np.zeros(size + 16, np.float32)
    inside = around[offset : offset + size]
    source = np.arange(size + 3, dtype=np.float32)[3:]
    assert blocks.copy(inside, source) == (4 * size >= blocks.LEAST)
    if 4 * size >= blocks.LEAST:
        assert np.array_equal(inside, source)
    rushlight.from_numpy(inside).fill_(-1.5)
    assert np.array_equal(inside, np.full(size, -1.5, np.float32))
    assert not around[:offset].any()
    assert not around[offset + size :].any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.0e38])
def test_special_numbers(value, way):
    made = blocks.filled((20_000,), np.dtype(np.float32), value)
    wanted = np.full(20_000, value, np.float32)
    assert np.array_equal(made.view(np.int32), wanted.view(np.int32))


@pytest.mark.compiled("the reference leaves memory to NumPy")
def test_numbers_that_do_not_fit():
    kind = np.dtype(np.int32)
    with pytest.raises(OverflowError):
        blocks.filled((20_000,), kind, 1 << 40)
    assert not blocks.fill(np.zeros(20_000, kind), 2.5)
    assert not blocks.fill(np.zeros(40_000, np.int8), 3)
    assert blocks.fill(np.zeros(20_000, np.int64), -5)
    assert blocks.filled((40_000,), np.dtype(np.bool_), 2).view(np.uint8).max() == 1


@pytest.mark.compiled("the reference leaves memory to NumPy")
def test_memory_that_is_shared_or_strided_is_left():
    array = np.arange(40_000, dtype=np.float32)
    assert not blocks.copy(array[1:], array[:-1])
    assert blocks.copy(array, array)
    assert not blocks.copy(array[::2], array[1::2])
    assert not blocks.copy(array, array.astype(np.int32))
    assert blocks.copied(array[::2]) is None
    tensor = rushlight.from_numpy(array)
    tensor[1:].copy_(tensor[:-1])
    assert array[1] == 0
    assert array[-1] == 39_998


def test_read_only_memory_is_refused():
    array = np.zeros(20_000, np.float32)
    array.flags.writeable = False
    assert not blocks.fill(array, 1.0)
    assert not array.any()


def test_threads_do_not_matter():
    before = threads.get_num_threads()
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            made = rushlight.full((701, 999), 0.25)
            assert made.sum().item() == 701 * 999 / 4
            assert rushlight.equal(made.clone(), made)
    finally:
        threads.set_num_threads(before)


@pytest.mark.compiled("the reference leaves memory to NumPy")
@pytest.mark.parametrize("shape", [(100, 100), (300, 400), (40, 50, 60)])
def test_new_memory_is_aligned(shape):
    for made in (rushlight.empty(shape), rushlight.zeros(shape), rushlight.full(shape, 2.0),
                 rushlight.ones(shape).clone()):  # fmt: skip
        assert made.shape == shape
        assert memory.address(made._array) % 64 == 0
        assert made._array.flags.writeable
    assert not rushlight.zeros(shape).any()


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("extents", [(1, 2), (3, 40, 7), (300, 1, 299)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "float16"])
def test_joined(dim, extents, dtype):
    generator = np.random.default_rng(0)
    shapes = [tuple(n if d == dim else (5, 61, 33)[d] for d in range(3)) for n in extents]
    arrays = [generator.integers(0, 2, shape).astype(dtype) for shape in shapes]
    before = threads.get_num_threads()
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            found = rushlight.cat([rushlight.from_numpy(a) for a in arrays], dim)
            assert np.array_equal(found.numpy(), np.concatenate(arrays, dim))
    finally:
        threads.set_num_threads(before)


def test_joined_past_the_caches():
    arrays = [np.arange(n, dtype=np.float32)[1:] for n in (2_000_003, 5, 3_000_001)]
    found = rushlight.cat([rushlight.from_numpy(a) for a in arrays])
    assert np.array_equal(found.numpy(), np.concatenate(arrays))
    stacked = rushlight.stack([rushlight.from_numpy(arrays[0])] * 3)
    assert np.array_equal(stacked.numpy(), np.stack([arrays[0]] * 3))


@pytest.mark.parametrize("size", [3, 20_000])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_zeros_keep_their_sign(size, dtype):
    rushlight.ones(9, 9) @ rushlight.ones(9, 9)  # from the first kernel on kernels fill
    dtype = getattr(rushlight, dtype)
    source = rushlight.ones(size, dtype=dtype)
    for zero in (0.0, -0.0):
        made = [
            rushlight.full((size,), zero, dtype=dtype), rushlight.full_like(source, zero),
            source.new_full((size,), zero), source.clone().fill_(zero),
        ]  # fmt: skip
        for tensor in made:
            assert not tensor.any() and tensor.dtype is dtype
            assert tensor.signbit().all() == tensor.signbit().any() == (str(zero) == "-0.0")


@pytest.mark.parametrize("kind", ["i1", "u2", "f2", "c8", "c16", "b1", "i8"])
@pytest.mark.parametrize("size", [4096, 40_001, 300_007])
def test_zeros_of_all_dtypes(kind, size, way):
    rushlight.ones(9, 9) @ rushlight.ones(9, 9)
    kind = np.dtype(kind)
    dirty = blocks.filled((size,), kind, 1)
    del dirty
    made = blocks.filled((size,), kind, 0)
    assert made.dtype == kind and made.shape == (size,) and not made.view(np.uint8).any()
    ones = np.ones(size, kind)
    if blocks.fill(ones[: size - 1], 0):
        assert not ones[:-1].view(np.uint8).any() and ones[-1] == 1


def test_tensors_like_others():
    for shape in ((3, 5), (300, 401), (1100, 1000)):
        source = rushlight.randn(shape)
        for make, value in ((rushlight.zeros_like, 0), (rushlight.ones_like, 1)):
            for like in (source, source.t(), source.double(), source[:, ::2]):
                made = make(like)
                assert made.shape == like.shape and made.dtype is like.dtype
                assert (made == value).all()


def test_joined_past_the_caches_from_few_bytes(monkeypatch):
    monkeypatch.setattr(moving, "streams_from", lambda: 1 << 15)
    for rows, columns in ((3, 30_011), (211, 517), (5000, 3)):
        arrays = [np.random.default_rng(k).random((rows, columns + k), np.float32) for k in (0, 5)]
        for dim in (0, 1):
            given = arrays if dim else [a[:, :columns] for a in arrays]
            found = rushlight.cat([rushlight.from_numpy(a) for a in given], dim)
            assert np.array_equal(found.numpy(), np.concatenate(given, dim))


@pytest.mark.compiled("the reference leaves memory to NumPy")
@pytest.mark.skipif(not fuses_vectors(), reason="elementwise kernels are not compiled")
def test_elementwise_results_past_the_caches_from_few_bytes(monkeypatch):
    asked, ask = [], kernel.Kernel._streams
    monkeypatch.setattr(kernel, "streams_from", lambda: 1 << 15)
    monkeypatch.setattr(
        kernel.Kernel, "_streams", lambda *a, **k: asked.append(ask(*a, **k)) or asked[-1]
    )
    for size in (33_333, 70_001, 262_147):
        x = np.random.default_rng(size).standard_normal(size).astype(np.float32)
        assert np.array_equal((rushlight.from_numpy(x) * 3.0).numpy(), x * np.float32(3))
        wide = rushlight.from_numpy(x.astype(np.float64))
        assert np.array_equal((wide - wide.flip(0)).numpy(), x.astype("d") - x[::-1].astype("d"))
    assert any(asked)


def test_what_the_last_cache_holds():
    assert 16 << 20 <= cpu.streams_from() <= 32 << 20


@pytest.mark.parametrize(("text", "ways"), [("12", 12), ("8", 8), ("4", 8), ("", 8), ("many", 8)])
def test_ways_of_the_first_cache(monkeypatch, text, ways):
    monkeypatch.setattr(cpu, "_of_cache", lambda index, name: text)
    host = cpu._host()
    monkeypatch.setattr(cpu, "processor", lambda: host)
    assert cpu.ways_of_first_cache.__wrapped__() == ways


@pytest.mark.parametrize(
    ("name", "is_wide", "two"),
    [
        ("icelake-server", True, True),
        ("znver4", True, False),
        ("znver5", True, True),
        ("tigerlake", True, False),
        ("haswell", False, False),
    ],
)
def test_units_that_multiply_and_add(monkeypatch, name, is_wide, two):
    import llvmlite.binding

    monkeypatch.setattr(llvmlite.binding, "get_host_cpu_features", lambda: {"avx512f": is_wide})
    monkeypatch.setattr(llvmlite.binding, "get_host_cpu_name", lambda: name)
    host = cpu._host()
    monkeypatch.setattr(cpu, "processor", lambda: host)
    assert cpu.has_two_wide_units.__wrapped__() is two


def test_a_servers_processor_under_a_desktops_name(monkeypatch):
    """As virtual machines show it: by its matrix units it is known."""
    import llvmlite.binding

    features = {"avx512f": True, "amx-tile": True}
    monkeypatch.setattr(llvmlite.binding, "get_host_cpu_features", lambda: features)
    monkeypatch.setattr(llvmlite.binding, "get_host_cpu_name", lambda: "rocketlake")
    host = cpu._host()
    assert (host.name, host.wide_units) == ("sapphirerapids", 2)
