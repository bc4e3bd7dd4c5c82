"""Random rotations, affine, perspective and elastic maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as rl
from rushlight_vision import tv_tensors
from rushlight_vision.transforms.functional.warping import (
    affine_grids,
    affine_matrix,
    perspective_coefficients,
    perspective_grids,
    sample,
    tensor_mode,
)
from rushlight_vision.transforms.interpolation import InterpolationMode, interpolation_mode
from rushlight_vision.transforms.sampling import uniform
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2._arguments import Fill, fill_of, fills
from rushlight_vision.transforms.v2._transform import (
    RandomApplyTransform,
    Transform,
    query_size,
)
from rushlight_vision.transforms.warps import (
    axes,
    check_affine,
    random_affine,
    random_corners,
    random_displacement,
    symmetric,
)
from rushlight_vision.tv_tensors._base import plain

Mode = InterpolationMode | int
NEAREST, BILINEAR = InterpolationMode.NEAREST, InterpolationMode.BILINEAR


def from_middle(center: Sequence[float] | None, inpt: Any) -> tuple[float, float]:
    """A centre (x, y) in pixels as its distances from the middle of the image."""
    if center is None:
        return 0.0, 0.0
    height, width = inpt.shape[-2:]
    return center[0] - width * 0.5, center[1] - height * 0.5


class _Warping(Transform):
    """A transform with `interpolation` and `_fills`, which resamples batches by one grid."""

    interpolation: InterpolationMode
    _fills: dict[Any, Any]

    def _sampled(self, inpt: Any, grids: rl.Tensor) -> Any:
        """A batch at positions (N, height, width, 2); masks by the nearest pixel."""
        name, fill = type(self).__name__, fill_of(self._fills, inpt)
        pixels = plain(inpt)
        mode = NEAREST if isinstance(inpt, tv_tensors.Mask) else self.interpolation
        flat = pixels.ndim == 3  # masks of one channel, which is not written
        result = sample(
            pixels.unsqueeze(1) if flat else pixels,
            grids.to(pixels.device),
            tensor_mode(mode, name),
            fill,
            name,
        )
        return tv_tensors.wrap(result.squeeze(1) if flat else result, like=inpt)


class RandomRotation(_Warping):
    """Rotation by a random angle of `degrees`: (least, largest), or -d ... d for one d."""

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: Mode = NEAREST,
        expand: bool = False,
        center: list[float] | None = None,
        fill: Fill = 0,
        *,
        generator: rl.Generator | None = None,
        per_sample: bool = False,
    ) -> None:
        super().__init__(generator=generator, per_sample=per_sample)
        self.degrees = symmetric(degrees, "RandomRotation: degrees")
        self.interpolation = interpolation_mode(interpolation, "RandomRotation")
        if expand and per_sample:
            raise NotImplementedError(
                "RandomRotation: with expand=True the samples of a batch get different sizes; use "
                "expand=False, or rotate the images one by one before they are stacked"
            )
        self.expand, self.center = expand, center
        self.fill, self._fills = fill, fills(fill)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The angle."""
        return {"angle": uniform(self.degrees[0], self.degrees[1])}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The rotated input."""
        return self._call_kernel(
            F.rotate,
            inpt,
            **params,
            interpolation=self.interpolation,
            expand=self.expand,
            center=self.center,
            fill=fill_of(self._fills, inpt),
        )

    def _transform_samples(self, inpt: Any, params: list[dict[str, Any]]) -> Any:
        middle = from_middle(self.center, inpt)
        still = ((0.0, 0.0), 1.0, (0.0, 0.0))
        matrices = [affine_matrix(middle, -each["angle"], *still) for each in params]
        return self._sampled(inpt, affine_grids(matrices, tuple(inpt.shape[-2:])))


class RandomAffine(_Warping):
    """Rotation, translation, scaling and shearing by random amounts.

    `degrees` and `shear` are (least, largest) or d for -d ... d, `shear` also four numbers for both
    axes; `translate` (across, down) are shares of the size, `scale` is (least, largest).
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: Mode = NEAREST,
        fill: Fill = 0,
        center: list[float] | None = None,
        *,
        generator: rl.Generator | None = None,
        per_sample: bool = False,
    ) -> None:
        super().__init__(generator=generator, per_sample=per_sample)
        self.degrees = symmetric(degrees, "RandomAffine: degrees")
        check_affine(translate, scale, "RandomAffine")
        self.translate, self.scale, self.center = translate, scale, center
        self.shear = None if shear is None else symmetric(shear, "RandomAffine: shear", (2, 4))
        self.interpolation = interpolation_mode(interpolation, "RandomAffine")
        self.fill, self._fills = fill, fills(fill)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Angle, translation, scale and shears."""
        height, width = query_size(flat_inputs)
        found = random_affine(self.degrees, self.translate, self.scale, self.shear, (width, height))
        return dict(zip(("angle", "translate", "scale", "shear"), found, strict=True))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The changed input."""
        return self._call_kernel(
            F.affine,
            inpt,
            **params,
            interpolation=self.interpolation,
            fill=fill_of(self._fills, inpt),
            center=self.center,
        )

    def _transform_samples(self, inpt: Any, params: list[dict[str, Any]]) -> Any:
        middle = from_middle(self.center, inpt)
        matrices = [
            affine_matrix(middle, p["angle"], p["translate"], p["scale"], p["shear"])
            for p in params
        ]
        return self._sampled(inpt, affine_grids(matrices, tuple(inpt.shape[-2:])))


class RandomPerspective(RandomApplyTransform, _Warping):
    """Another point of view with probability `p`."""

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: Mode = BILINEAR,
        fill: Fill = 0,
        *,
        generator: rl.Generator | None = None,
        per_sample: bool = False,
    ) -> None:
        super().__init__(p=p, generator=generator, per_sample=per_sample)
        if not 0 <= distortion_scale <= 1:
            raise ValueError(f"RandomPerspective: distortion_scale {distortion_scale}; 0 to 1")
        self.distortion_scale = distortion_scale
        self.interpolation = interpolation_mode(interpolation, "RandomPerspective")
        self.fill, self._fills = fill, fills(fill)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The coefficients of the map."""
        height, width = query_size(flat_inputs)
        starts, ends = random_corners(width, height, self.distortion_scale)
        return {"coefficients": perspective_coefficients(starts, ends)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The changed input."""
        return self._call_kernel(
            F.perspective,
            inpt,
            startpoints=None,
            endpoints=None,
            fill=fill_of(self._fills, inpt),
            interpolation=self.interpolation,
            **params,
        )

    def _transform_samples(self, inpt: Any, params: list[dict[str, Any]]) -> Any:
        maps = [each["coefficients"] for each in params]
        return self._sampled(inpt, perspective_grids(maps, tuple(inpt.shape[-2:])))


class ElasticTransform(Transform):
    """Every pixel from a random place nearby (Simard et al., 2003).

    `alpha` is how far, `sigma` how smooth the moves are, one number or one for each axis.
    """

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation: Mode = BILINEAR,
        fill: Fill = 0,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(generator=generator)
        self.alpha = axes(alpha, "ElasticTransform: alpha")
        self.sigma = axes(sigma, "ElasticTransform: sigma")
        self.interpolation = interpolation_mode(interpolation, "ElasticTransform")
        self.fill, self._fills = fill, fills(fill)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The displacement."""
        size = query_size(flat_inputs)
        return {"displacement": random_displacement(self.alpha, self.sigma, size)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The changed input."""
        return self._call_kernel(
            F.elastic,
            inpt,
            **params,
            fill=fill_of(self._fills, inpt),
            interpolation=self.interpolation,
        )
