"""Functions on waveforms and spectrograms, with torchaudio's names and defaults."""

from rushlight_audio.functional.decibel import DB_to_amplitude, amplitude_to_DB
from rushlight_audio.functional.mel import create_dct, melscale_fbanks
from rushlight_audio.functional.resample import resample
from rushlight_audio.functional.spectrogram import spectrogram
from rushlight_audio.functional.windows import blackman_window, hamming_window, hann_window

__all__ = [
    "DB_to_amplitude",
    "amplitude_to_DB",
    "blackman_window",
    "create_dct",
    "hamming_window",
    "hann_window",
    "melscale_fbanks",
    "resample",
    "spectrogram",
]
