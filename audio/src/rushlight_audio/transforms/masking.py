"""Masks over bands of time or frequency, for augmentation. (Park et al., 2019, SpecAugment.)"""

from __future__ import annotations

import rushlight as rl
from rushlight import nn
from rushlight_audio import functional as F

__all__ = ["FrequencyMasking", "SpecAugment", "TimeMasking"]


class _AxisMasking(nn.Module):
    """A band of random width and position along one axis, set to a value."""

    def __init__(self, mask_param: int, axis: int, iid_masks: bool, p: float):
        super().__init__()
        name = type(self).__name__
        if mask_param < 0:
            raise ValueError(f"{name}(): mask parameter must not be negative, got {mask_param}")
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"{name}(): p must be in [0, 1], got {p}")
        self._name = name
        self.mask_param = mask_param
        self.axis = axis
        self.iid_masks = iid_masks
        self.p = p

    def forward(self, specgram: rl.Tensor, mask_value: float | rl.Tensor = 0.0) -> rl.Tensor:
        """The spectrogram ``[..., F, T]`` with a band at `mask_value`.

        With `iid_masks`, each of the leading items ``[..., F, T]`` has a band of its own, else all
        have the same.
        """
        if specgram.dim() < 2:
            raise ValueError(
                f"{self._name}: expected a spectrogram of shape [..., F, T], "
                f"got {list(specgram.shape)}"
            )
        axis = specgram.dim() + self.axis
        return _masked(specgram, self.mask_param, mask_value, axis, self.p, self.iid_masks)


def _masked(
    specgram: rl.Tensor,
    mask_param: int,
    mask_value: float | rl.Tensor,
    axis: int,
    p: float,
    iid_masks: bool,
) -> rl.Tensor:
    if iid_masks and specgram.dim() > 2:
        return F.mask_along_axis_iid(specgram, mask_param, mask_value, axis, p)
    return F.mask_along_axis(specgram, mask_param, mask_value, axis, p)


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


class SpecAugment(nn.Module):
    """Several masks over frames, then several over frequencies.

    Args:
        n_time_masks: how many masks over frames.
        time_mask_param: their widths are drawn from [0, `time_mask_param`).
        n_freq_masks: how many masks over frequencies.
        freq_mask_param: their widths are drawn from [0, `freq_mask_param`).
        iid_masks: draw for each item of the batch and channel.
        p: the widest mask over frames as a share of all frames.
        zero_masking: fill with zeros, else with the mean of the spectrogram.
    """

    def __init__(
        self,
        n_time_masks: int,
        time_mask_param: int,
        n_freq_masks: int,
        freq_mask_param: int,
        iid_masks: bool = True,
        p: float = 1.0,
        zero_masking: bool = False,
    ):
        super().__init__()
        self.n_time_masks = n_time_masks
        self.time_mask_param = time_mask_param
        self.n_freq_masks = n_freq_masks
        self.freq_mask_param = freq_mask_param
        self.iid_masks = iid_masks
        self.p = p
        self.zero_masking = zero_masking

    def forward(self, specgram: rl.Tensor) -> rl.Tensor:
        """The masked spectrogram ``[..., F, T]``."""
        value: float | rl.Tensor = 0.0
        if not self.zero_masking:
            value = specgram.mean()
        axis, iid = specgram.dim() - 1, self.iid_masks
        for _ in range(self.n_time_masks):
            specgram = _masked(specgram, self.time_mask_param, value, axis, self.p, iid)
        for _ in range(self.n_freq_masks):
            specgram = _masked(specgram, self.freq_mask_param, value, axis - 1, self.p, iid)
        return specgram
