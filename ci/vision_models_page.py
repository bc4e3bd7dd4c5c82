"""The docs' page of networks: what there is, how far from torchvision's it is, and how fast.

Usage: python ci/vision_models_page.py     the part on speed anew, from bench/results
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "pages" / "vision_models.md"
SPEED_FILE = ROOT / "bench" / "results" / "vision_models_sapphirerapids.json"
HEAD = """# Networks of vision

The networks of torchvision 0.24.1 by its names, with the same names and shapes in the state dict,
and its published files of weights. The tables are generated:

```bash
python3 -m nox -s family
```

Each row compares one network with torchvision's: the first weights from the same seed, and, from
the same weights, what it gives in training (with the same draws of dropout and of left out blocks)
and in evaluation, in float64. The numbers are the largest difference as a part of the largest
value. Truncated normal values are drawn as PyTorch does since version 2.13; the one beside
torchvision is older.

Weights that cannot be downloaded are taken from a folder or server of yours, which
`RUSHLIGHT_MIRRORS` names.
"""
CLASSIFICATION = """## Classification

All {count} networks, {weights} files of weights; over all networks at most **{init} for first
weights, {train} in training, {eval} in evaluation**. In float32 networks are as near to these
scores as torchvision's own. "Top 1" is the published accuracy on ImageNet of the entry that is the
default.
"""
DETECTION = """## Detection

All {count} networks of `models.detection`, {weights} files of weights; over all networks at most
**{init} for first weights, {train} for losses, {grad} for gradients, {eval} for detections**.
Images have three sizes, and one has no boxes; torchvision computes the loss of proposals and key
points in float32 whatever the network. "mAP" is the published precision of boxes on COCO of the
default.
"""
SEGMENTATION = """## Segmentation

All {count} networks of `models.segmentation`, {weights} files of weights; over all networks at
most **{init} for first weights, {train} in training, {grad} for gradients, {eval} in evaluation**.
"mIoU" is the published mean intersection over union, on the classes of VOC, of the entry that is
the default.
"""
VIDEO = """## Videos

All {count} networks of `models.video`, {weights} files of weights; over all networks at most
**{init} for first weights, {train} in training, {grad} for gradients, {eval} in evaluation**.
"Top 1" is the published accuracy on Kinetics-400 of the entry that is the default.
"""
FLOW = """## Optical flow

Both networks of `models.optical_flow`, {weights} files of weights, in float32, in which coordinates
are whatever the network: at most **{init} for first weights, {flow} for flows, {slope} for
gradients**. "End point error" is the published one, in pixels, on the clean images of Sintel of the
entry that is the default: on those of the test, or of training.
"""
SPEED = """## Speed

Every network in evaluation on one sample of its usual size, beside torchvision's: two threads of an
Intel Sapphire Rapids, processes in turn, the least time of each. The ratio is torchvision's time by
ours: **{mean:.2f} in the geometric mean**, {slower} of {count} below 1.

```bash
python3 bench/vision.py models /path/to/torchvision/bin/python
```
"""
Figure = Callable[[dict[str, Any]], str]


def published(metrics: str, name: str) -> Figure:
    """A published figure out of the facts of an entry."""
    return lambda meta: f"{meta['_metrics'][metrics][name]:.1f}"


def end_point_error(meta: dict[str, Any]) -> str:
    """The mean distance of flows on the clean images of Sintel, for training or for the test."""
    metrics = meta["_metrics"]
    kind = "Test" if "Sintel-Test-Cleanpass" in metrics else "Train"
    return f"{metrics[f'Sintel-{kind}-Cleanpass']['epe']:.2f} ({kind.lower()})"


COCO_VOC = "COCO-val2017-VOC-labels"
# Of every package: its text, the published figure, and the measurements that are shown.
SECTIONS: dict[str, tuple[str, str, Figure, dict[str, str]]] = {
    "": (
        CLASSIFICATION,
        "top 1",
        published("ImageNet-1K", "acc@1"),
        {"init": "first weights", "train": "training", "eval": "evaluation"},
    ),
    "detection": (
        DETECTION,
        "mAP",
        published("COCO-val2017", "box_map"),
        {"init": "first weights", "train": "losses", "grad": "gradients", "eval": "detections"},
    ),
    "segmentation": (
        SEGMENTATION,
        "mIoU",
        published(COCO_VOC, "miou"),
        {"init": "first weights", "train": "training", "grad": "gradients", "eval": "evaluation"},
    ),
    "video": (
        VIDEO,
        "top 1",
        published("Kinetics-400", "acc@1"),
        {"init": "first weights", "train": "training", "grad": "gradients", "eval": "evaluation"},
    ),
    "optical_flow": (
        FLOW,
        "end point error",
        end_point_error,
        {"init": "first weights", "flow": "flows", "slope": "gradients"},
    ),
}


def bound(value: float) -> str:
    """The power of ten above a difference: on other processors it is the same more often."""
    if value == 0:
        return "0"
    exponent = -15
    while value > 10.0**exponent:
        exponent += 1
    return f"1e{exponent}"


def row(models: Any, package: str, name: str, figures: dict[str, float]) -> str:
    """One network."""
    _, _, figure, kinds = SECTIONS[package]
    enum = models.get_model_weights(name)
    entries = ", ".join(f"`{entry.name}`" for entry in enum)
    meta = enum["DEFAULT"].meta
    shown = [bound(figures[kind]) for kind in kinds]
    cells = [f"`{name}`", f"{meta['num_params']:,}", entries, figure(meta), *shown]
    return f"| {' | '.join(cells)} |"


def section(models: Any, package: str, rows: dict[str, dict[str, float]]) -> str:
    """The part of the page on one package."""
    text, figure, _, kinds = SECTIONS[package]
    largest = {kind: bound(max(each[kind] for each in rows.values())) for kind in kinds}
    weights = sum(len(models.get_model_weights(name)) for name in rows)
    columns = ["network", "parameters", "published weights", figure, *kinds.values()]
    table = [f"| {' | '.join(columns)} |", "| --- " * len(columns) + "|"]
    table += [row(models, package, name, rows[name]) for name in sorted(rows)]
    return text.format(count=len(rows), weights=weights, **largest) + "\n" + "\n".join(table) + "\n"


def title(text: str) -> str:
    """The heading of a part."""
    return text.partition("\n")[0]


def speed() -> dict[str, str]:
    """The part of the page on speed by its title; nothing where it was not measured."""
    if not SPEED_FILE.exists():
        return {}
    took = json.loads(SPEED_FILE.read_text())
    ratios = {name: took["theirs"][name] / ours for name, ours in took["ours"].items()}
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    slower = sum(ratio < 1 for ratio in ratios.values())
    lines = ["| network | torchvision, ms | Rushlight, ms | ratio |", "| --- " * 4 + "|"]
    for name, ratio in sorted(ratios.items()):
        times = (f"{took[which][name] * 1e3:.1f}" for which in ("theirs", "ours"))
        lines.append(f"| `{name}` | {' | '.join(times)} | {ratio:.2f} |")
    text = SPEED.format(mean=mean, slower=slower, count=len(ratios))
    return {title(text): text + "\n" + "\n".join(lines) + "\n"}


def write(models: Any, packages: dict[str, dict[str, dict[str, float]]]) -> None:
    """Write the parts of the page on some packages, and on speed; others stay as they are.

    `packages` has the differences of each network of each package.
    """
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    parts = {title(each): each for each in re.split(r"(?m)^(?=## )", before)[1:]}
    for package, rows in packages.items():
        made = section(models, package, rows)
        parts[title(made)] = made
    parts |= speed()
    titles = [title(text) for text, *_ in SECTIONS.values()] + [title(SPEED)]
    ordered = [parts[each] for each in titles if each in parts]
    PAGE.write_text("\n".join([HEAD, *(part.rstrip() + "\n" for part in ordered)]))
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    write(None, {})
