"""Segmentation: which pixels are ink, on paper that is stained and noisy?

    rushlight examples run segment_digits

A small U-Net (Ronneberger et al. 2015) learns from digits of `DigitsSample` on uneven, noisy paper;
the digits alone say which pixels are ink. The baseline is Otsu's threshold (1979) for each picture.
Half a minute; leaves runs/segment_digits/masks.png.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.datasets import DigitsSample

OUT = Path("runs/segment_digits")


def pictures(split: str, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Pictures ``[N, 1, 32, 32]`` and masks of the same shape."""
    data = DigitsSample(split=split).data
    ink = F.pad(data[torch.randint(len(data), (count,))].float()[:, None] / 255, (2, 2, 2, 2))
    paper = F.interpolate(torch.rand(count, 1, 4, 4), (32, 32), mode="bicubic")
    strength = 0.3 + 0.4 * torch.rand(count, 1, 1, 1)
    return paper + strength * ink + 0.15 * torch.randn(count, 1, 32, 32), (ink > 0.4).float()


def block(before: int, after: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(),
        nn.Conv2d(after, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(),
    )  # fmt: skip


class UNet(nn.Module):
    """Logits for each pixel from features of three resolutions."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = block(1, 16), block(16, 32), block(32, 64)
        self.up2, self.up1 = nn.ConvTranspose2d(64, 32, 2, 2), nn.ConvTranspose2d(32, 16, 2, 2)
        self.joined2, self.joined1 = block(64, 32), block(32, 16)
        self.head = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        fine = self.first(x)
        middle = self.second(F.max_pool2d(fine, 2))
        x = self.up2(self.third(F.max_pool2d(middle, 2)))
        x = self.up1(self.joined2(torch.cat([middle, x], 1)))
        return self.head(self.joined1(torch.cat([fine, x], 1)))


def train(model: nn.Module, steps: int, rate: float) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    model.train()
    for _ in range(steps):
        images, masks = pictures("train", 32)
        loss = F.binary_cross_entropy_with_logits(model(images), masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    model.eval()


def otsu(images: torch.Tensor) -> torch.Tensor:
    """Masks by the threshold that parts each picture's values best (Otsu 1979)."""
    flat = images.flatten(1)
    cuts = torch.quantile(flat, torch.linspace(0.5, 0.98, 49), dim=1)[..., None]
    bright = (flat > cuts).float()
    share = bright.mean(2).clamp(1e-3, 1 - 1e-3)
    inside = (bright * flat).mean(2) / share
    outside = ((1 - bright) * flat).mean(2) / (1 - share)
    best = (share * (1 - share) * (inside - outside) ** 2).argmax(0)
    return bright[best, torch.arange(len(flat))].view_as(images)


def iou(found: torch.Tensor, masks: torch.Tensor) -> float:
    """Intersection over union, the mean over pictures."""
    both, either = (found * masks).sum((1, 2, 3)), torch.maximum(found, masks).sum((1, 2, 3))
    return (both / either).mean().item()


def draw(rows: list[torch.Tensor]) -> None:
    figure, axes = plt.subplots(4, 8, figsize=(9, 4.8))
    for line, row, title in zip(axes, rows, ("picture", "ink", "U-Net", "Otsu"), strict=True):
        for axis, image in zip(line, row.unbind(0), strict=False):
            axis.imshow(image[0].numpy(), cmap="gray")
            axis.set(xticks=[], yticks=[])
        line[0].set_ylabel(title)
    figure.tight_layout()
    figure.savefig(OUT / "masks.png", dpi=120)


def main() -> None:
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    model = UNet()
    train(model, 400, 4e-3)
    images, masks = pictures("test", 500)
    with torch.no_grad():
        found = (model(images) > 0).float()
    plain = otsu(images)
    draw([images, masks, found, plain])
    score, before = iou(found, masks), iou(plain, masks)
    print(f"IoU {score:.3f} over 500 pictures; Otsu's threshold {before:.3f}")
    assert score > 0.7 > before


if __name__ == "__main__":
    main()
