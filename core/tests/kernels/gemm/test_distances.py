"""Euclidean distances of all pairs of rows from their differences."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.kernels.launch.execution import REFERENCE

MODES = ["use_mm_for_euclid_dist_if_necessary", "donot_use_mm_for_euclid_dist"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("rows", "others", "length"),
    [(200, 200, 16), (30, 40, 3), (1, 600, 5), (50, 1100, 31), (10, 7, 100), (3, 3, 1)],
)
def test_distances(rows, others, length, mode, dtype):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, length)).astype(dtype) for n in (rows, others))
    wide = a[:, None].astype(np.float64) - b[None]
    exact = np.sqrt(np.square(wide).sum(-1))
    for order in (np.ascontiguousarray, np.asfortranarray):
        x, y = rushlight.from_numpy(order(a)), rushlight.from_numpy(order(b))
        found = rushlight.cdist(x, y, compute_mode=mode)
        np.testing.assert_allclose(found.numpy(), exact, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", [0, 1, 2, 2.5, np.inf])
@pytest.mark.parametrize(
    ("rows", "others"),
    [((20, 17), (600, 17)), ((3, 20, 40), (3, 30, 40)), ((2, 1, 7, 9), (3, 40, 9)),
     ((5, 4), (2, 6, 4))],
)  # fmt: skip
def test_orders_and_batches(rows, others, order, dtype):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, shape).astype(dtype) / 2 for shape in (rows, others))
    b.reshape(-1)[5] = np.inf
    apart = np.abs(a[..., None, :].astype(np.float64) - b[..., None, :, :])
    exact = np.linalg.norm(apart, order, -1) if order != 2.5 else (apart**2.5).sum(-1) ** 0.4
    found = rushlight.cdist(rushlight.from_numpy(a), rushlight.from_numpy(b), float(order),
                            compute_mode="donot_use_mm_for_euclid_dist")  # fmt: skip
    np.testing.assert_allclose(found.numpy(), exact, rtol=1e-5)


def test_differences_that_are_no_numbers():
    """A NaN is in every distance from its row, whatever the order."""
    torch = pytest.importorskip("torch")
    a, b = np.zeros((3, 9), np.float32), np.ones((40, 9), np.float32)
    a[1, 4], b[7, 0], b[8, 8] = np.nan, np.nan, -np.inf
    for order in (0.0, 1.0, 2.0, np.inf):
        found = rushlight.cdist(
            rushlight.from_numpy(a), rushlight.from_numpy(b), order, MODES[1]
        ).numpy()
        assert np.isnan(found[1]).all()
        assert np.isnan(found[:, 7]).all()
        if order != np.inf:  # PyTorch leaves some of them out there
            want = torch.cdist(torch.tensor(a), torch.tensor(b), order, MODES[1])
            np.testing.assert_array_equal(found, want.numpy())


@pytest.mark.skipif(REFERENCE, reason="the reference goes by a product of matrices")
def test_a_row_has_no_distance_from_itself():
    x = rushlight.randn(100, 16)
    assert float(rushlight.cdist(x, x).diagonal().abs().max()) == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("rows", "length"),
    [(2, 1), (5, 3), (16, 8), (17, 12), (128, 32), (130, 7), (600, 17), (1030, 3)],
)
def test_pairs(rows, length, dtype):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(rows)
    values = rng.standard_normal((rows, length)).astype(dtype)
    if rows > 4:
        values[3] = values[1]  # equal rows pull in no direction
    rtol = 2e-5 if dtype == "float32" else 1e-12
    theirs = torch.tensor(values, requires_grad=True)
    want = torch.nn.functional.pdist(theirs)
    grad = rng.standard_normal(want.shape).astype(dtype)
    (slope,) = torch.autograd.grad(want, theirs, torch.tensor(grad))
    for order in (np.ascontiguousarray, np.asfortranarray):
        x = rushlight.from_numpy(order(values)).requires_grad_()
        found = rushlight.nn.functional.pdist(x)
        np.testing.assert_allclose(found.detach().numpy(), want.detach().numpy(), rtol=rtol)
        for record in (False, True):
            pulled = rushlight.autograd.grad(
                found, x, rushlight.from_numpy(grad), retain_graph=True, create_graph=record
            )[0]
            np.testing.assert_allclose(
                pulled.detach().numpy(), slope.numpy(), rtol=10 * rtol, atol=20 * rtol
            )


def test_pairs_of_what_is_not_finite():
    torch = pytest.importorskip("torch")
    rows = [[1.0, 2.0], [np.inf, 3.0], [np.nan, 1.0], [0.0, 0.0]]
    x, t = rushlight.tensor(rows, requires_grad=True), torch.tensor(rows, requires_grad=True)
    found, want = rushlight.nn.functional.pdist(x), torch.nn.functional.pdist(t)
    found.sum().backward()
    want.sum().backward()
    np.testing.assert_array_equal(found.detach().numpy(), want.detach().numpy())
    np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=1e-6)


def test_pairs_of_nothing():
    for shape in [(0, 3), (1, 3), (4, 0)]:
        x = rushlight.zeros(shape, requires_grad=True)
        found = rushlight.nn.functional.pdist(x)
        assert found.shape == (shape[0] * (shape[0] - 1) // 2,)
        found.sum().backward()
        assert x.grad.shape == shape and not x.grad.any()


def test_pairs_differentiated_twice_and_in_batches():
    x = rushlight.randn(5, 3, dtype=rushlight.float64, requires_grad=True)
    assert rushlight.autograd.gradcheck(rushlight.nn.functional.pdist, x)
    assert rushlight.autograd.gradgradcheck(rushlight.nn.functional.pdist, x)
    several = rushlight.randn(4, 5, 3)
    found = rushlight.func.vmap(rushlight.nn.functional.pdist)(several)
    for one, rows in zip(found, several, strict=True):
        np.testing.assert_allclose(one.numpy(), rushlight.nn.functional.pdist(rows).numpy(), 1e-5)
