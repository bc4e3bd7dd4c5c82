"""Small images for the tests, made from a fixed formula."""

from __future__ import annotations

import numpy as np
from PIL import Image

import rushlight as rl


def pixels(height=23, width=31, channels=3, seed=0):
    """Smooth colours with noise, uint8, (height, width, channels)."""
    generator = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    planes = [127 + 100 * np.sin(x / (3 + c) + c) * np.cos(y / (4 + c)) for c in range(channels)]
    noise = generator.integers(-20, 21, (height, width, channels))
    return np.clip(np.stack(planes, -1) + noise, 0, 255).astype(np.uint8)


def picture(height=23, width=31, mode="RGB", seed=0):
    """A PIL image of a mode."""
    return Image.fromarray(pixels(height, width, 3, seed)).convert(mode)


def planes(height=23, width=31, channels=3, seed=0, dtype=rl.uint8):
    """The same pixels as a tensor (channels, height, width)."""
    array = np.ascontiguousarray(pixels(height, width, channels, seed).transpose(2, 0, 1))
    tensor = rl.tensor(array)
    return tensor if dtype is rl.uint8 else tensor.to(dtype) / 255
