"""Random affine, perspective and elastic maps, blur, and changes of levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms.interpolation import InterpolationMode, interpolation_mode
from rushlight_vision.transforms.sampling import Sampling, happens, integer, rand, uniform

Mode = InterpolationMode | int
Pair = tuple[float, float]


def symmetric(value: Any, name: str, lengths: tuple[int, ...] = (2,)) -> list[float]:
    """-d ... d of one number d, or a sequence of one of the `lengths`."""
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"{name}: one number must not be negative, got {value}")
        return [-float(value), float(value)]
    if not isinstance(value, Sequence):
        raise TypeError(f"{name}: {value!r}; expected a number or a sequence")
    if len(value) not in lengths:
        raise ValueError(f"{name}: {value!r}; expected {' or '.join(map(str, lengths))} numbers")
    return [float(each) for each in value]


def check_affine(translate: Any, scale: Any, name: str) -> None:
    """Refuse translations outside of 0 ... 1 and scales that are not positive."""
    if translate is not None:
        if not isinstance(translate, Sequence) or len(translate) != 2:
            raise TypeError(f"{name}: translate {translate!r}; expected two numbers")
        if not all(0.0 <= each <= 1.0 for each in translate):
            raise ValueError(f"{name}: translate {translate!r}; expected numbers of 0 to 1")
    if scale is not None:
        if not isinstance(scale, Sequence) or len(scale) != 2:
            raise TypeError(f"{name}: scale {scale!r}; expected two numbers")
        if not all(each > 0 for each in scale):
            raise ValueError(f"{name}: scale {scale!r}; expected positive numbers")


def random_affine(
    degrees: Sequence[float], translate: Any, scale: Any, shear: Any, size: Sequence[int]
) -> tuple[float, tuple[int, int], float, Pair]:
    """Angle, translation, scale and shears for an image of `size` (width, height)."""
    angle = uniform(degrees[0], degrees[1])
    moved = (0, 0)
    if translate is not None:
        reach = [float(share * length) for share, length in zip(translate, size, strict=True)]
        across, down = (int(round(uniform(-far, far))) for far in reach)
        moved = (across, down)
    factor = 1.0 if scale is None else uniform(scale[0], scale[1])
    shears = [0.0, 0.0]
    if shear is not None:
        shears[0] = uniform(shear[0], shear[1])
        if len(shear) == 4:
            shears[1] = uniform(shear[2], shear[3])
    return angle, moved, factor, (shears[0], shears[1])


def random_corners(width: int, height: int, distortion: float) -> tuple[list, list]:
    """The corners of an image, and random points at most `distortion` of its half inside."""
    across, down = int(distortion * (width // 2)) + 1, int(distortion * (height // 2)) + 1
    right, bottom = width - across, height - down
    starts = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
    least = [[0, 0], [right, 0], [right, bottom], [0, bottom]]
    ends = [[x + integer(across), y + integer(down)] for x, y in least]
    return starts, ends


def random_displacement(
    alpha: Sequence[float], sigma: Sequence[float], size: Sequence[int]
) -> rl.Tensor:
    """Smooth random moves (1, height, width, 2) of an image of `size` (height, width)."""
    planes = []
    for strength, deviation, length in zip(alpha, sigma, size, strict=True):
        plane: Any = rand([1, 1, *size]) * 2 - 1
        if deviation > 0.0:
            width = int(8 * deviation + 1)
            width += width % 2 == 0
            plane = F.gaussian_blur(plane, [width, width], list(sigma))
        planes.append(plane * strength / length)
    return rl.cat(planes, dim=1).permute(0, 2, 3, 1)


class RandomAffine(Sampling, nn.Module):
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
        interpolation: Mode = InterpolationMode.NEAREST,
        fill: Any = 0,
        center: Sequence[float] | None = None,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(generator=generator)
        self.degrees = symmetric(degrees, "RandomAffine: degrees")
        check_affine(translate, scale, "RandomAffine")
        self.translate, self.scale, self.center = translate, scale, center
        self.shear = None if shear is None else symmetric(shear, "RandomAffine: shear", (2, 4))
        self.interpolation = interpolation_mode(interpolation, "RandomAffine")
        self.fill = 0 if fill is None else fill

    @staticmethod
    def get_params(
        degrees: list[float], translate: Any, scale_ranges: Any, shears: Any, img_size: list[int]
    ) -> tuple[float, tuple[int, int], float, Pair]:
        """Angle, translation, scale and shears for an image of (width, height)."""
        return random_affine(degrees, translate, scale_ranges, shears, img_size)

    def forward(self, img: Any) -> Any:
        """The changed image."""
        size = F.get_image_size(img)
        found = self.get_params(self.degrees, self.translate, self.scale, self.shear, size)
        angle, translate, scale, shear = found
        return F.affine(
            img, angle, translate, scale, shear, self.interpolation, self.fill, self.center
        )


class RandomPerspective(Sampling, nn.Module):
    """The image from a random point of view with probability `p`; samples `rand(1)` first."""

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: Mode = InterpolationMode.BILINEAR,
        fill: Any = 0,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(generator=generator)
        self.p, self.distortion_scale = p, distortion_scale
        self.interpolation = interpolation_mode(interpolation, "RandomPerspective")
        self.fill = 0 if fill is None else fill

    @staticmethod
    def get_params(width: int, height: int, distortion_scale: float) -> tuple[list, list]:
        """Four points of the image and where they go."""
        return random_corners(width, height, distortion_scale)

    def forward(self, img: Any) -> Any:
        """The image, changed or not."""
        if not happens(self.p):
            return img
        _, height, width = F.get_dimensions(img)
        starts, ends = self.get_params(width, height, self.distortion_scale)
        return F.perspective(img, starts, ends, self.interpolation, self.fill)


class ElasticTransform(Sampling, nn.Module):
    """Every pixel from a random place nearby (Simard et al., 2003).

    `alpha` is how far, `sigma` how smooth the moves are, one number or one for each axis.
    """

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation: Mode = InterpolationMode.BILINEAR,
        fill: Any = 0,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(generator=generator)
        self.alpha = axes(alpha, "ElasticTransform: alpha")
        self.sigma = axes(sigma, "ElasticTransform: sigma")
        self.interpolation = interpolation_mode(interpolation, "ElasticTransform")
        self.fill = 0 if fill is None else fill

    @staticmethod
    def get_params(alpha: list[float], sigma: list[float], size: list[int]) -> rl.Tensor:
        """The displacement for an image of `size` (height, width)."""
        return random_displacement(alpha, sigma, size)

    def forward(self, tensor: Any) -> Any:
        """The changed image."""
        _, height, width = F.get_dimensions(tensor)
        displacement = self.get_params(self.alpha, self.sigma, [height, width])
        return F.elastic_transform(tensor, displacement, self.interpolation, self.fill)


def axes(value: Any, name: str) -> list[float]:
    """One number for both axes, or one for each."""
    values = [value] if isinstance(value, (int, float)) else value
    if not isinstance(values, Sequence) or not all(isinstance(v, (int, float)) for v in values):
        raise TypeError(f"{name} {value!r}; expected numbers")
    if len(values) not in (1, 2):
        raise ValueError(f"{name} {value!r}; expected one number or two")
    return [float(values[0]), float(values[-1])]


class GaussianBlur(Sampling, nn.Module):
    """The image under a Gaussian of a random sigma of (least, largest)."""

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        sigma: float | Sequence[float] = (0.1, 2.0),
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(generator=generator)
        sizes = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
        if any(size <= 0 or size % 2 == 0 for size in sizes):
            raise ValueError(f"GaussianBlur: kernel_size {sizes}; expected odd positive numbers")
        pair = [sigma, sigma] if isinstance(sigma, (int, float)) else list(sigma)
        if len(pair) != 2 or not 0.0 < pair[0] <= pair[1]:
            raise ValueError(f"GaussianBlur: sigma {sigma!r}; expected 0 < least <= largest")
        self.kernel_size, self.sigma = sizes, pair

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """The sigma."""
        return uniform(sigma_min, sigma_max)

    def forward(self, img: Any) -> Any:
        """The blurred image."""
        sigma = self.get_params(self.sigma[0], self.sigma[1])
        return F.gaussian_blur(img, self.kernel_size, [sigma, sigma])

    def __repr__(self) -> str:
        return f"GaussianBlur(kernel_size={self.kernel_size}, sigma={self.sigma})"


class LinearTransformation(nn.Module):
    """A flattened tensor image (..., C, H, W), less a mean vector (D,), times a matrix (D, D).

    Raises `ValueError` where the sizes do not fit.
    """

    def __init__(self, transformation_matrix: rl.Tensor, mean_vector: rl.Tensor) -> None:
        super().__init__()
        rows, columns = transformation_matrix.shape
        if rows != columns or mean_vector.shape[0] != rows:
            raise ValueError(
                f"LinearTransformation: transformation_matrix {rows} x {columns} and mean_vector "
                f"of {mean_vector.shape[0]}; expected (D, D) and (D,)"
            )
        self.transformation_matrix, self.mean_vector = transformation_matrix, mean_vector

    def forward(self, tensor: rl.Tensor) -> rl.Tensor:
        """The changed tensor, of the same shape."""
        shape = tensor.shape
        count = shape[-3] * shape[-2] * shape[-1]
        if count != self.transformation_matrix.shape[0]:
            raise ValueError(
                f"LinearTransformation: an image of shape {tuple(shape)} has {count} values; the "
                f"matrix takes {self.transformation_matrix.shape[0]}"
            )
        flat = tensor.reshape(-1, count) - self.mean_vector
        return rl.mm(flat, self.transformation_matrix).reshape(shape)
