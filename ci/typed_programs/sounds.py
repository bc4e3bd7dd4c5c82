"""Sounds: files, transforms."""
# ruff: noqa: F821, D101, D103 - reveal_type is mypy's

import rushlight as torch
import rushlight_audio as torchaudio
from rushlight_audio import functional, transforms

torchaudio.save("tone.wav", torch.zeros(1, 16000), 16000)
waveform, rate = torchaudio.load("tone.wav")
reveal_type(waveform)  # note: "Tensor"
reveal_type(rate)  # note: "int"
spectrogram = transforms.MelSpectrogram(sample_rate=rate, n_fft=400, n_mels=64)
reveal_type(spectrogram(waveform))  # note: "Any"
decibels = transforms.AmplitudeToDB(stype="power", top_db=80.0)(spectrogram(waveform))
reveal_type(functional.resample(waveform, rate, 8000))  # note: "Tensor"
reveal_type(torch.nn.Sequential(spectrogram, transforms.FrequencyMasking(8))(waveform))  # note: "Te
