"""Ratios of a signal to its distortion in an estimate."""

from __future__ import annotations

import rushlight as rl
from rushlight_audio.metrics.noise import decibels, zero_meaned

__all__ = [
    "scale_invariant_signal_distortion_ratio",
    "signal_distortion_ratio",
    "source_aggregated_signal_distortion_ratio",
]


def scale_invariant_signal_distortion_ratio(
    preds: rl.Tensor, target: rl.Tensor, zero_mean: bool = False
) -> rl.Tensor:
    """SI-SDR in decibels (Le Roux et al. 2019): the target at the scale that fits the estimate
    best, by what is left.

    Args:
        preds: estimates ``[..., T]``, floating-point.
        target: of the same shape.
        zero_mean: take the means away first.

    Returns: ``[...]``; gradients reach `preds`.

    >>> target = rl.tensor([3.0, -0.5, 2.0, 7.0])
    >>> scale_invariant_signal_distortion_ratio(rl.tensor([2.5, 0.0, 2.0, 8.0]), target)
    tensor(18.4030)
    """
    op = "scale_invariant_signal_distortion_ratio"
    preds, target = zero_meaned(op, preds, target, zero_mean)
    scaled = _best_scale(preds, target, -1) * target
    return decibels(scaled, scaled - preds)


def _best_scale(preds: rl.Tensor, target: rl.Tensor, dim: int | tuple[int, ...]) -> rl.Tensor:
    step = rl.finfo(preds.dtype).eps
    product = (preds * target).sum(dim, keepdim=True) + step
    return product / ((target**2).sum(dim, keepdim=True) + step)


def source_aggregated_signal_distortion_ratio(
    preds: rl.Tensor, target: rl.Tensor, scale_invariant: bool = True, zero_mean: bool = False
) -> rl.Tensor:
    """SA-SDR in decibels: one ratio for all sources of a mixture together.

    Args:
        preds: estimates ``[..., sources, T]``.
        target: of the same shape.
        scale_invariant: at the one scale of all sources that fits best.
        zero_mean: take the means away first.

    Returns: ``[...]``.
    """
    op = "source_aggregated_signal_distortion_ratio"
    preds, target = zero_meaned(op, preds, target, zero_mean)
    if preds.dim() < 2:
        raise ValueError(f"{op}(): preds must be [..., sources, T], got {list(preds.shape)}")
    if scale_invariant:
        target = _best_scale(preds, target, (-2, -1)) * target
    return decibels(target, target - preds, (-2, -1))


def signal_distortion_ratio(
    preds: rl.Tensor,
    target: rl.Tensor,
    filter_length: int = 512,
    zero_mean: bool = False,
    load_diag: float | None = None,
) -> rl.Tensor:
    """SDR in decibels as BSS Eval has it (Vincent et al. 2006): what of the estimate a filter makes
    of the target, by the rest.

    Args:
        preds: estimates ``[..., T]``, floating-point; computed in float64.
        target: of the same shape.
        filter_length: taps of the filter, which is found by least squares.
        zero_mean: take the means away first.
        load_diag: added to the diagonal of the equations, where the target may be silent.

    Returns: ``[...]`` with the dtype of `preds`; gradients reach it.
    """
    op = "signal_distortion_ratio"
    if filter_length < 1:
        raise ValueError(f"{op}(): filter_length must be positive, got {filter_length}")
    dtype = preds.dtype
    preds, target = zero_meaned(op, preds, target, zero_mean)
    preds, target = (_unit(each.double()) for each in (preds, target))
    auto, cross = _correlations(preds, target, filter_length)
    if load_diag is not None:
        auto = rl.cat([auto[..., :1] + load_diag, auto[..., 1:]], -1)
    lag = rl.arange(filter_length, device=preds.device)
    equations = auto[..., (lag[:, None] - lag).abs()]
    solution = rl.linalg.solve(equations, cross.unsqueeze(-1)).squeeze(-1)
    coherence = (solution * cross).sum(-1)
    return (10 * rl.log10(coherence / (1 - coherence))).to(dtype)


def _unit(signal: rl.Tensor) -> rl.Tensor:
    return signal / signal.norm(dim=-1, keepdim=True).clamp(min=1e-6)


def _correlations(preds: rl.Tensor, target: rl.Tensor, length: int) -> tuple[rl.Tensor, rl.Tensor]:
    """The target with itself and with the estimate, at lags from 0 to `length` - 1."""
    size = 1 << (preds.shape[-1] + target.shape[-1] - 2).bit_length()
    spectrum = rl.fft.rfft(target, n=size)
    auto = rl.fft.irfft(spectrum.abs() ** 2, n=size)
    cross = rl.fft.irfft(spectrum.conj() * rl.fft.rfft(preds, n=size), n=size)
    return auto[..., :length], cross[..., :length]
