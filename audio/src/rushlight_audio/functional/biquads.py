"""Filters of second order by their purpose.

The formulas are those of Robert Bristow-Johnson's "Cookbook formulae for audio EQ biquad filter
coefficients", with SoX's choices where it leaves any. Numbers become tensors of the waveform's
dtype; frequencies, gains and Q may be tensors of one element and get gradients.
"""

from __future__ import annotations

import math

import rushlight as rl
from rushlight_audio.functional.checks import require_waveform
from rushlight_audio.functional.recursion import biquad

__all__ = [
    "allpass_biquad",
    "band_biquad",
    "bandpass_biquad",
    "bandreject_biquad",
    "bass_biquad",
    "deemph_biquad",
    "equalizer_biquad",
    "highpass_biquad",
    "lowpass_biquad",
    "riaa_biquad",
    "treble_biquad",
]


def _numbers(op: str, waveform: rl.Tensor, values: list[float]) -> list[rl.Tensor]:
    require_waveform(op, waveform)
    dtype, device = waveform.dtype, waveform.device
    return [rl.as_tensor(value, dtype=dtype, device=device) for value in values]


def _angle(frequency: rl.Tensor, sample_rate: int) -> rl.Tensor:
    return rl.mul(frequency, 2 * math.pi / sample_rate)


def highpass_biquad(
    waveform: rl.Tensor, sample_rate: int, cutoff_freq: float, Q: float = 0.707
) -> rl.Tensor:
    """Frequencies above `cutoff_freq`, with two poles; `Q` 0.707 is a Butterworth filter."""
    frequency, q = _numbers("highpass_biquad", waveform, [cutoff_freq, Q])
    angle = _angle(frequency, sample_rate)
    alpha, cosine = rl.sin(angle) / (2 * q), rl.cos(angle)
    b0 = (1 + cosine) / 2
    return biquad(waveform, b0, -1 - cosine, b0, 1 + alpha, -2 * cosine, 1 - alpha)


def lowpass_biquad(
    waveform: rl.Tensor, sample_rate: int, cutoff_freq: float, Q: float = 0.707
) -> rl.Tensor:
    """Frequencies below `cutoff_freq`, with two poles; `Q` 0.707 is a Butterworth filter."""
    frequency, q = _numbers("lowpass_biquad", waveform, [cutoff_freq, Q])
    angle = _angle(frequency, sample_rate)
    alpha, cosine = rl.sin(angle) / (2 * q), rl.cos(angle)
    b0 = (1 - cosine) / 2
    return biquad(waveform, b0, 1 - cosine, b0, 1 + alpha, -2 * cosine, 1 - alpha)


def allpass_biquad(
    waveform: rl.Tensor, sample_rate: int, central_freq: float, Q: float = 0.707
) -> rl.Tensor:
    """All frequencies at their level, phases turned around `central_freq`."""
    frequency, q = _numbers("allpass_biquad", waveform, [central_freq, Q])
    angle = _angle(frequency, sample_rate)
    alpha, cosine = rl.sin(angle) / (2 * q), rl.cos(angle)
    middle = -2 * cosine
    return biquad(waveform, 1 - alpha, middle, 1 + alpha, 1 + alpha, middle, 1 - alpha)


def bandpass_biquad(
    waveform: rl.Tensor,
    sample_rate: int,
    central_freq: float,
    Q: float = 0.707,
    const_skirt_gain: bool = False,
) -> rl.Tensor:
    """A band around `central_freq`, `Q` being that frequency by the band's width.

    Its peak is at 0 dB; with `const_skirt_gain` at the gain `Q`.
    """
    frequency, q = _numbers("bandpass_biquad", waveform, [central_freq, Q])
    angle = _angle(frequency, sample_rate)
    alpha, cosine = rl.sin(angle) / (2 * q), rl.cos(angle)
    peak = rl.sin(angle) / 2 if const_skirt_gain else alpha
    return biquad(waveform, peak, 0.0, -peak, 1 + alpha, -2 * cosine, 1 - alpha)


def bandreject_biquad(
    waveform: rl.Tensor, sample_rate: int, central_freq: float, Q: float = 0.707
) -> rl.Tensor:
    """All but a band around `central_freq`."""
    frequency, q = _numbers("bandreject_biquad", waveform, [central_freq, Q])
    angle = _angle(frequency, sample_rate)
    alpha, cosine = rl.sin(angle) / (2 * q), rl.cos(angle)
    middle = -2 * cosine
    return biquad(waveform, 1.0, middle, 1.0, 1 + alpha, middle, 1 - alpha)


def band_biquad(
    waveform: rl.Tensor,
    sample_rate: int,
    central_freq: float,
    Q: float = 0.707,
    noise: bool = False,
) -> rl.Tensor:
    """A band around `central_freq` with a drop of the logarithm on both sides, as SoX's ``band``.

    `noise`: the scale for noise-like rather than pitched sounds.
    """
    frequency, q = _numbers("band_biquad", waveform, [central_freq, Q])
    angle = _angle(frequency, sample_rate)
    a2 = rl.exp(-2 * math.pi * (frequency / q) / sample_rate)
    a1 = -4 * a2 / (1 + a2) * rl.cos(angle)
    b0 = rl.sqrt(1 - a1 * a1 / (4 * a2)) * (1 - a2)
    if noise:
        scale = rl.sqrt(((1 + a2) * (1 + a2) - a1 * a1) * (1 - a2) / (1 + a2)) / b0
        b0 = b0 * scale
    return biquad(waveform, b0, 0.0, 0.0, 1.0, a1, a2)


def equalizer_biquad(
    waveform: rl.Tensor, sample_rate: int, center_freq: float, gain: float, Q: float = 0.707
) -> rl.Tensor:
    """A band around `center_freq` raised by `gain` decibels, or lowered by a negative one."""
    frequency, q, decibel = _numbers("equalizer_biquad", waveform, [center_freq, Q, gain])
    angle = _angle(frequency, sample_rate)
    amplitude = rl.exp(decibel / 40.0 * math.log(10))
    alpha, middle = rl.sin(angle) / (2 * q), -2 * rl.cos(angle)
    up, down = alpha * amplitude, alpha / amplitude
    return biquad(waveform, 1 + up, middle, 1 - up, 1 + down, middle, 1 - down)


def bass_biquad(
    waveform: rl.Tensor,
    sample_rate: int,
    gain: float,
    central_freq: float = 100,
    Q: float = 0.707,
) -> rl.Tensor:
    """Low frequencies raised by `gain` decibels: a shelf that ends around `central_freq`."""
    return _shelf("bass_biquad", waveform, sample_rate, [gain, central_freq, Q], -1)


def treble_biquad(
    waveform: rl.Tensor,
    sample_rate: int,
    gain: float,
    central_freq: float = 3000,
    Q: float = 0.707,
) -> rl.Tensor:
    """High frequencies raised by `gain` decibels: a shelf that begins around `central_freq`."""
    return _shelf("treble_biquad", waveform, sample_rate, [gain, central_freq, Q], 1)


def _shelf(
    op: str, waveform: rl.Tensor, sample_rate: int, values: list[float], sign: int
) -> rl.Tensor:
    """A shelf over low (`sign` -1) or high frequencies."""
    decibel, frequency, q = _numbers(op, waveform, values)
    angle = _angle(frequency, sample_rate)
    amplitude = rl.exp(decibel / 40.0 * math.log(10))
    slope = 2 * rl.sqrt(amplitude) * (rl.sin(angle) / (2 * q))
    turned = sign * (amplitude - 1) * rl.cos(angle)
    tilted = sign * (amplitude + 1) * rl.cos(angle)
    coefficients = [
        amplitude * ((amplitude + 1) + turned + slope),
        -2 * sign * amplitude * ((amplitude - 1) + tilted),
        amplitude * ((amplitude + 1) + turned - slope),
        (amplitude + 1) - turned + slope,
        2 * sign * ((amplitude - 1) - tilted),
        (amplitude + 1) - turned - slope,
    ]
    b0, b1, b2, a0, a1, a2 = [each / coefficients[3] for each in coefficients]
    return biquad(waveform, b0, b1, b2, a0, a1, a2)


# The gain, slope and middle of the shelf that undoes the emphasis of compact discs, by rate.
_DISC = {44100: (-9.477, 0.4845, 5283.0), 48000: (-9.62, 0.479, 5356.0)}


def deemph_biquad(waveform: rl.Tensor, sample_rate: int) -> rl.Tensor:
    """Undo the emphasis of compact discs (IEC 60908); `sample_rate` is 44100 or 48000."""
    if sample_rate not in _DISC:
        raise ValueError(f"deemph_biquad(): sample_rate must be 44100 or 48000, got {sample_rate}")
    gain, slope, middle = _DISC[sample_rate]
    decibel, width, frequency = _numbers("deemph_biquad", waveform, [gain, slope, middle])
    angle = _angle(frequency, sample_rate)
    amplitude = rl.exp(decibel / 40.0 * math.log(10))
    alpha = rl.sin(angle) / 2 * rl.sqrt((amplitude + 1 / amplitude) * (1 / width - 1) + 2)
    edge = 2 * rl.sqrt(amplitude) * alpha
    turned = (amplitude - 1) * rl.cos(angle)
    tilted = (amplitude + 1) * rl.cos(angle)
    return biquad(
        waveform,
        amplitude * ((amplitude + 1) + turned + edge),
        -2 * amplitude * ((amplitude - 1) + tilted),
        amplitude * ((amplitude + 1) + turned - edge),
        (amplitude + 1) - turned + edge,
        2 * ((amplitude - 1) - tilted),
        (amplitude + 1) - turned - edge,
    )


# Zeros and poles of the equalization of records (RIAA, 1954), fitted to each rate by SoX's authors.
_RECORD = {
    44100: ((-0.2014898, 0.9233820), (0.7083149, 0.9924091)),
    48000: ((-0.1766069, 0.9321590), (0.7396325, 0.9931330)),
    88200: ((-0.1168735, 0.9648312), (0.8590646, 0.9964002)),
    96000: ((-0.1141486, 0.9676817), (0.8699137, 0.9966946)),
}


def riaa_biquad(waveform: rl.Tensor, sample_rate: int) -> rl.Tensor:
    """Undo the equalization of records (RIAA), at 0 dB for 1 kHz.

    `sample_rate` is 44100, 48000, 88200 or 96000.
    """
    if sample_rate not in _RECORD:
        raise ValueError(
            f"riaa_biquad(): sample_rate must be one of {tuple(_RECORD)}, got {sample_rate}"
        )
    zeros, poles = _RECORD[sample_rate]
    b0, b1, b2 = 1.0, -(zeros[0] + zeros[1]), zeros[0] * zeros[1]
    a0, a1, a2 = 1.0, -(poles[0] + poles[1]), poles[0] * poles[1]
    turn = 2 * math.pi * 1000 / sample_rate
    over = complex(b0 + b1 * math.cos(-turn) + b2 * math.cos(-2 * turn),
                   b1 * math.sin(-turn) + b2 * math.sin(-2 * turn))  # fmt: skip
    under = complex(a0 + a1 * math.cos(-turn) + a2 * math.cos(-2 * turn),
                    a1 * math.sin(-turn) + a2 * math.sin(-2 * turn))  # fmt: skip
    gain = 1.0 / abs(over / under)
    return biquad(waveform, b0 * gain, b1 * gain, b2 * gain, a0, a1, a2)
