"""Calls of every function and transform on long inputs, for the test of their peaks of memory.

A call is a function of a length in samples that returns what to run, and its inputs; a frame of a
spectrum stands for HOP samples, so that spectra and waveforms have as many numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight_audio import functional as F
from rushlight_audio import transforms as T

RATE, N_FFT, HOP, BINS = 8000, 400, 200, 201

Made = tuple[Callable[..., Any], tuple[Any, ...]]


def sound(length: int, seed: int = 0) -> rl.Tensor:
    """(length,) of noise within [-1, 1]."""
    return 0.3 * rl.randn(length, generator=rl.Generator().manual_seed(seed)).clamp(-3, 3)


def spectrum(length: int, channels: int = 1, seed: int = 0) -> rl.Tensor:
    """(channels, BINS, frames), complex, of as many frames as `length` samples have."""
    frames = length // HOP
    generator = rl.Generator().manual_seed(seed)
    return rl.randn(channels, BINS, frames, dtype=rl.complex64, generator=generator)


def features(length: int, rows: int = BINS) -> rl.Tensor:
    """(1, rows, frames) of positive numbers."""
    return spectrum(length).abs()[:, :rows].contiguous()


def covariances(length: int, seed: int = 0) -> rl.Tensor:
    """(length // 9, 3, 3): Hermitian, positive; a batch that grows instead of a sound."""
    generator = rl.Generator().manual_seed(seed)
    parts = rl.randn(length // 9, 3, 3, dtype=rl.complex64, generator=generator)
    return parts @ parts.mH + rl.eye(3)


def window() -> rl.Tensor:
    return rl.hann_window(N_FFT)


def on_sound(function: Callable[..., Any], *args: Any, **options: Any) -> Callable[[int], Made]:
    """A call of one waveform (1, length)."""
    return lambda n: (lambda x: function(x, *args, **options), (sound(n)[None],))


def on_features(function: Callable[..., Any], *args: Any, **options: Any) -> Callable[[int], Made]:
    """A call of one real spectrogram (1, BINS, frames)."""
    return lambda n: (lambda x: function(x, *args, **options), (features(n),))


def on_spectra(
    function: Callable[..., Any], *args: Any, channels: int = 1
) -> Callable[[int], Made]:
    """A call of one complex spectrogram (channels, BINS, frames)."""
    return lambda n: (lambda x: function(x, *args), (spectrum(n, channels),))


def _biquads() -> dict[str, Callable[[int], Made]]:
    at_frequency = "allpass band bandpass bandreject highpass lowpass".split()
    shelves = {"bass": (3.0,), "treble": (3.0,), "equalizer": (900.0, 3.0)}
    return {
        **{f"{n}_biquad": on_sound(getattr(F, f"{n}_biquad"), RATE, 900.0) for n in at_frequency},
        **{
            f"{n}_biquad": on_sound(getattr(F, f"{n}_biquad"), RATE, *a) for n, a in shelves.items()
        },
        "biquad": on_sound(F.biquad, 0.4, 0.2, 0.9, 1.0, 0.2, 0.6),
        "deemph_biquad": on_sound(F.deemph_biquad, 44100),
        "riaa_biquad": on_sound(F.riaa_biquad, 44100),
    }


def _filters() -> dict[str, Callable[[int], Made]]:
    a, b = rl.tensor([1.0, 0.2, 0.6]), rl.tensor([0.4, 0.2, 0.9])
    return {
        "contrast": on_sound(F.contrast),
        "dcshift": on_sound(F.dcshift, 0.1, 0.05),
        "deemphasis": on_sound(F.deemphasis),
        "dither": on_sound(F.dither),
        "dither noise_shaping": on_sound(F.dither, noise_shaping=True),
        "filtfilt": on_sound(F.filtfilt, a, b),
        "flanger": on_sound(F.flanger, RATE),
        "gain": on_sound(F.gain, 3.0),
        "lfilter": on_sound(F.lfilter, a, b),
        "overdrive": on_sound(F.overdrive),
        "phaser": on_sound(F.phaser, RATE),
        "preemphasis": on_sound(F.preemphasis),
    }


def _levels() -> dict[str, Callable[[int], Made]]:
    return {
        "DB_to_amplitude": on_sound(F.DB_to_amplitude, 1.0, 0.5),
        "add_noise": lambda n: (F.add_noise, (sound(n), sound(n, 1), rl.tensor(10.0))),
        "amplitude_to_DB": on_features(F.amplitude_to_DB, 10.0, 1e-10, 0.0, 80.0),
        "loudness": on_sound(F.loudness, RATE),
        "mu_law_decoding": lambda n: (
            lambda x: F.mu_law_decoding(x, 256),
            (rl.arange(n) % 256,),
        ),
        "mu_law_encoding": on_sound(F.mu_law_encoding, 256),
        "vad": on_sound(F.vad, RATE),
    }


def _sums() -> dict[str, Callable[[int], Made]]:
    return {
        "convolve": lambda n: (F.convolve, (sound(n), sound(100, 1))),
        "fftconvolve": lambda n: (F.fftconvolve, (sound(n), sound(n // 2, 1))),
        "resample": on_sound(F.resample, 441, 160),
        "resample to twice": on_sound(F.resample, 1, 2),
        "resample of large rates": on_sound(F.resample, 10007, 9973),
        "speed": on_sound(lambda x: F.speed(x, RATE, 1.1)[0]),
    }


def _spectra() -> dict[str, Callable[[int], Made]]:
    stft = window(), N_FFT, HOP, N_FFT
    advance = rl.linspace(0, rl.pi * HOP, BINS)[:, None]
    return {
        "griffinlim": on_features(F.griffinlim, *stft, 2.0, 2, 0.9, None, True),
        "inverse_spectrogram": on_spectra(F.inverse_spectrogram, None, 0, *stft, False),
        "phase_vocoder": on_spectra(F.phase_vocoder, 1.3, advance),
        "pitch_shift": on_sound(F.pitch_shift, RATE, 3),
        "spectral_centroid": on_sound(F.spectral_centroid, RATE, 0, *stft),
        "spectrogram": on_sound(F.spectrogram, 0, *stft, 2.0, False),
        "spectrogram complex": on_sound(F.spectrogram, 0, *stft, None, False),
        "spectrogram magnitude": on_sound(F.spectrogram, 0, *stft, 1.0, True),
    }


def _frames() -> dict[str, Callable[[int], Made]]:
    return {
        "compute_deltas": on_features(F.compute_deltas),
        "detect_pitch_frequency": on_sound(F.detect_pitch_frequency, RATE),
        "mask_along_axis": on_features(F.mask_along_axis, 30, 0.0, 2),
        "mask_along_axis_iid": lambda n: (
            lambda x: F.mask_along_axis_iid(x, 30, 0.0, 3),
            (features(n)[None],),
        ),
        "sliding_window_cmn": lambda n: (
            lambda x: F.sliding_window_cmn(x, norm_vars=True),
            (features(n).mT.contiguous(),),
        ),
    }


def _labels() -> dict[str, Callable[[int], Made]]:
    def aligned(n: int) -> Made:
        scores = features(n, 32).mT.log_softmax(-1)
        targets = rl.arange(n // HOP // 40)[None] % 31 + 1
        return F.forced_align, (scores, targets)

    def merged(n: int) -> Made:
        return F.merge_tokens, (rl.arange(n // 20) // 3 % 5, sound(n // 20))

    return {"forced_align": aligned, "merge_tokens": merged, "rnnt_loss": _transducer(F.rnnt_loss)}


def _transducer(function: Callable[..., Any]) -> Callable[[int], Made]:
    def made(n: int) -> Made:
        steps, labels, classes = n // 400, 19, 20
        lengths = [rl.tensor([each], dtype=rl.int32) for each in (steps, labels)]
        targets = rl.arange(labels, dtype=rl.int32)[None] % (classes - 1)
        logits = sound(steps * (labels + 1) * classes).reshape(1, steps, labels + 1, classes)
        return function, (logits, targets, *lengths)

    return made


def _arrays() -> dict[str, Callable[[int], Made]]:
    return {
        "apply_beamforming": lambda n: (
            F.apply_beamforming,
            (rl.randn(BINS, 3, dtype=rl.complex64), spectrum(n, 3)),
        ),
        "frechet_distance": lambda n: (
            F.frechet_distance,
            (sound(int(n**0.5)), _variances(n), sound(int(n**0.5), 1), _variances(n)),
        ),
        "mvdr_weights_rtf": lambda n: (
            lambda p: F.mvdr_weights_rtf(p[..., 0], p, 0),
            (covariances(n),),
        ),
        "mvdr_weights_souden": lambda n: (
            lambda s, p: F.mvdr_weights_souden(s, p, 0),
            (covariances(n), covariances(n, 1)),
        ),
        "psd": on_spectra(F.psd, channels=3),
        "rtf_evd": lambda n: (F.rtf_evd, (covariances(n),)),
        "rtf_power": lambda n: (
            lambda s, p: F.rtf_power(s, p, 0),
            (covariances(n), covariances(n, 1)),
        ),
    }


def _variances(n: int) -> rl.Tensor:
    side = int(n**0.5)
    return rl.eye(side) * (1 + sound(side).abs())


def _tables() -> dict[str, Callable[[int], Made]]:
    """What makes constants of a size: no input, and an output that grows."""
    return {
        "blackman_window": lambda n: (lambda: F.blackman_window(n), ()),
        "create_dct": lambda n: (lambda: F.create_dct(n // 100, 100, "ortho"), ()),
        "hamming_window": lambda n: (lambda: F.hamming_window(n), ()),
        "hann_window": lambda n: (lambda: F.hann_window(n), ()),
        "linear_fbanks": lambda n: (lambda: F.linear_fbanks(n // 100, 0.0, 4e3, 100, RATE), ()),
        "melscale_fbanks": lambda n: (lambda: F.melscale_fbanks(n // 100, 0.0, 4e3, 100, RATE), ()),
    }


def _waveform_transforms() -> dict[str, Callable[[int], Made]]:
    stft = {"n_fft": N_FFT, "hop_length": HOP}
    return {
        "AddNoise": lambda n: (T.AddNoise(), (sound(n), sound(n, 1), rl.tensor(10.0))),
        "Convolve": lambda n: (T.Convolve(), (sound(n), sound(100, 1))),
        "Deemphasis": on_sound(T.Deemphasis()),
        "FFTConvolve": lambda n: (T.FFTConvolve(), (sound(n), sound(n // 2, 1))),
        "Fade": lambda n: (T.Fade(n // 3, n // 3), (sound(n),)),
        "LFCC": on_sound(T.LFCC(RATE, speckwargs=stft)),
        "Loudness": on_sound(T.Loudness(RATE)),
        "MFCC": on_sound(T.MFCC(RATE, melkwargs=stft)),
        "MFCC log_mels": on_sound(T.MFCC(RATE, log_mels=True, melkwargs=stft)),
        "MelSpectrogram": on_sound(T.MelSpectrogram(RATE, **stft)),
        "MelSpectrogram of few": on_sound(T.MelSpectrogram(RATE, n_mels=20, **stft)),
        "MuLawDecoding": lambda n: (T.MuLawDecoding(256), (rl.arange(n) % 256,)),
        "MuLawEncoding": on_sound(T.MuLawEncoding(256)),
        "PitchShift": on_sound(T.PitchShift(RATE, 3)),
        "Preemphasis": on_sound(T.Preemphasis()),
        "Resample": on_sound(T.Resample(441, 160)),
        "SpectralCentroid": on_sound(T.SpectralCentroid(RATE, **stft)),
        "Spectrogram": on_sound(T.Spectrogram(**stft)),
        "Speed": on_sound(lambda x: T.Speed(RATE, 1.1)(x)[0]),
        "SpeedPerturbation": on_sound(lambda x: T.SpeedPerturbation(RATE, [0.9])(x)[0]),
        "Vad": on_sound(T.Vad(RATE)),
        "Vol": on_sound(T.Vol(2.0)),
    }


def _spectrum_transforms() -> dict[str, Callable[[int], Made]]:
    def masked(x: rl.Tensor) -> rl.Tensor:
        return T.SpecAugment(2, 30, 2, 30)(x)

    return {
        "AmplitudeToDB": on_features(T.AmplitudeToDB(top_db=80.0)),
        "ComputeDeltas": on_features(T.ComputeDeltas()),
        "FrequencyMasking": on_features(T.FrequencyMasking(30)),
        "GriffinLim": on_features(T.GriffinLim(N_FFT, 2, hop_length=HOP)),
        "InverseMelScale": lambda n: (T.InverseMelScale(BINS, 40, RATE), (features(n, 40),)),
        "InverseSpectrogram": on_spectra(T.InverseSpectrogram(N_FFT, hop_length=HOP)),
        "MelScale": on_features(T.MelScale(128, RATE, n_stft=BINS)),
        "SlidingWindowCmn": lambda n: (T.SlidingWindowCmn(), (features(n).mT.contiguous(),)),
        "SpecAugment": lambda n: (masked, (features(n)[None],)),
        "TimeMasking": on_features(T.TimeMasking(30)),
        "TimeStretch": on_spectra(T.TimeStretch(HOP, BINS, 1.3)),
    }


def _array_transforms() -> dict[str, Callable[[int], Made]]:
    def weighed(n: int) -> Made:
        mask = rl.rand(BINS, n // HOP, generator=rl.Generator().manual_seed(0))
        return (lambda x, m: T.MVDR()(x.cdouble(), m, 1 - m)), (spectrum(n, 3), mask)

    def noise(seed: int) -> rl.Tensor:
        return covariances(9 * BINS, seed)

    return {
        "MVDR": weighed,
        "PSD": on_spectra(T.PSD(), channels=3),
        "RNNTLoss": _transducer(T.RNNTLoss()),
        "RTFMVDR": lambda n: (
            lambda x: T.RTFMVDR()(x, noise(0)[..., 0], noise(1), 0),
            (spectrum(n, 3),),
        ),
        "SoudenMVDR": lambda n: (
            lambda x: T.SoudenMVDR()(x, noise(0), noise(1), 0),
            (spectrum(n, 3),),
        ),
    }


FUNCTIONS = {
    name: call
    for part in (_biquads, _filters, _levels, _sums, _spectra, _frames, _labels, _arrays, _tables)
    for name, call in part().items()
}
TRANSFORMS = {
    name: call
    for part in (_waveform_transforms, _spectrum_transforms, _array_transforms)
    for name, call in part().items()
}
