"""Masks over bands of time or frequency, for augmentation. (Park et al., 2019, SpecAugment.)"""

from __future__ import annotations

import rushlight as rl

__all__ = ["mask_along_axis", "mask_along_axis_iid"]


def mask_along_axis(
    specgram: rl.Tensor,
    mask_param: int,
    mask_value: float | rl.Tensor,
    axis: int,
    p: float = 1.0,
) -> rl.Tensor:
    """A spectrogram with one band, the same in all items, set to a value.

    Args:
        specgram: ``[..., frequencies, frames]``.
        mask_param: widths are drawn from [0, `mask_param`).
        mask_value: what the band is set to.
        axis: the dimension of frequencies or frames, the last two.
        p: the widest band as a share of the axis.

    Returns:
        a tensor of the same shape.
    """
    _require_axis("mask_along_axis", specgram, axis, p, 2)
    return _masked(specgram, mask_param, mask_value, axis, p, specgram.shape[:0])


def mask_along_axis_iid(
    specgrams: rl.Tensor,
    mask_param: int,
    mask_value: float | rl.Tensor,
    axis: int,
    p: float = 1.0,
) -> rl.Tensor:
    """Spectrograms with one band each set to a value: :func:`mask_along_axis`, drawn for every item
    of ``[..., frequencies, frames]``."""
    _require_axis("mask_along_axis_iid", specgrams, axis, p, 3)
    return _masked(specgrams, mask_param, mask_value, axis, p, specgrams.shape[:-2])


def _require_axis(op: str, specgram: rl.Tensor, axis: int, p: float, least: int) -> None:
    dim = specgram.dim()
    if dim < least:
        raise ValueError(
            f"{op}(): expected a spectrogram of {least} or more dimensions [..., frequencies, "
            f"frames], got {list(specgram.shape)}"
        )
    if axis not in (dim - 2, dim - 1):
        raise ValueError(
            f"{op}(): axis must be that of frequencies or frames, {dim - 2} or {dim - 1}, got "
            f"{axis}"
        )
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{op}(): p must be in [0, 1], got {p}")


def _masked(
    specgram: rl.Tensor,
    mask_param: int,
    mask_value: float | rl.Tensor,
    axis: int,
    p: float,
    items: rl.Size,
) -> rl.Tensor:
    size = specgram.shape[axis]
    widest = mask_param if p == 1.0 else min(mask_param, int(size * p))
    if widest < 1:
        return specgram
    width = _drawn(specgram, items) * widest
    least = _drawn(specgram, items) * (size - width)
    start = least.long().unsqueeze(-1).to(specgram.device)
    count = width.long().unsqueeze(-1).to(specgram.device)
    at = rl.arange(size, device=specgram.device)
    inside = (at >= start) & (at < start + count)
    inside = inside.unsqueeze(-2 if axis == specgram.dim() - 1 else -1)
    if isinstance(mask_value, rl.Tensor):
        return specgram.masked_fill(inside, mask_value)
    return specgram.masked_fill(inside, mask_value)


def _drawn(specgram: rl.Tensor, items: rl.Size) -> rl.Tensor:
    """A number from [0, 1) for each item; where all have the same, float32 on the processor."""
    if len(items) == 0:
        return rl.rand(())
    return rl.rand(items, device=specgram.device, dtype=specgram.dtype)
