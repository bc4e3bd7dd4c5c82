"""AutoAugment, RandAugment, TrivialAugmentWide and AugMix on PIL images and uint8 tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.transforms import functional as F
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
from rushlight_vision.transforms.sampling import Sampling, integer, integers, rand

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]

Fill = Sequence[float] | None
NEAREST, BILINEAR = InterpolationMode.NEAREST, InterpolationMode.BILINEAR


class _Automatic(Sampling, nn.Module):
    """Operations of a table by name, on one image."""

    space: Space

    def __init__(
        self, interpolation: Any, fill: Fill, *, generator: rl.Generator | None = None
    ) -> None:
        super().__init__(generator=generator)
        self.interpolation = interpolation_mode(interpolation, type(self).__name__)
        self.fill = fill

    def _filled(self, img: Any) -> Any:
        """`fill` with one number for each channel of a tensor."""
        if not isinstance(img, rl.Tensor) or self.fill is None:
            return self.fill
        if isinstance(self.fill, (int, float)):
            return [float(self.fill)] * F.get_image_num_channels(img)
        return [float(each) for each in self.fill]

    def _run(self, img: Any, name: str, magnitude: float, signed: bool) -> Any:
        if signed and integer(2):
            magnitude = -magnitude
        return apply(F, img, name, magnitude, self.interpolation, self._filled(img))

    def _table(self, name: str, bins: int, img: Any) -> rl.Tensor | None:
        _, height, width = F.get_dimensions(img)
        return self.space[name][0](bins, height, width)

    def _chosen(self) -> tuple[str, bool]:
        """A random operation and whether its sign is random."""
        name = list(self.space)[integer(len(self.space))]
        return name, self.space[name][1]

    def __repr__(self) -> str:
        shown = (
            n
            for n in self.__dict__
            if not n.startswith("_") and n not in ("training", "policies", "generator")
        )
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)}' for n in shown)})"


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
        self.policies = _policy(policy)

    @staticmethod
    def get_params(transform_num: int) -> tuple[int, rl.Tensor, rl.Tensor]:
        """Which pair, whether each happens, and the signs."""
        return integer(transform_num), rand((2,)), integers(2, (2,))

    def forward(self, img: Any) -> Any:
        """The augmented image."""
        number, chances, signs = self.get_params(len(self.policies))
        for (name, chance, at), drawn, sign in zip(
            self.policies[number], chances.tolist(), signs.tolist(), strict=True
        ):
            if drawn > rl.tensor(chance).item():
                continue
            table = self._table(name, 10, img)
            magnitude = 0.0 if table is None or at is None else float(table[at].item())
            if self.space[name][1] and sign == 0:
                magnitude = -magnitude
            img = apply(F, img, name, magnitude, self.interpolation, self._filled(img))
        return img


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

    def forward(self, img: Any) -> Any:
        """The augmented image."""
        for _ in range(self.num_ops):
            name, signed = self._chosen()
            table = self._table(name, self.num_magnitude_bins, img)
            magnitude = 0.0 if table is None else float(table[self.magnitude].item())
            img = self._run(img, name, magnitude, signed)
        return img


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

    def forward(self, img: Any) -> Any:
        """The augmented image."""
        name, signed = self._chosen()
        table = self._table(name, self.num_magnitude_bins, img)
        magnitude = 0.0
        if table is not None:
            magnitude = float(table[integer(self.num_magnitude_bins)].item())
        return self._run(img, name, magnitude, signed)


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

    def _chain(self, img: Any) -> Any:
        depth = self.chain_depth
        if depth <= 0:
            depth = integer(4, 1)
        for _ in range(depth):
            name, signed = self._chosen()
            table = self._table(name, 10, img)
            magnitude = 0.0
            if table is not None:
                magnitude = float(table[integer(self.severity)].item())
            img = self._run(img, name, magnitude, signed)
        return img

    def forward(self, orig_img: Any) -> Any:
        """The augmented image."""
        tensor = orig_img if isinstance(orig_img, rl.Tensor) else F.pil_to_tensor(orig_img)
        result = mixed(tensor, self.mixture_width, self.alpha, self._chain)
        return result if isinstance(orig_img, rl.Tensor) else F.to_pil_image(result)
