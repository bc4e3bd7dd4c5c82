"""Reductions of NaN, infinities and long columns, against PyTorch."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
NAN = float("nan")


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize(
    ("name", "given"),
    [("max", ()), ("min", ()), ("amax", (1,)), ("amin", (0, True)), ("amax", ((0, 1),))],
)
def test_gradients_with_nan(name, given, dtype):
    found = []
    for library in (rushlight, torch):
        values = [[1.0, NAN, 2.0, NAN], [3.0, 4.0, 4.0, -1.0]]
        x = library.tensor(values, dtype=getattr(library, dtype), requires_grad=True)
        getattr(library, name)(x, *given).sum().backward()
        assert x.grad.dtype == x.dtype
        found.append(x.grad.tolist())
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_sums_of_infinities_do_not_warn(name):
    values = np.array([[1.0, np.inf, 0.0], [-np.inf, -np.inf, np.inf]])
    for array in (values, np.asfortranarray(values)):
        for dim in (0, 1):
            found = getattr(rushlight, name)(rushlight.from_numpy(array), dim)
            expected = getattr(torch, name)(torch.from_numpy(values), dim)
            np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("name", ["sum", "mean", "prod"])
@pytest.mark.parametrize("given", [(), (0,), (1,)])
def test_sums_of_infinities_do_not_warn(name, given):
    values = np.array([[1.0, np.inf, 0.0, 2.0], [-np.inf, -np.inf, np.inf, 3.0]], np.float32)
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        ours = rushlight.tensor(values, dtype=getattr(rushlight, dtype))[:, ::3]
        theirs = torch.tensor(values, dtype=getattr(torch, dtype))[:, ::3]
        for factor in (1, 3e4):  # sums of float16 that are infinite
            found = getattr(rushlight, name)(ours * factor, *given).tolist()
            expected = getattr(torch, name)(theirs * factor, *given).tolist()
            np.testing.assert_allclose(found, expected, rtol=0.02)


def test_infinities_of_both_signs():
    values = np.array([[np.inf, 0.0, 1.0], [-np.inf, 0.0, 1.0]])
    found = rushlight.from_numpy(values)[:, ::2]
    assert np.isnan(found.sum().item()) and np.isnan(found.mean().item())
    assert np.isnan(found.sum(0)[0].item())


@pytest.mark.parametrize("edges", [[0.0, 1.0, 2.0, 4.0], [2.0, 0.5, 3.0], [3.0, 1.0], [1.0, 1.0]])
def test_histograms_at_and_outside_of_edges(edges):
    """Edges in any order, and numbers at the last edge, as in PyTorch."""
    values = np.array([0.0, 1.0, 4.0, 4.5, -1.0, 2.0, 3.0, 0.25, np.nan, 3.999], np.float32)
    bins, weight = np.array(edges, np.float32), np.arange(10, dtype=np.float32)
    for more in ({}, {"weight": weight}):
        theirs, ours = (
            lib.histogram(
                lib.from_numpy(values), lib.from_numpy(bins),
                **{name: lib.from_numpy(given) for name, given in more.items()},
            ).hist.numpy()
            for lib in (torch, rushlight)
        )  # fmt: skip
        assert np.array_equal(ours, theirs), (ours, theirs)
