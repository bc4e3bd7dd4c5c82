"""What calls draw: whether they take numbers of the generator, which ones come after them, and what
they give at several seeds. torchaudio's are written down by ci/audio_draws.py."""

from __future__ import annotations

from typing import Any

import filtering_calls
import kaldi_calls
import numpy as np
import signal_calls
import spectral_calls
import torchaudio_calls as calls
import transform_calls
from torchaudio_calls import Library

SEEDS = (1, 2, 3)
Position = list[float]


def speed(L: Library, *factors: float) -> Any:
    """Six perturbed waveforms and their lengths, one after the other."""
    module, sound = L.T.SpeedPerturbation(100, list(factors)), L.sound(2, 40, dtype="float32")
    found = [module(sound.detach(), L.tensor([40, 30], "int64")) for _ in range(6)]
    return [each for pair in found for each in pair]


def phases(L: Library, dtype: str, *shape: int) -> Any:
    """A waveform from magnitudes, begun with random phases."""
    window = L.torch.hann_window(32, dtype=getattr(L.torch, dtype))
    given = L.randn(*shape, dtype=dtype, grad=False).abs()
    return L.F.griffinlim(given, window, 32, 8, 32, 1.0, 2, 0.5, None, True)


def plain(L: Library, dtype: str, *shape: int) -> Any:
    """Numbers that take little room in a compressed file."""
    numbers = np.arange(np.prod(shape)).reshape(shape) % 7 + 1
    return L.tensor(numbers.tolist(), dtype)


def augmented(L: Library, dtype: str, *shape: int, **options: Any) -> Any:
    """Three masked spectrograms, one after the other."""
    module = L.T.SpecAugment(2, 9, 3, 5, **options)
    return [module(plain(L, dtype, *shape)) for _ in range(3)]


def banded(L: Library, name: str, dtype: str, iid: bool) -> Any:
    """Three spectrograms with a masked band, one after the other."""
    module = getattr(L.T, name)(7, iid)
    return [module(plain(L, dtype, 2, 3, 12, 20), 0.5) for _ in range(3)]


def dithered(L: Library, name: str, dtype: str, shape: tuple[int, ...]) -> Any:
    """Waveforms dithered one after the other. torchaudio's Gaussian noise is written into the
    waveform, which the shaping of noise then takes for the sound: not compared."""
    shapings = (False, False) if name == "GPDF" else (False, True)
    sounds = [L.sound(*shape, seed=seed, dtype=dtype, grad=False) for seed in (0, 1)]
    return [L.F.dither(each, name, s) for each, s in zip(sounds, shapings, strict=True)]


def framed(L: Library, name: str, dtype: str) -> Any:
    """Kaldi's features with noise."""
    sound = L.sound(1, 600, dtype=dtype, grad=False)
    return getattr(L.audio.compliance.kaldi, name)(sound, dither=0.1)


# Beyond the calls of the other files: both dtypes, few and many numbers, several calls in a row.
MORE: dict[str, calls.Call] = {
    "SpeedPerturbation of five": lambda L: speed(L, 1.0, 0.5, 2.0, 0.25, 4.0),
    "SpeedPerturbation of one": lambda L: speed(L, 0.5),
    "griffinlim in float32": lambda L: phases(L, "float32", 17, 9),
    "griffinlim of a batch": lambda L: phases(L, "float64", 2, 17, 9),
    "griffinlim of 2 x 2": lambda L: phases(L, "float32", 2, 2, 17, 9),
}
for _type in ("float32", "float64"):
    for _iid in (False, True):
        for _name in ("FrequencyMasking", "TimeMasking"):
            MORE[f"{_name} {_type} {_iid}"] = lambda L, n=_name, t=_type, i=_iid: banded(L, n, t, i)
        MORE[f"SpecAugment {_type} {_iid}"] = lambda L, t=_type, i=_iid: augmented(
            L, t, 2, 3, 12, 20, iid_masks=i
        )
    MORE[f"SpecAugment {_type} p"] = lambda L, t=_type: augmented(
        L, t, 3, 12, 20, zero_masking=True, p=0.5
    )
    for _name in ("TPDF", "RPDF", "GPDF"):
        for _shape in ((3, 50), (2, 3, 50)) if _name == "GPDF" else ((40,), (2, 9), (2, 3, 50)):
            MORE[f"dither {_name} {_type} {_shape}"] = lambda L, n=_name, t=_type, s=_shape: (
                dithered(L, n, t, s)
            )
for _name in ("fbank", "mfcc", "spectrogram"):  # bands are float32 in torchaudio
    MORE[f"kaldi.{_name} of a sound"] = lambda L, n=_name: framed(L, n, "float32")

PARTS = (filtering_calls, kaldi_calls, signal_calls, spectral_calls, transform_calls)
CALLS = {name: call for part in PARTS for name, call in part.CALLS.items()} | MORE


def following(torch: Any) -> Position:
    """The numbers that the generator gives next: they say how many were taken before."""
    return [float(torch.rand(())), float(torch.randn(()))]


def untouched(torch: Any, seed: int) -> Position:
    """The first numbers of a seed."""
    torch.manual_seed(seed)
    return following(torch)


def measure(library: Library, name: str) -> tuple[list[Position], dict[str, np.ndarray]]:
    """The numbers after a call, for each of SEEDS; what it gives there, where it draws."""
    positions, values = [], {}
    for seed in SEEDS:
        found = calls.outcome(library, CALLS[name], seed)
        positions.append(following(library.torch))
        if positions[-1] != untouched(library.torch, seed):
            values |= {f"{seed} {kind}": value for kind, value in found.items()}
    return positions, values
