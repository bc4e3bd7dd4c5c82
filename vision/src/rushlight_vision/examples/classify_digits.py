"""Classification: a convolutional network reads handwritten digits.

    rushlight examples run classify_digits

3,500 digits of `DigitsSample` to learn from, 1,000 to ask. The baseline is softmax regression on
pixels, trained the same way. Half a minute; leaves runs/classify_digits/mistakes.png.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.datasets import DigitsSample

OUT = Path("runs/classify_digits")


def digits(split: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Images ``[N, 1, 28, 28]`` of about unit variance, and labels."""
    part = DigitsSample(split=split)
    return (part.data.float().unsqueeze(1) / 255 - 0.1307) / 0.3081, part.targets


def shifted(images: torch.Tensor) -> torch.Tensor:
    """Images moved by up to two pixels: other pictures of the same digits."""
    down, right = torch.randint(-2, 3, (2,)).tolist()
    return images.roll((down, right), (2, 3))


def train(model: nn.Module, epochs: int, rate: float) -> None:
    images, labels = digits("train")
    steps = epochs * (len(images) // 64)
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    model.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(images))[: len(images) // 64 * 64].view(-1, 64):
            loss = F.cross_entropy(model(shifted(images[rows])), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    model.eval()


@torch.no_grad()
def answers(model: nn.Module) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    images, labels = digits("test")
    return images, labels, model(images).argmax(1)


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.3), nn.Linear(64 * 49, 10),
    )  # fmt: skip


def draw(images: torch.Tensor, labels: torch.Tensor, found: torch.Tensor) -> None:
    """The first twelve mistakes."""
    wrong = (labels != found).nonzero().flatten()[:12].tolist()
    figure, axes = plt.subplots(2, 6, figsize=(9, 3.4))
    for axis in axes.flat:
        axis.axis("off")
    for axis, i in zip(axes.flat, wrong, strict=False):
        axis.imshow(images[i, 0].numpy(), cmap="gray")
        axis.set_title(f"{labels[i]} read as {found[i]}", fontsize=9)
    figure.tight_layout()
    figure.savefig(OUT / "mistakes.png", dpi=120)


def main() -> None:
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    baseline, model = nn.Sequential(nn.Flatten(), nn.Linear(784, 10)), network()
    train(baseline, 8, 1e-3)
    train(model, 40, 3e-3)
    _, labels, plain = answers(baseline)
    images, labels, found = answers(model)
    draw(images, labels, found)
    before, accuracy = ((each == labels).float().mean().item() for each in (plain, found))
    print(f"accuracy {accuracy:.1%} of 1,000 digits; softmax regression {before:.1%}")
    assert accuracy > 0.97 > before


if __name__ == "__main__":
    main()
