"""The base of all transforms: which inputs are transformed, and with which parameters."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import PIL.Image

import rushlight as rl
from rushlight import nn
from rushlight.utils._pytree import tree_flatten as flattened
from rushlight.utils._pytree import tree_unflatten as rebuilt
from rushlight_vision import tv_tensors
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2.functional._registry import is_pure_tensor, kernel_of

PICTURES = (PIL.Image.Image, tv_tensors.Image, tv_tensors.Video)
Checks = tuple[type | Callable[[Any], bool], ...]


def check_type(obj: Any, types_or_checks: Checks) -> bool:
    """Whether one of the types, or one of the functions, says yes."""
    return any(
        isinstance(obj, each) if isinstance(each, type) else each(obj) for each in types_or_checks
    )


def has_any(flat_inputs: Sequence[Any], *types_or_checks: Any) -> bool:
    """Whether an input is of one of the types."""
    return any(check_type(each, types_or_checks) for each in flat_inputs)


def has_all(flat_inputs: Sequence[Any], *types_or_checks: Any) -> bool:
    """Whether there is an input of each of the types."""
    return all(has_any(flat_inputs, each) for each in types_or_checks)


def get_bounding_boxes(flat_inputs: Sequence[Any]) -> tv_tensors.BoundingBoxes:
    """The first bounding boxes; ValueError where there are none."""
    for each in flat_inputs:
        if isinstance(each, tv_tensors.BoundingBoxes):
            return each
    raise ValueError("get_bounding_boxes: no bounding boxes were found in the sample")


def get_keypoints(flat_inputs: Sequence[Any]) -> tv_tensors.KeyPoints:
    """The first key points; ValueError where there are none."""
    for each in flat_inputs:
        if isinstance(each, tv_tensors.KeyPoints):
            return each
    raise ValueError("get_keypoints: no key points were found in the sample")


def _agreed(found: set[tuple[int, ...]], name: str, what: str) -> tuple[int, ...]:
    if not found:
        raise TypeError(f"{name}: no {what} was found in the sample")
    if len(found) > 1:
        raise ValueError(f"{name}: inputs of different sizes in one sample: {sorted(found)}")
    return next(iter(found))


def query_chw(flat_inputs: Sequence[Any]) -> tuple[int, int, int]:
    """Channels, height and width that all images agree in.

    Raises `TypeError` without an image, `ValueError` where they differ.
    """
    kinds = (is_pure_tensor, *PICTURES)
    found = {tuple(F.get_dimensions(each)) for each in flat_inputs if check_type(each, kinds)}
    channels, height, width = _agreed(found, "query_chw", "image or video")
    return channels, height, width


def query_size(flat_inputs: Sequence[Any]) -> tuple[int, int]:
    """Height and width that all images, masks, boxes and key points agree in.

    Raises `TypeError` without any, `ValueError` where they differ.
    """
    kinds = (is_pure_tensor, *PICTURES, *F_SIZED)
    found = {tuple(F.get_size(each)) for each in flat_inputs if check_type(each, kinds)}
    height, width = _agreed(found, "query_size", "image, video, mask, boxes or key points")
    return height, width


F_SIZED = (tv_tensors.Mask, tv_tensors.BoundingBoxes, tv_tensors.KeyPoints)


class Transform(nn.Module):
    """A transform of whole samples: nested containers of images and what belongs to them.

    Of plain tensors only the first is taken for an image, and only if there is no other image or
    video. All else passes unchanged. A subclass gives `transform`, and `make_params` where it
    samples parameters, which are the same for all inputs of one call.

    Example
    -------
    >>> class Darker(Transform):
    ...     def transform(self, inpt, params):
    ...         return inpt * 0.5
    >>> Darker()((rl.ones(3, 2, 2), "label"))[1]
    'label'
    """

    _transformed_types: Checks = (rl.Tensor, PIL.Image.Image)

    def __init__(self) -> None:
        super().__init__()

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Raise an error if these inputs do not go together."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The parameters of one call."""
        return {}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """One input transformed."""
        raise NotImplementedError(f"{type(self).__name__}: subclasses give `transform`")

    def _call_kernel(self, functional: Any, inpt: Any, *args: Any, **options: Any) -> Any:
        return kernel_of(functional, type(inpt), passthrough=True)(inpt, *args, **options)

    def forward(self, *inputs: Any) -> Any:
        """The sample, its images and what belongs to them transformed."""
        flat, spec = flattened(inputs if len(inputs) > 1 else inputs[0])
        self.check_inputs(flat)
        wanted = self._needs_transform_list(flat)
        params = self.make_params([each for each, yes in zip(flat, wanted, strict=True) if yes])
        changed = [
            self.transform(each, params) if yes else each
            for each, yes in zip(flat, wanted, strict=True)
        ]
        return rebuilt(changed, spec)

    def _needs_transform_list(self, flat_inputs: list[Any]) -> list[bool]:
        take_plain = not has_any(flat_inputs, *PICTURES)
        wanted = []
        for each in flat_inputs:
            yes = check_type(each, self._transformed_types)
            if yes and is_pure_tensor(each):
                yes, take_plain = take_plain, False
            wanted.append(yes)
        return wanted

    def extra_repr(self) -> str:
        """Settings that are numbers, words, enums and sequences."""
        kinds = (bool, int, float, str, tuple, list, enum.Enum)
        shown = (
            f"{name}={value}"
            for name, value in self.__dict__.items()
            if not name.startswith("_") and name != "training" and isinstance(value, kinds)
        )
        return ", ".join(shown)


class RandomApplyTransform(Transform):
    """A transform that happens with probability `p`; samples `rand(1)`."""

    def __init__(self, p: float = 0.5) -> None:
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"{type(self).__name__}: p {p}; expected 0 to 1")
        super().__init__()
        self.p = p

    def forward(self, *inputs: Any) -> Any:
        """The sample, transformed or not."""
        if rl.rand(1) >= self.p:
            return inputs if len(inputs) > 1 else inputs[0]
        return super().forward(*inputs)


def uniform(low: float, high: float) -> float:
    """A number of [low, high) from the default generator."""
    return float(rl.empty(1).uniform_(low, high).item())


def integer(high: int, low: int = 0) -> int:
    """A number of low ... high - 1 from the default generator."""
    return int(rl.randint(low, high, size=()))
