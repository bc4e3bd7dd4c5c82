"""Trimming of silence before speech, by the power of the cepstrum: SoX's detector.

Every measurement takes a window of the sound, subtracts what is known of the noise from its
smoothed spectrum and looks for a pitch in the cepstrum of what remains.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import rushlight as rl
from rushlight_audio.functional.checks import in_rows, require_waveform

__all__ = ["Detector", "Plan", "detector_of", "vad"]

_OFFSET = 21.0  # makes silence 0
_TOGETHER = 32  # windows that are transformed together


@dataclass(frozen=True)
class Plan:
    """Sizes in samples and bins, and factors of smoothing, of a detector's settings."""

    length: int
    period: int
    count: int
    gap: int
    before: int
    bins: tuple[int, int]
    lags: tuple[int, int]
    size: int
    window: rl.Tensor
    spectral: rl.Tensor
    reduction: float
    smooth: float
    up: float
    down: float
    trigger: float
    boots: int

    @property
    def kept(self) -> int:
        """Samples before a trigger that may be given."""
        return self.length + self.before + (self.count + 1) * self.period


def _factor(seconds: float, frequency: float) -> float:
    return math.exp(-1.0 / (seconds * frequency))


class _Spectra:
    """The smoothed spectra of all channels, and those of their noise."""

    def __init__(self, plan: Plan, channels: int) -> None:
        self.plan = plan
        bins = plan.bins[1] - plan.bins[0]
        self.spectrum = rl.zeros(channels, bins, dtype=rl.float64)
        self.noise = rl.zeros(channels, bins, dtype=rl.float64)

    def measures(self, windows: rl.Tensor, number: int) -> list[list[float]]:
        """How much each of the next windows ``[channels, count, length]`` sounds like speech;
        `number` have been measured so far."""
        plan, (first, last), (start, stop) = self.plan, self.plan.bins, self.plan.lags
        spectra = rl.fft.rfft(windows.double() * plan.window, plan.size)[..., first:last].abs()
        found = [self._follow(each, number + i) for i, each in enumerate(spectra.unbind(1))]
        clean = rl.stack(found, 1).clamp(min=0).sqrt() * plan.spectral
        padded = rl.nn.functional.pad(clean, (first, plan.size // 2 - last))
        cepstra = rl.fft.rfft(padded)[..., start:stop].abs().square().sum(-1) / (stop - start)
        return [[_level(value) for value in row] for row in cepstra.tolist()]

    def _follow(self, spectrum: rl.Tensor, number: int) -> rl.Tensor:
        """The power of the smoothed spectrum less that of noise; at the beginning everything counts
        as noise."""
        plan, begins = self.plan, number <= self.plan.boots
        kept = number / (1.0 + number) if begins else plan.smooth
        self.spectrum = self.spectrum * kept + spectrum * (1 - kept)
        power = self.spectrum.square()
        if begins:
            self.noise = power
        else:
            rate = rl.where(power > self.noise, plan.up, plan.down)
            self.noise = self.noise * rate + power * (1 - rate)
        return power - plan.reduction * self.noise


def _level(cepstrum: float) -> float:
    return max(0.0, _OFFSET + math.log(cepstrum)) if cepstrum > 0 else 0.0


class _Channel:
    """The measurements of one channel."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.measures = [0.0] * plan.count
        self.mean = 0.0

    def note(self, value: float, index: int) -> float:
        """Remember a measurement; the smoothed mean of all."""
        self.measures[index] = value
        self.mean = self.mean * self.plan.trigger + value * (1 - self.plan.trigger)
        return self.mean

    def kept(self, index: int, level: float) -> int:
        """How many measurements before a trigger belong to what triggered it, back to a silence or
        a gap that is too long."""
        count = zero = trigger = self.plan.count
        for back in range(count):
            value = self.measures[(index - back) % count]
            if value >= level and back <= trigger + self.plan.gap:
                zero = trigger = back
            elif value == 0 and trigger >= zero:
                zero = back
        return min(count - 1, zero)


def vad(
    waveform: rl.Tensor,
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
) -> rl.Tensor:
    """The waveform without the silence and noise before speech begins.

    Only the beginning is trimmed; for the end reverse the waveform. Speech is told by its pitch, so
    music may trigger it as well. Each measurement waits for the one before, 20 a second: a waveform
    on another device is copied to the host and measured there, the result stays on its device.

    Args:
        waveform: ``[channels, T]`` or ``[T]``; speech in any channel counts for all.
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

    Returns:
        ``[..., T']`` with the end of the waveform, on its device; empty where nothing triggers.
    """
    require_waveform("vad", waveform)
    if rl.compiler.is_exporting():
        raise NotImplementedError(
            "vad(): whether a waveform is trimmed, and where, follows from measurements that wait "
            "for each other, so that the length of the result depends on values: no exported "
            "program has that. Trim before the exported model is called, or export a network that "
            "finds speech, such as those of rushlight_audio.models"
        )
    if waveform.dim() > 2:
        warnings.warn(
            f"vad(): expected a waveform [channels, T], got {list(waveform.shape)}; leading "
            "dimensions count as channels",
            stacklevel=2,
        )
    duration = 2.0 / measure_freq if measure_duration is None else measure_duration
    speech = [trigger_level, trigger_time, search_time, allowed_gap, pre_trigger_time]
    noise = [boot_time, noise_up_time, noise_down_time, noise_reduction_amount]
    measures = [measure_freq, duration, measure_smooth_time]
    bands = [hp_filter_freq, lp_filter_freq, hp_lifter_freq, lp_lifter_freq]
    begin = _begin(waveform, sample_rate, speech + noise + measures + bands)
    return waveform[..., :0] if begin is None else waveform[..., max(begin, 0) :]


@rl.jit.ignore
def _begin(waveform: rl.Tensor, sample_rate: int, settings: list[float]) -> int | None:
    """The first sample to keep; scripts leave the detector to Python."""
    plan, level = detector_of(sample_rate, *settings)
    rows = in_rows(waveform.detach()).cpu()
    return Detector(plan, level, rows.shape[0]).begin(rows)


def detector_of(
    sample_rate: int,
    trigger_level: float,
    trigger_time: float,
    search_time: float,
    allowed_gap: float,
    pre_trigger_time: float,
    boot_time: float,
    noise_up_time: float,
    noise_down_time: float,
    noise_reduction_amount: float,
    measure_freq: float,
    measure_duration: float | None,
    measure_smooth_time: float,
    hp_filter_freq: float,
    lp_filter_freq: float,
    hp_lifter_freq: float,
    lp_lifter_freq: float,
) -> tuple[Plan, float]:
    """A plan of the settings of :func:`vad`, and the level that triggers."""
    duration = 2.0 / measure_freq if measure_duration is None else measure_duration
    times = search_time, allowed_gap, pre_trigger_time
    plan: dict[str, Any] = _sizes(sample_rate, measure_freq, duration, times)
    plan |= _bands(
        sample_rate,
        plan["length"],
        (hp_filter_freq, lp_filter_freq),
        (hp_lifter_freq, lp_lifter_freq),
    )
    detector = Plan(
        **plan,
        reduction=noise_reduction_amount,
        smooth=_factor(measure_smooth_time, measure_freq),
        up=_factor(noise_up_time, measure_freq),
        down=_factor(noise_down_time, measure_freq),
        trigger=_factor(trigger_time, measure_freq),
        boots=int(boot_time * measure_freq - 0.5),
    )
    return detector, trigger_level


def _sizes(
    rate: int, frequency: float, duration: float, times: tuple[float, float, float]
) -> dict[str, Any]:
    search, gap, before = times
    return {
        "length": int(rate * duration + 0.5),
        "period": int(rate / frequency + 0.5),
        "count": math.ceil(search * frequency),
        "gap": int(gap * frequency + 0.5),
        "before": int(before * rate + 0.5),
    }


def _bands(
    rate: int, length: int, filters: tuple[float, float], lifters: tuple[float, float]
) -> dict[str, Any]:
    """The transform's size, its bins and lags that are looked at, and the windows over samples and
    bins."""
    size = 16
    while size < length:
        size *= 2
    first = max(int(filters[0] / rate * size + 0.5), 1)
    last = min(int(filters[1] / rate * size + 0.5), size // 2)
    lags = math.ceil(rate * 0.5 / lifters[1]), min(math.floor(rate * 0.5 / lifters[0]), size // 4)
    if last <= first or lags[1] <= lags[0]:
        raise ValueError(
            f"vad(): no frequency between {filters} Hz or no pitch between {lifters} Hz at "
            f"sample_rate {rate}"
        )
    options: dict[str, Any] = {"dtype": rl.float64}
    return {
        "size": size,
        "bins": (first, last),
        "lags": lags,
        "window": rl.hann_window(length, **options) * (2.0 / math.sqrt(length)),
        "spectral": rl.hann_window(last - first, **options) * (2.0 / math.sqrt(last - first)),
    }


class Detector:
    """Looks for the beginning of speech in all channels.

    Args:
        plan: sizes and factors.
        level: what a smoothed measurement has to reach.
        channels: how many.
    """

    def __init__(self, plan: Plan, level: float, channels: int) -> None:
        self.plan, self.level = plan, level
        self.channels = [_Channel(plan) for _ in range(channels)]
        self.spectra = _Spectra(plan, channels)
        self.number = 0

    @rl.no_grad()
    def begin(self, rows: rl.Tensor, dropped: int = 0) -> int | None:
        """The first sample to keep, None while nothing triggers; `rows` are the samples from number
        `dropped` on, of which some may have been looked at."""
        plan = self.plan
        while self.channels:
            start = self.number * plan.period
            ready = -(-(dropped + rows.shape[1] - plan.length - start) // plan.period)
            if ready <= 0:
                return None
            part = rows[:, start - dropped :]
            windows = part.unfold(1, plan.length, plan.period)[:, : min(ready, _TOGETHER)]
            for values in zip(*self.spectra.measures(windows, self.number), strict=True):
                start = self.number * plan.period
                kept = self._look(values)
                if kept is not None:
                    return start - plan.before - kept * plan.period
        return None

    def _look(self, values: tuple[float, ...]) -> int | None:
        """Note a measurement; how many measurements belong to speech, where it triggers."""
        index, kept, triggered = self.number % self.plan.count, 0, False
        for channel, value in zip(self.channels, values, strict=True):
            triggered = channel.note(value, index) >= self.level or triggered
            if triggered:
                kept = max(kept, channel.kept(index, self.level))
        self.number += 1
        return min(kept, self.plan.count) if triggered else None
