"""Parameters of random functions that are tensors of one element, or NumPy's numbers."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
CALLS = [
    "p.randint(0, t(5), (9,))",
    "p.randint(t(5), (9,))",
    "p.randint(t(2), t([5]), (t(9),))",
    "p.randint(high=t(5), size=(9,), dtype=p.int32)",
    "p.randint(0, t(5), (9,), dtype=p.float32)",
    "p.randint(0, np.array(7), (9,))",
    "p.randint_like(p.ones(9), t(5))",
    "p.randint_like(p.ones(9), t(1), t(5))",
    "p.ones(9).random_(t(5))",
    "p.ones(9).random_(t(1), np.int64(5))",
    "p.tril_indices(t(3), np.int64(2), t(0))",
    "p.triu_indices(3, t(4))",
]
SAMPLES = [
    "exponential_(t(2.0))",
    "cauchy_(t(0.5), t(2.0))",
    "log_normal_(t(0.0), t(0.5))",
    "geometric_(t(0.5))",
    "normal_(t(1.0), t(0.5))",
]


@pytest.mark.parametrize("call", CALLS)
def test_tensors_as_whole_numbers(call):
    found = []
    for package in (rushlight, torch):
        package.manual_seed(3)
        found.append(eval(call, {"p": package, "t": package.tensor, "np": np}))  # noqa: S307
    assert str(found[0].dtype).partition(".")[2] == str(found[1].dtype).partition(".")[2]
    assert found[0].tolist() == found[1].tolist()


@pytest.mark.parametrize("call", SAMPLES)
@pytest.mark.parametrize("strided", [False, True])
def test_tensors_as_parameters(call, strided):
    found = []
    for package in (rushlight, torch):
        package.manual_seed(3)
        empty = package.zeros(5, 6, dtype=package.float64)
        own = empty.t() if strided else empty
        eval("own." + call, {"own": own, "t": package.tensor})  # noqa: S307
        found.append(own.tolist())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


@pytest.mark.parametrize("bound", [5.0, True, "5", [5]])
def test_other_bounds_are_refused(bound):
    for package in (rushlight, torch):
        with pytest.raises(TypeError, match="randint"):
            package.randint(0, bound, (3,))
    with pytest.raises(TypeError, match="argument 'high' must be int, not"):
        rushlight.randint(0, bound, (3,))


def test_tensors_of_fractions_are_no_bounds():
    with pytest.raises(TypeError, match="argument 'high' must be int"):
        rushlight.randint(0, rushlight.tensor(5.5), (3,))
    with pytest.raises(TypeError, match="argument 'high' must be int"):
        rushlight.randint(0, rushlight.tensor([5, 6]), (3,))
