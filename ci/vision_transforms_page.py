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

## Random numbers

Random transforms sample from the default generator, in torchvision's order, so that the same
`manual_seed` gives the same pictures. What torchvision does not have: every one takes `generator=`,
and then all of its random numbers come from that one, those of transforms inside of a container
too, unless they have a generator of their own. From a generator seeded with s come the numbers of
`manual_seed(s)`.

```python
import rushlight
from rushlight_vision.transforms import v2

image = rushlight.rand(3, 32, 32)
steps = [v2.RandomCrop(24, padding=4), v2.RandomHorizontalFlip(), v2.ColorJitter(0.2, 0.2)]
augment = v2.Compose(steps, generator=rushlight.Generator().manual_seed(1))
first = augment(image)
augment.generator.manual_seed(1)
assert rushlight.equal(augment(image), first)
```

`transforms.RandomOrder` and `transforms.RandomChoice` follow Python's `random` without one, as in
torchvision. Transforms of one's own sample from `rushlight_vision.transforms.sampling`
(`uniform(low, high)`, `integer(high, low)`, ...), or pass `sampling.current_generator()` on.
Workers of a `DataLoader` hold copies of a transform and of its generator: seed it in
`worker_init_fn`, else all of them sample the same numbers.

## Parameters for each sample of a batch

In torchvision all images of a batch get the same random parameters. With `per_sample=True` the N
samples of images (N, C, H, W), videos (N, T, C, H, W) and masks (N, ..., H, W) get their own. These
transforms of `transforms.v2` take it: both flips, `RandomCrop`, `RandomResizedCrop`,
`RandomRotation` (without `expand`), `RandomAffine`, `RandomPerspective`, `ColorJitter`,
`RandomErasing`, `GaussianBlur`, `RandomChannelPermutation`, `RandomGrayscale`, `RandomInvert`,
`RandomPosterize`, `RandomSolarize`, `RandomAdjustSharpness`, `RandomAutocontrast` and
`RandomEqualize`. Parameters are sampled one sample after the other, so that the result is that of
stacking N single results of the same seed, up to rounding where positions are resampled; images and
their masks get the same ones.

```python
images = rushlight.rand(8, 3, 32, 32)
rushlight.manual_seed(0)
stacked = rushlight.stack([v2.RandomAffine(20, scale=(0.8, 1.2))(each) for each in images])
rushlight.manual_seed(0)
batch = v2.RandomAffine(20, scale=(0.8, 1.2), per_sample=True)(images)
assert rushlight.allclose(batch, stacked, atol=1e-5)
```

Rotations, affine and perspective maps resample the batch through one grid, flips and blurs are one
call; resized crops and rectangles to erase have sizes of their own and are written one after the
other. Bounding boxes and key points, of which every image has another number, raise
`NotImplementedError` where they would move: transform such samples before they are stacked.

## Steps of `Compose`

`v2.Compose` runs `ToDtype` (or `ConvertImageDtype`) of whole numbers and a `Normalize` after it as
one step, which has the bits of the two and allocates once. Members that have hooks or are of a
subclass run on their own; under a debugger all members do, so that one can step through them.
`Compose(..., fuse=False)`, or the attribute `fuse`, turns it off.

## Cases

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
