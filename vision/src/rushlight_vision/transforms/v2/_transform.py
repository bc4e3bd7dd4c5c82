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
from rushlight_vision.transforms.sampling import Sampling, happens
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2.functional._registry import is_pure_tensor, kernel_of
from rushlight_vision.tv_tensors._base import plain

PICTURES = (PIL.Image.Image, tv_tensors.Image, tv_tensors.Video)
Checks = tuple[type | Callable[[Any], bool], ...]


def check_type(obj: object, types_or_checks: Checks) -> bool:
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


def first_samples(inputs: Sequence[Any], name: str) -> tuple[list[Any], int]:
    """The first sample of each batch, and how many samples all batches have.

    Raises `NotImplementedError` for boxes and key points, `TypeError` for PIL images, `ValueError`
    for what is no batch and for batches of different sizes.
    """
    firsts, counts = [], set()
    for each in inputs:
        kind = type(each).__name__
        if isinstance(each, (tv_tensors.BoundingBoxes, tv_tensors.KeyPoints)):
            raise NotImplementedError(
                f"{name}: per_sample=True has no batches of {kind}, of which images have different "
                "numbers; transform the samples one by one before they are stacked"
            )
        if not isinstance(each, rl.Tensor):
            raise TypeError(f"{name}: per_sample=True takes batches as tensors, got {kind}")
        least = 5 if isinstance(each, tv_tensors.Video) else 4
        if each.ndim < (3 if isinstance(each, tv_tensors.Mask) else least):
            raise ValueError(
                f"{name}: per_sample=True takes batches, one dimension more than a sample has; got "
                f"a {kind} of shape {tuple(each.shape)}"
            )
        if each.shape[0] == 0:
            raise ValueError(f"{name}: per_sample=True with an empty batch {tuple(each.shape)}")
        counts.add(each.shape[0])
        firsts.append(tv_tensors.wrap(plain(each)[0], like=each))
    if not counts:
        raise ValueError(f"{name}: per_sample=True, and no batch was found in the sample")
    if len(counts) != 1:
        raise ValueError(f"{name}: per_sample=True with batches of sizes {sorted(counts)}")
    return firsts, counts.pop()


F_SIZED = (tv_tensors.Mask, tv_tensors.BoundingBoxes, tv_tensors.KeyPoints)


class Transform(Sampling, nn.Module):
    """A transform of whole samples: nested containers of images and what belongs to them.

    Of plain tensors only the first is taken for an image, and only if there is no other image or
    video. All else passes unchanged. A subclass gives `transform`, and `make_params` where it
    samples parameters, which are the same for all inputs of one call.

    Parameters
    ----------
    generator : Generator, optional
        Keyword only, of all random transforms: all their random numbers come from it, also those of
        transforms inside of them unless these have their own. Without it they sample from the
        generator of a container around them, and else from the default one. From a generator
        seeded with s come the numbers of `manual_seed(s)`.
    per_sample : bool, default False
        Keyword only, of flips, crops, rotations, affine and perspective maps, `ColorJitter`,
        `RandomErasing`, `GaussianBlur` and of changes of levels with a probability: the N samples
        of a batch (N, C, H, W), of videos (N, T, C, H, W) and masks (N, ..., H, W) get parameters
        of their own, sampled one sample after the other. The result is that of stacking the N
        results for single samples, up to rounding where positions are resampled. Boxes and key
        points raise `NotImplementedError` where they would move.

    Example
    -------
    >>> class Darker(Transform):
    ...     def transform(self, inpt, params):
    ...         return inpt * 0.5
    >>> Darker()((rl.ones(3, 2, 2), "label"))[1]
    'label'
    >>> from rushlight_vision.transforms import v2
    >>> crop = v2.RandomCrop(2, generator=rl.Generator().manual_seed(0))
    >>> crop(rl.arange(16).reshape(1, 4, 4)).tolist()
    [[[8, 9], [12, 13]]]
    >>> flips = v2.RandomHorizontalFlip(per_sample=True, generator=rl.Generator().manual_seed(0))
    >>> flips(rl.tensor([0, 1]).expand(4, 1, 1, 2)).flatten().tolist()
    [1, 0, 0, 1, 1, 0, 1, 0]
    """

    _transformed_types: Checks = (rl.Tensor, PIL.Image.Image)
    _pixels_only = False  # whether boxes, masks and key points pass unchanged
    per_sample = False

    def __init__(
        self,
        *,
        generator: rl.Generator | None = None,
        per_sample: bool = False,
    ) -> None:
        super().__init__(generator=generator)
        if per_sample:  # the settings of all other transforms print as those of torchvision
            self.per_sample = True

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
        if len(inputs) == 1 and self._takes_alone(inputs[0]):
            alone = list(inputs)
            self.check_inputs(alone)
            return self.transform(inputs[0], self.make_params(alone))
        flat, spec = flattened(inputs if len(inputs) > 1 else inputs[0])
        self.check_inputs(flat)
        wanted = self._needs_transform_list(flat)
        chosen = [each for each, yes in zip(flat, wanted, strict=True) if yes]
        change: Callable[[Any, Any], Any] = self.transform
        params: Any
        if self.per_sample:
            change, params = self._transform_batch, self._make_each(chosen)
        else:
            params = self.make_params(chosen)
        changed = [
            change(each, params) if yes else each for each, yes in zip(flat, wanted, strict=True)
        ]
        return rebuilt(changed, spec)

    def _takes_alone(self, inpt: Any) -> bool:
        """Whether this is a sample of one plain image: nothing to look for in it."""
        kind = type(self)
        return (
            type(inpt) is rl.Tensor
            and not self.per_sample
            and kind._transformed_types is Transform._transformed_types
            and kind._needs_transform_list is Transform._needs_transform_list
        )

    def _make_each(self, inputs: list[Any]) -> list[Any]:
        """Parameters for each sample of a batch, None where it stays as it is."""
        firsts, count = first_samples(inputs, type(self).__name__)
        return [self.make_params(firsts) for _ in range(count)]

    def _transform_batch(self, inpt: Any, params: list[Any]) -> Any:
        """A batch, each sample with its parameters."""
        chosen = [at for at, each in enumerate(params) if each is not None]
        if not chosen:
            return inpt
        if len(chosen) == len(params):
            return self._transform_samples(inpt, params)
        pixels = plain(inpt)
        part = tv_tensors.wrap(pixels[chosen], like=inpt)
        changed = self._transform_samples(part, [params[at] for at in chosen])
        result = pixels.clone()
        result[chosen] = plain(changed)
        return tv_tensors.wrap(result, like=inpt)

    def _transform_samples(self, inpt: Any, params: list[dict[str, Any]]) -> Any:
        """A batch, all samples of which have parameters; one after the other where they differ."""
        if type(self).make_params is Transform.make_params:
            return self.transform(inpt, {})
        changed = [
            plain(self.transform(tv_tensors.wrap(sample, like=inpt), each))
            for sample, each in zip(plain(inpt).unbind(0), params, strict=True)
        ]
        return tv_tensors.wrap(rl.stack(changed), like=inpt)

    def _needs_transform_list(self, flat_inputs: list[Any]) -> list[bool]:
        take_plain = not has_any(flat_inputs, *PICTURES)
        wanted = []
        for each in flat_inputs:
            yes = check_type(each, self._transformed_types)
            if yes and is_pure_tensor(each):
                yes, take_plain = take_plain, False
            wanted.append(yes)
        if self.per_sample and self._pixels_only:
            return [
                yes and not isinstance(each, F_SIZED)
                for each, yes in zip(flat_inputs, wanted, strict=True)
            ]
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

    def __init__(
        self,
        p: float = 0.5,
        *,
        generator: rl.Generator | None = None,
        per_sample: bool = False,
    ) -> None:
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"{type(self).__name__}: p {p}; expected 0 to 1")
        super().__init__(generator=generator, per_sample=per_sample)
        self.p = p

    def forward(self, *inputs: Any) -> Any:
        """The sample, transformed or not."""
        if not self.per_sample and not happens(self.p):
            return inputs if len(inputs) > 1 else inputs[0]
        return super().forward(*inputs)

    def _make_each(self, inputs: list[Any]) -> list[Any]:
        firsts, count = first_samples(inputs, type(self).__name__)
        return [self.make_params(firsts) if happens(self.p) else None for _ in range(count)]
