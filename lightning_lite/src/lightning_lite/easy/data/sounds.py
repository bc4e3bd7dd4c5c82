"""Sounds as pictures: waveforms, or spectrograms. Needs matplotlib (the extra `plot`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as rl
from lightning_lite.easy.data.showing import grid

DECIBELS = 80.0  # below the loudest, what is softer is drawn alike


def decibels(waveform: Any, n_fft: int = 512) -> Any:
    """The spectrogram `(n_fft / 2 + 1, frames)` of a waveform `(T,)` in decibels below its loudest,
    by windows of `n_fft` samples, or fewer for short ones.

    >>> import rushlight as rl
    >>> tone = (2 * rl.pi * 1000 / 8000 * rl.arange(4096)).sin()
    >>> decibels(tone).mean(1).argmax() * 8000 / 512
    tensor(1000.)
    """
    n_fft = min(n_fft, len(waveform))
    window = rl.hann_window(n_fft)
    found = rl.stft(
        waveform, n_fft, max(n_fft // 4, 1), window=window, center=False, return_complex=True
    )
    power = found.abs().square()
    loudest = power.max().clamp(min=1e-20)
    return (10 * (power / loudest).clamp(min=10 ** (-DECIBELS / 10)).log10()).detach()


def sounds_shown(
    what: str, sounds: Any, titles: Sequence[str], rate: int | None, how: tuple[int, bool]
) -> Any:
    """Draw waveforms `(N, T)`, as many as there are `titles`; matplotlib's figure.

    `rate`: samples a second, None where it is not known; `how`: how many stand side by side, and
    whether spectrograms are drawn. All waveforms have one scale.
    """
    columns, spectrogram = how
    figure, axes = grid(what, len(titles), columns)
    shown = sounds[: len(titles)].detach().cpu().float()
    top = float(shown.abs().max()) or 1.0
    for ax, waveform, title in zip(axes, shown, titles, strict=False):
        ax.axis("on")
        ax.tick_params(labelsize=7)
        ax.set_title(title, fontsize=9)
        ax.set_xlabel("samples" if rate is None else "s", fontsize=7)
        length = len(waveform) / (rate or 1)
        if spectrogram:
            _spectrogram(ax, waveform, length, rate)
            continue
        ax.plot((rl.arange(len(waveform)) / (rate or 1)).tolist(), waveform.tolist(), linewidth=0.5)
        ax.set_xlim(0, length)
        ax.set_ylim(-1.05 * top, 1.05 * top)
    return figure


def _spectrogram(ax: Any, waveform: Any, length: float, rate: int | None) -> None:
    top = 0.5 if rate is None else rate / 2000
    ax.imshow(
        decibels(waveform).numpy(), origin="lower", aspect="auto", cmap="magma",
        extent=(0, length, 0, top), vmin=-DECIBELS, vmax=0,
    )  # fmt: skip
    ax.set_ylabel("of the rate" if rate is None else "kHz", fontsize=7)
