"""Pictures: which of ten photos is a piece of 64 x 64 pixels cut from?

    rushlight examples run pieces_of_photos        (needs `pip install scikit-image`)

Ten photos of scikit-image, free of rights or under permissive licences, are made grey. A ResNet-18
learns from pieces of the left and the right 38 % of each, turned and with other light, and is asked
about pieces of the middle 20 %, which it has not seen: it has to know stone, grass, fur and stars
again, not pixels. The baseline is the photo whose sides have the nearest mean and spread of grey
values. A minute; leaves runs/pieces_of_photos/pieces.png.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from skimage import data

import rushlight as torch
from rushlight.nn import functional as F
from rushlight_vision.models import resnet18
from rushlight_vision.transforms import functional as T

OUT = Path("runs/pieces_of_photos")
NAMES = ("astronaut", "brick", "cat", "coffee", "coins", "grass", "gravel", "hubble_deep_field",
         "immunohistochemistry", "retina")  # fmt: skip
SIDE, STEPS, BATCH = 64, 250, 32


def photo(name: str) -> torch.Tensor:
    """Grey values ``[H, W]`` from 0 to 1."""
    pixels = torch.from_numpy(getattr(data, name)().copy())
    if pixels.ndim == 3:
        pixels = T.rgb_to_grayscale(pixels.permute(2, 0, 1))[0]
    return pixels.float() / 255


def part(photos: list[torch.Tensor], begin: float, end: float) -> list[torch.Tensor]:
    """Columns of every photo, from a share of its width to another one."""
    return [each[:, round(begin * each.shape[1]) : round(end * each.shape[1])] for each in photos]


def pieces(photos: list[torch.Tensor], count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Squares ``[count, 1, SIDE, SIDE]`` at random, and the numbers of their photos."""
    labels = torch.arange(count) % len(photos)
    cut = []
    for label in labels.tolist():
        height, width = photos[label].shape
        top = int(torch.randint(height - SIDE + 1, ()))
        left = int(torch.randint(width - SIDE + 1, ()))
        cut.append(photos[label][top : top + SIDE, left : left + SIDE])
    return torch.stack(cut).unsqueeze(1), labels


def varied(images: torch.Tensor) -> torch.Tensor:
    """Turned by a quarter or two, turned over, brighter or darker, with more or less contrast."""
    images = images.rot90(int(torch.randint(4, ())), (2, 3))
    if torch.rand(()) < 0.5:
        images = images.flip(3)
    light, contrast = torch.rand(2, len(images), 1, 1, 1)
    return (images - 0.5) * (0.7 + 0.6 * contrast) + 0.4 + 0.2 * light


def train(left: list[torch.Tensor], right: list[torch.Tensor]) -> torch.nn.Module:
    model = resnet18(num_classes=len(NAMES))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=STEPS)
    for step in range(STEPS):
        images, labels = pieces(right if step % 2 else left, BATCH)
        loss = F.cross_entropy(model(varied(images).expand(-1, 3, -1, -1)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval()


@torch.no_grad()
def answers(model: torch.nn.Module, images: torch.Tensor) -> torch.Tensor:
    return torch.cat([model(part.expand(-1, 3, -1, -1)).argmax(1) for part in images.split(50)])


def nearest(left: list[torch.Tensor], right: list[torch.Tensor], images: torch.Tensor):
    """The photo of the nearest mean and spread of grey values."""
    sides = [torch.cat(both, 1) for both in zip(left, right, strict=True)]
    known = torch.tensor([[each.mean(), each.std()] for each in sides])
    values = images.flatten(1)
    return torch.cdist(torch.stack([values.mean(1), values.std(1)], 1), known).argmin(1)


def draw(images: torch.Tensor, found: torch.Tensor, labels: torch.Tensor) -> None:
    figure, axes = plt.subplots(3, 10, figsize=(11, 4))
    for number, axis in enumerate(axes.flat):
        axis.imshow(images[number, 0], cmap="gray", vmin=0, vmax=1)
        name = NAMES[int(found[number])].split("_")[0][:10]
        axis.set_title(
            name, fontsize=8, color="black" if found[number] == labels[number] else "red"
        )
        axis.axis("off")
    figure.tight_layout()
    figure.savefig(OUT / "pieces.png", dpi=120)


def main() -> None:
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    photos = [photo(name) for name in NAMES]
    left, middle, right = (part(photos, *ends) for ends in ((0, 0.38), (0.4, 0.6), (0.62, 1)))
    images, labels = pieces(middle, 500)
    found = answers(train(left, right), images)
    draw(images, found, labels)
    accuracy = (found == labels).float().mean().item()
    baseline = (nearest(left, right, images) == labels).float().mean().item()
    print(f"accuracy {accuracy:.1%}; by mean and spread of grey values {baseline:.1%}")
    assert accuracy > 0.75 and baseline < 0.6


if __name__ == "__main__":
    main()
