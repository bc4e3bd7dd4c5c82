"""`show`: one sound, or what was made of it, as a picture."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import rushlight as rl
from rushlight_audio.pictures import drawing
from rushlight_audio.pictures.picture import Picture, figure, finished

__all__ = ["KINDS", "show"]

KINDS = ("waveform", "spectrogram", "alignment", "pitch")
_MOST_CHANNELS = 8


def show(
    data: rl.Tensor,
    kind: str = "waveform",
    sample_rate: float = 1.0,
    hop_length: int = 1,
    path: str | os.PathLike | None = None,
    *,
    title: str | None = None,
    labels: Sequence[str] | None = None,
    spans: Iterable[tuple[float, float, str]] = (),
    waveform: rl.Tensor | None = None,
    decibels: bool = True,
    mel: bool = False,
    width: float = 9.0,
) -> Picture:
    """Draw a waveform, a spectrogram, an alignment or a pitch over time.

    Args:
        data: of a waveform ``[T]`` or ``[C, T]`` (up to 8 channels, one above the other); of a
            spectrogram its powers ``[F, frames]`` from the lowest band up, or a waveform ``[T]``,
            whose spectrogram is made; of an alignment ``[outputs, frames]``, probabilities or
            weights; of a pitch ``[frames]`` in Hz, where 0 and NaN are no pitch.
        kind: ``"waveform"``, ``"spectrogram"``, ``"alignment"`` or ``"pitch"``.
        sample_rate: samples per second; 1 to count samples.
        hop_length: samples between two frames.
        path: where to write the PNG; None for nowhere.
        title: above the picture.
        labels: of the rows of an alignment.
        spans: (start, end, text) in seconds: words or turns, marked in every kind but alignments.
        waveform: of a pitch: the sound ``[T]``, whose spectrogram is drawn below it.
        decibels: draw powers of a spectrogram in decibels, 80 below the greatest at most.
        mel: the bands of a spectrogram are those of a mel filter bank from 0 Hz to half the rate.
        width: of the picture, in inches of 100 pixels.

    Returns: a `Picture`, which notebooks show.

    Raises:
        ImportError: Matplotlib is not there.
        ValueError: a kind or a shape that does not fit.

    Example:
        >>> import rushlight as rl
        >>> tone = rl.sin(2 * rl.pi * 440 * rl.arange(16000) / 16000)
        >>> picture = show(tone, "spectrogram", 16000)  # doctest: +SKIP

    """
    if kind not in KINDS:
        raise ValueError(f"show(): kind must be one of {list(KINDS)}, got {kind!r}")
    data = _checked(kind, data)
    rows = len(data) if kind == "waveform" else 1
    height = 1.6 if kind == "waveform" else 3.0
    drawn, plots = figure(rows, width, height, title)
    scale = hop_length / sample_rate
    if kind == "waveform":
        for number, plot in enumerate(plots):
            drawing.waveform(plot, data[number], 1 / sample_rate)
    elif kind == "spectrogram":
        _spectrogram(plots[0], data, sample_rate, scale, decibels, mel)
    elif kind == "alignment":
        drawing.alignment(plots[0], data, scale, labels)
    else:
        if waveform is not None:
            _spectrogram(plots[0], _checked("spectrogram", waveform), sample_rate, 0.0, True, False)
        drawing.pitch(plots[0], data, scale)
    marks = () if kind == "alignment" else spans
    for plot in plots:
        drawing.mark(plot, marks)
    plots[-1].set_xlabel("samples" if sample_rate == 1.0 else "seconds")
    picture = finished(drawn)
    if path is not None:
        picture.save(path)
    return picture


def _spectrogram(
    plot: Any, data: rl.Tensor, sample_rate: float, scale: float, decibels: bool, mel: bool
) -> None:
    """Of powers, or of a waveform, whose frames are made here."""
    if data.dim() == 1:
        data, scale = drawing.powers(data, sample_rate)
    drawing.spectrogram(plot, data, scale, sample_rate, decibels, mel)


def _checked(kind: str, data: rl.Tensor) -> rl.Tensor:
    """The tensor in float64 on the CPU, with the dimensions of its kind."""
    known = {"waveform": (1, 2), "spectrogram": (1, 2), "alignment": (2,), "pitch": (1,)}[kind]
    if not isinstance(data, rl.Tensor):
        raise TypeError(f"show(): argument 'data' must be a tensor, not {type(data).__name__}")
    if data.dim() not in known or data.numel() == 0:
        shapes = " or ".join(map(str, known))
        raise ValueError(
            f"show(): a {kind} has {shapes} dimensions and is not empty, got {list(data.shape)}"
        )
    if data.is_complex():
        raise ValueError(f"show(): a {kind} is real, got {data.dtype}; take abs() ** 2 of it")
    data = data.detach().cpu().double()
    if kind == "waveform":
        data = data if data.dim() == 2 else data.unsqueeze(0)
        if len(data) > _MOST_CHANNELS:
            raise ValueError(
                f"show(): a waveform is [T] or [C, T] with at most {_MOST_CHANNELS} channels, got "
                f"{list(data.shape)}"
            )
    return data
