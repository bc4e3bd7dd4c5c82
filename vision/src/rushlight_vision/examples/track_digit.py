"""Tracking: follow one digit among others that move, turn and hide.

    rushlight examples run track_digit

A network learns from pairs of cuts which two show the same digit of handwriting (a Siamese network,
Bertinetto et al. 2016). In a film of noisy pictures the tracker goes, frame by frame, to where
features are most like those of the first frame. The baseline correlates pixels instead of
features. A minute; leaves runs/track_digit/track.png.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.datasets import DigitsSample
from rushlight_vision.transforms.functional import rotate

OUT = Path("runs/track_digit")
SIZE, CUT, FRAMES = 72, 28, 24


def film(data: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Frames ``[T, 72, 72]`` with three digits, and the centre ``[T, 2]`` (row, column) of the
    first."""
    shapes = data[torch.randint(len(data), (3,))].float() / 255
    place, speed = torch.rand(3, 2) * 44, torch.randn(3, 2) * 2.5
    turn, frames, path = torch.rand(3) * 10 - 5, [], []
    for number in range(FRAMES):
        frame = torch.zeros(SIZE, SIZE)
        for i in range(3):
            y, x = place[i].round().int().tolist()
            shape = rotate(shapes[i][None], float(turn[i] * number))[0]
            cell = frame[y : y + CUT, x : x + CUT]
            frame[y : y + CUT, x : x + CUT] = torch.maximum(cell, shape)
        frames.append(frame + 0.25 * torch.randn(SIZE, SIZE))
        path.append(place[0] + CUT / 2)
        place = place + speed
        speed = torch.where((place < 0) | (place > SIZE - CUT), -speed, speed)
        place = place.clamp(0, SIZE - CUT)
    return torch.stack(frames), torch.stack(path)


def embedding() -> nn.Module:
    """Features of a quarter of the pictures' resolution."""
    return nn.Sequential(
        nn.Conv2d(1, 24, 5, 2, 2), nn.BatchNorm2d(24), nn.ReLU(),
        nn.Conv2d(24, 48, 3, 2, 1), nn.BatchNorm2d(48), nn.ReLU(),
        nn.Conv2d(48, 32, 3, 1, 1),
    )  # fmt: skip


def likeness(features: torch.Tensor, template: torch.Tensor) -> torch.Tensor:
    """Correlation of features ``[B, C, H, W]`` with templates ``[B, C, h, w]``, of unit length."""
    template = F.normalize(template.flatten(1), dim=1).view_as(template)
    count, channels, height, width = features.shape
    found = F.conv2d(features.reshape(1, -1, height, width), template, groups=count)
    energy = F.conv2d(features.square().sum(1, keepdim=True), torch.ones(1, 1, *template.shape[2:]))
    return found[0] / (energy[:, 0] + 1e-3).sqrt()


def train(model: nn.Module, data: torch.Tensor, steps: int, rate: float) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    side = (SIZE - CUT) // 4 + 1
    for _ in range(steps):
        films = [film_pair(data) for _ in range(16)]
        first, later, goal = (torch.stack(each) for each in zip(*films, strict=True))
        scores = 12 * likeness(model(later[:, None]), model(first[:, None])).flatten(1)
        row, column = (goal / 4).round().long().clamp(0, side - 1).unbind(1)
        loss = F.cross_entropy(scores, row * side + column)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


def film_pair(data: torch.Tensor):
    """A cut of the first frame, a later frame, and where the cut's digit is in it."""
    frames, path = film(data)
    later = int(torch.randint(1, FRAMES, ()))
    return cut_of(frames[0], path[0]), frames[later], path[later] - CUT / 2


def cut_of(frame: torch.Tensor, centre: torch.Tensor) -> torch.Tensor:
    y, x = (centre - CUT / 2).round().int().clamp(0, SIZE - CUT).tolist()
    return frame[y : y + CUT, x : x + CUT]


@torch.no_grad()
def follow(frames: torch.Tensor, start: torch.Tensor, model: nn.Module, stride: int):
    """The path ``[T, 2]`` that a tracker finds: the most similar place not far from the last."""
    template, here, path = model(cut_of(frames[0], start)[None, None]), start, [start]
    for frame in frames[1:]:
        scores = likeness(model(frame[None, None]), template)[0]
        rows, columns = (torch.arange(n) * stride + CUT / 2 for n in scores.shape)
        far = (rows[:, None] - here[0]) ** 2 + (columns[None] - here[1]) ** 2
        best = int((scores - 0.002 * far).argmax())
        here = torch.stack([rows[best // len(columns)], columns[best % len(columns)]])
        path.append(here)
    return torch.stack(path)


def main() -> None:
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    model = embedding()
    train(model, DigitsSample(split="train").data, 400, 3e-3)
    model.eval()
    tests = [film(DigitsSample(split="test").data) for _ in range(60)]
    ways = {"features": (model, 4), "pixels": (nn.Identity(), 1)}
    share = {}
    for name, (network, stride) in ways.items():
        paths = [follow(frames, path[0], network, stride) for frames, path in tests]
        far = torch.stack(
            [(p - true).norm(dim=1) for p, (_, true) in zip(paths, tests, strict=True)]
        )
        share[name] = (far < 8).float().mean().item()
        if name == "features":
            draw(tests[0], paths[0])
    print(f"{share['features']:.1%} of frames within 8 pixels; by pixels {share['pixels']:.1%}")
    assert share["features"] > 0.7 and share["features"] > share["pixels"]


def draw(test, path: torch.Tensor) -> None:
    frames, true = test
    figure, axes = plt.subplots(1, 5, figsize=(10, 2.3))
    for axis, number in zip(axes, range(0, FRAMES, 5), strict=True):
        axis.imshow(frames[number].numpy(), cmap="gray")
        axis.scatter(*true[number].flip(0).tolist(), marker="o", facecolors="none", edgecolors="w")
        axis.scatter(*path[number].flip(0).tolist(), marker="x", color="orange")
        axis.axis("off")
    figure.tight_layout()
    figure.savefig(OUT / "track.png", dpi=120)


if __name__ == "__main__":
    main()
