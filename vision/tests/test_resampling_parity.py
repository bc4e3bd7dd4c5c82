"""Tensor resizing and rotation against PyTorch's interpolate and grid_sample."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pictures import planes

import rushlight as rl
from rushlight_vision.transforms import InterpolationMode as Mode
from rushlight_vision.transforms import functional as F

torch = pytest.importorskip("torch")
SIZES = [(11, 17), (40, 12), (50, 64), (23, 7), (1, 1), (3, 100)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("mode", [Mode.BILINEAR, Mode.BICUBIC])
def test_weights_are_pytorchs(mode, antialias, size):
    image = planes(dtype=rl.float64).requires_grad_()
    theirs = torch.tensor(image.detach().numpy(), requires_grad=True)
    expected = torch.nn.functional.interpolate(
        theirs[None], size, mode=mode.value, antialias=antialias
    )[0]
    result = F.resize(image, size, mode, antialias=antialias)
    np.testing.assert_allclose(result.detach().numpy(), expected.detach().numpy(), atol=1e-12)
    (result**2).sum().backward()
    (expected**2).sum().backward()
    np.testing.assert_allclose(image.grad.numpy(), theirs.grad.numpy(), atol=1e-10)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mode", [Mode.NEAREST, Mode.NEAREST_EXACT])
def test_nearest_pixels_are_pytorchs(mode, size):
    expected = torch.nn.functional.interpolate(
        torch.tensor(planes().numpy())[None], size, mode=mode.value
    )[0]
    np.testing.assert_array_equal(F.resize(planes(), size, mode).numpy(), expected.numpy())


def on_an_edge(number, length, new):
    """Whether an output pixel's middle lies exactly between two input pixels: rounding decides."""
    return (2 * number + 1) * length % (2 * new) == 0


@pytest.mark.parametrize("length", [2, 3, 5, 7, 49, 100, 224, 333])
def test_nearest_lines_of_many_lengths(length):
    image = rl.arange(length).to(rl.int32).reshape(1, 1, length)
    theirs = torch.arange(length, dtype=torch.float32).reshape(1, 1, 1, length)
    for new in range(1, 240, 7):
        for mode in (Mode.NEAREST, Mode.NEAREST_EXACT):
            expected = torch.nn.functional.interpolate(theirs, (1, new), mode=mode.value)
            result = F.resize(image, (1, new), mode)
            pairs = zip(result.flatten().tolist(), expected.flatten().tolist(), strict=True)
            for number, (ours, wanted) in enumerate(pairs):
                if mode is Mode.NEAREST or not on_an_edge(number, length, new):
                    assert ours == wanted


@pytest.mark.parametrize("angle", [17.0, 90.0, -133.0])
@pytest.mark.parametrize("center", [None, (3.0, 20.0)])
def test_turned_pixels_are_grid_samples(angle, center):
    image = planes(dtype=rl.float32)
    height, width = image.shape[-2:]
    x0, y0 = (0.0, 0.0) if center is None else (center[0] - width / 2, center[1] - height / 2)
    cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    x = torch.arange(width, dtype=torch.float64)[None, :] + 0.5 - width / 2 - x0
    y = torch.arange(height, dtype=torch.float64)[:, None] + 0.5 - height / 2 - y0
    grid = torch.stack(
        [
            (cosine * x - sine * y + x0) / (0.5 * width),
            (sine * x + cosine * y + y0) / (0.5 * height),
        ],
        dim=-1,
    )
    source = torch.tensor(image.numpy(), dtype=torch.float64)[None]
    expected = torch.nn.functional.grid_sample(source, grid[None], align_corners=False)[0]
    result = F.rotate(image, angle, Mode.BILINEAR, center=center)
    np.testing.assert_allclose(result.numpy(), expected.numpy(), atol=2e-5)
