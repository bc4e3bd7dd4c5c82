"""Vision: transforms, a detector, training with little data.

    rushlight examples run learn_vision

Pictures are tensors, with conventions of their own that cost everybody an evening once. Here you
learn these conventions, change pictures together with the boxes on them, find shapes with a
detector that comes with the package, train a classifier on few examples and see what augmentation
is worth, and look at where a network looks. Names and results are those of torchvision. Read
[modules and training](learn_modules.md) first. It takes half a minute, and leaves
runs/learn_vision/ with four pictures.
"""

# %% A picture is `[C, H, W]`
# Channels come first, in the order red, green, blue; then rows from the top, then columns. Batches
# have `N` in front. Matplotlib and PIL want channels last, hence the `permute` for showing. Files
# hold bytes from 0 to 255, networks want floats from 0 to 1, and `float()` does *not* divide: a
# network that was trained on one and is given the other still answers, wrongly.
# `to_dtype(scale=True)` does both.
from pathlib import Path

import matplotlib.pyplot as plt

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.datasets import DigitsSample, GeneratedShapes
from rushlight_vision.io import decode_image, encode_png
from rushlight_vision.models.zoo import (
    Shapes_Classifier_Weights,
    Shapes_Detector_Weights,
    shapes_classifier,
    shapes_detector,
)
from rushlight_vision.transforms import v2
from rushlight_vision.tv_tensors import BoundingBoxes
from rushlight_vision.utils import (
    ConfusionMatrix,
    MeanAveragePrecision,
    draw_bounding_boxes,
    grad_cam,
    make_grid,
)

out = Path("runs/learn_vision")
out.mkdir(parents=True, exist_ok=True)
shapes = GeneratedShapes(split="test", task="detection", count=200)
image, target = shapes[2]
print(tuple(image.shape), image.dtype, "from", image.min().item(), "to", image.max().item())
for name, floats in (
    ("float()", image.float()),
    ("to_dtype", v2.functional.to_dtype(image, rl.float32, scale=True)),
):
    print(f"{name:9} up to {floats.max():.3f}")

# %%
# PNG gives back what it was given. JPEG does not, and two decoders of JPEG differ by a unit here
# and there: nothing to worry about, except in tests that compare bit for bit.
png = encode_png(image)
print("the same picture:", rl.equal(decode_image(png), image))

# %% Data augmentation: transforms that know what they transform
# More data for nothing: a picture that is shifted, mirrored or brighter shows the same thing. But a
# box on it must move along, while brightness must not touch it. The transforms of `v2` take whole
# samples and know by type what is what: `tv_tensors.Image`, `BoundingBoxes`, `Mask`. Data sets here
# give these types; give your own to tensors of yours. Numbers and strings pass unchanged, and so do
# plain tensors beside an image: boxes that a model gives are plain, and stay where they are when
# the picture is resized, unless you say what they are, as `boxed` does.
print(type(image).__name__, type(target["boxes"]).__name__, target["boxes"].format.name)
varied = v2.Compose([
    v2.RandomHorizontalFlip(),
    v2.RandomAffine(degrees=25, translate=(0.1, 0.1), scale=(0.8, 1.2)),
    v2.ColorJitter(brightness=0.4, hue=0.3),
    v2.ClampBoundingBoxes(),
    v2.SanitizeBoundingBoxes(min_size=8),
])  # fmt: skip


def boxed(image: rl.Tensor, target: dict, names: list[str]) -> rl.Tensor:
    """The picture, twice as large, with its boxes and labels."""
    height, width = image.shape[-2:]
    boxes = BoundingBoxes(target["boxes"], format="XYXY", canvas_size=(height, width))
    large, boxes = v2.Resize((192, 192), antialias=True)(image, boxes)
    words = [names[label] for label in target["labels"].tolist()]
    return draw_bounding_boxes(large, boxes, labels=words, colors="white", width=2)


rl.manual_seed(0)
samples = [(image, target), *(varied(image, target) for _ in range(5))]
grid = make_grid([boxed(picture, truth, shapes.classes) for picture, truth in samples], nrow=3)
plt.imsave(out / "varied.png", grid.permute(1, 2, 0).numpy())

# %% A detector that answers at once
# Models and their weights come in pairs: the weights know the preparation that the training used
# (`weights.transforms()`), the names of classes, and what they reached. Use that preparation and no
# other. A detector takes a *list* of pictures, which may differ in size, and gives a dict for each.
# Small networks are in the package; large ones are made by name (`resnet50(weights="DEFAULT")`
# downloads, once).
print(
    "trained:",
    shapes_detector.__name__,
    sum(p.numel() for p in shapes_detector().parameters()),
    "weights",
)
weights = Shapes_Detector_Weights.DEFAULT
detector, prepare = shapes_detector(weights=weights).eval(), weights.transforms()
print(weights.meta["categories"], weights.meta["_metrics"])
images, targets = zip(*(shapes[i] for i in range(100)), strict=True)
with rl.no_grad():
    found = detector([prepare(image) for image in images])
first = found[2]
for label, score, box in zip(first["labels"], first["scores"], first["boxes"], strict=True):
    if score > 0.5:  # figures vary
        print(f"{shapes.classes[label]:6} {score:.2f}  at {[round(x) for x in box.tolist()]}")

# %%
# How good is it? Scores rank detections, and where to cut them off is your choice: a low threshold
# finds more and invents more. Average precision sums up all thresholds. A box counts as found where
# it overlaps the true one by half or more of their union (`map_50`); `map` averages over stricter
# demands.
metric = MeanAveragePrecision()
metric.update(found, list(targets))
scores = metric.compute()
print(f"average precision: {scores['map_50']:.3f} at half overlap, {scores['map']:.3f} over all")
for threshold in (0.1, 0.5, 0.9):
    kept = sum(int((each["scores"] > threshold).sum()) for each in found)
    share = kept / sum(len(target["boxes"]) for target in targets)
    print(f"scores above {threshold}: {share:.2f} detections for each shape that is there")

certain = [{name: value[each["scores"] > 0.5] for name, value in each.items()} for each in found]
grid = make_grid(
    [boxed(*pair, shapes.classes) for pair in zip(images[:6], certain, strict=False)], nrow=3
)
plt.imsave(out / "found.png", grid.permute(1, 2, 0).numpy())

# %% Train with little data
# 500 handwritten digits to learn from, 1,000 to ask. The network is four convolutions with
# normalisation; each halves the picture and doubles the channels. It is trained twice: on the
# digits as they are, and on digits that are shifted and turned a little, others in every epoch. No
# mirroring: a mirrored 2 is no digit. Which changes leave the meaning alone is something that you
# know and the network does not.
train, test = DigitsSample(split="train"), DigitsSample(split="test")
chosen = rl.arange(0, 3500, 7)


def inputs(pictures: rl.Tensor) -> rl.Tensor:
    """Pictures `[N, 28, 28]` of bytes -> `[N, 1, 28, 28]` of about mean 0 and deviation 1."""
    return (pictures.unsqueeze(1).float() / 255 - 0.13) / 0.31


def network() -> nn.Module:
    """Pictures -> scores of ten classes."""
    layers, before = [], 1
    for channels in (16, 32, 64):
        layers += [
            nn.Conv2d(before, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(),
            nn.MaxPool2d(2),
        ]  # fmt: skip
        before = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def fit(model: nn.Module, change=None, epochs: int = 30) -> nn.Module:
    """Train on the chosen digits, which `change` varies anew in each epoch."""
    pictures, labels = train.data[chosen], train.targets[chosen]
    optimizer = rl.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    schedule = rl.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        for rows in rl.randperm(len(pictures)).split(50):
            batch = pictures[rows].unsqueeze(1)
            batch = rl.stack([change(each) for each in batch]) if change else batch
            loss = F.cross_entropy(model(inputs(batch[:, 0])), labels[rows], label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    return model.eval()


def right(said: rl.Tensor) -> str:
    """How much of the test was read right."""
    return f"{(said == test.targets).float().mean():.1%} right"


known, asked = (inputs(part).flatten(1) for part in (train.data[chosen], test.data))
print(
    "nearest neighbour by pixels: ", right(train.targets[chosen][rl.cdist(asked, known).argmin(1)])
)
change = v2.RandomAffine(degrees=12, translate=(0.08, 0.08), scale=(0.9, 1.1), shear=8)
said = {}
for name, changes in (("as they are", None), ("augmented", change)):
    rl.manual_seed(1)
    model = fit(network(), changes)
    with rl.no_grad():
        said[name] = model(inputs(test.data)).argmax(1)
    print(f"trained on digits {name:11}", right(said[name]))

# %%
# Look at what went wrong before you change anything. Mistakes that you would make as well say that
# the end is near; a whole class that is taken for another says that something is missing in the
# data.
matrix = ConfusionMatrix(10)
matrix.update(said["augmented"], test.targets)
for truth, taken, count in matrix.pairs(3):  # figures vary
    print(f"{truth} taken for {taken}: {count} times")
wrong = (said["augmented"] != test.targets).nonzero().flatten()[:12].tolist()
figure, axes = plt.subplots(2, 6, figsize=(8, 3.2), layout="constrained")
for axis in axes.flat:
    axis.axis("off")
for axis, i in zip(axes.flat, wrong, strict=False):
    axis.imshow(test.data[i].numpy(), cmap="gray_r")
    axis.set_title(f"{test.targets[i]} read as {said['augmented'][i]}", fontsize=9)
figure.savefig(out / "misread.png", dpi=100)

# %% Where does it look?
# Grad-CAM weighs the last maps by how much they speak for the class: the gradient once more, of a
# score by maps this time. If a network looks at the background, it has found a short cut in your
# data.
ready = Shapes_Classifier_Weights.DEFAULT
classifier, prepare = shapes_classifier(weights=ready).eval(), ready.transforms()
pictures = GeneratedShapes(split="test")
batch = rl.stack([prepare(pictures[i][0]) for i in range(6)])
heat = grad_cam(classifier, classifier.features[4], batch)
names = [pictures.classes[i] for i in classifier(batch).argmax(1).tolist()]
print(names, [pictures.classes[pictures[i][1]] for i in range(6)] == names)
figure, axes = plt.subplots(2, 6, figsize=(8, 3.2), layout="constrained")
for column, name in enumerate(names):
    for axis in axes[:, column]:
        axis.imshow(batch[column].permute(1, 2, 0).numpy())
        axis.axis("off")
    axes[1, column].imshow(heat[column].numpy(), cmap="inferno", alpha=0.6)
    axes[0, column].set_title(name, fontsize=9)
figure.savefig(out / "looked.png", dpi=100)

# %% What next
# The [gallery](gallery.md) has whole programs: detection, segmentation, tracking, transfer
# learning, and networks that draw. [Vision: networks](vision_models.md) and
# [transforms](vision_transforms.md) list what there is, [Vision: training](vision_training.md)
# trains on your folders from the command line. [Data](learn_data.md) tells how to load pictures
# with several processes.
