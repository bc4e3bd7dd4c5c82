"""Ratios of a signal to the noise that is left in an estimate of it."""

from __future__ import annotations

import rushlight as rl

__all__ = ["decibels", "scale_invariant_signal_noise_ratio", "signal_noise_ratio", "zero_meaned"]


def zero_meaned(op: str, preds: rl.Tensor, target: rl.Tensor, zero_mean: bool) -> list[rl.Tensor]:
    """Both, less their means if wanted; ValueError where they do not fit each other."""
    if preds.shape != target.shape:
        raise ValueError(
            f"{op}(): preds and target must have the same shape, got {list(preds.shape)} and "
            f"{list(target.shape)}"
        )
    if not preds.is_floating_point() or not target.is_floating_point():
        raise TypeError(
            f"{op}(): preds and target must be floating-point, got {preds.dtype} and {target.dtype}"
        )
    both = [preds, target]
    return [each - each.mean(-1, keepdim=True) for each in both] if zero_mean else both


def decibels(signal: rl.Tensor, noise: rl.Tensor, dim: int | tuple[int, ...] = -1) -> rl.Tensor:
    """Ten times the logarithm of the ratio of two energies, kept finite by the smallest step."""
    step = rl.finfo(signal.dtype).eps
    return 10 * rl.log10((_energy(signal, dim) + step) / (_energy(noise, dim) + step))


def _energy(signal: rl.Tensor, dim: int | tuple[int, ...]) -> rl.Tensor:
    return (signal**2).sum(dim)


def signal_noise_ratio(preds: rl.Tensor, target: rl.Tensor, zero_mean: bool = False) -> rl.Tensor:
    """Signal-to-noise ratio in decibels: the energy of the target by that of the difference.

    Args:
        preds: estimates ``[..., T]``, floating-point.
        target: of the same shape.
        zero_mean: take the means away first.

    Returns: ``[...]``; gradients reach `preds`.

    >>> target = rl.tensor([3.0, -0.5, 2.0, 7.0])
    >>> signal_noise_ratio(rl.tensor([2.5, 0.0, 2.0, 8.0]), target)
    tensor(16.1805)
    """
    preds, target = zero_meaned("signal_noise_ratio", preds, target, zero_mean)
    return decibels(target, target - preds)


def scale_invariant_signal_noise_ratio(preds: rl.Tensor, target: rl.Tensor) -> rl.Tensor:
    """Signal-to-noise ratio in decibels, whatever the scale and mean of the estimate.

    Args: as of :func:`signal_noise_ratio`.

    >>> target = rl.tensor([3.0, -0.5, 2.0, 7.0])
    >>> scale_invariant_signal_noise_ratio(rl.tensor([2.5, 0.0, 2.0, 8.0]), target)
    tensor(15.0918)
    """
    preds, target = zero_meaned("scale_invariant_signal_noise_ratio", preds, target, True)
    step = rl.finfo(preds.dtype).eps
    scale = (preds * target).sum(-1, keepdim=True) + step
    scale = scale / ((target**2).sum(-1, keepdim=True) + step)
    return decibels(scale * target, scale * target - preds)
