"""Tempo and beats by dynamic programming. (Ellis, 2007, "Beat tracking by dynamic programming".)"""

from __future__ import annotations

import math

import rushlight as rl
import rushlight.nn.functional as F
from rushlight_audio.analysis.onsets import onset_strength
from rushlight_audio.functional.convolution import fast_size

__all__ = ["beat_times", "tempo", "track_beats"]

SLOWEST, FASTEST = 30.0, 320.0  # beats per minute


def _require_curve(op: str, strength: rl.Tensor) -> None:
    if strength.dim() != 1:
        raise ValueError(f"{op}(): expected strength of shape [frames], got {list(strength.shape)}")


def tempo(
    strength: rl.Tensor,
    sample_rate: int,
    hop_length: int = 512,
    start_bpm: float = 120.0,
    std_bpm: float = 1.0,
) -> float:
    """The tempo in beats per minute: the best lag of the correlation of onset strength with itself,
    weighed by how usual a tempo is.

    Args:
        strength: ``[frames]``, see :func:`rushlight_audio.analysis.onset_strength`.
        sample_rate: samples per second.
        hop_length: distance between frames.
        start_bpm: the most usual tempo.
        std_bpm: deviation from it in octaves.

    Returns:
        the tempo, 0.0 where there is no onset.
    """
    _require_curve("tempo", strength)
    frames, rate = len(strength), sample_rate / hop_length
    most = min(int(60.0 * rate / SLOWEST), frames - 1)
    least = max(int(60.0 * rate / FASTEST), 1)
    if most <= least or not bool((strength > 0).any()):
        return 0.0
    curve = strength.detach().double().cpu()
    curve = curve - curve.mean()
    size = fast_size(2 * frames)
    spectrum = rl.fft.rfft(curve, n=size)
    found = rl.fft.irfft((spectrum * spectrum.conj()).real, n=size)[least : most + 1]
    lag = rl.arange(least, most + 1, dtype=rl.float64)
    # Correlations of long lags are sums of fewer terms.
    found = found / (frames - lag)
    octaves = rl.log2(60.0 * rate / lag / start_bpm) / std_bpm
    best = int((found.clamp(min=0) * rl.exp(-0.5 * octaves.square())).argmax())
    return 60.0 * rate / (least + best + _between(found, best))


def _between(curve: rl.Tensor, best: int) -> float:
    """How far from its largest value the top of the parabola through its neighbours is."""
    if not 0 < best < len(curve) - 1:
        return 0.0
    before, here, after = curve[best - 1 : best + 2].tolist()
    bend = before - 2 * here + after
    return 0.5 * (before - after) / bend if bend < 0 else 0.0


def track_beats(
    strength: rl.Tensor,
    sample_rate: int,
    hop_length: int = 512,
    bpm: float | None = None,
    tightness: float = 100.0,
) -> rl.Tensor:
    """The frames of the beats: those where onsets are strong and which are evenly spaced.

    The best chain is found frame after frame, each from those before: onset strength on another
    device is copied to the host, a number a frame, and the result is copied back.

    Args:
        strength: ``[frames]``, see :func:`rushlight_audio.analysis.onset_strength`.
        sample_rate: samples per second.
        hop_length: distance between frames.
        bpm: beats per minute; those of :func:`tempo` by default.
        tightness: how much uneven spacing costs.

    Returns:
        ``[beats]`` int64, on the device of `strength`.
    """
    _require_curve("track_beats", strength)
    bpm = tempo(strength, sample_rate, hop_length) if bpm is None else bpm
    curve = strength.detach().double().cpu()
    if bpm <= 0 or len(curve) < 2 or not bool(curve.std() > 0):
        return strength.new_zeros(0, dtype=rl.int64)
    period = 60.0 * sample_rate / hop_length / bpm
    local = _smoothed(curve / curve.std(), period)
    beats = _best_chain(local.tolist(), period, tightness)
    beats = _without_quiet_ends(local, beats)
    return rl.tensor(beats, dtype=rl.int64, device=strength.device)


def _smoothed(curve: rl.Tensor, period: float) -> rl.Tensor:
    """The curve with a normal window as wide as a 32nd of a beat."""
    reach = max(round(period), 1)
    window = rl.exp(-0.5 * (rl.arange(-reach, reach + 1).double() * 32.0 / period).square())
    return F.conv1d(curve.reshape(1, 1, -1), window.reshape(1, 1, -1), padding=reach).flatten()


def _best_chain(local: list[float], period: float, tightness: float) -> list[int]:
    """The chain of frames with the largest sum of heights less the cost of uneven steps."""
    steps = range(round(period / 2), round(2 * period) + 1)
    costs = [(step, tightness * math.log(step / period) ** 2) for step in steps if step > 0]
    scores, before, begun = [0.0] * len(local), [-1] * len(local), False
    least = 0.01 * max(local)
    for at, height in enumerate(local):
        best, source = 0.0, -1
        for step, cost in costs:
            if step > at:
                break
            value = scores[at - step] - cost
            if source < 0 or value > best:
                best, source = value, at - step
        scores[at] = height + (best if source >= 0 else 0.0)
        # Silence before the first onset is no beginning of a chain.
        if begun or height >= least:
            begun, before[at] = True, source
    chain = [_last_beat(scores)]
    while before[chain[-1]] >= 0:
        chain.append(before[chain[-1]])
    return chain[::-1]


def _last_beat(scores: list[float]) -> int:
    """The last peak that is more than half as high as the middle one of all peaks."""
    peaks = [
        at
        for at in range(1, len(scores))
        if scores[at] > scores[at - 1] and (at + 1 == len(scores) or scores[at] >= scores[at + 1])
    ]
    if not peaks:
        return scores.index(max(scores))
    middle = sorted(scores[at] for at in peaks)[len(peaks) // 2]
    return max((at for at in peaks if 2 * scores[at] > middle), default=peaks[-1])


def _without_quiet_ends(local: rl.Tensor, beats: list[int]) -> list[int]:
    heights = [float(local[at]) for at in beats]
    least = 0.5 * math.sqrt(sum(height**2 for height in heights) / len(heights))
    loud = [place for place, height in enumerate(heights) if height > least]
    return beats[loud[0] : loud[-1] + 1] if loud else beats


def beat_times(
    waveform: rl.Tensor, sample_rate: int, hop_length: int = 512
) -> tuple[float, rl.Tensor]:
    """The tempo in beats per minute of a waveform ``[T]``, and its beats in seconds ``[beats]``.

    Example:
        >>> clicks = rl.zeros(22050 * 6)
        >>> clicks[::11025] = 1.0  # twice a second
        >>> bpm, times = beat_times(clicks, 22050)
        >>> round(bpm)
        120
    """
    strength = onset_strength(waveform, sample_rate, hop_length=hop_length)
    bpm = tempo(strength, sample_rate, hop_length)
    beats = track_beats(strength, sample_rate, hop_length, bpm)
    return bpm, rl.mul(beats, hop_length / sample_rate)
