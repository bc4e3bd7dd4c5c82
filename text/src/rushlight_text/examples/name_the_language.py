"""Text classification: in which language is a short text written?

    rushlight examples run name_the_language        (needs `pip install django`)

Texts of Django's user interface in twelve languages (`DjangoTranslations`), most of a few words.
Embeddings of pieces of one to four letters are averaged and classified (fastText, Joulin et al.
2017). The baseline is naive Bayes on single letters. Half a minute; leaves
runs/name_the_language/confusion.png.
"""

from __future__ import annotations

import zlib
from collections import Counter
from pathlib import Path

import django
import matplotlib.pyplot as plt

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_text.datasets import DjangoTranslations

OUT = Path("runs/name_the_language")
LANGUAGES = ("cs", "de", "es", "fi", "fr", "hu", "it", "nl", "pl", "pt", "sv", "tr")
BUCKETS = 20_000


def texts() -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Pairs of text and number of the language; every fifth text for the test."""
    train: list[tuple[str, int]] = []
    test: list[tuple[str, int]] = []
    for number, language in enumerate(LANGUAGES):
        pairs = DjangoTranslations(Path(django.__file__).parents[1], language=language, split="all")
        for row, text in enumerate(sorted({text.lower() for _, text in pairs})):
            (test if row % 5 == 0 else train).append((text, number))
    return train, test


def pieces(text: str) -> torch.Tensor:
    """Numbers of the text's pieces of one to four letters."""
    text = f"<{text[:80]}>"
    return torch.tensor([zlib.crc32(text[i : i + n].encode()) % BUCKETS
                         for n in range(1, 5) for i in range(len(text) - n + 1)])  # fmt: skip


class Bags(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.EmbeddingBag(BUCKETS, 48)
        self.head = nn.Sequential(nn.Dropout(0.3), nn.Linear(48, len(LANGUAGES)))

    def forward(self, bags: list[torch.Tensor]) -> torch.Tensor:
        starts = torch.tensor([0, *[len(bag) for bag in bags[:-1]]]).cumsum(0)
        return self.head(self.words(torch.cat(bags), starts))


def train(model: Bags, bags: list, labels: torch.Tensor, epochs: int, rate: float) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, epochs)
    for _ in range(epochs):
        for rows in torch.randperm(len(bags)).split(32):
            loss = F.cross_entropy(model([bags[i] for i in rows.tolist()]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    model.eval()


def bayes(train: list, test: list) -> torch.Tensor:
    """The baseline's answers: languages whose letters fit best."""
    counts: list[Counter] = [Counter() for _ in LANGUAGES]
    for text, language in train:
        counts[language].update(text)
    letters = sorted(set().union(*counts))
    table = torch.tensor([[each[letter] + 1.0 for letter in letters] for each in counts])
    scores = (table / table.sum(1, keepdim=True)).log()
    place = {letter: i for i, letter in enumerate(letters)}
    return torch.stack([scores[:, [place[c] for c in text if c in place]].sum(1).argmax()
                        for text, _ in test])  # fmt: skip


def draw(found: torch.Tensor, labels: torch.Tensor) -> None:
    size = len(LANGUAGES)
    table = torch.bincount(labels * size + found, minlength=size**2).view(size, size).float()
    figure, axis = plt.subplots(figsize=(5, 4.4))
    axis.imshow((table / table.sum(1, keepdim=True)).numpy(), cmap="Blues")
    axis.set(xlabel="answer", ylabel="language", xticks=range(size), yticks=range(size))
    axis.set_xticklabels(LANGUAGES)
    axis.set_yticklabels(LANGUAGES)
    figure.tight_layout()
    figure.savefig(OUT / "confusion.png", dpi=120)


def main() -> None:
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    known, asked = texts()
    model, labels = Bags(), torch.tensor([language for _, language in asked])
    train(model, [pieces(text) for text, _ in known],
          torch.tensor([language for _, language in known]), 12, 0.01)  # fmt: skip
    with torch.no_grad():
        found = model([pieces(text) for text, _ in asked]).argmax(1)
    draw(found, labels)
    score, before = (
        (each == labels).float().mean().item() for each in (found, bayes(known, asked))
    )
    print(f"accuracy {score:.1%} of {len(asked):,} texts; naive Bayes on letters {before:.1%}")
    assert score > 0.8 > before


if __name__ == "__main__":
    main()
