"""Denoising: a network takes noise away from melodies.

    rushlight examples run clean_melodies

Melodies of plucked strings (Karplus and Strong 1983) are made up as they are needed, with noise as
loud as they are. A network sees the spectrogram and gives a mask for it (Wang and Chen 2018). The
baseline is spectral subtraction (Boll 1979), which knows the noise from a second without melody.
Measured is the scale-invariant ratio of signal to distortion. A minute and a half; leaves
runs/clean_melodies/ with spectrograms and sounds.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

import rushlight as torch
import rushlight_audio
from rushlight import nn
from rushlight_audio.functional import add_noise, lfilter
from rushlight_audio.metrics import scale_invariant_signal_distortion_ratio as si_sdr

OUT = Path("runs/clean_melodies")
RATE, LENGTH, SIZE, HOP = 8000, 16000, 256, 64
WINDOW = torch.hann_window(SIZE)


def string(pitch: float) -> torch.Tensor:
    """A second of a plucked string: noise that runs in circles through a filter."""
    period = int(RATE / pitch)
    burst = torch.zeros(RATE)
    burst[:period] = 2 * torch.rand(period) - 1
    feedback = torch.zeros(period + 2)
    feedback[0], feedback[period], feedback[period + 1] = 1.0, -0.498, -0.498
    start = torch.zeros(period + 2)
    start[0] = 1.0
    return lfilter(burst, feedback, start, clamp=False)


def melodies(count: int) -> torch.Tensor:
    """Waveforms ``[N, 16000]`` of unit variance."""
    waves = torch.zeros(count, LENGTH)
    for wave in waves:
        for start in range(0, LENGTH - RATE // 4, RATE // 4):
            pitch = 110 * 2 ** (int(torch.randint(0, 25, ())) / 12)
            part = string(pitch)[: LENGTH - start]
            wave[start : start + len(part)] += part
    return waves / waves.std(1, keepdim=True)


def noisy(clean: torch.Tensor) -> torch.Tensor:
    """With noise, white or dull, 0 decibels below."""
    noise = torch.randn(clean.shape)
    dull = torch.nn.functional.avg_pool1d(noise[:, None], 5, 1, 2)[:, 0]
    chosen = torch.where(torch.rand(len(clean), 1) < 0.5, noise, dull)
    return add_noise(clean, chosen, torch.zeros(len(clean)))


def spectrum(waves: torch.Tensor) -> torch.Tensor:
    return torch.stft(waves, SIZE, HOP, window=WINDOW, return_complex=True)


def wave(spectra: torch.Tensor) -> torch.Tensor:
    return torch.istft(spectra, SIZE, HOP, window=WINDOW, length=LENGTH)


class Masks(nn.Module):
    """What share of each bin of a spectrogram is melody."""

    def __init__(self, width: int = 128):
        super().__init__()
        bins = SIZE // 2 + 1
        self.core = nn.Sequential(
            nn.Conv1d(bins, width, 3, padding=1), nn.PReLU(), nn.GroupNorm(1, width),
            nn.Conv1d(width, width, 5, padding=4, dilation=2), nn.PReLU(), nn.GroupNorm(1, width),
            nn.Conv1d(width, width, 5, padding=8, dilation=4), nn.PReLU(), nn.GroupNorm(1, width),
            nn.Conv1d(width, bins, 3, padding=1), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, waves):
        spectra = spectrum(waves)
        return wave(spectra * self.core(spectra.abs().log1p()))


def train(model: Masks, steps: int, rate: float) -> None:
    pool = melodies(160)
    optimizer = torch.optim.AdamW(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    for step in range(steps):
        clean = pool[torch.randint(len(pool), (8,))]
        loss = -si_sdr(model(noisy(clean)), clean).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 500 == 0:
            print(f"step {step:4d}   {-loss.item():.1f} dB", flush=True)


def subtracted(heard: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    """The baseline: the noise's mean spectrum taken from each frame's."""
    spectra = spectrum(heard)
    level = spectrum(noise).abs().mean(2, keepdim=True)
    return wave(spectra * (1 - 1.5 * level / spectra.abs().clamp(min=1e-6)).clamp(min=0.1))


def draw(rows: dict[str, torch.Tensor]) -> None:
    figure, axes = plt.subplots(1, 4, figsize=(10, 2.8), sharey=True)
    for axis, (name, sound) in zip(axes, rows.items(), strict=True):
        axis.imshow(spectrum(sound).abs().log1p().numpy(), aspect="auto", origin="lower")
        axis.set(title=name, xlabel="frame")
        rushlight_audio.save(OUT / f"{name}.wav", sound[None] / sound.abs().max(), RATE)
    figure.tight_layout()
    figure.savefig(OUT / "spectrograms.png", dpi=120)


def main() -> None:
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    model = Masks()
    train(model, 2500, 3e-3)
    clean = melodies(20)
    heard = noisy(clean)
    with torch.no_grad():
        found = model(heard)
    plain = subtracted(heard, heard - clean)
    draw({"heard": heard[0], "cleaned": found[0], "subtracted": plain[0], "played": clean[0]})
    score, before, raw = (si_sdr(each, clean).mean().item() for each in (found, plain, heard))
    print(
        f"SI-SDR {raw:.1f} dB before, {score:.1f} dB behind; spectral subtraction {before:.1f} dB"
    )
    assert score > 6.5 and score > before


if __name__ == "__main__":
    main()
