"""Speech recognition in small: a network writes down Morse code from a noisy radio.

    rushlight examples run read_morse

The steps are those of a speech recogniser: log-mel spectrograms, a convolutional and recurrent
network, the CTC loss (Graves et al. 2006), a decoder. The sounds are made up as they are needed:
letters in Morse code of several speeds and pitches, which fade in and out in noise as loud
as they are. The baseline measures the energy of the strongest band and takes times of tone and
silence for dots and dashes. Two minutes; leaves runs/read_morse/heard.png and heard.wav.
"""

from __future__ import annotations

import random
from pathlib import Path

import matplotlib.pyplot as plt

import rushlight as torch
import rushlight_audio
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_audio.functional import edit_distance
from rushlight_audio.transforms import AmplitudeToDB, MelSpectrogram

OUT = Path("runs/read_morse")
RATE, SECONDS = 4000, 4
SIGNS = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .--"
)
CODE = dict(zip("abcdefghijklmnopqrstuvwxyz", f"{SIGNS} -..- -.-- --..".split(), strict=True))
LETTER = {code: letter for letter, code in CODE.items()}


def keyed(text: str, chance: random.Random) -> torch.Tensor:
    """Samples of a text: 1 where the key is down."""
    unit, parts = int(RATE * chance.uniform(0.05, 0.08)), [torch.zeros(int(RATE * 0.2))]
    for letter in text:
        for sign in CODE[letter]:
            length = int(unit * (1 if sign == "." else 3) * chance.uniform(0.9, 1.1))
            parts += [torch.ones(length), torch.zeros(unit)]
        parts.append(torch.zeros(2 * unit))
    return torch.cat(parts)


def recording(chance: random.Random, noise: float) -> tuple[torch.Tensor, str]:
    """A waveform ``[16000]`` and its letters."""
    text, keys = "", torch.zeros(0)
    while len(text) < 6:
        found = keyed(longer := text + chance.choice(list(CODE)), random.Random(len(text)))
        if len(found) > RATE * SECONDS:
            break
        text, keys = longer, found
    keys = F.pad(keys, (0, RATE * SECONDS - len(keys)))
    time = torch.arange(len(keys)) * (2 * torch.pi / RATE)
    tone = torch.sin(time * chance.uniform(400, 1200))
    turns = time * chance.uniform(0.2, 0.6)
    fading = 0.65 + 0.35 * torch.cos(turns + chance.uniform(0, 6))
    return keys * tone * fading + noise * torch.randn(len(keys)), text


class Recogniser(nn.Module):
    """Scores ``[B, frames, 27]`` of letters, the first for "nothing new"."""

    def __init__(self, width: int = 96):
        super().__init__()
        self.mel = nn.Sequential(
            MelSpectrogram(RATE, 256, hop_length=80, n_mels=32), AmplitudeToDB()
        )
        self.front = nn.Sequential(
            nn.Conv1d(32, width, 5, padding=2),
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.Conv1d(width, width, 5, 2, 2),
            nn.ReLU(),
        )
        self.core = nn.GRU(width, width, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, 27)

    def forward(self, waves):
        mel = self.mel(waves)
        features = self.front(F.layer_norm(mel, mel.shape[1:]))
        return self.head(self.core(features.transpose(1, 2))[0])


def batch(size: int, chance: random.Random, noise: float):
    pairs = [recording(chance, noise) for _ in range(size)]
    return torch.stack([wave for wave, _ in pairs]), [text for _, text in pairs]


def train(model: Recogniser, steps: int, rate: float) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    chance = random.Random(1)
    for step in range(steps):
        waves, texts = batch(16, chance, 0.5 * max(0.0, min(1.0, 2 * step / steps - 0.6)))
        scores = model(waves).log_softmax(2).transpose(0, 1)
        letters = torch.tensor([ord(c) - 96 for text in texts for c in text])
        lengths = torch.tensor([len(text) for text in texts])
        loss = F.ctc_loss(scores, letters, torch.full((16,), len(scores)), lengths)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 500 == 0:
            print(f"step {step:4d}   loss {loss.item():.3f}", flush=True)


@torch.no_grad()
def heard(model: Recogniser, waves: torch.Tensor) -> list[str]:
    """The best letter of each frame; repetitions and nothings are left out."""
    rows = (row.unique_consecutive().tolist() for row in model(waves).argmax(2))
    return ["".join(chr(96 + i) for i in row if i) for row in rows]


def by_energy(wave: torch.Tensor) -> str:
    """The baseline."""
    power = torch.stft(wave, 256, 40, window=torch.hann_window(256), return_complex=True).abs()
    band = power[power.mean(1).argmax()]
    on = band > (band.quantile(0.1) + band.quantile(0.95)) / 2
    values, counts = on.unique_consecutive(return_counts=True)
    unit, signs = RATE * 0.065 / 40, ""
    for down, length in zip(values.tolist(), counts.tolist(), strict=True):
        signs += ("." if length < 2 * unit else "-") if down else " " * int(length > 2 * unit)
    return "".join(LETTER.get(sign, "") for sign in signs.split())


def main() -> None:
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    train(model := Recogniser(), 3000, 2e-3)
    model.eval()
    waves, texts = batch(200, random.Random(2), 0.5)
    found, plain = heard(model, waves), [by_energy(wave) for wave in waves]
    total = sum(map(len, texts))
    error, before = (sum(edit_distance(a, b) for a, b in zip(texts, each, strict=True)) / total
                     for each in (found, plain))  # fmt: skip
    figure, axis = plt.subplots(figsize=(8, 2.6), layout="tight")
    axis.imshow(model.mel(waves[0]).numpy(), aspect="auto", origin="lower")
    axis.set(title=f"sent {texts[0]}, heard {found[0]}", xlabel="frame", ylabel="mel band")
    figure.savefig(OUT / "heard.png", dpi=120)
    rushlight_audio.save(OUT / "heard.wav", waves[:1] / waves[0].abs().max(), RATE)
    print(f"letter error rate {error:.1%} of {total:,} letters; by energy {before:.1%}")
    assert error < 0.2 and error < before


if __name__ == "__main__":
    main()
