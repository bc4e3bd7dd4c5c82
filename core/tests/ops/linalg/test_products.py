"""Kronecker, inner and contracted products, covariance, differences, distances."""

import math

import numpy as np
import pytest

import rushlight
from rushlight.autograd import gradcheck, gradgradcheck
from rushlight.testing.agreement import agree, random


def test_products():
    a, b = random(2, 3), random(4, 3, seed=1)
    agree("kron", a, b)
    agree("kron", random(2), random(3, 2, 2, seed=1))
    agree("inner", a, b)
    agree("vdot", random(3, dtype="complex128"), random(3, dtype="complex128", seed=1))
    agree("trace", a)
    agree("trace", rushlight.arange(9).reshape(3, 3))
    agree("addr", a, random(2), random(3), beta=0.5, alpha=2.0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize(
    ("first", "second"),
    [((16, 16), (16, 16)), ((3, 5), (7, 33)), ((20, 9), (2, 3)), ((1, 1), (1, 4)), ((2, 0), (3, 4)),
     ((2, 3), (0, 4)), ((2, 3), (4,)), ((4,), (2, 5)), ((2, 3, 2), (3, 5))],
)  # fmt: skip
def test_kron_of_matrices(first, second, dtype):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, shape).astype(dtype) for shape in (first, second))
    if dtype != "int64" and a.size and b.size:
        a.flat[0], b.flat[-1] = np.inf, np.nan
    wide = np.zeros((*first[:-1], first[-1] + 3), dtype)
    wide[..., : first[-1]] = a
    lefts = [a, np.asfortranarray(a), wide[..., : first[-1]], np.broadcast_to(a[..., :1], first)]
    for left in lefts:
        for right in (b, np.asfortranarray(b), np.repeat(b, 2, 0)[::2]):
            x = rushlight.from_numpy(left if left.flags.writeable else left.copy())
            y = rushlight.from_numpy(right)
            found = rushlight.kron(x, y)
            dense = (torch.from_numpy(np.array(v, order="C")) for v in (left, right))
            want = torch.kron(*dense)  # which refuses some layouts
            assert found.shape == tuple(want.shape)
            np.testing.assert_array_equal(found.numpy(), want.numpy())
    if dtype != "int64":
        leaf = rushlight.from_numpy(a).requires_grad_()
        recorded = rushlight.kron(leaf, rushlight.from_numpy(b)).detach()
        np.testing.assert_array_equal(
            recorded.numpy(), rushlight.kron(leaf.detach(), rushlight.from_numpy(b)).numpy()
        )


@pytest.mark.parametrize("dims", [0, 1, ([1, 2], [0, 1]), ([0], [-1])])
def test_tensordot(dims):
    agree("tensordot", random(2, 2, 2), random(2, 2, 2, seed=1), dims)


def test_tensordot_refuses_sizes_that_differ():
    with pytest.raises(RuntimeError, match="size 2 in dim 1 and second has size 3 in dim 0"):
        rushlight.tensordot(random(3, 2), random(3, 3), 1)


@pytest.mark.parametrize("correction", [0, 1])
def test_covariance(correction):
    values = random(3, 6)
    times = rushlight.tensor([1, 2, 1, 3, 1, 1])
    weights = rushlight.tensor([0.1, 0.4, 0.2, 0.5, 0.3, 0.2], dtype=rushlight.float64)
    agree("cov", values, correction=correction)
    agree("cov", values, correction=correction, fweights=times, aweights=weights)
    agree("corrcoef", values)
    agree("corrcoef", random(3, 6, dtype="complex128"))
    agree("cov", random(5))


def test_differences():
    values = random(3, 5)
    agree("diff", values, 2, 0)
    agree("diff", values, prepend=random(3, 1), append=random(3, 2))
    agree("diff", values > 0)
    agree("diff", rushlight.arange(4), n=5)
    for spacing in (None, 0.5, [2.0, 0.5]):
        agree("gradient", values, spacing=spacing)
    points = (rushlight.tensor([0.0, 1.0, 3.0, 4.0, 9.0]).double(),)
    for order in (1, 2):
        agree("gradient", values, spacing=points, dim=1, edge_order=order)


def test_trapezoids():
    values, points = random(3, 5), random(5, seed=1).sort().values
    for name in ("trapezoid", "trapz", "cumulative_trapezoid"):
        agree(name, values)
        agree(name, values, points)
        agree(name, values, dx=0.5, dim=0)


@pytest.mark.parametrize("p", [0.0, 1.0, 1.5, 2.0, 3.0, math.inf])
def test_distances(p):
    a, b = random(2, 4, 3), random(5, 3, seed=1)
    agree("cdist", a, b, p)
    agree("nn.functional.pdist", b, p)
    agree("cdist", random(30, 3), random(28, 3, seed=1), p, rtol=1e-7)
    if p:
        leaves = [a.requires_grad_(), b.requires_grad_()]
        assert gradcheck(lambda x, y: rushlight.cdist(x, y, p), leaves)
        assert gradgradcheck(lambda x, y: rushlight.cdist(x, y, p), leaves)


def test_distance_of_equal_rows_pulls_nowhere():
    rows = rushlight.ones(2, 3, requires_grad=True)
    rushlight.cdist(rows, rows).sum().backward()
    assert not bool(rows.grad.any())
    with pytest.raises(RuntimeError, match="number of columns"):
        rushlight.cdist(random(2, 3), random(2, 4))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(65, 257), (3, 20, 9), (2, 3, 1100), (40, 2), (0, 4), (4, 0)])
@pytest.mark.parametrize("p", [1, 2, 3.5, math.inf])
def test_renorm_of_slices(shape, p, dtype):
    """By the kernel and by ops (strided, short neighbours), with what is not finite."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    rtol = 1e-5 if dtype == "float32" else 1e-12
    for odd in (0.5, 0.0, np.nan, np.inf):
        x = rng.standard_normal(shape).astype(dtype)
        if x.size:
            x.flat[3] = odd
        elif p == math.inf:
            continue
        for way in (np.ascontiguousarray, np.asfortranarray):
            for dim in range(len(shape)):
                for bound in (0.0, 1.0, 3.7, 1e9):
                    found = rushlight.from_numpy(way(x)).renorm(p, dim, bound)
                    want = torch.from_numpy(way(x)).renorm(p, dim, bound)
                    np.testing.assert_allclose(found.numpy(), want.numpy(), rtol=rtol)
                    if x.size and not odd:
                        leaf = rushlight.from_numpy(x).requires_grad_()
                        recorded = leaf.renorm(p, dim, bound).detach()
                        np.testing.assert_allclose(found.numpy(), recorded.numpy(), rtol=rtol)


def test_renorm():
    values = random(3, 4, 2)
    for p in (1, 2, math.inf):
        agree("renorm", values, p, 1, 0.7)
    copy = values.clone()
    assert copy.renorm_(2, 0, 0.5) is copy
    assert rushlight.equal(copy, values.renorm(2, 0, 0.5))


@pytest.mark.parametrize("lead", [(), (2, 3), (2, 0)])
@pytest.mark.parametrize("sizes", [(0, 0), (0, 5), (4, 0)])
@pytest.mark.parametrize("dtype", [rushlight.float32, rushlight.bfloat16])
def test_linear_without_features(lead, sizes, dtype):
    features, outputs = sizes
    x = rushlight.ones(*lead, features, dtype=dtype, requires_grad=True)
    weight = rushlight.ones(outputs, features, dtype=dtype, requires_grad=True)
    out = rushlight.nn.functional.linear(x, weight)
    assert out.shape == (*lead, outputs) and not out.any()
    found = rushlight.autograd.grad(out, (x, weight), rushlight.ones_like(out), create_graph=True)
    assert [g.shape for g in found] == [x.shape, weight.shape] and not any(g.any() for g in found)


@pytest.mark.parametrize("name", ["addmm", "addmv", "baddbmm", "addbmm"])
def test_what_is_multiplied_by_zero_has_a_gradient(name):
    lead = (2,) if "bmm" in name else ()
    input = rushlight.full((1,), math.nan, requires_grad=True)
    left = rushlight.ones(*lead, 3, 4)
    right = rushlight.ones(4) if name == "addmv" else rushlight.ones(*lead, 4, 2)
    out = getattr(rushlight, name)(input, left, right, beta=0)
    assert not out.isnan().any()
    assert rushlight.autograd.grad(out.sum(), input)[0].tolist() == [0.0]


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (rushlight.mm, [(3, 4), (5, 2)]),
        (rushlight.mm, [(3, 4), (4,)]),
        (rushlight.bmm, [(2, 3, 4), (3, 4, 5)]),
        (rushlight.matmul, [(2, 3, 4), (2, 5, 6)]),
        (rushlight.dot, [(3,), (4,)]),
        (rushlight.nn.functional.linear, [(3, 4), (2, 5)]),
        (rushlight.nn.functional.linear, [(3, 4), (2, 4), (3,)]),
        (lambda *tensors: rushlight.cat(tensors, 1), [(2, 3), (3, 3)]),
        (lambda *tensors: rushlight.stack(tensors), [(2, 3), (3, 3)]),
    ],
    ids=["mm", "mm of a vector", "bmm", "matmul", "dot", "linear", "bias", "cat", "stack"],
)
def test_shapes_are_checked_without_elements_too(function, shapes):
    messages = []
    for device in ("cpu", "meta"):
        with pytest.raises(RuntimeError) as error:
            function(*(rushlight.empty(shape, device=device) for shape in shapes))
        messages.append(str(error.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize(
    "shapes",
    [((2, 3), (3, 4)), ((3,), (3,)), ((2, 9), (9, 3), (3, 8)), ((9, 2), (2, 9), (9, 1)),
     ((3,), (3, 4), (4, 2)), ((2, 3), (3, 4), (4,)), ((3,), (3, 4), (4,)),
     ((3,), (3, 4), (4, 2), (2,)), ((2, 3), (3, 4), (4, 5), (5, 2)), ((0, 3), (3, 2), (2, 4))],
    ids=str,
)  # fmt: skip
def test_chains_of_products(shapes):
    draws = np.random.default_rng(0)
    arrays = [draws.standard_normal(shape) for shape in shapes]
    factors = [rushlight.tensor(array, requires_grad=True) for array in arrays]
    found = rushlight.linalg.multi_dot(factors)
    expected = arrays[0]
    for array in arrays[1:]:
        expected = expected @ array
    assert tuple(found.shape) == np.shape(expected)
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-10, atol=1e-12)
    found.sum().backward()
    again = [rushlight.tensor(array, requires_grad=True) for array in arrays]
    chained = again[0]
    for factor in again[1:]:
        chained = chained @ factor
    chained.sum().backward()
    for ours, theirs in zip(factors, again, strict=True):
        np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-10, atol=1e-12)
