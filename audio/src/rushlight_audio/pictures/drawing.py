"""What is drawn into one plot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import rushlight as rl
from rushlight_audio.functional import amplitude_to_DB
from rushlight_audio.functional import spectrogram as frames_of

__all__ = ["alignment", "mark", "pitch", "powers", "spectrogram", "waveform"]

_INK, _LINE, _MARK = "#2a5d8f", "#d1495b", "#444444"
_BRIGHT, _BANDS = "#4dd0e1", ("#f2a541", "#7fb069")
_MEL_TICKS = (0, 250, 500, 1000, 2000, 4000, 8000, 16000)
_LETTERS_PER_INCH = 12  # of the size of words in bands
_COLUMNS = 2000  # pixels across, at most
_WINDOW = 0.025  # seconds of a frame


def waveform(plot: Any, samples: rl.Tensor, step: float) -> None:
    """Samples as a line, or, of a long sound, from the least to the greatest of each column."""
    values = samples.numpy()
    limit = max(1.0, float(np.nanmax(np.abs(values), initial=0.0)))
    if not np.isfinite(limit):
        limit = 1.0
    if len(values) <= _COLUMNS:
        plot.plot(np.arange(len(values)) * step, values, color=_INK, linewidth=0.9)
    else:
        edges = np.linspace(0, len(values), _COLUMNS + 1).astype(int)[:-1]
        low, high = np.minimum.reduceat(values, edges), np.maximum.reduceat(values, edges)
        times = edges * step
        plot.fill_between(times, low, high, color=_INK, step="post", linewidth=0.4)
    plot.set_ylim(-1.05 * limit, 1.05 * limit)
    plot.set_xlim(0, len(values) * step)
    plot.axhline(0, color=_MARK, linewidth=0.4)
    plot.set_ylabel("amplitude")


def powers(samples: rl.Tensor, sample_rate: float) -> tuple[rl.Tensor, float]:
    """Powers ``[F, frames]`` of a waveform in frames of 25 ms (or 512 samples), and the time
    between two frames."""
    size = 512 if sample_rate == 1.0 else max(32, round(sample_rate * _WINDOW))
    size = min(size, len(samples))
    hop = max(1, size // 4, -(-len(samples) // _COLUMNS))
    found = frames_of(
        samples.unsqueeze(0),
        pad=0,
        window=rl.hann_window(size, dtype=samples.dtype),
        n_fft=1 << (size - 1).bit_length(),
        hop_length=hop,
        win_length=size,
        power=2.0,
        normalized=False,
        center=True,
        pad_mode="constant",
    )
    return found[0], hop / sample_rate


def spectrogram(
    plot: Any, values: rl.Tensor, step: float, sample_rate: float, decibels: bool, mel: bool
) -> None:
    """Powers as an image, the lowest band at the bottom; `mel` says how far apart bands are."""
    values = values.nan_to_num(0.0, 0.0, 0.0)
    label = "power"
    if decibels:
        values = amplitude_to_DB(values.clamp(min=0), 10.0, 1e-20, 0.0, 80.0)
        label = "dB"
    bands = mel or sample_rate == 1.0
    top = values.shape[0] if bands else sample_rate / 2
    # An image's edges are half a frame before the middle of the first and after that of the last.
    extent = (-step / 2, (values.shape[1] - 0.5) * step, 0, top)
    image = plot.imshow(
        values.numpy(),
        origin="lower",
        aspect="auto",
        extent=extent,
        cmap="magma",
        interpolation="nearest",
    )
    plot.figure.colorbar(image, ax=plot, label=label, pad=0.01)
    plot.set_ylabel("bands" if sample_rate == 1.0 else "Hz")
    if mel and sample_rate != 1.0:
        known = [f for f in _MEL_TICKS if f <= sample_rate / 2]
        highest = _mels(sample_rate / 2)
        plot.set_yticks([top * _mels(f) / highest for f in known], [f"{f:g}" for f in known])


def _mels(frequency: float) -> float:
    """A frequency on HTK's mel scale."""
    return 2595 * math.log10(1 + frequency / 700)


def alignment(plot: Any, weights: rl.Tensor, step: float, labels: Sequence[str] | None) -> None:
    """Weights as an image, the first output at the top."""
    rows, frames = weights.shape
    if labels is not None and len(labels) != rows:
        raise ValueError(f"show(): {rows} rows need as many labels, got {len(labels)}")
    image = plot.imshow(
        weights.numpy(),
        origin="upper",
        aspect="auto",
        extent=(0, frames * step, rows - 0.5, -0.5),
        cmap="viridis",
        interpolation="nearest",
    )
    plot.figure.colorbar(image, ax=plot, pad=0.01)
    if labels is not None:
        plot.set_yticks(range(rows), labels)
    plot.set_ylabel("outputs")


def pitch(plot: Any, values: rl.Tensor, step: float) -> None:
    """Pitch as a line with gaps where there is none."""
    found = values.numpy().copy()
    found[~(found > 0)] = np.nan
    times = np.arange(len(found)) * step
    plot.plot(
        times,
        found,
        color=_BRIGHT if plot.images else _LINE,
        linewidth=2.0,
        path_effects=_halo(plot, 3.5),
    )
    plot.set_xlim(0, len(found) * step)
    if np.isfinite(found).any():
        highest = np.nanmax(found)
        plot.set_ylim(0, min(plot.get_ylim()[1], 3 * highest) if plot.images else 1.1 * highest)
    plot.set_ylabel("Hz")


def mark(plot: Any, spans: Iterable[tuple[float, float, str]]) -> None:
    """Bands between two times with words in them, in two colours by turns; words that are too long
    for their band are cut."""
    left, right = plot.get_xlim()
    letters = plot.figure.get_size_inches()[0] * _LETTERS_PER_INCH
    for number, (start, end, text) in enumerate(spans):
        plot.axvspan(start, end, color=_BANDS[number % 2], alpha=0.25, linewidth=0)
        room = int((end - start) / (right - left) * letters)
        plot.text(
            (start + end) / 2,
            0.97,
            text if len(text) <= room else f"{text[: max(0, room - 1)]}\u2026",
            color="white" if plot.images else "black",
            path_effects=_halo(plot, 2.5),
            transform=plot.get_xaxis_transform(),
            ha="center",
            va="top",
            fontsize=9,
            clip_on=True,
        )


def _halo(plot: Any, width: float) -> list[Any]:
    """An outline that sets lines and words off from an image."""
    from matplotlib import patheffects

    if not plot.images:
        return []
    return [patheffects.withStroke(linewidth=width, foreground="black")]
