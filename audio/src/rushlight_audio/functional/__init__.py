"""Functions on waveforms and spectrograms, with torchaudio's names and defaults."""

from rushlight_audio.functional import filtering, functional
from rushlight_audio.functional.alignment import TokenSpan, forced_align, merge_tokens
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
from rushlight_audio.functional.filtering import (
    allpass_biquad,
    band_biquad,
    bandpass_biquad,
    bandreject_biquad,
    bass_biquad,
    biquad,
    contrast,
    dcshift,
    deemph_biquad,
    dither,
    equalizer_biquad,
    filtfilt,
    flanger,
    gain,
    highpass_biquad,
    lfilter,
    lowpass_biquad,
    overdrive,
    phaser,
    riaa_biquad,
    treble_biquad,
    vad,
)
from rushlight_audio.functional.loudness import loudness
from rushlight_audio.functional.masking import mask_along_axis, mask_along_axis_iid
from rushlight_audio.functional.mel import create_dct, linear_fbanks, melscale_fbanks
from rushlight_audio.functional.phase import griffinlim, phase_vocoder, pitch_shift
from rushlight_audio.functional.pitch import compute_kaldi_pitch, detect_pitch_frequency
from rushlight_audio.functional.resample import resample
from rushlight_audio.functional.sequences import edit_distance, frechet_distance, rnnt_loss
from rushlight_audio.functional.spectrogram import inverse_spectrogram, spectrogram
from rushlight_audio.functional.windows import blackman_window, hamming_window, hann_window

__all__ = [
    "DB_to_amplitude",
    "TokenSpan",
    "add_noise",
    "allpass_biquad",
    "amplitude_to_DB",
    "apply_beamforming",
    "band_biquad",
    "bandpass_biquad",
    "bandreject_biquad",
    "bass_biquad",
    "biquad",
    "blackman_window",
    "compute_deltas",
    "compute_kaldi_pitch",
    "contrast",
    "convolve",
    "create_dct",
    "dcshift",
    "deemph_biquad",
    "deemphasis",
    "detect_pitch_frequency",
    "dither",
    "edit_distance",
    "equalizer_biquad",
    "fftconvolve",
    "filtering",
    "filtfilt",
    "flanger",
    "forced_align",
    "frechet_distance",
    "functional",
    "gain",
    "griffinlim",
    "hamming_window",
    "hann_window",
    "highpass_biquad",
    "inverse_spectrogram",
    "lfilter",
    "linear_fbanks",
    "loudness",
    "lowpass_biquad",
    "mask_along_axis",
    "mask_along_axis_iid",
    "melscale_fbanks",
    "merge_tokens",
    "mu_law_decoding",
    "mu_law_encoding",
    "mvdr_weights_rtf",
    "mvdr_weights_souden",
    "overdrive",
    "phase_vocoder",
    "phaser",
    "pitch_shift",
    "preemphasis",
    "psd",
    "resample",
    "riaa_biquad",
    "rnnt_loss",
    "rtf_evd",
    "rtf_power",
    "sliding_window_cmn",
    "spectral_centroid",
    "spectrogram",
    "speed",
    "treble_biquad",
    "vad",
]
