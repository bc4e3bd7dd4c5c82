"""The wheel of rushlight-audio, installed alone: a version, a file written and read, its pitch."""

import sys
import tempfile
from pathlib import Path

import rushlight as rl
import rushlight_audio as ra

expected = sys.argv[1]
if ra.__version__ != expected:
    raise SystemExit(f"version {ra.__version__}, expected {expected}")
tone = 0.5 * rl.sin(2 * rl.pi * 1000 * rl.arange(16000) / 16000)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "tone.wav"
    ra.save(path, tone.unsqueeze(0), 16000)
    waveform, rate = ra.load(path)
if rate != 16000 or tuple(waveform.shape) != (1, 16000):
    raise SystemExit(f"read back at {rate} Hz with shape {tuple(waveform.shape)}")
loudest = ra.transforms.Spectrogram(n_fft=512)(waveform).mean(-1).argmax().item()
if loudest != 32:
    raise SystemExit(f"1000 Hz are in bin {loudest}, expected 32")
