"""Translation: dates as people write them become dates as computers do.

    rushlight examples run translate_dates

"3rd of May, 1987", "5/3/87" and seven more ways of writing are translated letter by letter into
"1987-05-03" by a transformer with encoder and decoder (Vaswani et al. 2017). The baseline is a
pair of recurrent networks without attention (Sutskever et al. 2014), trained as long. Half a
minute; leaves runs/translate_dates/loss.png.
"""

from __future__ import annotations

import datetime
import random
from pathlib import Path

import matplotlib.pyplot as plt

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F

OUT = Path("runs/translate_dates")
FORMS = ("%d %B %Y", "%B %d, %Y", "%d.%m.%Y", "%m/%d/%y", "%A, %d %b %Y", "%b %d '%y", "%d-%b-%Y",
         "%Y%m%d", "%d of %B, %Y")  # fmt: skip
LETTERS = "\0\1\2 " + "0123456789.,'/-abcdefghijklmnopqrstuvwxyz"  # padding, begin, end
PLACE = {letter: i for i, letter in enumerate(LETTERS)}
LONGEST = 32


def numbers(text: str, length: int) -> list[int]:
    found = [PLACE[letter] for letter in text] + [2]
    return found + [0] * (length - len(found))


def pairs(count: int, chance: random.Random) -> tuple[list[str], list[str]]:
    """Dates from 1970 to 2068 as people write them, and as computers do."""
    days = [datetime.date(1970, 1, 1) + datetime.timedelta(chance.randrange(36_000))
            for _ in range(count)]  # fmt: skip
    return [day.strftime(chance.choice(FORMS)).lower() for day in days], [f"{d}" for d in days]


class Translator(nn.Module):
    def __init__(self, width: int = 96):
        super().__init__()
        self.letters, self.places = nn.Embedding(len(LETTERS), width), nn.Embedding(LONGEST, width)
        self.core = nn.Transformer(width, 4, 2, 2, 4 * width, 0.0, "gelu", batch_first=True,
                                   norm_first=True)  # fmt: skip
        self.head = nn.Linear(width, len(LETTERS))

    def embedded(self, x):
        return self.letters(x) + self.places.weight[: x.shape[1]]

    def forward(self, given, so_far):
        mask = nn.Transformer.generate_square_subsequent_mask(so_far.shape[1])
        padding = given == 0
        found = self.core(self.embedded(given), self.embedded(so_far), tgt_mask=mask,
                          src_key_padding_mask=padding, memory_key_padding_mask=padding,
                          tgt_is_causal=True)  # fmt: skip
        return self.head(found)


class Recurrent(nn.Module):
    """The baseline: all that the reader tells the writer is its last state."""

    def __init__(self, width: int = 128):
        super().__init__()
        self.letters, self.head = nn.Embedding(len(LETTERS), width), nn.Linear(width, len(LETTERS))
        self.read, self.write = (nn.GRU(width, width, batch_first=True) for _ in range(2))

    def forward(self, given, so_far):
        _, state = self.read(self.letters(given.flip(1)))
        return self.head(self.write(self.letters(so_far), state)[0])


def tensors(given: list[str], wanted: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    return (torch.tensor([numbers(text, LONGEST) for text in given]),
            torch.tensor([[1, *numbers(text, 11)] for text in wanted]))  # fmt: skip


def train(model: nn.Module, steps: int, rate: float) -> list[float]:
    optimizer = torch.optim.AdamW(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    chance, seen = random.Random(1), []
    for step in range(steps):
        given, wanted = tensors(*pairs(64, chance))
        scores = model(given, wanted[:, :-1])
        loss = F.cross_entropy(scores.flatten(0, 1), wanted[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        seen.append(loss.item())
        if step % 200 == 0:
            print(f"step {step:4d}   loss {loss.item():.3f}", flush=True)
    return seen


@torch.no_grad()
def translate(model: nn.Module, texts: list[str]) -> list[str]:
    given = tensors(texts, [""] * len(texts))[0]
    so_far = torch.ones(len(texts), 1, dtype=torch.long)
    for _ in range(10):
        so_far = torch.cat([so_far, model(given, so_far)[:, -1:].argmax(-1)], 1)
    return ["".join(LETTERS[i] for i in row[1:]) for row in so_far.tolist()]


def main() -> None:
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    asked, wanted = pairs(500, random.Random(2))
    figure, axis = plt.subplots(figsize=(5, 3.2))
    score = {}
    for name, model in (("recurrent", Recurrent()), ("transformer", Translator())):
        axis.semilogy(train(model, 600, 2e-3), linewidth=0.8, label=name)
        found = translate(model.eval(), asked)
        score[name] = sum(a == b for a, b in zip(found, wanted, strict=True)) / len(wanted)
    for text, answer in list(zip(asked, found, strict=True))[:6]:
        print(f"{text:28s} {answer}")
    axis.set(xlabel="step", ylabel="cross entropy of a letter")
    axis.legend()
    figure.tight_layout()
    figure.savefig(OUT / "loss.png", dpi=120)
    best, before = score["transformer"], score["recurrent"]
    print(f"{best:.1%} of 500 dates right; recurrent networks without attention {before:.1%}")
    assert best > 0.95 and best > before


if __name__ == "__main__":
    main()
