"""The docs' page of networks that classify: what there is, and how far from torchvision's it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "pages" / "vision_models.md"
HEAD = """# Networks that classify images

All {count} networks of torchvision 0.24.1, by its names, with the same names and shapes in the
state dict, and {weights} published files of weights. The table is generated:

```bash
python3 -m nox -s family
```

Each row compares one network with torchvision's: the first weights from the same seed, and, from
the same weights, the scores in training (with the same draws of dropout and of left out blocks) and
in evaluation, in float64. The numbers are the largest difference as a part of the largest value,
over all networks at most **{init} for first weights, {train} in training, {eval} in evaluation**.
Truncated normal values are drawn as PyTorch does since version 2.13; the one beside torchvision is
older. In float32 networks are as near to these scores as torchvision's own.

"Top 1" is the published accuracy on ImageNet of the entry that is the default. Weights that cannot
be downloaded are taken from a folder or server of yours, which `RUSHLIGHT_MIRRORS` names.

| network | parameters | published weights | top 1 | first weights | training | evaluation |
| --- | --- | --- | --- | --- | --- | --- |
"""


def bound(value: float) -> str:
    """The power of ten above a difference: on other processors it is the same more often."""
    if value == 0:
        return "0"
    exponent = -15
    while value > 10.0**exponent:
        exponent += 1
    return f"1e{exponent}"


def row(models: Any, name: str, figures: dict[str, float]) -> str:
    """One network."""
    enum = models.get_model_weights(name)
    published = ", ".join(f"`{entry.name}`" for entry in enum)
    meta = enum["DEFAULT"].meta
    accuracy = meta["_metrics"]["ImageNet-1K"]["acc@1"]
    shown = [bound(figures[kind]) for kind in ("init", "train", "eval")]
    cells = [f"`{name}`", f"{meta['num_params']:,}", published, f"{accuracy:.1f}", *shown]
    return f"| {' | '.join(cells)} |"


def write(models: Any, rows: dict[str, dict[str, float]]) -> None:
    """Write the page; `rows` has the differences of each network."""
    largest = {k: bound(max(r[k] for r in rows.values())) for k in ("init", "train", "eval")}
    weights = sum(len(models.get_model_weights(name)) for name in rows)
    head = HEAD.format(count=len(rows), weights=weights, **largest)
    lines = [row(models, name, rows[name]) for name in sorted(rows)]
    PAGE.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"wrote {PAGE}")
