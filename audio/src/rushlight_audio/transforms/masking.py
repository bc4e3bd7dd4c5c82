"""Masks over bands of time or frequency, for augmentation (Park et al. 2019, SpecAugment)."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn

__all__ = ["FrequencyMasking", "TimeMasking"]


class _AxisMasking(nn.Module):
    """A band of random width and place along one axis, set to a value."""

    def __init__(self, mask_param: int, axis: int, iid_masks: bool, p: float):
        super().__init__()
        name = type(self).__name__
        if mask_param < 0:
            raise ValueError(f"{name}(): mask parameter must not be negative, got {mask_param}")
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"{name}(): p must be in [0, 1], got {p}")
        self.mask_param = mask_param
        self.axis = axis
        self.iid_masks = iid_masks
        self.p = p

    def forward(self, specgram: rl.Tensor, mask_value: float = 0.0) -> rl.Tensor:
        """The spectrogram ``[..., F, T]`` with a band at `mask_value`.

        With `iid_masks`, each of the leading items ``[..., F, T]`` has a band of its own, else all
        have the same.
        """
        if specgram.dim() < 2:
            raise ValueError(
                f"{type(self).__name__}: expected a spectrogram of shape [..., F, T], "
                f"got {list(specgram.shape)}"
            )
        size = specgram.shape[self.axis]
        widest = min(self.mask_param, int(size * self.p)) if self.p < 1.0 else self.mask_param
        if widest < 1:
            return specgram
        leading = specgram.shape[:-2] if self.iid_masks else (1,) * (specgram.dim() - 2)
        options = {"device": specgram.device}
        width = rl.rand(leading, **options) * widest
        start = (rl.rand(leading, **options) * (size - width)).long()
        end = start + width.long()
        place = rl.arange(size, **options)
        inside = (place >= start.unsqueeze(-1)) & (place < end.unsqueeze(-1))
        return specgram.masked_fill(inside.unsqueeze(-2 if self.axis == -1 else -1), mask_value)


class FrequencyMasking(_AxisMasking):
    """Mask up to `freq_mask_param` neighbouring frequencies of a spectrogram.

    Args:
        freq_mask_param: widths are drawn from [0, `freq_mask_param`).
        iid_masks: draw for each item of the batch and channel.
    """

    def __init__(self, freq_mask_param: int, iid_masks: bool = False):
        super().__init__(freq_mask_param, -2, iid_masks, 1.0)


class TimeMasking(_AxisMasking):
    """Mask up to `time_mask_param` neighbouring frames of a spectrogram.

    Args:
        time_mask_param: widths are drawn from [0, `time_mask_param`).
        iid_masks: draw for each item of the batch and channel.
        p: the widest mask as a share of all frames.
    """

    def __init__(self, time_mask_param: int, iid_masks: bool = False, p: float = 1.0):
        super().__init__(time_mask_param, -1, iid_masks, p)
