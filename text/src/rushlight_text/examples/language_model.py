"""Language model: a small GPT learns to write Python.

    rushlight examples run language_model

The text is the source of the standard library that runs this. A transformer of 0.8 million
parameters predicts the next of 96 characters from the 96 before it (GPT, Radford et al. 2018).
The baseline counts which character follows which three. Two minutes; leaves
runs/language_model/loss.png and prints what the model writes.
"""

from __future__ import annotations

import sysconfig
from collections import Counter, defaultdict
from math import log2
from pathlib import Path

import matplotlib.pyplot as plt

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F

OUT = Path("runs/language_model")
LETTERS = "\n" + "".join(map(chr, range(32, 127)))
LENGTH = 96


def text() -> torch.Tensor:
    """Characters of some modules as numbers; others than ASCII are left out."""
    folder = Path(sysconfig.get_path("stdlib"))
    names = "argparse datetime dataclasses difflib doctest inspect logging/__init__ pathlib shutil"
    names += " statistics subprocess tarfile threading typing unittest/case zipfile"
    files = [p for name in names.split() if (p := folder / f"{name}.py").exists()]
    place = {letter: i for i, letter in enumerate(LETTERS)}
    whole = "".join(file.read_text("utf-8") for file in files)
    return torch.tensor([place[letter] for letter in whole if letter in place])


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.mix = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.out, self.norm2 = nn.Linear(width, width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        parts = self.mix(self.norm1(x)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(*parts.unbind(0), is_causal=True)
        x = x + self.out(found.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, width: int = 128, heads: int = 4, depth: int = 4):
        super().__init__()
        self.letters, self.places = nn.Embedding(96, width), nn.Embedding(LENGTH, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(depth)])
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 96))

    def forward(self, x):
        return self.head(self.blocks(self.letters(x) + self.places.weight[: x.shape[1]]))


def batch(data: torch.Tensor, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    starts = torch.randint(len(data) - LENGTH, (size, 1))
    rows = data[starts + torch.arange(LENGTH + 1)]
    return rows[:, :-1], rows[:, 1:]


def train(model: GPT, data: torch.Tensor, steps: int, rate: float) -> list[float]:
    """Bits a character, step by step."""
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    seen = []
    for step in range(steps):
        given, following = batch(data, 16)
        loss = F.cross_entropy(model(given).flatten(0, 1), following.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        seen.append(loss.item() / 0.693147)
        if step % 400 == 0:
            print(f"step {step:5d}   {seen[-1]:.2f} bits a character", flush=True)
    return seen


def by_counting(train: list[int], test: list[int], order: int = 3) -> float:
    """The baseline's bits a character."""
    tables: dict = defaultdict(Counter)
    for i in range(order, len(train)):
        tables[tuple(train[i - order : i])][train[i]] += 1
    total = 0.0
    for i in range(order, len(test)):
        table = tables[tuple(test[i - order : i])]
        total -= log2((table[test[i]] + 0.1) / (table.total() + 9.6))
    return total / (len(test) - order)


@torch.no_grad()
def write(model: GPT, start: str, count: int) -> str:
    place = {letter: i for i, letter in enumerate(LETTERS)}
    found = torch.tensor([[place[letter] for letter in start]])
    for _ in range(count):
        odds = (model(found[:, -LENGTH:])[:, -1] / 0.7).softmax(1)
        found = torch.cat([found, torch.multinomial(odds, 1)], 1)
    return "".join(LETTERS[i] for i in found[0].tolist())


def main() -> None:
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    data, model = text(), GPT()
    known, asked = data[: len(data) * 9 // 10], data[len(data) * 9 // 10 :]
    seen = train(model, known, 2400, 3e-3)
    model.eval()
    with torch.no_grad():
        batches = [batch(asked, 32) for _ in range(10)]
        losses = [F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item() for x, y in batches]
    bits = sum(losses) / len(losses) / 0.693147
    before = by_counting(known.tolist(), asked[:40_000].tolist())
    figure, axis = plt.subplots(figsize=(5, 3.2))
    axis.plot(seen, linewidth=0.8)
    axis.axhline(before, color="gray", linestyle="--", label="counting")
    axis.set(xlabel="step", ylabel="bits a character", ylim=(1, 7))
    axis.legend()
    figure.tight_layout()
    figure.savefig(OUT / "loss.png", dpi=120)
    print(write(model, "def ", 200))
    print(f"{bits:.2f} bits a character of unseen source; counting {before:.2f}")
    assert bits < 2.05 and bits < before


if __name__ == "__main__":
    main()
