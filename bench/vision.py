"""Networks trained and pictures transformed by rushlight_vision beside torchvision.

``networks``: steps of training (forward, loss, backward, SGD) of nine networks from the same seed,
on all threads by elapsed time. ``models``: every network in evaluation on one sample of its usual
size, in the same way. ``transforms``: functions of v2 on pictures of bytes, and pipelines,
on one thread by time of the process. Each library in a process of its own, in turn; what counts is
the least of a few calls over the rounds.

Usage: python bench/vision.py networks|models|transforms PYTHON [--rounds 2] [--only PART]
                              [--write NAME]
       PYTHON: of an environment with torch and torchvision, as `nox -s family` makes one
       --write: bench/results/vision_KIND_NAME.json and .md
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import warnings
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "ci"))
from alternating import least_seconds

RESULTS = Path(__file__).parent / "results"
CALLS = {"networks": 3, "models": 3, "transforms": 30}
# (builder, batch, side) of networks that name classes of pictures
CLASSIFIERS = (
    ("resnet18", 8, 224), ("resnet50", 4, 224), ("mobilenet_v3_large", 8, 224),
    ("efficientnet_b0", 4, 224), ("vit_b_16", 2, 224), ("swin_t", 4, 224),
    ("convnext_tiny", 4, 224),
)  # fmt: skip
# Packages of networks, and what an input of one sample is where no preset tells its side.
PACKAGES = {
    "": (3, 224, 224), "detection": (3, 320, 320), "segmentation": (3, 520, 520),
    "video": (3, 16, 112, 112), "optical_flow": (3, 128, 256),
}  # fmt: skip


def library(which):
    """(framework, vision package) of ours or of theirs."""
    if which == "ours":
        import rushlight
        import rushlight_vision

        return rushlight, rushlight_vision
    import torch
    import torchvision

    return torch, torchvision


# ------------------------------------------------------------------------------------- networks
def stepper(torch, model, losses):
    """A call that takes a step of SGD on the sum of `losses(model)`."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)

    def step():
        optimizer.zero_grad()
        losses(model).backward()
        optimizer.step()

    return step


def classifier(torch, models, name, batch, side):
    model = models.get_model(name).train()
    pictures, labels = torch.randn(batch, 3, side, side), torch.randint(0, 1000, (batch,))
    cross_entropy = torch.nn.functional.cross_entropy
    return stepper(torch, model, lambda m: cross_entropy(m(pictures), labels))


def detector(torch, models):
    model = models.detection.fasterrcnn_resnet50_fpn(
        weights=None, weights_backbone=None, num_classes=5, min_size=256, max_size=256
    ).train()
    boxes = torch.tensor([[20.0, 30.0, 120.0, 140.0], [100.0, 90.0, 230.0, 240.0]])
    targets = [{"boxes": boxes, "labels": torch.tensor([1, 2])}]
    pictures = [torch.rand(3, 256, 256)]
    return stepper(torch, model, lambda m: sum(m(pictures, targets).values()))


def segmenter(torch, models):
    model = models.segmentation.deeplabv3_resnet50(
        weights=None, weights_backbone=None, num_classes=5
    ).train()
    pictures, classes = torch.randn(2, 3, 224, 224), torch.randint(0, 5, (2, 224, 224))
    cross_entropy = torch.nn.functional.cross_entropy
    return stepper(torch, model, lambda m: cross_entropy(m(pictures)["out"], classes))


def networks(torch, vision):
    """Functions that make the steps, by name."""
    import importlib

    models = importlib.import_module(f"{vision.__name__}.models")
    found = {
        f"{name}, {batch} x {side}": lambda n=name, b=batch, s=side: classifier(
            torch, models, n, b, s
        )
        for name, batch, side in CLASSIFIERS
    }
    found["fasterrcnn_resnet50_fpn, 1 x 256"] = lambda: detector(torch, models)
    found["deeplabv3_resnet50, 2 x 224"] = lambda: segmenter(torch, models)
    return found


# --------------------------------------------------------------------------------------- models
def sample_of(models, name, model, usual):
    """The shape of a sample: the side that the network is made for, or that the preset of its
    weights cuts out."""
    preset = models.get_model_weights(name)["DEFAULT"].transforms()
    side = getattr(model, "image_size", None) or getattr(preset, "crop_size", usual[-2:])
    sides = (side,) if isinstance(side, int) else tuple(side)
    return (*usual[:-2], *(sides * 2)[-2:])


def evaluated(torch, models, name, package):
    """A call of a network in evaluation, without gradients."""
    on_backbone = package in ("detection", "segmentation")
    options = {"weights_backbone": None} if on_backbone else {}
    model = models.get_model(name, weights=None, **options).eval()
    shape = sample_of(models, name, model, PACKAGES[package])
    inputs = [torch.rand(1, *shape) for _ in range(2 if package == "optical_flow" else 1)]
    if package == "detection":
        inputs = [list(inputs[0])]

    def call():
        with torch.no_grad():
            model(*inputs)

    return call


def models(torch, vision):
    """Functions that make the calls, by the names of the networks."""
    import importlib

    home = importlib.import_module(f"{vision.__name__}.models")
    found = {}
    for package in PACKAGES:
        module = importlib.import_module(f"{home.__name__}.{package}") if package else home
        for name in home.list_models(module=module):
            found[name] = lambda n=name, p=package: evaluated(torch, home, n, p)
    return found


# ----------------------------------------------------------------------------------- transforms
def kernels(F):
    """Functions of v2 with arguments of usual sizes."""
    return {
        "resize": lambda x: F.resize(x, [224, 224], antialias=True),
        "center_crop": lambda x: F.center_crop(x, [224, 224]),
        "pad": lambda x: F.pad(x, [8]),
        "horizontal_flip": F.horizontal_flip,
        "vertical_flip": F.vertical_flip,
        "rotate": lambda x: F.rotate(x, 20.0),
        "affine": lambda x: F.affine(x, 10.0, [4, 4], 1.1, [5.0, 0.0]),
        "perspective": lambda x: F.perspective(
            x, [[0, 0], [255, 0], [255, 255], [0, 255]], [[9, 4], [250, 8], [249, 251], [3, 244]]
        ),
        "gaussian_blur": lambda x: F.gaussian_blur(x, [5, 5], [1.0, 1.0]),
        "adjust_brightness": lambda x: F.adjust_brightness(x, 1.3),
        "adjust_contrast": lambda x: F.adjust_contrast(x, 1.3),
        "adjust_saturation": lambda x: F.adjust_saturation(x, 1.3),
        "adjust_hue": lambda x: F.adjust_hue(x, 0.1),
        "adjust_sharpness": lambda x: F.adjust_sharpness(x, 1.3),
        "adjust_gamma": lambda x: F.adjust_gamma(x, 1.3),
        "rgb_to_grayscale": F.rgb_to_grayscale,
        "invert": F.invert,
        "posterize": lambda x: F.posterize(x, 4),
        "solarize": lambda x: F.solarize(x, 128),
        "autocontrast": F.autocontrast,
        "equalize": F.equalize,
    }


def pipelines(torch, T):
    """Training pipelines of v2."""
    statistics = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    ends = [T.ToDtype(torch.float32, scale=True), T.Normalize(*statistics)]
    crop = [T.RandomResizedCrop(224, antialias=True), T.RandomHorizontalFlip()]
    return {
        "crop, flip, normalise": T.Compose([*crop, *ends]),
        "crop, flip, colours, normalise": T.Compose(
            [*crop, T.ColorJitter(0.4, 0.4, 0.4, 0.1), *ends]
        ),
        "resize, centre, normalise": T.Compose(
            [T.Resize(256, antialias=True), T.CenterCrop(224), *ends]
        ),
        "to float, normalise": T.Compose(ends),
        "elastic": T.ElasticTransform(),
        "erase": T.RandomErasing(p=1.0),
    }


def transforms(torch, vision):
    """Functions that make the calls, by name: kernels of a picture and of eight, pipelines."""
    import importlib

    T = importlib.import_module(f"{vision.__name__}.transforms.v2")
    picture = torch.randint(0, 256, (3, 256, 256)).to(torch.uint8)
    batch = torch.randint(0, 256, (8, 3, 256, 256)).to(torch.uint8)
    large = torch.randint(0, 256, (3, 500, 375)).to(torch.uint8)
    found = {}
    for name, call in kernels(T.functional).items():
        found[name] = lambda c=call: lambda: c(picture)
        found[f"{name}, 8"] = lambda c=call: lambda: c(batch)
    for name, call in pipelines(torch, T).items():
        found[name] = lambda c=call: lambda: c(large)
    return found


# --------------------------------------------------------------------------------------- timing
def seconds(call, clock):
    begin = clock()
    call()
    return clock() - begin


def measure(kind, which, only):
    """Print the least seconds of each call."""
    warnings.simplefilter("ignore")
    torch, vision = library(which)
    torch.manual_seed(0)
    clock = time.perf_counter
    if kind == "transforms":
        torch.set_num_threads(1)
        clock = time.process_time
    found = {}
    for name, make in globals()[kind](torch, vision).items():
        if only in name:
            torch.manual_seed(0)
            call = make()
            call()
            found[name] = min(seconds(call, clock) for _ in range(CALLS[kind]))
            del call
    print(json.dumps(found))


def table(best):
    """The ratios in Markdown, with their geometric mean."""
    lines = ["| call | torchvision, ms | rushlight_vision, ms | ratio |", "| --- " * 4 + "|"]
    ratios = []
    for name, took in best["ours"].items():
        peer = best["theirs"][name]
        ratios.append(peer / took)
        lines.append(f"| {name} | {peer * 1e3:.4g} | {took * 1e3:.4g} | {ratios[-1]:.2f} |")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    lines.append(f"| geometric mean | | | {mean:.2f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=tuple(CALLS))
    parser.add_argument("python", nargs="?", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", default="", help="calls whose names hold this")
    parser.add_argument("--write", help="a name for the files of results: the processor's")
    parser.add_argument("--one", choices=("ours", "theirs"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        measure(asked.kind, asked.one, asked.only)
        return
    arguments = [__file__, asked.kind, "--only", asked.only]
    best = least_seconds(asked.python, lambda which: [*arguments, "--one", which], asked.rounds)
    print(table(best))
    if asked.write:
        path = RESULTS / f"vision_{asked.kind}_{asked.write}"
        path.with_suffix(".json").write_text(json.dumps(best, indent=1) + "\n")
        path.with_suffix(".md").write_text(f"# Vision: {asked.kind}\n\n{table(best)}")


if __name__ == "__main__":
    main()
