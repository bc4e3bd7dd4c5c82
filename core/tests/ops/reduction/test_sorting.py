"""Order, medians, places in sorted sequences, distinct values, counts."""

import itertools

import numpy as np
import pytest

import rushlight
from rushlight.testing.oracle import assert_same

torch = pytest.importorskip("torch")
NAN = float("nan")


def both(name, *args, **kwargs):
    """The same call here and there, on arrays, compared."""

    def convert(value, make):
        return make(value) if isinstance(value, np.ndarray) else value

    ours = [convert(a, rushlight.from_numpy) for a in args]
    theirs = [convert(a, torch.from_numpy) for a in args]
    kw = {k: convert(v, rushlight.from_numpy) for k, v in kwargs.items()}
    kt = {k: convert(v, torch.from_numpy) for k, v in kwargs.items()}
    assert_same(getattr(rushlight, name)(*ours, **kw), getattr(torch, name)(*theirs, **kt))


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("out_int32", [False, True])
def test_searchsorted(right, out_int32):
    rows = np.sort(np.random.default_rng(0).integers(0, 9, (3, 7)), -1)
    values = np.arange(12).reshape(3, 4)
    options = {"right": right, "out_int32": out_int32}
    both("searchsorted", rows, values, **options)
    both("searchsorted", rows[0].copy(), values, **options)
    both("searchsorted", rows[0].copy(), 4, **options)
    both("bucketize", values, rows[1].copy(), **options)
    both("bucketize", 3, rows[1].copy(), **options)


def test_searchsorted_with_a_sorter():
    values = np.array([5.0, 1.0, 3.0])
    order = np.argsort(values)
    both("searchsorted", values, np.array([0.0, 3.0, 9.0]), sorter=order, side="right")


def test_searchsorted_refuses():
    one = rushlight.tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match="opposites"):
        rushlight.searchsorted(one, one, right=True, side="left")
    with pytest.raises(NotImplementedError, match="no order"):
        rushlight.searchsorted(one, rushlight.tensor([1j]))
    with pytest.raises(RuntimeError, match="first N-1 dimensions"):
        rushlight.searchsorted(rushlight.ones(2, 3), rushlight.ones(3, 3))
    with pytest.raises(RuntimeError, match="1 dimension"):
        rushlight.bucketize(one, rushlight.ones(2, 2))


def test_bincount():
    both("bincount", np.array([1, 3, 3, 0]), minlength=6)
    both("bincount", np.array([1, 3, 3, 0]), np.array([0.5, 1.0, 2.0, 4.0], np.float32))
    both("bincount", np.array([1, 3]), np.array([2, 5]))
    with pytest.raises(RuntimeError, match="non-negative"):
        rushlight.bincount(rushlight.tensor([-1]))
    with pytest.raises(RuntimeError, match="minlength"):
        rushlight.bincount(rushlight.tensor([1]), minlength=-1)


@pytest.mark.parametrize("dim", [None, 0, 1])
def test_unique(dim):
    x = np.array([[2, 2, 1], [2, 2, 1], [0, 2, 1]])
    for name in ("unique", "unique_consecutive"):
        both(name, x, return_inverse=True, return_counts=True, dim=dim)
        both(name, x, dim=dim)


def test_unique_keeps_every_nan():
    assert rushlight.unique(rushlight.tensor([NAN, 1.0, NAN])).shape == (3,)
    assert rushlight.unique_consecutive(rushlight.tensor([NAN, NAN])).shape == (2,)


def test_medians_and_nan():
    x = np.array([[3.0, NAN, 1.0, 2.0], [4.0, 1.0, 3.0, 2.0], [NAN] * 4])
    for name in ("median", "nanmedian"):
        both(name, x)
        both(name, x[1].copy())
        found = getattr(rushlight, name)(rushlight.from_numpy(x[:2].copy()), 1)
        assert_same(found, getattr(torch, name)(torch.from_numpy(x[:2].copy()), 1))


def test_median_shares_the_gradient_of_ties():
    x = rushlight.tensor([2.0, 1.0, 2.0, 3.0], requires_grad=True)
    x.median().backward()
    assert x.grad.tolist() == [0.5, 0.0, 0.5, 0.0]


@pytest.mark.parametrize("way", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles(name, way):
    x = np.random.default_rng(1).normal(size=(4, 5))
    x[1, 2] = NAN
    for options in ({}, {"dim": 0}, {"dim": 1, "keepdim": True}, {"keepdim": True}):
        both(name, x, 0.3, interpolation=way, **options)
        both(name, x, np.array([0.0, 0.6, 1.0]), interpolation=way, **options)


def test_quantile_refuses():
    x = rushlight.ones(3)
    for bad, words in (
        ({"q": 1.5}, "range"),
        ({"q": rushlight.ones(1, dtype=rushlight.float64)}, "same dtype"),
        ({"q": 0.5, "interpolation": "cubic"}, "interpolation"),
    ):
        with pytest.raises(RuntimeError, match=words):
            rushlight.quantile(x, **bad)
    with pytest.raises(RuntimeError, match="non-empty"):
        rushlight.quantile(x[:0], 0.5)
    with pytest.raises(RuntimeError, match="float or double"):
        rushlight.quantile(x.long(), 0.5)


def test_named_results():
    x = rushlight.tensor([3, 1, 3])
    assert x.aminmax().min == 1 and x.aminmax().max == 3
    assert x.mode().values == 3 and x.kthvalue(1).indices == 1 and x.median(0).values == 3


def test_isin_of_elements_that_lie_apart():
    ids = rushlight.arange(24).reshape(4, 6)
    ends = rushlight.tensor([5, 17, 40, 2])[::2]
    for _ in range(3):  # a call that is new, and the short ways of those that follow
        assert rushlight.isin(ids[:, -1], ends).tolist() == [True, False, False, False]
        assert rushlight.isin(ids.t(), ends[:1], invert=True).sum().item() == 23


def test_isin():
    x = np.array([[1, 2], [3, 4]])
    both("isin", x, np.array([2, 3]))
    both("isin", x, 2, invert=True)
    both("isin", 3, x)
    with pytest.raises(RuntimeError, match="Unsupported"):
        rushlight.isin(rushlight.tensor([True]), rushlight.tensor([1]))


def test_combinations_and_products():
    a, b = np.array([1, 2, 3]), np.array([4, 5])
    both("cartesian_prod", a, b)
    both("cartesian_prod", a)
    for r in range(4):
        both("combinations", a, r)
        both("combinations", a, r, with_replacement=True)
    x = rushlight.tensor([1.0, 2.0, 3.0], requires_grad=True)
    rushlight.combinations(x).prod(1).sum().backward()
    assert x.grad.tolist() == [5.0, 4.0, 3.0]


def test_histograms():
    x = np.random.default_rng(2).normal(size=(50, 2))
    both("histc", x, bins=7)
    both("histc", x, bins=7, min=-1, max=1)
    both("histogram", x, 5, density=True)
    both("histogram", x, np.array([-1.0, 0.0, 0.25, 2.0]), weight=np.abs(x))
    both("histogram", x, 4, range=(-1.0, 2.0))
    both("histogramdd", x, [3, 4])
    with pytest.raises(RuntimeError, match="max must be larger"):
        rushlight.histc(rushlight.ones(3), min=2, max=1)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_places_in_sequences_that_hold_nan(dtype, right):
    """PyTorch halves the sequence, and takes NaN in it for less than everything it is asked for,
    NaN for more than everything in it."""
    nan, inf = float("nan"), float("inf")
    sequences = [list(s) for n in range(1, 5) for s in itertools.product((nan, 0, 1, 2), repeat=n)]
    draw = np.random.default_rng(0)
    for n in (7, 16, 33, 100):
        long = np.sort(draw.standard_normal(n))
        long[draw.integers(0, n, 1 + n // 8)] = nan
        sequences += [long.tolist(), np.sort(long).tolist()]
    sought = [nan, -inf, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, inf]
    for sequence in sequences:
        found = []
        for library in (rushlight, torch):
            kind = getattr(library, dtype)
            s, x = library.tensor(sequence, dtype=kind), library.tensor(sought, dtype=kind)
            gaps = s if library is torch else library.stack([s, s], -1)[:, 0]  # torch warns
            found.append(
                [
                    library.searchsorted(s, x, right=right).tolist(),
                    library.bucketize(x, s, right=right).tolist(),
                    library.searchsorted(gaps, x, right=right).tolist(),
                    library.searchsorted(s, x[0], right=right).tolist(),
                    library.searchsorted(s.repeat(2, 1), x.reshape(2, 5), right=right).tolist(),
                ]
            )
        assert found[0] == found[1], sequence


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_low_precision_goes_by_float32(dtype):
    """Few of many, and running sums, are those of the same numbers in float32, rounded once."""
    x = rushlight.randn(7, 300, generator=rushlight.Generator().manual_seed(0))
    x = x.to(getattr(rushlight, dtype))
    x[0, 3] = float("nan")
    values, places = x.topk(5)
    wide_values, wide_places = x.float().topk(5)
    assert np.array_equal(places.numpy(), wide_places.numpy())
    assert np.array_equal(values.float().numpy(), wide_values.numpy(), equal_nan=True)
    for name in ("cumsum", "cumprod"):
        for dim in (0, 1):
            found, wide = getattr(x, name)(dim), getattr(x.float(), name)(dim)
            assert found.dtype is x.dtype
            expected = wide.to(x.dtype).float().numpy()
            np.testing.assert_array_equal(found.float().numpy(), expected)
    for call in (lambda x: x.norm(), lambda x: x.norm(dim=0), lambda x: x.logsumexp(1)):
        clean = x[1:]
        expected = call(clean.float()).to(x.dtype).float().numpy()
        np.testing.assert_array_equal(call(clean).float().numpy(), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8", "bfloat16"])
@pytest.mark.parametrize("right", [False, True])
def test_searches_that_are_prepared(dtype, right):
    """Dense sequences and others, twice each, so that prepared calls serve the second."""
    draws, kind = np.random.default_rng(0), getattr(rushlight, dtype)
    side = "right" if right else "left"
    for rows, size, count in ((1, 7, 5), (3, 5, 4), (2, 16, 33), (1, 4, 0)):
        sequence = np.sort(draws.integers(0, 9, (rows, size)), 1).astype(np.float64)
        values = draws.integers(0, 10, (rows, count)).astype(np.float64)
        pairs = zip(sequence, values, strict=True)
        expected = np.array([np.searchsorted(s, v, side) for s, v in pairs]).reshape(rows, count)
        ours = rushlight.tensor(sequence).to(kind), rushlight.tensor(values).to(kind)
        turned = [x.t().contiguous().t() for x in ours]
        for _ in range(2):
            for given in (ours, turned):
                found = rushlight.searchsorted(*given, right=right)
                assert found.dtype is rushlight.int64 and found.tolist() == expected.tolist()
            found = rushlight.bucketize(ours[1][0], ours[0][0], right=right)
            assert found.tolist() == expected[0].tolist()
            found = rushlight.searchsorted(*ours, right=right, out_int32=True)
            assert found.dtype is rushlight.int32 and found.tolist() == expected.tolist()


def test_searches_refuse_what_has_no_place():
    sequence = rushlight.tensor([1, 3, 5])
    rushlight.bucketize(sequence, sequence)
    for call, name in (
        (lambda: rushlight.bucketize("a", sequence), "input"),
        (lambda: rushlight.bucketize(None, sequence), "input"),
        (lambda: rushlight.bucketize(sequence, 3), "boundaries"),
        (lambda: rushlight.searchsorted(3, sequence), "sorted_sequence"),
    ):
        with pytest.raises(TypeError, match=f"argument '{name}' must be"):
            call()
    with pytest.raises(RuntimeError, match="must match"):
        rushlight.searchsorted(rushlight.ones(2, 3), rushlight.ones(3, 3))


def test_searches_promote_as_pytorch_does():
    whole, parts = np.array([1, 3, 5]), np.array([1.5, 3.0, 4.5], np.float32)
    for first, second in ((whole, parts), (parts, whole), (parts, parts.astype(np.float64)),
                          (whole, whole.astype(np.int32)), (whole > 2, whole)):  # fmt: skip
        for right in (False, True):
            both("searchsorted", first, second, right=right)
            both("bucketize", second, first, right=right)
    exact = np.array([16_777_217]), np.array([16_777_216.0], np.float32)
    both("searchsorted", *exact)
    both("searchsorted", *exact[::-1])
