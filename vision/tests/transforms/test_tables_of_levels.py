"""Bytes by tables, complements and fills: what the formulas give."""

from __future__ import annotations

import pytest

import rushlight as rl
from rushlight_vision.transforms import functional as F

LEVELS = rl.arange(256, dtype=rl.uint8)


@pytest.mark.parametrize("gamma", [0.0, 0.45, 1.0, 1.3, 2.2, 7.0])
@pytest.mark.parametrize("gain", [0.5, 1.0, 1.7])
def test_gamma_of_large_images_is_that_of_small_ones(gamma, gain):
    small = F.adjust_gamma(LEVELS.reshape(1, 16, 16), gamma, gain).flatten()
    rl.manual_seed(0)
    large = rl.randint(0, 256, (2, 3, 40, 41)).to(rl.uint8)
    assert F.adjust_gamma(large, gamma, gain).equal(small[large.long()])


@pytest.mark.parametrize("dtype", [rl.uint8, rl.int16, rl.float32])
def test_the_negative(dtype):
    top = {rl.uint8: 255, rl.int16: 32767, rl.float32: 1.0}[dtype]
    image = (rl.rand(3, 5, 7) * top).to(dtype)
    assert F.invert(image).equal((top - image).to(dtype))


@pytest.mark.parametrize("dtype", [rl.uint8, rl.float32])
@pytest.mark.parametrize("value", [[0.0], [3.0], [1.0, 0.0, 2.0]])
def test_erasing(dtype, value):
    rl.manual_seed(0)
    image = (rl.rand(2, 3, 9, 8) * 100).to(dtype)
    before, written = image.clone(), rl.tensor(value).reshape(-1, 1, 1)
    found = F.erase(image, 2, 1, 4, 5, written)
    assert image.equal(before)
    part = found[..., 2:6, 1:6]
    assert part.equal(written.to(dtype).expand_as(part))
    found[..., 2:6, 1:6] = image[..., 2:6, 1:6]
    assert found.equal(image)
    assert F.erase(image, 2, 1, 4, 5, written, inplace=True) is image


def test_erasing_with_nan():
    found = F.erase(rl.rand(3, 5, 5), 0, 0, 2, 2, rl.tensor([float("nan")]).reshape(1, 1, 1))
    assert found[:, :2, :2].isnan().all() and int(found.isnan().sum()) == 12


def test_erasing_passes_gradients():
    image, value = rl.rand(3, 6, 6, requires_grad=True), rl.zeros(1, 1, 1, requires_grad=True)
    F.erase(image, 0, 0, 2, 3, value).sum().backward()
    assert value.grad.item() == 18 and image.grad.sum() == 90
    image.grad = None
    F.erase(image, 0, 0, 2, 3, value.detach()).sum().backward()
    assert image.grad.sum() == 90 and image.grad[:, :2, :3].sum() == 0
