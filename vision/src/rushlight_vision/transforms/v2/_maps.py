"""Random rotations, affine, perspective and elastic maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rushlight_vision.transforms.functional.warping import perspective_coefficients
from rushlight_vision.transforms.interpolation import InterpolationMode, interpolation_mode
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2._arguments import Fill, fill_of, fills
from rushlight_vision.transforms.v2._transform import (
    RandomApplyTransform,
    Transform,
    query_size,
    uniform,
)
from rushlight_vision.transforms.warps import (
    axes,
    check_affine,
    random_affine,
    random_corners,
    random_displacement,
    symmetric,
)

Mode = InterpolationMode | int
NEAREST, BILINEAR = InterpolationMode.NEAREST, InterpolationMode.BILINEAR


class RandomRotation(Transform):
    """Rotation by a random angle of `degrees`: (least, largest), or -d ... d for one d."""

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: Mode = NEAREST,
        expand: bool = False,
        center: list[float] | None = None,
        fill: Fill = 0,
    ) -> None:
        super().__init__()
        self.degrees = symmetric(degrees, "RandomRotation: degrees")
        self.interpolation = interpolation_mode(interpolation, "RandomRotation")
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


class RandomAffine(Transform):
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
    ) -> None:
        super().__init__()
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


class RandomPerspective(RandomApplyTransform):
    """Another point of view with probability `p`."""

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: Mode = BILINEAR,
        fill: Fill = 0,
    ) -> None:
        super().__init__(p=p)
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
    ) -> None:
        super().__init__()
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
