"""Chains of effects applied to tensors and files."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Any, BinaryIO

import rushlight as rl
from rushlight_audio.io import load
from rushlight_audio.sox_effects.sound import EFFECTS, Arguments, Sound

__all__ = [
    "apply_effects_file",
    "apply_effects_tensor",
    "effect_names",
    "init_sox_effects",
    "shutdown_sox_effects",
]

# Effects of SoX that are not here: what to use instead.
_ELSEWHERE = {
    "bend": "pitch, or functional.pitch_shift",
    "divide": "the division of tensors",
    "earwax": "io.AudioEffector('earwax')",
    "firfit": "sinc or fir",
    "hilbert": "fir",
    "ladspa": "io.AudioEffector",
    "loudness": "equalizer, or io.AudioEffector('loudnorm')",
    "mcompand": "compand after bandpass",
    "noiseprof": "a spectrogram's noise floor",
    "noisered": "io.AudioEffector('afftdn')",
    "spectrogram": "rushlight_audio.show(waveform, 'spectrogram', rate)",
    "splice": "torch.cat of tensors",
    "stat": "methods of tensors such as amax() and std()",
    "stats": "methods of tensors such as amax() and std()",
    "stretch": "tempo",
    "synth": "rushlight.sin(...)",
}
_FULL = {rl.uint8: 128.0, rl.int16: 2.0**15, rl.int32: 2.0**31}


def _table() -> None:
    """Fill the table of effects, at the first use."""
    if not EFFECTS:
        for name in ("companding", "filters", "lengths", "levels", "mixing", "spaces", "speeds"):
            importlib.import_module(f"rushlight_audio.sox_effects.{name}")


def init_sox_effects() -> None:
    """Nothing; torchaudio's programs call it."""


def shutdown_sox_effects() -> None:
    """Nothing; torchaudio's programs call it."""


def effect_names() -> list[str]:
    """The names of the effects that are there.

    >>> {"rate", "speed", "gain", "reverb"} <= set(effect_names())
    True
    """
    _table()
    return sorted(EFFECTS)


def apply_effects_tensor(
    tensor: rl.Tensor,
    sample_rate: int,
    effects: Sequence[Sequence[str]],
    channels_first: bool = True,
) -> tuple[rl.Tensor, int]:
    """A waveform behind effects, and its rate.

    The effects are SoX's, with its arguments, written anew: filters, mixes and cuts give its
    numbers, `rate`, `tempo` and `pitch` sound alike. Samples are cut off at [-1, 1] behind every
    effect, as SoX does. `speed` and `pitch` change the rate that is given back; a `rate` behind
    them gives the sound the former one.

    Args:
        tensor: ``[C, T]``, or ``[T, C]`` without `channels_first`; float32 or float64 in [-1, 1],
            or int32, int16, uint8.
        sample_rate: samples per second.
        effects: lists of a name and its arguments: ``[["speed", "1.1"], ["rate", "16000"]]``.
        channels_first: the order of the dimensions.

    Returns: the waveform in the same dtype and order, and the rate.

    Raises:
        ValueError: arguments that do not fit; the message says how the effect is called.
        NotImplementedError: an effect of SoX that is not there; the message says what to use.
        RuntimeError: a name that SoX does not know either.

    Example:
        >>> import rushlight as rl
        >>> found, rate = apply_effects_tensor(rl.ones(1, 8), 8000, [["vol", "0.5"], ["pad", "2s"]])
        >>> found.tolist()
        [[0.0, 0.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]]

    """
    op = "apply_effects_tensor"
    if not isinstance(tensor, rl.Tensor) or tensor.dim() != 2:
        got = list(tensor.shape) if isinstance(tensor, rl.Tensor) else type(tensor).__name__
        raise ValueError(f"{op}(): expected a tensor with 2 dimensions, got {got}")
    if not tensor.is_floating_point() and tensor.dtype not in _FULL:
        raise ValueError(
            f"{op}(): expected float32, float64, int32, int16 or uint8, got {tensor.dtype}"
        )
    samples = tensor.detach().cpu().double()
    full = _FULL.get(tensor.dtype, 1.0)
    samples = (samples - (128 if tensor.dtype is rl.uint8 else 0)) / full
    sound = Sound(samples if channels_first else samples.T.contiguous(), float(sample_rate))
    sound = _applied(op, sound, effects)
    found = sound.samples
    if tensor.is_floating_point():
        found = found.to(tensor.dtype)
    else:
        low = rl.iinfo(tensor.dtype)
        middle = 128 if tensor.dtype is rl.uint8 else 0
        found = (rl.round(found * full) + middle).clamp(low.min, low.max).to(tensor.dtype)
    found = found if channels_first else found.T.contiguous()
    return found.to(tensor.device), round(sound.rate)


def apply_effects_file(
    path: str | os.PathLike | BinaryIO,
    effects: Sequence[Sequence[str]],
    normalize: bool = True,
    channels_first: bool = True,
    format: str | None = None,
) -> tuple[rl.Tensor, int]:
    """A file's sound behind effects, and its rate: `load` and :func:`apply_effects_tensor`.

    Args:
        path: of any file that `load` reads, mp3 too, or a file object.
        effects: as of :func:`apply_effects_tensor`.
        normalize, channels_first, format: as of `load`.
    """
    waveform, rate = load(path, normalize=normalize, format=format)
    found, rate = apply_effects_tensor(waveform, rate, effects)
    return (found if channels_first else found.T.contiguous()), rate


def _applied(op: str, sound: Sound, effects: Sequence[Sequence[Any]]) -> Sound:
    _table()
    for chosen in effects:
        if isinstance(chosen, str) or not chosen:
            raise ValueError(f"{op}(): an effect is a list of a name and arguments, got {chosen!r}")
        name, *words = chosen
        if name in _ELSEWHERE:
            raise NotImplementedError(
                f"{op}(): the effect {name!r} is not there; use {_ELSEWHERE[name]}"
            )
        if name not in EFFECTS:
            raise RuntimeError(f"{op}(): unknown effect {name!r}; known are {effect_names()}")
        arguments = Arguments(name, words)
        sound = EFFECTS[name].apply(sound, arguments)
        arguments.done()
        sound = sound.of(sound.samples.clamp(-1.0, 1.0))
    return sound
