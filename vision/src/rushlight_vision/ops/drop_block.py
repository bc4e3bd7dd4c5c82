"""Dropout of whole blocks of a feature map (Ghiasi et al., DropBlock, 2018)."""

from __future__ import annotations

import math

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F


def _drop_block(
    name: str, input: rl.Tensor, dims: int, p: float, block_size: int,
    inplace: bool, eps: float, training: bool,
) -> rl.Tensor:  # fmt: skip
    if p < 0.0 or p > 1.0:
        raise ValueError(f"{name}: p must be from 0 to 1, got {p}")
    if input.ndim != dims + 2:
        raise ValueError(f"{name}: input must have {dims + 2} dimensions, got {input.ndim}")
    if not training or p == 0.0:
        return input
    size = input.shape[2:]
    block_size = min(block_size, *size)
    if block_size % 2 == 0:
        raise ValueError(f"{name}: block_size must be odd, got {block_size}")
    # Blocks begin where they fit; their chance makes p the expected share of dropped elements.
    places = [length - block_size + 1 for length in size]
    chance = (p * math.prod(size)) / (block_size**dims * math.prod(places))
    noise = input.new_empty((*input.shape[:2], *places)).bernoulli_(chance)
    half = block_size // 2
    pool = F.max_pool2d if dims == 2 else F.max_pool3d
    dropped = pool(F.pad(noise, [half] * (2 * dims)), block_size, stride=1, padding=half)
    stays = 1 - dropped
    scale = stays.numel() / (eps + stays.sum())
    if inplace:
        return input.mul_(stays).mul_(scale)
    return input * stays * scale


def drop_block2d(
    input: rl.Tensor,
    p: float,
    block_size: int,
    inplace: bool = False,
    eps: float = 1e-6,
    training: bool = True,
) -> rl.Tensor:
    """The input with square blocks zeroed at random and the rest scaled so that the mean stays.

    Parameters
    ----------
    input : Tensor (N, C, H, W)
    p : float
        Expected share of zeroed elements, from 0 to 1.
    block_size : int
        Odd; at most as large as the input.
    inplace : bool, default False
        Whether to change `input` itself.
    eps : float, default 1e-6
        Added to the number of elements that stay, which is divided by.
    training : bool, default True
        Without it the input comes back as it is.

    Returns
    -------
    Tensor (N, C, H, W)

    Raises
    ------
    ValueError
        For another `p`, number of dimensions, or an even `block_size`.

    Example
    -------
    >>> drop_block2d(rl.ones(1, 1, 4, 4), p=0.3, block_size=3).shape
    rushlight.Size([1, 1, 4, 4])
    """
    return _drop_block("drop_block2d", input, 2, p, block_size, inplace, eps, training)


def drop_block3d(
    input: rl.Tensor,
    p: float,
    block_size: int,
    inplace: bool = False,
    eps: float = 1e-6,
    training: bool = True,
) -> rl.Tensor:
    """:func:`drop_block2d` with cubes, for inputs (N, C, D, H, W).

    >>> drop_block3d(rl.ones(1, 1, 4, 4, 4), p=0.3, block_size=3).shape
    rushlight.Size([1, 1, 4, 4, 4])
    """
    return _drop_block("drop_block3d", input, 3, p, block_size, inplace, eps, training)


class DropBlock2d(nn.Module):
    """:func:`drop_block2d` as a layer, which acts in training alone."""

    def __init__(self, p: float, block_size: int, inplace: bool = False, eps: float = 1e-6) -> None:
        super().__init__()
        self.p = p
        self.block_size = block_size
        self.inplace = inplace
        self.eps = eps

    def forward(self, input: rl.Tensor) -> rl.Tensor:
        """The input (N, C, H, W), in training with blocks zeroed at random."""
        return drop_block2d(input, self.p, self.block_size, self.inplace, self.eps, self.training)

    def __repr__(self) -> str:
        settings = f"p={self.p}, block_size={self.block_size}, inplace={self.inplace}"
        return f"{type(self).__name__}({settings})"


class DropBlock3d(DropBlock2d):
    """:func:`drop_block3d` as a layer, which acts in training alone."""

    def forward(self, input: rl.Tensor) -> rl.Tensor:
        """The input (N, C, D, H, W), in training with blocks zeroed at random."""
        return drop_block3d(input, self.p, self.block_size, self.inplace, self.eps, self.training)
