"""Writes docs/pages/vision_transforms.md: functionals, kinds of input, cases that agree."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "pages" / "vision_transforms.md"
HEAD = """# Transforms

All names of `torchvision.transforms`, `transforms.v2`, `transforms.v2.functional` and `tv_tensors`
0.24.1, with its parameters. The tables are generated:

```bash
python3 -m nox -s family
```

Each case runs in both libraries: a functional on one kind of input, or a transform on a sample (an
image with boxes, masks, key points and labels) from one seed. Types, metadata, the next random
number and values must agree: floats within 1e-4, bytes exactly save for 1.5 % of the pixels that
may be two levels off where halves are rounded; resized and JPEG bytes may be that everywhere, as
between processors in torchvision. Of rotated boxes, those that leave the image are cut off to the
smallest box of the same angle around their part inside, which is what torchvision documents, not
always what it computes; `clamping_mode="hard"` is not available for them.

"""


def _kinds(kernels: dict[Any, Any]) -> str:
    names = {"Tensor": "tensor", "Image": "Image"}
    found = []
    for kind in kernels:
        name = kind.__name__
        found.append("PIL" if kind.__module__.startswith("PIL") else names.get(name, name))
    return ", ".join(found)


def write(lib: Any, keys: list[str]) -> None:
    """Write the page for cases that all agree."""
    from rushlight_vision.transforms.v2.functional._registry import KERNELS

    counts = Counter(key.split(" ")[0] for key in keys if " | " in key)
    lines = ["| functional | inputs | cases |", "| --- | --- | --- |"]
    for functional, kernels in sorted(KERNELS.items(), key=lambda item: item[0].__name__):
        name = functional.__name__
        lines.append(f"| `{name}` | {_kinds(kernels)} | {counts[f'F.{name}']} |")
    lines += ["", "| transform | `transforms` | `transforms.v2` |", "| --- | --- | --- |"]
    for name in sorted({*lib.v1.__all__, *lib.v2.__all__}):
        if isinstance(getattr(lib.v2, name, None) or getattr(lib.v1, name), type):
            shown = [
                (counts[f"{short}.{name}"] or "yes") if name in module.__all__ else "no"
                for short, module in (("v1", lib.v1), ("v2", lib.v2))
            ]
            lines.append(f"| `{name}` | {shown[0]} | {shown[1]} |")
    PAGE.write_text(HEAD + "\n".join(lines) + "\n")
