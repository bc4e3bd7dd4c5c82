"""How far two voices are apart: mel cepstral distortion."""

from __future__ import annotations

import math

import numpy as np

import rushlight as rl

__all__ = ["mel_cepstral_distortion"]


def mel_cepstral_distortion(
    preds: rl.Tensor, target: rl.Tensor, skip_energy: bool = True, align: bool = False
) -> rl.Tensor:
    """Mean distance of mel cepstra in decibels (Kubichek 1993): ``10 / ln 10 * sqrt(2 sum d^2)``.

    Args:
        preds: cepstra ``[..., T, D]``.
        target: of the same shape; with `align` of any length, and both ``[T, D]``.
        skip_energy: leave out the first coefficient, which is how loud a frame is.
        align: find the frames that belong together by dynamic time warping, and take the mean
            along that path.

    Returns: ``[...]``; gradients reach `preds`.

    >>> mel_cepstral_distortion(rl.zeros(3, 2), rl.ones(3, 2))
    tensor(6.1419)
    """
    op = "mel_cepstral_distortion"
    if align:
        if preds.dim() != 2 or target.dim() != 2 or preds.shape[1] != target.shape[1]:
            raise ValueError(
                f"{op}(): with align both must be [T, D] of the same D, got {list(preds.shape)} "
                f"and {list(target.shape)}"
            )
    elif preds.shape != target.shape or preds.dim() < 2:
        raise ValueError(
            f"{op}(): preds and target must both be [..., T, D], got {list(preds.shape)} and "
            f"{list(target.shape)}; align=True takes other lengths"
        )
    if skip_energy:
        preds, target = preds[..., 1:], target[..., 1:]
    if align:
        first, second = _warped(rl.cdist(preds.detach(), target.detach()).cpu().numpy())
        preds, target = preds[rl.from_numpy(first)], target[rl.from_numpy(second)]
    distance = (2 * ((preds - target) ** 2).sum(-1)).sqrt()
    return 10 / math.log(10) * distance.mean(-1)


def _warped(costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cheapest path from corner to corner by steps of one, as rows and columns."""
    rows, columns = costs.shape
    total = np.full((rows + 1, columns + 1), np.inf)
    total[0, 0] = 0.0
    # Cells of a diagonal need those of the two before it.
    for diagonal in range(2, rows + columns + 1):
        row = np.arange(max(1, diagonal - columns), min(rows, diagonal - 1) + 1)
        column = diagonal - row
        best = np.minimum(total[row - 1, column], total[row, column - 1])
        best = np.minimum(best, total[row - 1, column - 1])
        total[row, column] = best + costs[row - 1, column - 1]
    path = [(rows, columns)]
    while path[-1] != (1, 1):
        row, column = path[-1]
        before = [(row - 1, column - 1), (row - 1, column), (row, column - 1)]
        path.append(min(before, key=lambda cell: total[cell]))
    found: np.ndarray = np.array(path[::-1]) - 1
    return found[:, 0].copy(), found[:, 1].copy()
