"""Automatic augmentation of the image of a sample; boxes, masks and key points are refused."""

from __future__ import annotations

from typing import Any

import PIL.Image

import rushlight as rl
from rushlight_vision import tv_tensors
from rushlight_vision.transforms.augmentations import (
    AUTO,
    MIX,
    MIX_PART,
    RANDOM,
    TRIVIAL,
    AutoAugmentPolicy,
    Space,
    apply,
    mixed,
)
from rushlight_vision.transforms.augmentations import (
    policy as _policy,
)
from rushlight_vision.transforms.interpolation import InterpolationMode, interpolation_mode
from rushlight_vision.transforms.sampling import integer, rand
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2._arguments import Fill, fill_of, fills
from rushlight_vision.transforms.v2._transform import (
    Transform,
    check_type,
    flattened,
    has_any,
    rebuilt,
)
from rushlight_vision.tv_tensors._base import TVTensor, plain

NEAREST, BILINEAR = InterpolationMode.NEAREST, InterpolationMode.BILINEAR


class _Automatic(Transform):
    """Operations of a table by name, on the one image of a sample."""

    space: Space

    def __init__(
        self, interpolation: Any, fill: Fill, *, generator: rl.Generator | None = None
    ) -> None:
        super().__init__(generator=generator)
        self.interpolation = interpolation_mode(interpolation, type(self).__name__)
        self.fill, self._fills = fill, fills(fill)

    def augment(self, image: Any) -> Any:
        """The augmented image."""
        raise NotImplementedError(f"{type(self).__name__}: subclasses give `augment`")

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Refuse what does not follow the image."""
        kinds = (tv_tensors.BoundingBoxes, tv_tensors.Mask, tv_tensors.KeyPoints)
        if has_any(flat_inputs, *kinds):
            name = type(self).__name__
            raise TypeError(f"{name}: boxes, masks and key points are not supported")

    def forward(self, *inputs: Any) -> Any:
        """The sample with its image augmented; TypeError unless there is exactly one."""
        flat, spec = flattened(inputs if len(inputs) > 1 else inputs[0])
        self.check_inputs(flat)
        wanted = self._needs_transform_list(flat)
        kinds = (F.is_pure_tensor, tv_tensors.Image, tv_tensors.Video, PIL.Image.Image)
        found = [n for n, yes in enumerate(wanted) if yes and check_type(flat[n], kinds)]
        if len(found) != 1:
            raise TypeError(f"{type(self).__name__}: expected one image, found {len(found)}")
        flat[found[0]] = self.augment(flat[found[0]])
        return rebuilt(flat, spec)

    def _chosen(self) -> str:
        return list(self.space)[integer(len(self.space))]

    def _table(self, name: str, bins: int, image: Any) -> Any:
        height, width = F.get_size(image)
        return self.space[name][0](bins, height, width)

    def _run(self, image: Any, name: str, table: Any, at: Any) -> Any:
        """The operation `name` with the magnitude number `at()` of its table."""
        magnitude = 0.0
        if table is not None:
            magnitude = float(table[at()])
            if self.space[name][1] and rand(()) <= 0.5:
                magnitude = -magnitude
        return apply(F, image, name, magnitude, self.interpolation, fill_of(self._fills, image))


class AutoAugment(_Automatic):
    """Two operations that were found best for a data set (Cubuk et al., 2019)."""

    space = AUTO

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: InterpolationMode | int = NEAREST,
        fill: Fill = None,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(interpolation, fill, generator=generator)
        self.policy = policy
        self._policies = _policy(policy)

    def augment(self, image: Any) -> Any:
        """The augmented image."""
        for name, chance, at in self._policies[integer(len(self._policies))]:
            if not rand(()) <= chance:
                continue
            image = self._run(image, name, self._table(name, 10, image), lambda at=at: at)
        return image


class RandAugment(_Automatic):
    """`num_ops` random operations of one magnitude (Cubuk et al., 2020)."""

    space = RANDOM

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode | int = NEAREST,
        fill: Fill = None,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(interpolation, fill, generator=generator)
        self.num_ops, self.magnitude = num_ops, magnitude
        self.num_magnitude_bins = num_magnitude_bins

    def augment(self, image: Any) -> Any:
        """The augmented image."""
        for _ in range(self.num_ops):
            name = self._chosen()
            table = self._table(name, self.num_magnitude_bins, image)
            image = self._run(image, name, table, lambda: self.magnitude)
        return image


class TrivialAugmentWide(_Automatic):
    """One random operation of a random magnitude (Mueller and Hutter, 2021)."""

    space = TRIVIAL

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode | int = NEAREST,
        fill: Fill = None,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(interpolation, fill, generator=generator)
        self.num_magnitude_bins = num_magnitude_bins

    def augment(self, image: Any) -> Any:
        """The augmented image."""
        name = self._chosen()
        table = self._table(name, self.num_magnitude_bins, image)
        return self._run(image, name, table, lambda: integer(self.num_magnitude_bins))


class AugMix(_Automatic):
    """The image mixed with chains of random operations (Hendrycks et al., 2020)."""

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: InterpolationMode | int = BILINEAR,
        fill: Fill = None,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(interpolation, fill, generator=generator)
        if not 1 <= severity <= 10:
            raise ValueError(f"AugMix: severity {severity}; expected 1 to 10")
        self.severity, self.mixture_width, self.chain_depth = severity, mixture_width, chain_depth
        self.alpha, self.all_ops = alpha, all_ops

    @property
    def space(self) -> Space:  # type: ignore[override]
        """The operations, those of colour only if `all_ops`."""
        return MIX if self.all_ops else MIX_PART

    def _chain(self, image: Any) -> Any:
        depth = self.chain_depth if self.chain_depth > 0 else integer(4, 1)
        for _ in range(depth):
            name = self._chosen()
            table = self._table(name, 10, image)
            image = self._run(image, name, table, lambda: integer(self.severity))
        return image

    def augment(self, image: Any) -> Any:
        """The augmented image."""
        if isinstance(image, PIL.Image.Image):
            tensor = F.pil_to_tensor(image)
            return F.to_pil_image(mixed(tensor, self.mixture_width, self.alpha, self._chain))
        pixels = plain(image) if isinstance(image, TVTensor) else image
        result = mixed(pixels, self.mixture_width, self.alpha, self._chain)
        return tv_tensors.wrap(result, like=image)
