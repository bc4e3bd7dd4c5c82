"""Medical images: which cells are stained brown, seen without colour?

    rushlight examples run stain_of_tissue        (needs `pip install scikit-image`)

In scikit-image's sample of tissue, an antibody stained some cells brown (DAB) and everything else
blue. Colour deconvolution (Ruifrok and Johnston 2001) of the coloured picture says which pixels are
brown. A network learns to say it from the grey picture of the left 60 %, and is asked about the
right 35 %, between which lies a strip that nobody sees. The baseline is the best threshold on grey
values of the left part. A minute; leaves runs/stain_of_tissue/stained.png.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from skimage.color import rgb2hed
from skimage.data import immunohistochemistry
from skimage.filters import gaussian

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.transforms import functional as T

OUT = Path("runs/stain_of_tissue")
SIDE = 64


def sample() -> tuple[torch.Tensor, torch.Tensor]:
    """The grey picture ``[1, 512, 512]`` of unit variance, and 1 where it is stained."""
    picture = immunohistochemistry()
    brown = torch.from_numpy(gaussian(rgb2hed(picture)[..., 2], 2.0)).float()
    grey = T.rgb_to_grayscale(torch.from_numpy(picture).permute(2, 0, 1)).float()
    return (grey - grey.mean()) / grey.std(), (brown > brown.quantile(0.75)).float()[None]


def block(before: int, after: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(),
        nn.Conv2d(after, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(),
    )  # fmt: skip


class UNet(nn.Module):
    """Logits for each pixel from features of four resolutions."""

    def __init__(self, widths: tuple[int, ...] = (16, 32, 48, 64)):
        super().__init__()
        pairs = list(zip(widths, widths[1:], strict=False))
        self.first = block(1, widths[0])
        self.down = nn.ModuleList(block(a, b) for a, b in pairs)
        self.join = nn.ModuleList(block(a + b, a) for a, b in reversed(pairs))
        self.head = nn.Conv2d(widths[0], 1, 1)

    def forward(self, x):
        seen = [self.first(x)]
        for layer in self.down:
            seen.append(layer(F.max_pool2d(seen[-1], 2)))
        x = seen.pop()
        for layer in self.join:
            x = layer(torch.cat([seen.pop(), F.interpolate(x, scale_factor=2.0)], 1))
        return self.head(x)


def cuts(grey: torch.Tensor, mask: torch.Tensor, count: int):
    """Parts of 64x64 pixels, turned, mirrored, darker or lighter."""
    found = []
    for _ in range(count):
        y, x = (int(torch.randint(each - SIDE + 1, ())) for each in grey.shape[1:])
        part = torch.stack([each[:, y : y + SIDE, x : x + SIDE] for each in (grey, mask)])
        part = part.rot90(int(torch.randint(4, ())), (2, 3))
        found.append(part.flip(3) if torch.rand(()) < 0.5 else part)
    images, masks = torch.stack(found, 1)
    return images * (1 + 0.1 * torch.randn(count, 1, 1, 1)), masks


def train(model: nn.Module, grey: torch.Tensor, mask: torch.Tensor, steps: int) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    for _ in range(steps):
        images, masks = cuts(grey, mask, 16)
        loss = F.binary_cross_entropy_with_logits(model(images), masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    model.eval()


def dice(found: torch.Tensor, mask: torch.Tensor) -> float:
    """Twice the common pixels over all pixels of both."""
    return (2 * (found * mask).sum() / (found.sum() + mask.sum())).item()


def draw(grey: torch.Tensor, mask: torch.Tensor, found: torch.Tensor, dark: torch.Tensor) -> None:
    figure, axes = plt.subplots(1, 4, figsize=(9, 6.5))
    titles = ("what is seen", "stained", "network", "threshold")
    for axis, image, title in zip(axes, (grey, mask, found, dark), titles, strict=True):
        axis.imshow(image[0].numpy(), cmap="gray")
        axis.set_title(title)
        axis.axis("off")
    figure.tight_layout()
    figure.savefig(OUT / "stained.png", dpi=120)


def main() -> None:
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    grey, mask = sample()
    left, known = grey[:, :, :304], mask[:, :, :304]
    right, wanted = grey[:, :, 336:], mask[:, :, 336:]
    model = UNet()
    train(model, left, known, 250)
    with torch.no_grad():
        found = (model(right[None])[0] > 0).float()
    best = max(
        torch.linspace(-3, 1, 81).tolist(), key=lambda cut: dice((left < cut).float(), known)
    )
    dark = (right < best).float()
    draw(right, wanted, found, dark)
    score, before = dice(found, wanted), dice(dark, wanted)
    print(f"Dice {score:.3f} on the unseen part of the tissue; threshold on grey {before:.3f}")
    assert score > 0.6 and score > before


if __name__ == "__main__":
    main()
