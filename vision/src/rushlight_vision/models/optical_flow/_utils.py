"""Grids of coordinates, and flows of a finer size."""

from __future__ import annotations

import rushlight as rl
from rushlight.nn import functional as F


def grid_sample(
    img: rl.Tensor,
    absolute_grid: rl.Tensor,
    mode: str = "bilinear",
    align_corners: bool | None = None,
) -> rl.Tensor:
    """:func:`rushlight.nn.functional.grid_sample` at coordinates (N, H', W', 2) in pixels, x
    first."""
    height, width = img.shape[-2:]
    x, y = absolute_grid.unbind(-1)
    x = 2 * x / (width - 1) - 1
    if height > 1:  # one row stands for every y
        y = 2 * y / (height - 1) - 1
    grid = rl.stack((x, y), dim=-1)
    return F.grid_sample(img, grid, mode=mode, align_corners=align_corners)


def make_coords_grid(batch_size: int, h: int, w: int, device: str = "cpu") -> rl.Tensor:
    """Coordinates (N, 2, h, w) of pixels, x first.

    >>> make_coords_grid(1, 1, 3)
    tensor([[[[0., 1., 2.]],
    <BLANKLINE>
             [[0., 0., 0.]]]])
    """
    rows, columns = (rl.arange(side, device=rl.device(device)) for side in (h, w))
    y, x = rl.meshgrid(rows, columns, indexing="ij")
    return rl.stack((x, y)).float()[None].repeat(batch_size, 1, 1, 1)


def upsample_flow(flow: rl.Tensor, up_mask: rl.Tensor | None = None, factor: int = 8) -> rl.Tensor:
    """A flow (N, 2, H, W), in pixels, of `factor` times the size.

    Each pixel is a mean of the nine around it, weighted by the softmax of `up_mask`
    (N, 9 * factor * factor, H, W); without, it is interpolated.
    """
    n, channels, height, width = flow.shape
    size = (height * factor, width * factor)
    if up_mask is None:
        return factor * F.interpolate(flow, size=size, mode="bilinear", align_corners=True)
    weights = up_mask.view(n, 1, 9, factor, factor, height, width).softmax(dim=2)
    around = F.unfold(factor * flow, kernel_size=3, padding=1)
    around = around.view(n, channels, 9, 1, 1, height, width)
    fine = (weights * around).sum(dim=2)
    return fine.permute(0, 1, 4, 2, 5, 3).reshape(n, channels, *size)
