"""Sounds that librosa, whose results are recorded, and Rushlight get: NumPy arrays of a seed."""

from __future__ import annotations

import numpy as np

RATE = 8000


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    """Normal numbers in float32."""
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


def melody(rate: int = RATE, seconds: float = 2.0) -> np.ndarray:
    """Four notes with overtones, softly struck, over a little noise."""
    time = np.arange(int(rate * seconds)) / rate
    sound = 0.01 * noise(len(time))
    for number, pitch in enumerate((220.0, 277.18, 329.63, 440.0)):
        begin = number * seconds / 4
        level = np.exp(-4 * (time - begin)) * (time >= begin) * np.minimum((time - begin) * 200, 1)
        for overtone in (1, 2, 3):
            sound = sound + level * np.sin(2 * np.pi * pitch * overtone * time) / overtone
    return (0.3 * sound).astype(np.float32)


def clicks(rate: int, bpm: float, seconds: float, seed: int = 0) -> np.ndarray:
    """A short burst at every beat, the first after 0.3 s, over a little noise."""
    sound = 0.001 * noise(int(rate * seconds), seed=seed)
    burst = np.exp(-np.arange(rate // 20) / (rate / 100)) * noise(rate // 20, seed=seed + 1)
    for beat in range(int(0.3 * rate), len(sound) - len(burst), int(round(60 / bpm * rate))):
        sound[beat : beat + len(burst)] += burst
    return sound.astype(np.float32)
