"""What the maps of geometry make of boxes and key points: both are points that move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as rl
from rushlight_vision.transforms.functional.geometry import resized_size
from rushlight_vision.transforms.functional.padding import border_widths
from rushlight_vision.transforms.functional.rotation import turned_size
from rushlight_vision.transforms.functional.warping import (
    affine_matrix,
    identity_grid,
    projection,
)

Size = tuple[int, int]
Map = Callable[[rl.Tensor], rl.Tensor]  # points (..., 2) to points (..., 2)


def shift(right: float, down: float) -> Map:
    """Every point moved."""
    return lambda points: points + rl.tensor([right, down], dtype=points.dtype)


def stretch(across: float, down: float) -> Map:
    """Every point away from the origin by two factors."""
    return lambda points: points * rl.tensor([across, down], dtype=points.dtype)


def linear(matrix: Sequence[float]) -> Map:
    """The affine map with two rows of three numbers."""
    a, b, c, d, e, f = matrix

    def change(points: rl.Tensor) -> rl.Tensor:
        x, y = points.unbind(-1)
        return rl.stack([x * a + y * b + c, x * d + y * e + f], dim=-1)

    return change


def shears(shear: Any) -> list[float]:
    """Shears along x and y of one number or two."""
    if isinstance(shear, (int, float)):
        return [shear, 0.0]
    return [shear[0], shear[0]] if len(shear) == 1 else list(shear)


def affine_map(
    canvas_size: Size, angle: float, translate: Any, scale: float, shear: Any, center: Any
) -> Map:
    """Where `affine` moves points of an image."""
    height, width = canvas_size
    middle = [width * 0.5, height * 0.5] if center is None else center
    return linear(affine_matrix(middle, angle, translate, scale, shears(shear), inverted=False))


def rotation_map(canvas_size: Size, angle: float, expand: bool, center: Any) -> tuple[Map, Size]:
    """Where `rotate` moves points of an image, and the size of the result."""
    height, width = canvas_size
    middle = [width * 0.5, height * 0.5] if center is None or expand else center
    change = linear(affine_matrix(middle, -angle, [0.0, 0.0], 1.0, [0.0, 0.0], inverted=False))
    if not expand:
        return change, canvas_size
    frame = rl.tensor([[0, 0], [0, height], [width, height], [width, 0]], dtype=rl.float32)
    left, top = change(frame).amin(dim=0).tolist()
    new_width, new_height = turned_size(width, height, angle, (0.0, 0.0))
    back = shift(-left, -top)
    return (lambda points: back(change(points))), (new_height, new_width)


def projective_map(startpoints: Any, endpoints: Any, coefficients: Any) -> Map:
    """Where `perspective` moves points: the inverse of its map from result to image."""
    a, b, c, d, e, f, g, h = projection(startpoints, endpoints, coefficients)
    forward = rl.tensor([[a, b, c], [d, e, f], [g, h, 1.0]], dtype=rl.float64)
    inverse = rl.linalg.inv(forward)

    def change(points: rl.Tensor) -> rl.Tensor:
        x, y = points.unbind(-1)
        rows = inverse.to(points.dtype).tolist()
        top, middle, below = (x * row[0] + y * row[1] + row[2] for row in rows)
        return rl.stack([top / below, middle / below], dim=-1)

    return change


def elastic_map(canvas_size: Size, displacement: rl.Tensor, nearest: Map = rl.ceil) -> Map:
    """Where `elastic` moves points: the displacement at the pixel turned around, which is its
    inverse but for the change of the displacement over its own length.

    `nearest` chooses the pixel of a point between pixels.
    """
    expected = (1, *canvas_size, 2)
    if not isinstance(displacement, rl.Tensor):
        raise TypeError(f"elastic: displacement is a {type(displacement).__name__}, not a tensor")
    if tuple(displacement.shape) != expected:
        raise ValueError(
            f"elastic: displacement has shape {tuple(displacement.shape)}; expected {expected}"
        )
    height, width = canvas_size
    grid = identity_grid(canvas_size).to(displacement.dtype) - displacement

    def change(points: rl.Tensor) -> rl.Tensor:
        x, y = nearest(points).to(rl.int64).unbind(-1)
        found = grid[0, y.clamp(0, height - 1), x.clamp(0, width - 1)].to(points.dtype)
        return (found + 1) * rl.tensor([0.5 * width, 0.5 * height], dtype=points.dtype) - 0.5

    return change


def resized(canvas_size: Size, size: Any, max_size: int | None) -> Size:
    """Height and width after `resize`; `size` None makes the longer edge `max_size`."""
    height, width = canvas_size
    if size is None:
        if not isinstance(max_size, int):
            raise ValueError(
                f"resize: max_size must be an integer when size is None; got {max_size}"
            )
        longest = max(height, width)
        short = int(max_size * min(height, width) / longest)
        return (short, max_size) if height < width else (max_size, short)
    sizes = [size] if isinstance(size, int) else list(size)
    return resized_size(height, width, sizes, max_size)


def centered(canvas_size: Size, output_size: Any) -> tuple[Map, Size]:
    """The move of `center_crop`, and the size of the result."""
    sizes = [output_size] if isinstance(output_size, int) else list(output_size)
    height, width = int(sizes[0]), int(sizes[-1])
    rows, columns = canvas_size
    # Where the image is padded by an odd number, torchvision's boxes are a pixel off; so are these.
    top = int(round((rows - height) / 2.0))
    left = int(round((columns - width) / 2.0))
    return shift(-left, -top), (height, width)


def padded(canvas_size: Size, padding: Any, padding_mode: str) -> tuple[Map, Size]:
    """The move of `pad`, and the size of the result."""
    if padding_mode != "constant":
        raise ValueError(
            f"pad: padding_mode {padding_mode!r}; boxes and key points take 'constant' alone"
        )
    left, top, right, bottom = border_widths(padding, "pad")
    height, width = canvas_size
    return shift(left, top), (height + top + bottom, width + left + right)
