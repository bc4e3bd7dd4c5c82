"""Write down what librosa gives for the inputs that `analysis` is tested with.

Usage: python ci/audio_analysis.py     in an environment with librosa
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "audio" / "tests"))

import analysis_inputs as inputs  # noqa: E402


def main() -> int:
    import librosa

    sound, rate, found = inputs.melody(), inputs.RATE, {}
    found["chroma_filters"] = librosa.filters.chroma(sr=rate, n_fft=256)
    found["chroma_filters 24"] = librosa.filters.chroma(sr=rate, n_fft=256, n_chroma=24, tuning=0.3)
    found["chromagram"] = librosa.feature.chroma_stft(
        y=sound, sr=rate, n_fft=1024, hop_length=512, tuning=0.0
    )
    found["onset_strength"] = librosa.onset.onset_strength(
        y=sound, sr=rate, n_fft=512, hop_length=128, n_mels=40
    )
    magnitudes = np.abs(inputs.noise(20, 24, seed=3))
    for name, options in (
        ("even", {}),
        ("margins", {"margin": (1.5, 2.0), "power": 1.0}),
        ("sizes", {"kernel_size": (7, 45)}),
        ("hard", {"power": np.inf}),
    ):
        masks = librosa.decompose.hpss(magnitudes, mask=True, **{"kernel_size": 5, **options})
        found[f"masks {name}"] = np.stack(masks)
    transform = librosa.cqt(
        sound, sr=rate, hop_length=256, fmin=110.0, n_bins=48, bins_per_octave=24
    )
    found["constant_q"] = np.abs(transform)
    for bpm in (90, 120, 150):
        tempo, beats = librosa.beat.beat_track(y=inputs.clicks(22050, bpm, 8.0), sr=22050)
        found[f"tempo {bpm}"], found[f"beats {bpm}"] = np.float64(tempo), beats
    path = ROOT / "audio" / "tests" / "recorded" / "librosa.npz"
    np.savez_compressed(path, **{name: np.asarray(value) for name, value in found.items()})
    print(
        f"{len(found)} results of librosa {librosa.__version__}: {path.stat().st_size // 1000} kB"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
