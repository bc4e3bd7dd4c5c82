"""Functions on waveforms and spectrograms, under torchaudio's module path."""

from rushlight_audio.functional.beamforming import (
    apply_beamforming,
    mvdr_weights_rtf,
    mvdr_weights_souden,
    psd,
    rtf_evd,
    rtf_power,
)
from rushlight_audio.functional.companding import mu_law_decoding, mu_law_encoding
from rushlight_audio.functional.convolution import (
    add_noise,
    convolve,
    deemphasis,
    fftconvolve,
    preemphasis,
    speed,
)
from rushlight_audio.functional.decibel import DB_to_amplitude, amplitude_to_DB
from rushlight_audio.functional.features import (
    compute_deltas,
    sliding_window_cmn,
    spectral_centroid,
)
from rushlight_audio.functional.loudness import loudness
from rushlight_audio.functional.masking import mask_along_axis, mask_along_axis_iid
from rushlight_audio.functional.mel import (
    _hz_to_mel,  # noqa: F401 - vocos takes both from here
    _mel_to_hz,  # noqa: F401
    create_dct,
    linear_fbanks,
    melscale_fbanks,
)
from rushlight_audio.functional.phase import griffinlim, phase_vocoder, pitch_shift
from rushlight_audio.functional.pitch import detect_pitch_frequency
from rushlight_audio.functional.resample import resample
from rushlight_audio.functional.sequences import edit_distance, frechet_distance, rnnt_loss
from rushlight_audio.functional.spectrogram import inverse_spectrogram, spectrogram

__all__ = [
    "DB_to_amplitude",
    "add_noise",
    "amplitude_to_DB",
    "apply_beamforming",
    "compute_deltas",
    "convolve",
    "create_dct",
    "deemphasis",
    "detect_pitch_frequency",
    "edit_distance",
    "fftconvolve",
    "frechet_distance",
    "griffinlim",
    "inverse_spectrogram",
    "linear_fbanks",
    "loudness",
    "mask_along_axis",
    "mask_along_axis_iid",
    "melscale_fbanks",
    "mu_law_decoding",
    "mu_law_encoding",
    "mvdr_weights_rtf",
    "mvdr_weights_souden",
    "phase_vocoder",
    "pitch_shift",
    "preemphasis",
    "psd",
    "resample",
    "rnnt_loss",
    "rtf_evd",
    "rtf_power",
    "sliding_window_cmn",
    "spectral_centroid",
    "spectrogram",
    "speed",
]
