"""Images resampled at positions that a map gives: affine, perspective and elastic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import PIL.Image

import rushlight as rl
from rushlight_vision.transforms.functional.conversion import pil_to_tensor, to_pil_image
from rushlight_vision.transforms.functional.images import (
    Picture,
    check_image,
    get_dimensions,
    is_pil,
)
from rushlight_vision.transforms.functional.padding import fill_color
from rushlight_vision.transforms.interpolation import InterpolationMode, interpolation_mode

Mode = InterpolationMode | int


def affine_matrix(
    center: Sequence[float],
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
    inverted: bool = True,
) -> list[float]:
    """Two rows of the matrix translate @ centre @ rotate @ shear @ scale @ centre^-1.

    With `inverted` its inverse, which leads from a pixel of the result to one of the image.
    """
    turn, shear_x, shear_y = (math.radians(value) for value in (angle, shear[0], shear[1]))
    a = math.cos(turn - shear_y) / math.cos(shear_y)
    b = -a * math.tan(shear_x) - math.sin(turn)
    c = math.sin(turn - shear_y) / math.cos(shear_y)
    d = -c * math.tan(shear_x) + math.cos(turn)
    (x, y), (right, down) = center, translate
    if inverted:
        linear = [value / scale for value in (d, -b, -c, a)]
        before, after = (-x - right, -y - down), (x, y)
    else:
        linear = [value * scale for value in (a, b, c, d)]
        before, after = (-x, -y), (x + right, y + down)
    first = linear[0] * before[0] + linear[1] * before[1] + after[0]
    second = linear[2] * before[0] + linear[3] * before[1] + after[1]
    return [linear[0], linear[1], first, linear[2], linear[3], second]


def perspective_coefficients(
    startpoints: Sequence[Sequence[int]], endpoints: Sequence[Sequence[int]]
) -> list[float]:
    """Eight numbers of the projective map from four `endpoints` back to the `startpoints`."""
    if len(startpoints) != 4 or len(endpoints) != 4:
        raise ValueError(
            f"perspective: expected four startpoints and four endpoints, got {len(startpoints)} "
            f"and {len(endpoints)}"
        )
    rows: list[list[float]] = []
    for (x, y), (u, v) in zip(endpoints, startpoints, strict=True):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y])
    targets = [float(value) for point in startpoints for value in point]
    matrix = rl.tensor(rows, dtype=rl.float64)
    solved = rl.linalg.lstsq(matrix, rl.tensor(targets, dtype=rl.float64).unsqueeze(1)).solution
    return solved.flatten().to(rl.float32).tolist()


def tensor_fill(fill: Any, channels: int, name: str) -> list[float] | None:
    """`fill` as one number or one for each channel."""
    if fill is None:
        return None
    values = [float(v) for v in fill] if isinstance(fill, (list, tuple)) else [float(fill)]
    if len(values) not in (1, channels):
        raise ValueError(f"{name}: fill has {len(values)} values; expected 1 or {channels}")
    return values


def tensor_mode(mode: InterpolationMode, name: str) -> str:
    """The name of a mode that warps of tensors know."""
    if mode.value not in ("nearest", "bilinear"):
        raise ValueError(
            f"{name}: interpolation {mode.value!r}; tensors take 'nearest' and 'bilinear'"
        )
    return mode.value


def sample(image: rl.Tensor, grid: rl.Tensor, mode: str, fill: Any, name: str) -> rl.Tensor:
    """The image (..., C, H, W) at the positions `grid` (1, height, width, 2), `fill` outside.

    Of a batch (N, ..., C, H, W) each sample may have positions of its own, (N, height, width, 2).
    """
    lead, channels = image.shape[:-3], image.shape[-3] if image.ndim > 2 else 1
    values = tensor_fill(fill, channels, name)
    size = tuple(grid.shape[1:3])
    if image.numel() == 0:
        return image.new_zeros((*image.shape[:-2], *size))
    exact = image.dtype in (rl.float32, rl.float64)
    working: Any = image if exact else image.to(rl.float32)
    # What has the same positions becomes channels: the whole batch, or each of its samples.
    count = grid.shape[0]
    working = working.reshape(count, -1, *image.shape[-2:])
    if values is not None:
        ones = rl.ones((count, 1, *image.shape[-2:]), dtype=working.dtype, device=image.device)
        working = rl.cat([working, ones], dim=1)
    result = rl.nn.functional.grid_sample(
        working, grid.to(working.dtype), mode=mode, padding_mode="zeros", align_corners=False
    )
    if values is not None:
        result, share = result[:, :-1], result[:, -1:]
        color = rl.tensor(values, dtype=result.dtype, device=image.device).expand(channels)
        color = color.repeat(result.shape[1] // channels).reshape(1, -1, 1, 1)
        if mode == "nearest":
            result = rl.where(share < 0.5, color, result)
        else:
            result = result * share + (1.0 - share) * color
    if not image.is_floating_point():
        result = result.round()
    shape = (*lead, channels, *size) if image.ndim > 2 else size
    return result.to(image.dtype).reshape(shape)


def affine_grid(matrix: Sequence[float], size: tuple[int, int], new: tuple[int, int]) -> rl.Tensor:
    """Positions (1, new height, new width, 2) in -1 ... 1 of an image of `size` (height, width)."""
    height, width = size
    x = rl.arange(new[1], dtype=rl.float32) + (0.5 - 0.5 * new[1])
    y = (rl.arange(new[0], dtype=rl.float32) + (0.5 - 0.5 * new[0])).unsqueeze(1)
    m = rl.tensor(matrix, dtype=rl.float32).reshape(2, 3)
    m = m / rl.tensor([[0.5 * width], [0.5 * height]], dtype=rl.float32)
    (a, b, c), (d, e, f) = m.tolist()
    return rl.stack([x * a + y * b + c, x * d + y * e + f], dim=-1).unsqueeze(0)


def affine_grids(matrices: Sequence[Sequence[float]], size: tuple[int, int]) -> rl.Tensor:
    """`affine_grid` of each of N matrices, (N, height, width, 2), for results of the same size."""
    height, width = size
    x = rl.arange(width, dtype=rl.float32) + (0.5 - 0.5 * width)
    y = (rl.arange(height, dtype=rl.float32) + (0.5 - 0.5 * height)).unsqueeze(1)
    m = rl.tensor(matrices, dtype=rl.float32).reshape(-1, 2, 3)
    m = m / rl.tensor([[0.5 * width], [0.5 * height]], dtype=rl.float32)
    (a, b, c), (d, e, f) = m.permute(1, 2, 0).unsqueeze(-1).unsqueeze(-1)
    return rl.stack([x * a + y * b + c, x * d + y * e + f], dim=-1)


def affine(
    img: Picture,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: float | Sequence[float],
    interpolation: Mode = InterpolationMode.NEAREST,
    fill: float | Sequence[float] | None = None,
    center: Sequence[float] | None = None,
) -> Picture:
    """The image rotated clockwise by `angle` degrees, sheared, scaled and moved.

    `shear` is degrees along x, or along x and y; `translate` is (right, down) in pixels; `center`
    of rotation, (x, y), is the middle by default. Outside is `fill`, black without it.

    Raises `ValueError` for a `scale` that is not positive, `TypeError` and `ValueError` for
    arguments that are no numbers or not two of them.
    """
    mode = interpolation_mode(interpolation, "affine")
    check_image(img, "affine")
    shears = _checked(angle, translate, scale, shear, center)
    _, height, width = get_dimensions(img)
    if is_pil(img):
        middle = [width * 0.5, height * 0.5] if center is None else list(center)
        matrix = affine_matrix(middle, angle, translate, scale, shears)
        return _transformed(img, (width, height), "AFFINE", matrix, mode, fill, "affine")
    offset = [0.0, 0.0]
    if center is not None:
        offset = [center[0] - width * 0.5, center[1] - height * 0.5]
    matrix = affine_matrix(offset, angle, [float(t) for t in translate], scale, shears)
    grid = affine_grid(matrix, (height, width), (height, width)).to(img.device)
    return sample(img, grid, tensor_mode(mode, "affine"), fill, "affine")


def _checked(angle: Any, translate: Any, scale: Any, shear: Any, center: Any) -> list[float]:
    """Shears along x and y, after all arguments of `affine` have been looked at."""
    if not isinstance(angle, (int, float)):
        raise TypeError(f"affine: angle {angle!r}; expected a number of degrees")
    if not isinstance(translate, (list, tuple)):
        raise TypeError(f"affine: translate {translate!r}; expected two numbers")
    if len(translate) != 2:
        raise ValueError(f"affine: translate {translate!r}; expected two numbers")
    if scale <= 0.0:
        raise ValueError(f"affine: scale {scale}; expected a positive number")
    if not isinstance(shear, (int, float, list, tuple)):
        raise TypeError(f"affine: shear {shear!r}; expected one number or two")
    shears = [shear, 0.0] if isinstance(shear, (int, float)) else list(shear)
    if len(shears) == 1:
        shears = [shears[0], shears[0]]
    if len(shears) != 2:
        raise ValueError(f"affine: shear {shear!r}; expected one number or two")
    if center is not None and not isinstance(center, (list, tuple)):
        raise TypeError(f"affine: center {center!r}; expected two numbers, x and y")
    return shears


def _transformed(
    img: Any, size: Any, kind: str, data: Any, mode: InterpolationMode, fill: Any, name: str
) -> Any:
    """A PIL image by Pillow's own transform."""
    return img.transform(
        size,
        PIL.Image.Transform[kind],
        data,
        PIL.Image.Resampling(mode.pillow_code),
        fillcolor=fill_color(fill, img, name),
    )


def perspective_grid(coefficients: Sequence[float], size: tuple[int, int]) -> rl.Tensor:
    """Positions (1, height, width, 2) in -1 ... 1 that a projective map leads to."""
    height, width = size
    a, b, c, d, e, f, g, h = coefficients
    x = rl.arange(width, dtype=rl.float32) + 0.5
    y = (rl.arange(height, dtype=rl.float32) + 0.5).unsqueeze(1)
    below = x * g + y * h + 1.0
    columns = (x * a + y * b + c) / (0.5 * width) / below - 1.0
    rows = (x * d + y * e + f) / (0.5 * height) / below - 1.0
    return rl.stack([columns, rows], dim=-1).unsqueeze(0)


def perspective_grids(coefficients: Sequence[Sequence[float]], size: tuple[int, int]) -> rl.Tensor:
    """`perspective_grid` of each of N maps, (N, height, width, 2)."""
    height, width = size
    maps = rl.tensor(coefficients, dtype=rl.float32)
    a, b, c, d, e, f, g, h = maps.T.unsqueeze(-1).unsqueeze(-1)
    x = rl.arange(width, dtype=rl.float32) + 0.5
    y = (rl.arange(height, dtype=rl.float32) + 0.5).unsqueeze(1)
    below = x * g + y * h + 1.0
    columns = (x * a + y * b + c) / (0.5 * width) / below - 1.0
    rows = (x * d + y * e + f) / (0.5 * height) / below - 1.0
    return rl.stack([columns, rows], dim=-1)


def perspective(
    img: Picture,
    startpoints: Sequence[Sequence[int]] | None,
    endpoints: Sequence[Sequence[int]] | None,
    interpolation: Mode = InterpolationMode.BILINEAR,
    fill: float | Sequence[float] | None = None,
    coefficients: Sequence[float] | None = None,
) -> Picture:
    """The image seen so that the four `startpoints` (x, y) come to lie at the `endpoints`.

    `coefficients`, eight numbers of the map from result to image, replace both.
    """
    check_image(img, "perspective")
    mode = interpolation_mode(interpolation, "perspective")
    numbers = projection(startpoints, endpoints, coefficients)
    _, height, width = get_dimensions(img)
    if is_pil(img):
        return _transformed(img, img.size, "PERSPECTIVE", numbers, mode, fill, "perspective")
    grid = perspective_grid(numbers, (height, width)).to(img.device)
    return sample(img, grid, tensor_mode(mode, "perspective"), fill, "perspective")


def projection(startpoints: Any, endpoints: Any, coefficients: Any) -> Sequence[float]:
    """Eight coefficients, given or from points; ValueError unless there is exactly one of both."""
    if coefficients is not None:
        if startpoints is not None and endpoints is not None:
            raise ValueError("perspective: startpoints and endpoints do not go with coefficients")
        if len(coefficients) != 8:
            raise ValueError(f"perspective: coefficients has {len(coefficients)} numbers, not 8")
        return coefficients
    if startpoints is None or endpoints is None:
        raise ValueError("perspective: give startpoints and endpoints, or coefficients")
    return perspective_coefficients(startpoints, endpoints)


def identity_grid(size: tuple[int, int]) -> rl.Tensor:
    """The position of every pixel, (1, height, width, 2), in -1 ... 1."""
    rows, columns = (rl.linspace((1 - n) / n, (n - 1) / n, n) for n in size)
    y, x = rl.meshgrid(rows, columns, indexing="ij")
    return rl.stack([x, y], dim=-1).unsqueeze(0)


def elastic_transform(
    img: Picture,
    displacement: rl.Tensor,
    interpolation: Mode = InterpolationMode.BILINEAR,
    fill: float | Sequence[float] | None = None,
) -> Picture:
    """The image with every pixel taken from `displacement` (1, H, W, 2) away, in half sizes.

    Raises `TypeError` for a displacement that is no tensor, `ValueError` for another shape.
    """
    check_image(img, "elastic_transform")
    mode = interpolation_mode(interpolation, "elastic_transform")
    if not isinstance(displacement, rl.Tensor):
        raise TypeError(f"elastic_transform: displacement is a {type(displacement).__name__}")
    if is_pil(img):
        moved = elastic_transform(pil_to_tensor(img), displacement, mode, fill)
        return to_pil_image(moved, img.mode)
    height, width = img.shape[-2:]
    if displacement.shape != (1, height, width, 2):
        raise ValueError(
            f"elastic_transform: displacement has shape {tuple(displacement.shape)}; expected "
            f"{(1, height, width, 2)}"
        )
    grid = identity_grid((height, width)).to(displacement.device) + displacement
    name = "elastic_transform"
    return sample(img, grid.to(img.device), tensor_mode(mode, name), fill, name)
