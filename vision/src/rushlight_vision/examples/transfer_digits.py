"""Transfer learning: what a network knows of five digits helps it with the other five.

    rushlight examples run transfer_digits

A network learns the digits 0 to 4 from 1,750 images, and is then fine-tuned on one to three
images each of 5 to 9. The baseline is the same network trained on these alone. Ten seconds; leaves
runs/transfer_digits/accuracies.png.
"""

from __future__ import annotations

import copy
from pathlib import Path

import matplotlib.pyplot as plt

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.datasets import DigitsSample

OUT = Path("runs/transfer_digits")
SHOTS = (1, 2, 3)


def digits(split: str, first: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Images of five digits from `first` on, and labels 0 to 4."""
    part = DigitsSample(split=split)
    chosen = (part.targets >= first) & (part.targets < first + 5)
    images = (part.data[chosen].float().unsqueeze(1) / 255 - 0.1307) / 0.3081
    return images, part.targets[chosen] - first


def features() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.GroupNorm(8, 32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.GroupNorm(8, 64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 3, padding=1), nn.GroupNorm(8, 64), nn.ReLU(),
        nn.AdaptiveAvgPool2d(3), nn.Flatten(),
    )  # fmt: skip


def train(model: nn.Module, images: torch.Tensor, labels: torch.Tensor, steps: int,
          rates: tuple[float, float]) -> nn.Module:  # fmt: skip
    """`rates`: of the features and of the head."""
    groups = [{"params": part.parameters(), "lr": rate}
              for part, rate in zip(model, rates, strict=True)]  # fmt: skip
    optimizer = torch.optim.AdamW(groups, weight_decay=0.05)
    for _ in range(steps):
        rows = torch.randint(len(images), (min(64, len(images)),))
        down, right = torch.randint(-2, 3, (2,)).tolist()
        given = images[rows].roll((down, right), (2, 3))
        loss = F.cross_entropy(model(given), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def few(images: torch.Tensor, labels: torch.Tensor, count: int):
    """The first `count` images of each digit."""
    rows = torch.cat([(labels == digit).nonzero().flatten()[:count] for digit in range(5)])
    return images[rows], labels[rows]


@torch.no_grad()
def accuracy(model: nn.Module) -> float:
    images, labels = digits("test", 5)
    return (model(images).argmax(1) == labels).float().mean().item()


def draw(found: dict[str, list[float]]) -> None:
    figure, axis = plt.subplots(figsize=(5, 3.2))
    for name, values in found.items():
        axis.plot(SHOTS, values, marker="o", label=name)
    axis.set(xlabel="images of each new digit", ylabel="accuracy", xticks=SHOTS, ylim=(0.3, 1))
    axis.legend()
    figure.tight_layout()
    figure.savefig(OUT / "accuracies.png", dpi=120)


def main() -> None:
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    images, labels = digits("train", 0)
    known = nn.Sequential(features(), nn.Linear(576, 5))
    train(known, images, labels, 600, (2e-3, 2e-3))
    found: dict[str, list[float]] = {"fine-tuned": [], "from scratch": []}
    for count in SHOTS:
        images, labels = few(*digits("train", 5), count)
        tuned = nn.Sequential(copy.deepcopy(known[0]), nn.Linear(576, 5))
        fresh = nn.Sequential(features(), nn.Linear(576, 5))
        found["fine-tuned"].append(accuracy(train(tuned, images, labels, 100, (3e-4, 3e-3))))
        found["from scratch"].append(accuracy(train(fresh, images, labels, 100, (2e-3, 2e-3))))
    draw(found)
    best, before = found["fine-tuned"][0], found["from scratch"][0]
    print(f"accuracy {best:.1%} after one image of each new digit; from scratch {before:.1%}")
    assert best > 0.7 and sum(found["fine-tuned"]) > sum(found["from scratch"])


if __name__ == "__main__":
    main()
