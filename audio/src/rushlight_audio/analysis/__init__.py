"""What music is made of: pitches on a logarithmic scale, chroma, onsets, beats, two kinds of sound.

Beyond torchaudio. Names and defaults follow librosa where it has the same; begin reading at
:mod:`.constant_q`.
"""

from rushlight_audio.analysis.beats import beat_times, tempo, track_beats
from rushlight_audio.analysis.chroma import Chromagram, chroma_filters
from rushlight_audio.analysis.constant_q import ConstantQ
from rushlight_audio.analysis.inversion import InverseMFCC
from rushlight_audio.analysis.onsets import detect_onsets, onset_strength
from rushlight_audio.analysis.separation import harmonic_percussive, harmonic_percussive_masks

__all__ = [
    "Chromagram",
    "ConstantQ",
    "InverseMFCC",
    "beat_times",
    "chroma_filters",
    "detect_onsets",
    "harmonic_percussive",
    "harmonic_percussive_masks",
    "onset_strength",
    "tempo",
    "track_beats",
]
