"""Images enlarged and shrunk by whole factors: nearest elements, pixels dealt out over space."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
F = rushlight.nn.functional

ENLARGED = [
    ((4, 8, 9, 10), 2), ((4, 8, 9, 10), (3, 1)), ((4, 8, 9, 10), (1, 3)), ((4, 8, 9, 10), (2, 4)),
    ((8, 8, 40), 3), ((1, 1, 70, 50), (4, 4)), ((2, 3, 30, 30), (5, 4)), ((2, 4, 5, 6, 7), 2),
    ((1, 1, 3, 5000), 2),
]  # fmt: skip


def agree(call, x, tolerance):
    found = []
    for library in (rushlight, torch):
        leaf = library.tensor(x, requires_grad=True)
        out = call(library.nn.functional, leaf)
        grad = np.cos(np.arange(out.numel())).reshape(tuple(out.shape)).astype(x.dtype)
        (back,) = library.autograd.grad(out, leaf, library.tensor(grad))
        found.append([out.detach().numpy(), back.numpy()])
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1], tolerance, tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape, factor", ENLARGED)
def test_the_gradient_of_nearest_elements_sums_blocks(shape, factor, dtype):
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    tolerance = 1e-5 if dtype is np.float32 else 1e-12
    agree(lambda F, x: F.interpolate(x, scale_factor=factor, mode="nearest"), x, tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape, factor",
    [((2, 8, 3, 2), 2), ((2, 18, 5, 7), 3), ((1, 32, 9, 33), 4), ((50, 3, 2), 5),
     ((2, 3, 12, 5, 6), 2), ((16, 64, 16, 16), 2)],
)  # fmt: skip
def test_pixels_agree_with_torch(shape, factor, dtype):
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    agree(lambda F, x: F.pixel_shuffle(x, factor), x, 0)
    turned = torch.nn.functional.pixel_shuffle(torch.tensor(x), factor).numpy()
    agree(lambda F, x: F.pixel_unshuffle(x, factor), turned, 0)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "bool", "complex64", "bfloat16", "complex128"])
def test_pixels_of_other_dtypes_and_layouts(dtype):
    x = (rushlight.arange(2 * 8 * 3 * 5) % 251).reshape(2, 8, 3, 5)
    expected = F.pixel_shuffle(x, 2)
    given = x.to(getattr(rushlight, dtype))
    found = F.pixel_shuffle(given, 2)
    assert found.dtype == given.dtype
    assert (found == expected.to(given.dtype)).all()
    assert (F.pixel_unshuffle(found, 2) == given).all()
    turned = given.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    assert (F.pixel_shuffle(turned, 2) == found).all()


def test_no_pixels():
    assert F.pixel_shuffle(rushlight.zeros(0, 8, 3, 5), 2).shape == (0, 2, 6, 10)
    assert F.pixel_unshuffle(rushlight.zeros(2, 0, 6, 4), 2).shape == (2, 0, 3, 2)
