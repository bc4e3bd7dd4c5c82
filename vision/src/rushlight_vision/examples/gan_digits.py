"""Generation by two networks: one draws digits, the other tells drawn from real.

    rushlight examples run gan_digits

A DCGAN (Radford et al. 2016) of small size learns from the digits of `DigitsSample`, at 28x28
pixels. How well is measured by the Fréchet distance (Heusel et al. 2017) between features of drawn
and of real digits, features of a classifier trained beforehand. The baseline draws from a normal
distribution fitted to the pixels. Two minutes; leaves runs/gan_digits/drawn.png.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.datasets import DigitsSample

OUT = Path("runs/gan_digits")
NOISE = 32


def digits(split: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Images ``[N, 1, 28, 28]`` between -1 and 1, and labels."""
    part = DigitsSample(split=split)
    return part.data[:, None].float() / 127.5 - 1, part.targets


def generator() -> nn.Module:
    return nn.Sequential(
        nn.Linear(NOISE, 64 * 49), nn.Unflatten(1, (64, 7, 7)), nn.BatchNorm2d(64), nn.ReLU(),
        nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.ConvTranspose2d(32, 1, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip


def critic() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Dropout2d(0.2),
        nn.Conv2d(32, 64, 4, 2, 1), nn.LeakyReLU(0.2), nn.Dropout2d(0.2),
        nn.Flatten(), nn.Linear(64 * 49, 1),
    )  # fmt: skip


def classifier() -> nn.Module:
    """A network whose layer before the last tells digits apart."""
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(),
        nn.Flatten(), nn.Linear(32 * 49, 32), nn.ReLU(), nn.Linear(32, 10),
    )  # fmt: skip
    images, labels = digits("train")
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3)
    for _ in range(12):
        for rows in torch.randperm(len(images)).split(64):
            loss = F.cross_entropy(model(images[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model[:-1].eval()


@torch.no_grad()
def distance(features: nn.Module, drawn: torch.Tensor, real: torch.Tensor) -> float:
    """The Fréchet distance of two sets of images as normal distributions of features."""
    one, two = features(drawn).double(), features(real).double()
    first, second = torch.cov(one.T), torch.cov(two.T)
    values, vectors = torch.linalg.eigh(first)
    root = vectors @ torch.diag(values.clamp(min=0).sqrt()) @ vectors.T
    mixed = torch.linalg.eigvalsh(root @ second @ root).clamp(min=0).sqrt().sum()
    apart = (one.mean(0) - two.mean(0)).square().sum()
    return float(apart + first.trace() + second.trace() - 2 * mixed)


def train(draw: nn.Module, tell: nn.Module, epochs: int) -> None:
    images, _ = digits("train")
    options: dict[str, Any] = {"lr": 4e-4, "betas": (0.5, 0.99)}
    of_draw = torch.optim.Adam(draw.parameters(), **options)
    of_tell = torch.optim.Adam(tell.parameters(), **options)
    for _ in range(epochs):
        for rows in torch.randperm(len(images))[:3456].view(-1, 64):
            drawn = draw(torch.randn(64, NOISE))
            loss = F.softplus(-tell(images[rows])).mean() + F.softplus(tell(drawn.detach())).mean()
            of_tell.zero_grad()
            loss.backward()
            of_tell.step()
            loss = F.softplus(-tell(drawn)).mean()
            of_draw.zero_grad()
            loss.backward()
            of_draw.step()


def normal_pixels(count: int) -> torch.Tensor:
    """The baseline: pixels from the normal distribution of real digits."""
    flat = digits("train")[0].flatten(1)
    _, values, vectors = torch.linalg.svd(flat - flat.mean(0), full_matrices=False)
    scores = torch.randn(count, len(values)) * values / len(flat) ** 0.5
    return (scores @ vectors + flat.mean(0)).clamp(-1, 1).view(-1, 1, 28, 28)


def picture(drawn: torch.Tensor, plain: torch.Tensor) -> None:
    figure, axes = plt.subplots(4, 10, figsize=(9, 3.8))
    rows = torch.cat([drawn[:30], plain[:10]]).view(4, 10, 28, 28)
    for line, images in zip(axes, rows, strict=True):
        for axis, image in zip(line, images, strict=True):
            axis.imshow(image.numpy(), cmap="gray")
            axis.set(xticks=[], yticks=[])
    axes[0][0].set_ylabel("drawn")
    axes[3][0].set_ylabel("normal")
    figure.tight_layout()
    figure.savefig(OUT / "drawn.png", dpi=120)


def main() -> None:
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    features, draw = classifier(), generator()
    train(draw, critic(), 60)
    with torch.no_grad():
        drawn = draw(torch.randn(1000, NOISE))  # with the batch's own statistics, as it learnt
    real, plain = digits("test")[0], normal_pixels(1000)
    picture(drawn, plain)
    score, before = distance(features, drawn, real), distance(features, plain, real)
    print(f"Fréchet distance to real digits {score:.1f}; of normal pixels {before:.1f}")
    assert score < before / 2


if __name__ == "__main__":
    main()
