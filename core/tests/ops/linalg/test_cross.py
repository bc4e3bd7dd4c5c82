"""Cross products and rolls of dense arrays against NumPy, and positions repeated."""

import numpy as np
import pytest

import rushlight


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bfloat16"])
@pytest.mark.parametrize(
    ("shape", "dim"), [((3,), 0), ((5, 3), 1), ((3, 7), 0), ((2, 3, 33), 1), ((0, 3), 1)]
)
def test_cross_products(dtype, shape, dim):
    draw = np.random.default_rng(0)
    a, b = (draw.integers(-9, 9, shape).astype("f8") for _ in range(2))
    x, y = (rushlight.tensor(v).to(getattr(rushlight, dtype)) for v in (a, b))
    wanted = np.cross(a, b, axis=dim)
    found = rushlight.cross(x, y, dim=dim)
    assert found.dtype is x.dtype
    np.testing.assert_array_equal(found.double().numpy(), wanted)
    found = rushlight.linalg.cross(x.transpose(0, -1), y.transpose(0, -1), dim=len(shape) - 1 - dim)
    np.testing.assert_array_equal(found.transpose(0, -1).double().numpy(), wanted)


def test_cross_broadcasts_and_refuses():
    x = rushlight.rand(4, 3)
    found = rushlight.linalg.cross(x, rushlight.tensor([[1.0, 0.0, 0.0]]))
    np.testing.assert_array_equal(found.numpy(), np.cross(x.numpy(), [[1, 0, 0]]).astype("f4"))
    with pytest.raises(RuntimeError, match="must have length 3"):
        rushlight.linalg.cross(rushlight.ones(4, 2), rushlight.ones(4, 2))
