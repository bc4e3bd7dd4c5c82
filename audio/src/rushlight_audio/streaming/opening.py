"""The stream of a transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_audio import functional as F
from rushlight_audio import transforms as T
from rushlight_audio.streaming.features import CmnStream, DeltaStream
from rushlight_audio.streaming.filters import ConvolutionStream, FilterStream
from rushlight_audio.streaming.frames import FrameStream, InverseFrameStream, without_padding
from rushlight_audio.streaming.resampling import ResampleStream
from rushlight_audio.streaming.streams import ChainStream, PointStream, Stream
from rushlight_audio.streaming.stretching import PitchStream, StretchStream
from rushlight_audio.streaming.trimming import FadeStream, VadStream

__all__ = ["stream"]


def _frames(transform: nn.Module, inner: str = "") -> Stream:
    spectrogram: Any = transform.get_submodule(inner)
    return FrameStream(
        without_padding(transform, inner),
        spectrogram.n_fft,
        spectrogram.hop_length,
        spectrogram.pad,
        spectrogram.center,
        spectrogram.pad_mode,
    )


def _cepstra(transform: Any, inner: str, logarithm: bool, name: str) -> Stream:
    if not logarithm:
        raise NotImplementedError(
            f"stream(): decibels of {type(transform).__name__} are limited by the loudest frame of "
            f"the whole sound; use {name}=True"
        )
    return _frames(transform, inner)


def _decibels(transform: T.AmplitudeToDB) -> Stream:
    if transform.top_db is not None:
        raise NotImplementedError(
            "stream(): top_db limits by the loudest frame of the whole sound; use top_db=None"
        )
    return PointStream(transform)


def _centroid(transform: T.SpectralCentroid) -> Stream:
    def frames(waveform: rl.Tensor) -> rl.Tensor:
        sizes = transform.n_fft, transform.hop_length, transform.win_length
        magnitude = F.spectrogram(waveform, 0, transform.window, *sizes, 1.0, False, center=False)
        options: dict[str, Any] = {"dtype": magnitude.dtype, "device": magnitude.device}
        bins = rl.linspace(0, transform.sample_rate // 2, transform.n_fft // 2 + 1, **options)
        return (bins.unsqueeze(-1) * magnitude).sum(-2) / magnitude.sum(-2)

    return FrameStream(frames, transform.n_fft, transform.hop_length, transform.pad)


def _inverse(transform: T.InverseSpectrogram) -> Stream:
    scale: Any = 1.0
    if transform.normalized == "frame_length":
        scale = transform.n_fft**0.5
    elif transform.normalized:
        scale = float(transform.window.square().sum().sqrt())
    return InverseFrameStream(
        transform.window,
        transform.n_fft,
        transform.hop_length,
        scale,
        transform.center,
        transform.onesided,
    )


def _preemphasis(transform: T.Preemphasis) -> Stream:
    coefficients = rl.tensor([1.0, 0.0]), rl.tensor([1.0, -transform.coeff], dtype=rl.float64)
    return FilterStream(coefficients[0].double(), coefficients[1], clamp=False)


def _deemphasis(transform: T.Deemphasis) -> Stream:
    feedback = rl.tensor([1.0, -transform.coeff], dtype=rl.float64)
    return FilterStream(feedback, rl.tensor([1.0, 0.0], dtype=rl.float64))


def _perturbation(transform: T.SpeedPerturbation) -> Stream:
    speed: Any = transform.speeders[int(rl.randint(len(transform.speeders), ()))]
    return ResampleStream(speed.resampler)


def _stretch(transform: T.TimeStretch) -> Stream:
    if transform.fixed_rate is None:
        raise ValueError("stream(): a TimeStretch needs a fixed_rate")
    return StretchStream(transform.fixed_rate, transform.phase_advance)


def _pitch(transform: T.PitchShift) -> Stream:
    sizes = {
        "n_fft": transform.n_fft,
        "hop_length": transform.hop_length,
        "win_length": transform.win_length,
    }
    return PitchStream(transform.sample_rate, transform.rate, sizes, transform.window)


_OPENED: dict[type, Callable[[Any], Stream]] = {
    T.AmplitudeToDB: _decibels,
    T.ComputeDeltas: DeltaStream,
    T.Deemphasis: _deemphasis,
    T.Fade: FadeStream,
    T.InverseMelScale: PointStream,
    T.InverseSpectrogram: _inverse,
    T.LFCC: lambda t: _cepstra(t, "Spectrogram", t.log_lf, "log_lf"),
    T.MFCC: lambda t: _cepstra(t, "MelSpectrogram.spectrogram", t.log_mels, "log_mels"),
    T.MelScale: PointStream,
    T.MelSpectrogram: lambda t: _frames(t, "spectrogram"),
    T.MuLawDecoding: PointStream,
    T.MuLawEncoding: PointStream,
    T.PitchShift: _pitch,
    T.Preemphasis: _preemphasis,
    T.Resample: ResampleStream,
    T.SlidingWindowCmn: CmnStream,
    T.SpectralCentroid: _centroid,
    T.Spectrogram: _frames,
    T.Speed: lambda t: ResampleStream(t.resampler),
    T.SpeedPerturbation: _perturbation,
    T.TimeStretch: _stretch,
    T.Vad: VadStream,
    T.Vol: PointStream,
}


def stream(transform: nn.Module, impulse: rl.Tensor | None = None) -> Stream:
    """A transform for sounds that come piece by piece.

    Args:
        transform: one of :mod:`rushlight_audio.transforms`, or an :class:`rushlight.nn.Sequential`
            of them. `Speed` and `SpeedPerturbation` give the waveform alone; the latter draws a
            speed now.
        impulse: for `Convolve` and `FFTConvolve` of mode ``"full"``, the signal ``[M]`` that does
            not come in pieces.

    Returns:
        a stream; what it gives for all pieces is what the transform gives for the whole.

    Raises:
        NotImplementedError: the transform needs the whole sound.

    Example:
        >>> mel = T.MelSpectrogram(16000)
        >>> sound = rl.randn(16000)
        >>> whole = stream(mel).run(sound.split(1600))
        >>> rl.allclose(whole, mel(sound), rtol=1e-4)
        True
    """
    if isinstance(transform, nn.Sequential):
        return ChainStream([stream(each) for each in transform])
    if isinstance(transform, (T.Convolve, T.FFTConvolve)):
        if impulse is None or transform.mode != "full":
            raise ValueError("stream(): a convolution needs an impulse and the mode 'full'")
        return ConvolutionStream(impulse)
    opened = _OPENED.get(type(transform))
    if opened is None:
        known = ", ".join(sorted(each.__name__ for each in _OPENED))
        raise NotImplementedError(
            f"stream(): {type(transform).__name__} needs the whole sound; there are streams of "
            f"{known}"
        )
    return opened(transform)
