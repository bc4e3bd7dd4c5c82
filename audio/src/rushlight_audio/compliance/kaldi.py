"""Kaldi's spectrogram, filter banks and cepstra, number for number, of one channel of a waveform.

The arguments are the options of Kaldi's ``compute-spectrogram-feats``, ``compute-fbank-feats`` and
``compute-mfcc-feats``. Samples are on Kaldi's scale, that of 16-bit integers: multiply what `load`
gives by 32768. Gradients reach the waveform.
"""

from __future__ import annotations

import math
from typing import Any

import rushlight as rl
import rushlight.nn.functional as F
from rushlight_audio.compliance.frames import (
    BLACKMAN,
    EPSILON,
    HAMMING,
    HANNING,
    POVEY,
    RECTANGULAR,
    WINDOWS,
    Framing,
    positive_log,
)
from rushlight_audio.compliance.mel_banks import (
    get_mel_banks,
    inverse_mel_scale,
    inverse_mel_scale_scalar,
    mel_scale,
    mel_scale_scalar,
    vtln_warp_freq,
    vtln_warp_mel_freq,
)
from rushlight_audio.functional.mel import create_dct

__all__ = [
    "BLACKMAN",
    "EPSILON",
    "HAMMING",
    "HANNING",
    "POVEY",
    "RECTANGULAR",
    "WINDOWS",
    "fbank",
    "get_mel_banks",
    "inverse_mel_scale",
    "inverse_mel_scale_scalar",
    "mel_scale",
    "mel_scale_scalar",
    "mfcc",
    "spectrogram",
    "vtln_warp_freq",
    "vtln_warp_mel_freq",
]


def _centred(features: rl.Tensor, subtract_mean: bool) -> rl.Tensor:
    return features - features.mean(0, keepdim=True) if subtract_mean else features


def spectrogram(
    waveform: rl.Tensor,
    blackman_coeff: float = 0.42,
    channel: int = -1,
    dither: float = 0.0,
    energy_floor: float = 1.0,
    frame_length: float = 25.0,
    frame_shift: float = 10.0,
    min_duration: float = 0.0,
    preemphasis_coefficient: float = 0.97,
    raw_energy: bool = True,
    remove_dc_offset: bool = True,
    round_to_power_of_two: bool = True,
    sample_frequency: float = 16000.0,
    snip_edges: bool = True,
    subtract_mean: bool = False,
    window_type: str = "povey",
) -> rl.Tensor:
    """The logarithm of the power spectrum, the first bin replaced by the energy of the frame.

    Args:
        waveform: ``[channels, T]``.
        blackman_coeff: of the Blackman window.
        channel: which channel; -1 is the first.
        dither: deviation of noise that is added; 0 adds none.
        energy_floor: least energy; 0 sets none.
        frame_length: milliseconds of a frame.
        frame_shift: milliseconds from a frame to the next.
        min_duration: seconds below which nothing is computed.
        preemphasis_coefficient: of the sample before, in [0, 1].
        raw_energy: take energies before preemphasis and window.
        remove_dc_offset: subtract the mean of each frame.
        round_to_power_of_two: fill frames up with zeros to a power of two.
        sample_frequency: samples per second.
        snip_edges: only frames that are wholly within the waveform, else the ends are mirrored.
        subtract_mean: subtract the mean over frames.
        window_type: ``"hamming"``, ``"hanning"``, ``"povey"``, ``"rectangular"``, ``"blackman"``.

    Returns:
        ``[frames, padded // 2 + 1]``, empty below `min_duration`.

    Raises:
        AssertionError: unsuitable settings.
    """
    framing = Framing(
        blackman_coeff,
        dither,
        energy_floor,
        frame_length,
        frame_shift,
        preemphasis_coefficient,
        raw_energy,
        remove_dc_offset,
        round_to_power_of_two,
        sample_frequency,
        snip_edges,
        window_type,
    )
    samples = framing.channel(waveform, channel)
    if len(samples) < min_duration * sample_frequency:
        return rl.empty(0, device=waveform.device)
    frames, energy = framing.windowed(samples)
    power = positive_log(_power(frames))
    return _centred(rl.cat([energy.unsqueeze(1), power[:, 1:]], 1), subtract_mean)


def _power(frames: rl.Tensor) -> rl.Tensor:
    return rl.fft.rfft(frames).abs().square()


def fbank(
    waveform: rl.Tensor,
    blackman_coeff: float = 0.42,
    channel: int = -1,
    dither: float = 0.0,
    energy_floor: float = 1.0,
    frame_length: float = 25.0,
    frame_shift: float = 10.0,
    high_freq: float = 0.0,
    htk_compat: bool = False,
    low_freq: float = 20.0,
    min_duration: float = 0.0,
    num_mel_bins: int = 23,
    preemphasis_coefficient: float = 0.97,
    raw_energy: bool = True,
    remove_dc_offset: bool = True,
    round_to_power_of_two: bool = True,
    sample_frequency: float = 16000.0,
    snip_edges: bool = True,
    subtract_mean: bool = False,
    use_energy: bool = False,
    use_log_fbank: bool = True,
    use_power: bool = True,
    vtln_high: float = -500.0,
    vtln_low: float = 100.0,
    vtln_warp: float = 1.0,
    window_type: str = "povey",
) -> rl.Tensor:
    """Logarithms of mel bands.

    Beside the arguments of :func:`spectrogram`:

    Args:
        waveform: ``[channels, T]``.
        high_freq: where the last band ends; what is not positive counts from half the rate.
        htk_compat: put the energy last.
        low_freq: where the first band begins, in Hz.
        num_mel_bins: how many bands, more than 3.
        use_energy: give the energy of the frame as well.
        use_log_fbank: take logarithms.
        use_power: sum powers, else magnitudes.
        vtln_high: upper cutoff of the warping; a negative one counts from half the rate.
        vtln_low: lower cutoff of the warping.
        vtln_warp: factor of the warping; 1 does none.

    Returns:
        ``[frames, num_mel_bins]``, one column more with `use_energy`.
    """
    framing = Framing(
        blackman_coeff,
        dither,
        energy_floor,
        frame_length,
        frame_shift,
        preemphasis_coefficient,
        raw_energy,
        remove_dc_offset,
        round_to_power_of_two,
        sample_frequency,
        snip_edges,
        window_type,
    )
    samples = framing.channel(waveform, channel)
    if len(samples) < min_duration * sample_frequency:
        return rl.empty(0, device=waveform.device)
    filters, _ = get_mel_banks(
        num_mel_bins,
        framing.padded,
        sample_frequency,
        low_freq,
        high_freq,
        vtln_low,
        vtln_high,
        vtln_warp,
    )
    frames, energy = framing.windowed(samples)
    spectrum = _power(frames) if use_power else rl.fft.rfft(frames).abs()
    bands = rl.matmul(spectrum, F.pad(filters, (0, 1)).T.to(frames.device, frames.dtype))
    if use_log_fbank:
        bands = positive_log(bands)
    if use_energy:
        column = energy.unsqueeze(1)
        bands = rl.cat([bands, column] if htk_compat else [column, bands], 1)
    return _centred(bands, subtract_mean)


def mfcc(
    waveform: rl.Tensor,
    blackman_coeff: float = 0.42,
    cepstral_lifter: float = 22.0,
    channel: int = -1,
    dither: float = 0.0,
    energy_floor: float = 1.0,
    frame_length: float = 25.0,
    frame_shift: float = 10.0,
    high_freq: float = 0.0,
    htk_compat: bool = False,
    low_freq: float = 20.0,
    num_ceps: int = 13,
    min_duration: float = 0.0,
    num_mel_bins: int = 23,
    preemphasis_coefficient: float = 0.97,
    raw_energy: bool = True,
    remove_dc_offset: bool = True,
    round_to_power_of_two: bool = True,
    sample_frequency: float = 16000.0,
    snip_edges: bool = True,
    subtract_mean: bool = False,
    use_energy: bool = False,
    vtln_high: float = -500.0,
    vtln_low: float = 100.0,
    vtln_warp: float = 1.0,
    window_type: str = "povey",
) -> rl.Tensor:
    """Mel-frequency cepstral coefficients.

    Beside the arguments of :func:`fbank`:

    Args:
        waveform: ``[channels, T]``.
        cepstral_lifter: raises the higher coefficients; 0 leaves them.
        num_ceps: how many coefficients, the first included.
        use_energy: the energy of the frame in place of the first coefficient.

    Returns:
        ``[frames, num_ceps]``.
    """
    if num_ceps > num_mel_bins:
        raise AssertionError(
            f"num_ceps cannot be larger than num_mel_bins: {num_ceps} vs {num_mel_bins}"
        )
    bands = fbank(
        waveform=waveform,
        blackman_coeff=blackman_coeff,
        channel=channel,
        dither=dither,
        energy_floor=energy_floor,
        frame_length=frame_length,
        frame_shift=frame_shift,
        high_freq=high_freq,
        low_freq=low_freq,
        min_duration=min_duration,
        num_mel_bins=num_mel_bins,
        preemphasis_coefficient=preemphasis_coefficient,
        raw_energy=raw_energy,
        remove_dc_offset=remove_dc_offset,
        round_to_power_of_two=round_to_power_of_two,
        sample_frequency=sample_frequency,
        snip_edges=snip_edges,
        use_energy=True,
        vtln_high=vtln_high,
        vtln_low=vtln_low,
        vtln_warp=vtln_warp,
        window_type=window_type,
    )
    if not bands.numel():
        return bands
    cepstra = _cepstra(bands[:, 1:], num_ceps, cepstral_lifter)
    first, rest = (bands[:, :1] if use_energy else cepstra[:, :1]), cepstra[:, 1:]
    if htk_compat:
        first = first if use_energy else first * math.sqrt(2)
        return _centred(rl.cat([rest, first], 1), subtract_mean)
    return _centred(rl.cat([first, rest], 1), subtract_mean)


def _cepstra(bands: rl.Tensor, num_ceps: int, lifter: float) -> rl.Tensor:
    """The cosine transform of logarithms ``[frames, bands]``, its higher coefficients raised."""
    options: dict[str, Any] = {"device": bands.device, "dtype": bands.dtype}
    transform = create_dct(bands.shape[1], bands.shape[1], "ortho")[:, :num_ceps]
    cepstra = rl.matmul(bands, transform.to(**options))
    if lifter == 0.0:
        return cepstra
    order = rl.arange(num_ceps, **options)
    return cepstra * (1.0 + 0.5 * lifter * rl.sin(math.pi * order / lifter))
