"""What several recipes do alike."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import rushlight as rl
from rushlight.nn.utils.rnn import pad_sequence
from rushlight_audio import functional, load

RATE = 16000


def arguments(words: str, out: str, rate: float, **sizes: int) -> argparse.ArgumentParser:
    """Two files, a folder, a rate of learning and sizes."""
    parser = argparse.ArgumentParser(description=words.splitlines()[0])
    parser.add_argument("train")
    parser.add_argument("valid")
    parser.add_argument("--out", default=out)
    parser.add_argument("--lr", type=float, default=rate)
    for name, value in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser


def read(path: str, lower: bool = True) -> list[tuple[rl.Tensor, str]]:
    """Waveforms at 16 kHz and what stands behind the tab: texts or names."""
    found = []
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        name, _, text = line.partition("\t")
        wave, rate = load(Path(path).parent / name)
        wave = functional.resample(wave.mean(0), rate, RATE)
        found.append((wave, text.lower() if lower else text))
    return found


def collate(batch):
    """One batch of waveforms, their lengths and their texts."""
    waves = [wave for wave, _ in batch]
    lengths = rl.tensor([len(wave) for wave in waves])
    return pad_sequence(waves, batch_first=True), lengths, [text for _, text in batch]


def cut(wave: rl.Tensor, samples: int, repeat: bool = True) -> rl.Tensor:
    """A part of a waveform that begins anywhere; a short one is repeated, or stands anywhere
    between zeros."""
    missing = max(0, samples - len(wave))
    if missing and not repeat:
        before = int(rl.randint(0, missing + 1, (1,)))
        return rl.nn.functional.pad(wave, (before, missing - before))
    wave = wave.repeat(-(-samples // len(wave)))
    start = int(rl.randint(0, len(wave) - samples + 1, (1,)))
    return wave[start : start + samples]


def one_cycle(module, rate: float, steps: int) -> dict:
    """AdamW whose rate rises to `rate` and falls again, as `configure_optimizers` returns it."""
    optimizer = rl.optim.AdamW(module.parameters(), rate, weight_decay=0.01)
    schedule = rl.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def write(folder: str, model, sizes: dict) -> None:
    """Leave weights and sizes in a folder."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    rl.save(model.state_dict(), place / "model.pt")
    (place / "config.json").write_text(json.dumps(sizes), encoding="utf-8")
