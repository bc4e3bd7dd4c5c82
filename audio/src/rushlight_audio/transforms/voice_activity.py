"""Trimming of silence before speech, as a module."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn
from rushlight_audio import functional as F

__all__ = ["Vad"]


class Vad(nn.Module):
    """A waveform without the silence before speech: :func:`rushlight_audio.functional.vad`.

    Args:
        sample_rate: samples per second.
        trigger_level: what a measurement has to reach.
        trigger_time: seconds over which measurements are smoothed, against short bursts.
        search_time: seconds before the trigger in which quiet speech is looked for.
        allowed_gap: longest silence in seconds between such pieces and the trigger.
        pre_trigger_time: seconds to keep before what was found.
        boot_time: seconds at the beginning that are taken for noise.
        noise_up_time: seconds in which the estimate of the noise follows a rise.
        noise_down_time: seconds in which it follows a fall.
        noise_reduction_amount: how much of the noise is subtracted.
        measure_freq: measurements per second.
        measure_duration: seconds of a measurement; twice the time between two by default.
        measure_smooth_time: seconds over which spectra are smoothed.
        hp_filter_freq: lowest frequency that is looked at, in Hz.
        lp_filter_freq: highest one.
        hp_lifter_freq: lowest pitch, in Hz.
        lp_lifter_freq: highest one.
    """

    def __init__(
        self,
        sample_rate: int,
        trigger_level: float = 7.0,
        trigger_time: float = 0.25,
        search_time: float = 1.0,
        allowed_gap: float = 0.25,
        pre_trigger_time: float = 0.0,
        boot_time: float = 0.35,
        noise_up_time: float = 0.1,
        noise_down_time: float = 0.01,
        noise_reduction_amount: float = 1.35,
        measure_freq: float = 20.0,
        measure_duration: float | None = None,
        measure_smooth_time: float = 0.4,
        hp_filter_freq: float = 50.0,
        lp_filter_freq: float = 6000.0,
        hp_lifter_freq: float = 150.0,
        lp_lifter_freq: float = 2000.0,
    ) -> None:
        super().__init__()
        self.sample_rate = sample_rate
        self.trigger_level = trigger_level
        self.trigger_time = trigger_time
        self.search_time = search_time
        self.allowed_gap = allowed_gap
        self.pre_trigger_time = pre_trigger_time
        self.boot_time = boot_time
        self.noise_up_time = noise_up_time
        self.noise_down_time = noise_down_time
        self.noise_reduction_amount = noise_reduction_amount
        self.measure_freq = measure_freq
        self.measure_duration = measure_duration
        self.measure_smooth_time = measure_smooth_time
        self.hp_filter_freq = hp_filter_freq
        self.lp_filter_freq = lp_filter_freq
        self.hp_lifter_freq = hp_lifter_freq
        self.lp_lifter_freq = lp_lifter_freq

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """``[..., T']``, the end of ``[channels, T]`` or ``[T]``."""
        return F.vad(
            waveform,
            self.sample_rate,
            self.trigger_level,
            self.trigger_time,
            self.search_time,
            self.allowed_gap,
            self.pre_trigger_time,
            self.boot_time,
            self.noise_up_time,
            self.noise_down_time,
            self.noise_reduction_amount,
            self.measure_freq,
            self.measure_duration,
            self.measure_smooth_time,
            self.hp_filter_freq,
            self.lp_filter_freq,
            self.hp_lifter_freq,
            self.lp_lifter_freq,
        )
