"""Windows as columns and back: against loops over taps, and against the oracle."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.machine import threads

F = rushlight.nn.functional

# N, C, (H, W), kernel, dilation, padding, stride
CASES = {
    "3x3": (2, 3, (16, 16), (3, 3), (1, 1), (1, 1), (1, 1)),
    "unequal": (2, 3, (9, 21), (2, 5), (2, 1), (1, 3), (2, 1)),
    "patches": (2, 3, (12, 16), (4, 4), (1, 1), (0, 0), (4, 4)),
    "stride over kernel": (1, 2, (13, 17), (2, 2), (1, 1), (0, 1), (3, 5)),
    "dilated": (1, 2, (13, 37), (3, 3), (3, 4), (2, 5), (1, 2)),
    "padding over the image": (2, 1, (2, 3), (3, 3), (1, 1), (4, 5), (1, 1)),
    "one column": (3, 2, (5, 7), (5, 7), (1, 1), (0, 0), (1, 1)),
    "single pixels": (3, 2, (1, 1), (1, 1), (1, 1), (0, 0), (1, 1)),
    "long rows": (1, 2, (4, 301), (3, 3), (1, 1), (1, 1), (1, 1)),
    "some threads": (4, 8, (30, 31), (3, 3), (1, 1), (1, 1), (2, 2)),
}


def windows(case):
    """(tap, slices of the padded image) and the shape of all windows."""
    _, _, size, kernel, dilation, padding, stride = case
    counts = [
        (s + 2 * p - d * (k - 1) - 1) // t + 1
        for s, k, d, p, t in zip(size, kernel, dilation, padding, stride, strict=True)
    ]
    taps = []
    for i, j in np.ndindex(*kernel):
        down, across = (
            slice(t * d, t * d + s * (n - 1) + 1, s)
            for t, d, s, n in zip((i, j), dilation, stride, counts, strict=True)
        )
        taps.append((..., down, across))
    return counts, taps


def columns_of(x, case):
    padding = case[5]
    wide = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    _, taps = windows(case)
    found = np.stack([wide[tap] for tap in taps], 2)
    return found.reshape(x.shape[0], x.shape[1] * len(taps), -1)


def image_of(y, case):
    n, c, size, kernel, _, padding, _ = case
    counts, taps = windows(case)
    wide = np.zeros((n, c, *(s + 2 * p for s, p in zip(size, padding, strict=True))), y.dtype)
    parts = y.reshape(n, c, len(taps), *counts)
    for i, tap in enumerate(taps):
        wide[tap] += parts[:, :, i]
    (py, px), (height, width) = padding, size
    return wide[:, :, py : py + height, px : px + width]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "complex64"])
def test_columns_and_images(rng, name, kind):
    case = CASES[name]
    n, c, size, *settings = case
    x = rng.standard_normal((n, c, *size)).astype(kind)
    want = columns_of(x, case)
    strided = np.repeat(x, 2, -1)[..., ::2]
    for given in (x, x, strided):
        found = F.unfold(rushlight.from_numpy(given), *settings).numpy()
        assert found.dtype == x.dtype
        assert np.array_equal(found, want)
    y = rng.standard_normal(want.shape).astype(kind)
    exact = image_of(y.astype("complex128" if kind == "complex64" else "float64"), case)
    bound = {"float64": 1e-13, "float16": 5e-3}.get(kind, 2e-6)
    for given in (y, y, np.repeat(y, 2, -1)[..., ::2]):
        found = F.fold(rushlight.from_numpy(given), size, *settings).numpy()
        assert found.dtype == y.dtype
        assert found.shape == exact.shape
        assert (np.abs(found - exact) <= bound * (1 + np.abs(exact))).all()


@pytest.mark.parametrize("name", CASES)
def test_oracle(rng, name):
    torch = pytest.importorskip("torch")
    n, c, size, *settings = CASES[name]
    results = []
    x = rng.standard_normal((n, c, *size)).astype(np.float32)
    for lib in (torch, rushlight):
        leaf = lib.tensor(x, requires_grad=True)
        out = lib.nn.functional.unfold(leaf, *settings)
        back = lib.nn.functional.fold(out * out, size, *settings)
        (first,) = lib.autograd.grad(back.sum(), leaf, create_graph=True)
        (second,) = lib.autograd.grad((first * first).sum(), leaf)
        results.append([t.detach().numpy() for t in (out, back, first, second)])
    for theirs, ours in zip(*results, strict=True):
        assert np.allclose(theirs, ours, 1e-5, 1e-5)


def test_nan_and_infinity_reach_their_windows_only(rng):
    case = CASES["3x3"]
    x = rng.standard_normal((2, 3, 16, 16)).astype(np.float32)
    x[0, 0, 0, 0], x[1, 2, 15, 15], x[0, 1, 7, 8] = np.nan, np.inf, -np.inf
    found = F.unfold(rushlight.from_numpy(x), *case[3:]).numpy()
    assert np.array_equal(found, columns_of(x, case), equal_nan=True)
    back = F.fold(rushlight.from_numpy(found), (16, 16), *case[3:]).numpy()
    assert np.array_equal(back, image_of(columns_of(x, case), case), equal_nan=True)


def test_same_bits_for_any_number_of_threads(rng):
    n, c, size, *settings = CASES["some threads"]
    x = rushlight.from_numpy(rng.standard_normal((n, c, *size)).astype(np.float32))
    before, found = threads.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            columns = F.unfold(x, *settings)
            found.append((columns, F.fold(columns * 1.1, size, *settings)))
    finally:
        threads.set_num_threads(before)
    for other in found[1:]:
        assert all(rushlight.equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_nothing_is_written_behind_the_results(rng):
    """One call for each image: neighbours in one block of memory stay as they are."""
    from rushlight.kernels.convolution import columns as kernels
    from rushlight.kernels.launch.execution import REFERENCE

    if REFERENCE:
        pytest.skip("the reference has no calls of its own")
    from rushlight.kernels.convolution import column_kernels as native
    from rushlight.machine.language import functions as language

    n, c, size, kernel, dilation, padding, stride = CASES["dilated"]
    counts, _ = windows(CASES["dilated"])
    x = rng.standard_normal((n, c, *size)).astype(np.float32)
    taps, pixels = kernel[0] * kernel[1], counts[0] * counts[1]
    words = kernels._words(size, counts, kernel, dilation, padding, stride)
    room = np.full(n * c * taps * pixels + 64, -1, np.float32)
    code = native.gather_columns.address(element=language.i32, size=4, step=stride[1])
    plan = threads.plan(code, n * c * taps, 1, [0, 0, 0, *words])
    threads.run(plan, None, room[32:-32], x)
    assert np.array_equal(
        room[32:-32].reshape(n, c * taps, pixels), columns_of(x, CASES["dilated"])
    )
    assert (room[:32] == -1).all()
    assert (room[-32:] == -1).all()
    y, room = room[32:-32].copy(), np.full(x.size + 64, -1, np.float32)
    code = native.add_columns.address(real=language.f32, step=stride[1])
    plan = threads.plan(code, n * c * size[0], 1, [0, 0, 0, *words])
    threads.run(plan, None, room[32:-32], y)
    want = image_of(y.reshape(n, c * taps, pixels), CASES["dilated"])
    assert np.allclose(room[32:-32].reshape(want.shape), want, 1e-5, 1e-5)
    assert (room[:32] == -1).all()
    assert (room[-32:] == -1).all()
