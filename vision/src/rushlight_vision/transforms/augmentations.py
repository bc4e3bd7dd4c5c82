"""Automatic augmentation: the tables of operations, magnitudes and policies.

Cubuk et al., AutoAugment, 2019, and RandAugment, 2020; Hendrycks et al., AugMix, 2020; Mueller and
Hutter, TrivialAugment, 2021.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import Any

import rushlight as rl
from rushlight_vision.transforms.functional.images import largest_value
from rushlight_vision.transforms.sampling import dirichlet

Magnitudes = Callable[[int, int, int], rl.Tensor | None]  # bins, height, width
Space = dict[str, tuple[Magnitudes, bool]]  # and whether the sign is random


class AutoAugmentPolicy(Enum):
    """The data set that a policy was found on."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


# Each pair: operation, probability, magnitude.
_TEXT = {
    "imagenet": """
        Posterize 0.4 8, Rotate 0.6 9; Solarize 0.6 5, AutoContrast 0.6 -;
        Equalize 0.8 -, Equalize 0.6 -; Posterize 0.6 7, Posterize 0.6 6;
        Equalize 0.4 -, Solarize 0.2 4; Equalize 0.4 -, Rotate 0.8 8;
        Solarize 0.6 3, Equalize 0.6 -; Posterize 0.8 5, Equalize 1.0 -;
        Rotate 0.2 3, Solarize 0.6 8; Equalize 0.6 -, Posterize 0.4 6; Rotate 0.8 8, Color 0.4 0;
        Rotate 0.4 9, Equalize 0.6 -; Equalize 0.0 -, Equalize 0.8 -;
        Invert 0.6 -, Equalize 1.0 -; Color 0.6 4, Contrast 1.0 8; Rotate 0.8 8, Color 1.0 2;
        Color 0.8 8, Solarize 0.8 7; Sharpness 0.4 7, Invert 0.6 -; ShearX 0.6 5, Equalize 1.0 -;
        Color 0.4 0, Equalize 0.6 -; Equalize 0.4 -, Solarize 0.2 4;
        Solarize 0.6 5, AutoContrast 0.6 -; Invert 0.6 -, Equalize 1.0 -;
        Color 0.6 4, Contrast 1.0 8; Equalize 0.8 -, Equalize 0.6 -
    """,
    "cifar10": """
        Invert 0.1 -, Contrast 0.2 6; Rotate 0.7 2, TranslateX 0.3 9;
        Sharpness 0.8 1, Sharpness 0.9 3; ShearY 0.5 8, TranslateY 0.7 9;
        AutoContrast 0.5 -, Equalize 0.9 -; ShearY 0.2 7, Posterize 0.3 7;
        Color 0.4 3, Brightness 0.6 7; Sharpness 0.3 9, Brightness 0.7 9;
        Equalize 0.6 -, Equalize 0.5 -; Contrast 0.6 7, Sharpness 0.6 5;
        Color 0.7 7, TranslateX 0.5 8; Equalize 0.3 -, AutoContrast 0.4 -;
        TranslateY 0.4 3, Sharpness 0.2 6; Brightness 0.9 6, Color 0.2 8;
        Solarize 0.5 2, Invert 0.0 -; Equalize 0.2 -, AutoContrast 0.6 -;
        Equalize 0.2 -, Equalize 0.6 -; Color 0.9 9, Equalize 0.6 -;
        AutoContrast 0.8 -, Solarize 0.2 8; Brightness 0.1 3, Color 0.7 0;
        Solarize 0.4 5, AutoContrast 0.9 -; TranslateY 0.9 9, TranslateY 0.7 9;
        AutoContrast 0.9 -, Solarize 0.8 3; Equalize 0.8 -, Invert 0.1 -;
        TranslateY 0.7 9, AutoContrast 0.9 -
    """,
    "svhn": """
        ShearX 0.9 4, Invert 0.2 -; ShearY 0.9 8, Invert 0.7 -; Equalize 0.6 -, Solarize 0.6 6;
        Invert 0.9 -, Equalize 0.6 -; Equalize 0.6 -, Rotate 0.9 3;
        ShearX 0.9 4, AutoContrast 0.8 -; ShearY 0.9 8, Invert 0.4 -;
        ShearY 0.9 5, Solarize 0.2 6; Invert 0.9 -, AutoContrast 0.8 -;
        Equalize 0.6 -, Rotate 0.9 3; ShearX 0.9 4, Solarize 0.3 3; ShearY 0.8 8, Invert 0.7 -;
        Equalize 0.9 -, TranslateY 0.6 6; Invert 0.9 -, Equalize 0.6 -;
        Contrast 0.3 3, Rotate 0.8 4; Invert 0.8 -, TranslateY 0.0 2;
        ShearY 0.7 6, Solarize 0.4 8; Invert 0.6 -, Rotate 0.8 4; ShearY 0.3 7, TranslateX 0.9 3;
        ShearX 0.1 6, Invert 0.6 -; Solarize 0.7 2, TranslateY 0.6 7; ShearY 0.8 4, Invert 0.8 -;
        ShearX 0.7 9, TranslateY 0.8 3; ShearY 0.8 5, AutoContrast 0.7 -;
        ShearX 0.7 2, Invert 0.1 -
    """,
}


def policy(chosen: AutoAugmentPolicy) -> list[tuple[tuple[str, float, int | None], ...]]:
    """The pairs of operations of a policy, each with probability and number of the magnitude.

    Raises `ValueError` for what is no policy.
    """
    if not isinstance(chosen, AutoAugmentPolicy):
        raise ValueError(f"AutoAugment: the policy {chosen!r} is not known")
    pairs = []
    for pair in _TEXT[chosen.value].split(";"):
        steps = (step.split() for step in pair.split(","))
        pairs.append(tuple((n, float(p), None if m == "-" else int(m)) for n, p, m in steps))
    return pairs


def _even(limit: float) -> Magnitudes:
    return lambda bins, height, width: rl.linspace(0.0, limit, bins)


def _across(share: float) -> Magnitudes:
    return lambda bins, height, width: rl.linspace(0.0, share * width, bins)


def _down(share: float) -> Magnitudes:
    return lambda bins, height, width: rl.linspace(0.0, share * height, bins)


def _bits(most: int, range_: int) -> Magnitudes:
    return lambda bins, height, width: (
        most - (rl.arange(bins) / ((bins - 1) / range_)).round().int()
    )


def _falling(bins: int, height: int, width: int) -> rl.Tensor:
    return rl.linspace(1.0, 0.0, bins)


def _nothing(bins: int, height: int, width: int) -> None:
    return None


COLORS = ("Brightness", "Color", "Contrast", "Sharpness")


def _maps(shear: float, x: Magnitudes, y: Magnitudes, degrees: float) -> Space:
    found = {"ShearX": _even(shear), "ShearY": _even(shear), "TranslateX": x, "TranslateY": y}
    found["Rotate"] = _even(degrees)
    return {name: (magnitudes, True) for name, magnitudes in found.items()}


def _levels(bits: Magnitudes) -> Space:
    found = {"Posterize": bits, "Solarize": _falling, "AutoContrast": _nothing}
    found["Equalize"] = _nothing
    return {name: (magnitudes, False) for name, magnitudes in found.items()}


def _colors(limit: float) -> Space:
    return {name: (_even(limit), True) for name in COLORS}


_WIDE = _maps(0.3, _across(150.0 / 331.0), _down(150.0 / 331.0), 30.0)
AUTO: Space = {
    **_WIDE, **_colors(0.9), **_levels(_bits(8, 4)), "Invert": (_nothing, False)
}  # fmt: skip
RANDOM: Space = {
    "Identity": (_nothing, False), **_WIDE, **_colors(0.9), **_levels(_bits(8, 4))
}  # fmt: skip
TRIVIAL: Space = {
    "Identity": (_nothing, False), **_maps(0.99, _even(32.0), _even(32.0), 135.0),
    **_colors(0.99), **_levels(_bits(8, 6)),
}  # fmt: skip
MIX_PART: Space = {
    **_maps(0.3, _across(1.0 / 3.0), _down(1.0 / 3.0), 30.0), **_levels(_bits(4, 4))
}  # fmt: skip
MIX: Space = {**MIX_PART, **_colors(0.9)}


def _moved(F: Any, img: Any, across: float, down: float, x: float, y: float, tail: Any) -> Any:
    shear = [math.degrees(math.atan(x)), math.degrees(math.atan(y))]
    mode, fill = tail
    return F.affine(
        img, angle=0.0, translate=[int(across), int(down)], scale=1.0, shear=shear,
        interpolation=mode, fill=fill, center=[0, 0] if x or y else None,
    )  # fmt: skip


def apply(F: Any, img: Any, name: str, magnitude: float, mode: Any, fill: Any) -> Any:
    """The operation `name` with the functionals of module `F`.

    Raises `ValueError` for an operation that is not in the tables.
    """
    tail = (mode, fill)
    largest = largest_value(img.dtype) if isinstance(img, rl.Tensor) else 255
    operations: dict[str, Callable[[], Any]] = {
        "Identity": lambda: img,
        "ShearX": lambda: _moved(F, img, 0, 0, magnitude, 0.0, tail),
        "ShearY": lambda: _moved(F, img, 0, 0, 0.0, magnitude, tail),
        "TranslateX": lambda: _moved(F, img, magnitude, 0, 0.0, 0.0, tail),
        "TranslateY": lambda: _moved(F, img, 0, magnitude, 0.0, 0.0, tail),
        "Rotate": lambda: F.rotate(img, angle=magnitude, interpolation=mode, fill=fill),
        "Brightness": lambda: F.adjust_brightness(img, 1.0 + magnitude),
        "Color": lambda: F.adjust_saturation(img, 1.0 + magnitude),
        "Contrast": lambda: F.adjust_contrast(img, 1.0 + magnitude),
        "Sharpness": lambda: F.adjust_sharpness(img, 1.0 + magnitude),
        "Posterize": lambda: F.posterize(img, int(magnitude)),
        "Solarize": lambda: F.solarize(img, largest * magnitude),
        "AutoContrast": lambda: F.autocontrast(img),
        "Equalize": lambda: F.equalize(img),
        "Invert": lambda: F.invert(img),
    }
    if name not in operations:
        raise ValueError(f"automatic augmentation: there is no operation {name!r}")
    return operations[name]()


def mixed(img: rl.Tensor, width: int, alpha: float, chain: Callable[[rl.Tensor], rl.Tensor]) -> Any:
    """AugMix: the image and `width` chains of operations, weighted by Dirichlet samples."""
    shape = img.shape
    batch = img.reshape([1] * max(4 - img.ndim, 0) + list(shape))
    count = batch.shape[0]
    dims = [count] + [1] * (batch.ndim - 1)
    both = dirichlet([alpha, alpha], count)
    weights = dirichlet([alpha] * width, count) * both[:, 1].reshape([count, -1])
    result = both[:, 0].reshape(dims) * batch
    for number in range(width):
        result = result + weights[:, number].reshape(dims) * chain(batch)
    return result.reshape(shape).to(img.dtype)
