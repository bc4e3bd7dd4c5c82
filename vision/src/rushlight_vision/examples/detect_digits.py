"""Detection: where are which digits in a noisy picture?

    rushlight examples run detect_digits

Digits of `DigitsSample` lie at random in pictures of 64x64 pixels, up to three in each, in several
sizes. The detector is FCOS (Tian et al. 2019) on a backbone of four convolutions. The baseline
takes connected bright regions and the nearest mean digit. A minute; leaves
runs/detect_digits/found.png.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.datasets import DigitsSample
from rushlight_vision.models.detection import FCOS
from rushlight_vision.models.detection.anchor_utils import AnchorGenerator
from rushlight_vision.ops import box_iou

OUT = Path("runs/detect_digits")
SIZE = 64


def box_of(ink: torch.Tensor) -> torch.Tensor:
    """The box (x1, y1, x2, y2) around the pixels of a mask."""
    places = ink.nonzero()
    (top, left), (low, right) = places.min(0).values.tolist(), places.max(0).values.tolist()
    return torch.tensor([left, top, right + 1, low + 1]).float()


def scene(part: DigitsSample) -> tuple[torch.Tensor, dict]:
    """A picture ``[3, 64, 64]``, and its boxes and digits."""
    canvas, names = torch.rand(SIZE, SIZE) * 0.3, []
    boxes: list[torch.Tensor] = []
    for row in torch.randint(len(part.data), (int(torch.randint(1, 4, ())),)).tolist():
        side = int(torch.randint(18, 31, ()))
        image = part.data[row].float()[None, None] / 255
        image = F.interpolate(image, (side, side), mode="bilinear", align_corners=False)[0, 0]
        layer = torch.zeros(SIZE, SIZE)
        y, x = torch.randint(0, SIZE - side + 1, (2,)).tolist()
        layer[y : y + side, x : x + side] = image
        box = box_of(layer > 0.3)
        if boxes and box_iou(box[None], torch.stack(boxes)).max() > 0.1:
            continue
        canvas = torch.maximum(canvas, layer)
        boxes.append(box)
        names.append(int(part.targets[row]))
    return canvas.expand(3, -1, -1), {"boxes": torch.stack(boxes), "labels": torch.tensor(names)}


def detector() -> FCOS:
    """Features of stride 4: a digit has its centre in one of 16x16 cells."""
    layers: list[nn.Module] = []
    for before, after, stride in ((3, 32, 2), (32, 64, 2), (64, 64, 1), (64, 64, 1)):
        layers += [nn.Conv2d(before, after, 3, stride, 1), nn.BatchNorm2d(after), nn.ReLU()]
    backbone = nn.Sequential(*layers)
    backbone.out_channels = 64
    anchors = AnchorGenerator(sizes=((16,),), aspect_ratios=((1.0,),))
    return FCOS(backbone, 10, min_size=SIZE, max_size=SIZE, anchor_generator=anchors,
                score_thresh=0.35, nms_thresh=0.3, image_mean=[0.2] * 3,
                image_std=[0.25] * 3)  # fmt: skip


def train(model: FCOS, steps: int, batch: int, rate: float) -> None:
    part = DigitsSample(split="train")
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    model.train()
    for step in range(steps):
        pictures, wanted = zip(*[scene(part) for _ in range(batch)], strict=True)
        loss = sum(model(list(pictures), list(wanted)).values())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 200 == 0:
            print(f"step {step:4d}   loss {loss.item():.3f}", flush=True)
    model.eval()


def bright_regions(picture: torch.Tensor, means: torch.Tensor) -> dict:
    """The baseline: connected pixels above a threshold, named by the nearest mean digit."""
    left, boxes, names = picture[0] > 0.45, [torch.zeros(4)], [torch.tensor(-1)]
    while left.any():
        region, size = torch.zeros(SIZE, SIZE), 0
        region[tuple(left.nonzero()[0].tolist())] = 1
        while (grown := int(region.sum())) > size:
            size = grown
            region = F.max_pool2d(region[None], 3, 1, 1)[0] * left
        left = left & (region == 0)
        if size >= 20:
            x1, y1, x2, y2 = map(int, box_of(region > 0).tolist())
            cut = picture[:1, y1:y2, x1:x2][None]
            cut = F.interpolate(cut, (20, 20), mode="bilinear", align_corners=False).flatten()
            boxes.append(box_of(region > 0))
            names.append((means - cut).square().sum(1).argmin())
    return {"boxes": torch.stack(boxes)[1:], "labels": torch.stack(names)[1:]}


def f1(answers: list[dict], wanted: list[dict]) -> float:
    """Of digits found in the right box (IoU > 0.5) under the right name."""
    right = total = 0
    for found, true in zip(answers, wanted, strict=True):
        total += len(found["boxes"]) + len(true["boxes"])
        fits = box_iou(found["boxes"], true["boxes"]) > 0.5
        fits &= found["labels"][:, None] == true["labels"][None]
        right += int(fits.any(0).sum()) if len(fits) else 0
    return 2 * right / total


def draw(pictures: list, answers: list[dict]) -> None:
    figure, axes = plt.subplots(2, 4, figsize=(9, 4.6))
    for axis, picture, found in zip(axes.flat, pictures, answers, strict=False):
        axis.imshow(picture[0].numpy(), cmap="gray")
        axis.axis("off")
        for (x1, y1, x2, y2), name in zip(found["boxes"].tolist(), found["labels"], strict=True):
            axis.plot([x1, x2, x2, x1, x1], [y1, y1, y2, y2, y1], color="orange")
            axis.text(x1, y1 - 1, str(int(name)), color="orange")
    figure.tight_layout()
    figure.savefig(OUT / "found.png", dpi=120)


def main() -> None:
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    model, known = detector(), DigitsSample(split="train")
    train(model, 2400, 16, 3e-3)
    inner = F.interpolate(known.data[:, None, 4:24, 4:24].float() / 255, (20, 20)).flatten(1)
    means = torch.stack([inner[known.targets == digit].mean(0) for digit in range(10)])
    part = DigitsSample(split="test")
    pictures, wanted = zip(*[scene(part) for _ in range(200)], strict=True)
    with torch.no_grad():
        answers = model(list(pictures))
    draw(pictures, answers)
    score = f1(answers, wanted)
    before = f1([bright_regions(p, means) for p in pictures], wanted)
    print(f"F1 {score:.1%} of digits in 200 pictures; connected regions {before:.1%}")
    assert score > 0.85 > before


if __name__ == "__main__":
    main()
