"""Reduction kernels on the emulator, against NumPy in float64."""

import numpy as np
import pytest
from kernel_cases import BFLOAT16, FLOAT32, FLOATS, INT64, both_orders, close, on_device, wide

from rushlight.kernels.reduction import cuda as reduction

CASES = [
    ((7, 33), (1,)),
    ((7, 33), (0,)),
    ((3, 65, 5), (1,)),
    ((3, 5, 4), (0, 2)),
    ((2, 40001), (1,)),
    ((40001, 3), (0,)),
    ((4, 9), (0, 1)),
    ((0, 3), (1,)),
]
FUNCTIONS = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "squares": lambda x, axes: (x * x).sum(axes),
    "norm2": lambda x, axes: np.sqrt((x * x).sum(axes)),
}


def draw(shape, dtype, seed=0):
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iub":
        return generator.integers(-50, 50, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_floating(kind, dtype):
    for shape, axes in CASES:
        x = draw(shape, dtype)
        found = both_orders(lambda x=x, a=axes: reduction.reduced(on_device(x), a, False, kind))
        assert found.dtype == dtype
        close(found, FUNCTIONS[kind](wide(x), axes), dtype, 8)


def test_integers():
    for shape, axes in CASES:
        x = draw(shape, INT64)
        found = both_orders(lambda x=x, a=axes: reduction.reduced(on_device(x), a, True, "sum"))
        np.testing.assert_array_equal(found, x.sum(axes, keepdims=True))
    x = draw((3, 4), INT64)
    found = both_orders(lambda: reduction.reduced(on_device(x), (1,), False, "min"))
    np.testing.assert_array_equal(found, x.min(1))
    found = both_orders(lambda: reduction.reduced(on_device(x), None, False, "product"))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found, x.prod())


def test_truth():
    x = np.array([[0, 0, 0], [0, 2, 0], [1, 1, 1]], np.float32)
    for kind, wanted in (("any", [0, 1, 1]), ("all", [0, 0, 1]), ("count_nonzero", [0, 1, 3])):
        found = both_orders(lambda k=kind: reduction.reduced(on_device(x), 1, False, k))
        assert found.tolist() == wanted


@pytest.mark.parametrize("dtype", [*FLOATS, INT64], ids=str)
@pytest.mark.parametrize("largest", [True, False])
def test_places(dtype, largest):
    for shape, axes in CASES[:7]:
        if len(axes) > 1:
            continue
        x = draw(shape, dtype)
        values, places = both_orders(
            lambda x=x, a=axes: reduction.argreduced(on_device(x), a[0], False, largest)
        )
        pick = np.argmax if largest else np.argmin
        np.testing.assert_array_equal(places, pick(wide(x), axes[0]))
        expected = np.take_along_axis(x, np.expand_dims(places, axes[0]), axes[0])
        np.testing.assert_array_equal(values, expected.squeeze(axes[0]))
    x = draw((5, 7), dtype)
    _, place = both_orders(lambda: reduction.argreduced(on_device(x), None, False, largest))
    assert place == (np.argmax if largest else np.argmin)(wide(x))


def test_nan_wins():
    x = draw((4, 70), FLOAT32)
    x[1, 40] = x[1, 60] = np.nan
    for largest, kind in ((True, "max"), (False, "min")):
        _, places = both_orders(lambda g=largest: reduction.argreduced(on_device(x), 1, False, g))
        assert places[1] == 40
        found = both_orders(lambda k=kind: reduction.reduced(on_device(x), 1, False, k))
        assert np.isnan(found).tolist() == [False, True, False, False]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_variance(dtype):
    for shape, axes in CASES[:7]:
        x = (draw(shape, FLOAT32) + 100).astype(dtype)
        for correction in (0, 1):
            var, mean = both_orders(
                lambda x=x, a=axes, c=correction: reduction.variance(on_device(x), a, False, c)
            )
            close(mean, wide(x).mean(axes), dtype)
            np.testing.assert_allclose(
                wide(var),
                wide(x).var(axes, ddof=correction),
                rtol=0.01 if dtype == BFLOAT16 else 1e-4,
            )


def test_strided_arrays_are_read_where_they_lie():
    x = draw((4, 5, 6), FLOAT32)
    turned = on_device(x).transpose(2, 0, 1)
    for axes in ((0,), (1,), (2,), (0, 2)):
        found = both_orders(lambda a=axes: reduction.reduced(turned, a, False, "sum"))
        close(found, wide(x).transpose(2, 0, 1).sum(axes), FLOAT32, 4)
    found = both_orders(lambda: reduction.reduced(turned[:, ::2], (1,), False, "sum"))
    close(found, wide(x).transpose(2, 0, 1)[:, ::2].sum(1), FLOAT32, 4)


def test_low_precision_sums_in_float32():
    x = np.ones((2, 3000), BFLOAT16)
    found = both_orders(lambda: reduction.reduced(on_device(x), 1, False, "sum", np.float32))
    assert found.dtype == np.float32 and found.tolist() == [3000, 3000]
