"""grid_sample of images and volumes: kernels, their gradients and derivatives of these."""

import itertools

import numpy as np
import pytest

import rushlight
from rushlight.autograd import gradcheck, gradgradcheck
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.ops.neural.grid_sampling import _composed

F = rushlight.nn.functional
SETTINGS = list(
    itertools.product(
        ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (True, False)
    )
)
SHAPES = [
    ((2, 3, 5, 7), (2, 4, 6, 2)),
    ((1, 1, 1, 1), (1, 3, 3, 2)),
    ((2, 17, 9, 8), (2, 13, 20, 2)),  # several blocks of positions, a last one, parts of channels
    ((1, 2, 1, 6), (1, 1, 5, 2)),
]
VOLUMES = [
    ((2, 3, 4, 5, 7), (2, 3, 4, 6, 3)),
    ((1, 1, 1, 1, 1), (1, 2, 3, 3, 3)),
    ((2, 17, 3, 9, 8), (2, 3, 13, 8, 3)),
    ((1, 2, 3, 1, 6), (1, 1, 1, 5, 3)),
]


def shapes_of(mode):
    """Shapes of images, and of volumes where the mode knows them."""
    return SHAPES if mode == "bicubic" else SHAPES + VOLUMES


def drawn(shapes, dtype, seed=0):
    random = np.random.default_rng(seed)
    image, grid = shapes
    return random.standard_normal(image).astype(dtype), random.uniform(-1.8, 1.8, grid).astype(
        dtype
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode, padding, aligned", SETTINGS)
def test_values_and_gradients_agree_with_torch(mode, padding, aligned, dtype):
    torch = pytest.importorskip("torch")
    settings = mode, padding, aligned
    for shapes in shapes_of(mode):
        found = []
        for library in (rushlight, torch):
            x, grid = (library.tensor(a, requires_grad=True) for a in drawn(shapes, dtype))
            out = library.nn.functional.grid_sample(x, grid, *settings)
            grad = library.tensor(np.cos(np.arange(out.numel())).reshape(out.shape).astype(dtype))
            found.append([out, *library.autograd.grad(out, (x, grid), grad)])
        tolerance = 2e-5 if dtype is np.float32 else 1e-11
        for ours, theirs in zip(*found, strict=True):
            expected = theirs.detach().numpy()
            limit = tolerance * max(1, np.abs(expected).max())
            np.testing.assert_allclose(ours.detach().numpy(), expected, tolerance, limit)


@pytest.mark.parametrize("mode, padding, aligned", SETTINGS)
def test_derivatives_of_derivatives(mode, padding, aligned):
    arrays = drawn(((1, 2, 3, 4), (1, 2, 3, 2)), np.float64, 3)
    x, grid = (rushlight.tensor(a, requires_grad=True) for a in arrays)

    def call(x, grid):
        return F.grid_sample(x, grid, mode, padding, aligned)

    assert gradcheck(call, (x, grid))
    assert gradgradcheck(call, (x, grid))
    x, grid = x * 1.0, grid * 1.0  # inputs with a history of their own
    assert gradgradcheck(lambda w: call(x.detach() * w, grid.detach() + w), (x.sum().detach()
                         .requires_grad_(),))  # fmt: skip


@pytest.mark.parametrize(
    "mode, padding, aligned",
    [("bilinear", "reflection", True), ("bilinear", "zeros", False), ("nearest", "border", False)],
)
def test_derivatives_of_derivatives_of_volumes(mode, padding, aligned):
    arrays = drawn(((1, 1, 2, 3, 2), (1, 1, 1, 2, 3)), np.float64, 3)
    pair = [rushlight.tensor(a, requires_grad=True) for a in arrays]

    def call(x, grid):
        return F.grid_sample(x, grid, mode, padding, aligned)

    assert gradcheck(call, pair)
    assert gradgradcheck(call, pair)


@pytest.mark.skipif(REFERENCE, reason="there is no kernel then")
@pytest.mark.parametrize("mode, padding, aligned", [s for s in SETTINGS if s[0] != "bicubic"])
def test_volumes_with_unusual_values(mode, padding, aligned):
    x, grid = drawn(((1, 2, 3, 4, 5), (1, 3, 8, 2, 3)), np.float64)
    x[0, 0, 0, 0, 0], x[0, 1, 2, 3, 4], x[0, 1, 1, 1, 2] = np.nan, np.inf, -np.inf
    special = [np.nan, np.inf, -np.inf, -1.0, 1.0, 0.0, -0.75, 5.5]
    grid[0, 0, :, 0, 0], grid[0, 1, :, 0, 1], grid[0, 2, :, 1, 2] = special, special, special
    x, grid = rushlight.tensor(x), rushlight.tensor(grid)
    with np.errstate(invalid="ignore"):
        expected = _composed(x, grid, mode, padding, aligned).numpy()
    found = F.grid_sample(x, grid, mode, padding, aligned).numpy()
    np.testing.assert_allclose(found, expected, 1e-11, 1e-11)


@pytest.mark.skipif(REFERENCE, reason="there is no kernel then")
@pytest.mark.parametrize("mode, padding, aligned", SETTINGS)
def test_kernels_agree_with_the_composition_on_unusual_values(mode, padding, aligned):
    x, grid = drawn(((1, 2, 4, 5), (1, 3, 8, 2)), np.float64)
    x[0, 0, 0, 0], x[0, 1, 3, 4], x[0, 1, 1, 2] = np.nan, np.inf, -np.inf
    special = [np.nan, np.inf, -np.inf, -1.0, 1.0, 0.0, -0.75, 5.5]
    grid[0, 0, :, 0], grid[0, 1, :, 1], grid[0, 2] = special, special, grid[0, 2] * 100
    x, grid = rushlight.tensor(x), rushlight.tensor(grid)
    with np.errstate(invalid="ignore"):
        expected = _composed(x, grid, mode, padding, aligned).numpy()
    found = F.grid_sample(x, grid, mode, padding, aligned).numpy()
    np.testing.assert_allclose(found, expected, 1e-11, 1e-11)


def test_arrays_that_are_not_dense():
    x, grid = (rushlight.tensor(a) for a in drawn(SHAPES[0], np.float32))
    expected = F.grid_sample(x, grid, align_corners=False).numpy()
    turned = x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    apart = rushlight.stack([grid, grid], -1)[..., 0]
    found = F.grid_sample(turned, apart, align_corners=False)
    np.testing.assert_array_equal(found.numpy(), expected)


def test_no_positions_and_no_channels():
    for shapes in [((2, 3, 4, 4), (2, 0, 5, 2)), ((2, 0, 4, 4), (2, 3, 5, 2))]:
        x, grid = (rushlight.tensor(a) for a in drawn(shapes, np.float32))
        out = F.grid_sample(x, grid, align_corners=False)
        assert out.shape == (2, shapes[0][1], *shapes[1][1:3])
        for mode in ("bilinear", "nearest", "bicubic"):
            out = F.grid_sample(x.double(), grid.double(), mode, align_corners=False)
            assert out.shape == (2, shapes[0][1], *shapes[1][1:3])


def test_gradients_have_the_same_bits_for_any_number_of_threads():
    arrays = drawn(((3, 19, 24, 24), (3, 30, 30, 2)), np.float32)
    found, before = [], rushlight.get_num_threads()
    try:
        for threads in (1, 2, 3):
            rushlight.set_num_threads(threads)
            x, grid = (rushlight.tensor(a, requires_grad=True) for a in arrays)
            out = F.grid_sample(x, grid, align_corners=False)
            pair = rushlight.autograd.grad(out, (x, grid), out.detach())
            found.append([t.detach().numpy().tobytes() for t in (out, *pair)])
    finally:
        rushlight.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_under_vmap_and_forward_mode():
    x, grid = (rushlight.tensor(a) for a in drawn(SHAPES[0], np.float64))
    images = rushlight.stack([x, x * 2])
    found = rushlight.func.vmap(lambda x: F.grid_sample(x, grid, align_corners=True))(images)
    expected = F.grid_sample(x, grid, align_corners=True)
    np.testing.assert_allclose(found[1].numpy(), 2 * expected.numpy(), 1e-12)
    _, tangent = rushlight.func.jvp(
        lambda x: F.grid_sample(x, grid, align_corners=True), (x,), (x,)
    )
    np.testing.assert_allclose(tangent.numpy(), expected.numpy(), 1e-12)
