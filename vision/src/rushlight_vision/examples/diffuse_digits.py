"""Generation by taking noise away: a diffusion model draws digits.

    rushlight examples run diffuse_digits

A U-Net learns to see the digits of `DigitsSample` through noise of every strength, and draws by
taking it away step by step (DDPM, Ho et al. 2020; DDIM steps, Song et al. 2021). Measure and
baseline are those of `gan_digits`: the Fréchet distance of a classifier's features, and pixels of a
normal distribution. Two minutes; leaves runs/diffuse_digits/drawn.png.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.examples.gan_digits import classifier, digits, distance, normal_pixels

OUT = Path("runs/diffuse_digits")


class Block(nn.Module):
    """A ConvNeXt block (Liu et al. 2022) that knows the share of noise."""

    def __init__(self, width: int):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, 64), nn.SiLU(), nn.Linear(64, width))
        self.space = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.mix = nn.Sequential(nn.GroupNorm(1, width), nn.Conv2d(width, 3 * width, 1), nn.GELU(),
                                 nn.Conv2d(3 * width, width, 1))  # fmt: skip

    def forward(self, x, share):
        return x + self.mix(self.space(x) + self.time(share[:, None] * 2 - 1)[:, :, None, None])


class UNet(nn.Module):
    """The pictures behind noise, whose share ``[N]`` of noise is known."""

    def __init__(self, width: int = 48):
        super().__init__()
        self.enter, self.down = nn.Conv2d(1, width, 4, 2, 1), nn.Conv2d(width, 2 * width, 3, 2, 1)
        self.blocks = nn.ModuleList(Block(n * width) for n in (1, 1, 2, 2, 2, 1, 1))
        self.up, self.leave = nn.Conv2d(2 * width, 4 * width, 1), nn.Conv2d(width, 4, 3, 1, 1)

    def forward(self, x, share):
        x = fine = self.blocks[1](self.blocks[0](self.enter(x), share), share)
        x = self.down(x)
        for block in self.blocks[2:5]:
            x = block(x, share)
        x = fine + F.pixel_shuffle(self.up(x), 2)
        for block in self.blocks[5:]:
            x = block(x, share)
        return F.pixel_shuffle(self.leave(x), 2)


def strengths(share: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Of picture and noise, for shares between 0 and 1 (the cosine schedule)."""
    angle = share[:, None, None, None] * torch.pi / 2
    return angle.cos(), angle.sin()


def train(model: nn.Module, steps: int, rate: float) -> nn.Module:
    """Returns the mean of the weights over the last steps, which draws better."""
    images, _ = digits("train")
    optimizer = torch.optim.AdamW(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    average = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99)
    )
    for _ in range(steps):
        clean = images[torch.randint(len(images), (64,))]
        share, noise = torch.rand(64), torch.randn(64, 1, 28, 28)
        keep, add = strengths(share)
        loss = F.mse_loss(model(keep * clean + add * noise, share), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        average.update_parameters(model)
    return average.module


@torch.no_grad()
def sample(model: nn.Module, count: int, steps: int = 40) -> torch.Tensor:
    """Pictures from noise."""
    x, shares = torch.randn(count, 1, 28, 28), torch.linspace(0.98, 0.0, steps + 1)
    for share, following in zip(shares, shares[1:], strict=False):
        keep, add = strengths(share[None])
        clean = model(x, share.expand(count)).clamp(-1, 1)
        noise = (x - keep * clean) / add
        keep, add = strengths(following[None])
        x = keep * clean + add * noise
    return x


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
    features, model = classifier(), train(UNet(), 1500, 2e-3)
    drawn = sample(model, 500)
    real, plain = digits("test")[0], normal_pixels(500)
    picture(drawn, plain)
    score, before = distance(features, drawn, real), distance(features, plain, real)
    print(f"Fréchet distance to real digits {score:.1f}; of normal pixels {before:.1f}")
    assert score < before / 2


if __name__ == "__main__":
    main()
