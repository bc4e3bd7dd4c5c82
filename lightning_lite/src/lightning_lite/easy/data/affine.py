"""Flips, turns, zooms and warps of batches: matrices and coordinates composed, sampled once.

Pictures are `(N, C, H, W)` (float32), masks `(N, H, W)` (int64), points `(N, P, 2)` and boxes
`(N, B, 4)` between -1 and 1. Matrices `(N, 3, 3)` map where an output pixel is to where it is read.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import rushlight as rl
from lightning_lite.easy.data.describing import describable
from lightning_lite.easy.data.draws import Draw, draws, uniform
from lightning_lite.easy.data.pictures import PAD_MODES
from lightning_lite.easy.data.transform import Transform
from rushlight import nn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

F = nn.functional
MODES = ("bilinear", "nearest", "bicubic")


def matrices(*six: Any) -> Any:
    """Matrices `(N, 3, 3)` of six numbers `(N,)` each, row by row; the last row is 0, 0, 1."""
    zero, one = rl.zeros_like(six[0]), rl.ones_like(six[0])
    return rl.stack([*six, zero, zero, one], 1).reshape(-1, 3, 3)


def sampled(x: Any, coords: Any, mode: str, pad_mode: str, align_corners: bool) -> Any:
    """Pixels of `x` read at `coords` `(N, H, W, 2)`; pictures that shrink to less than half are
    averaged first, unless they are zoomed as much."""
    if mode == "bilinear":
        zoomed = 2 / float(coords.max() - coords.min())
        shrunk = min(x.shape[-2] / coords.shape[1], x.shape[-1] / coords.shape[2]) / 2
        if shrunk > 1 and shrunk > zoomed:
            x = F.interpolate(x, scale_factor=1 / shrunk, mode="area", recompute_scale_factor=True)
    return F.grid_sample(x, coords, mode=mode, padding_mode=pad_mode, align_corners=align_corners)


class AffineCoordTfm(Transform):
    """Matrices and changes of coordinates for a batch, of which training draws some.

    `aff_fs`: functions of pictures that give matrices `(N, 3, 3)`; `coord_fs`: objects with
    `begin(pictures)`, called with coordinates and whether to invert. `size`: of the result, pixels
    or (height, width); `mode`, `mode_mask`: how pictures and masks are sampled; `pad_mode`:
    "reflection", "border" or "zeros". Validation only gets the size. ValueError for other words.
    """

    order = 30

    def __init__(
        self,
        aff_fs: Callable[[Any], Any] | Sequence[Callable[[Any], Any]] | None = None,
        coord_fs: object | Sequence[object] | None = None,
        size: int | tuple[int, int] | None = None,
        mode: str = "bilinear",
        pad_mode: str = "reflection",
        mode_mask: str = "nearest",
        align_corners: bool | None = None,
    ) -> None:
        name = type(self).__name__
        if pad_mode not in PAD_MODES:
            raise ValueError(f"{name}: pad_mode={pad_mode!r}; expected one of {PAD_MODES}")
        for each in (mode, mode_mask):
            if each not in MODES:
                raise ValueError(f"{name}: mode={each!r}; expected one of {MODES}")
        self.aff_fs, self.coord_fs = _listed(aff_fs), _listed(coord_fs)
        self.size = (size, size) if isinstance(size, int) else size
        self.mode, self.mode_mask, self.pad_mode = mode, mode_mask, pad_mode
        self.align_corners = bool(align_corners)
        self.mat: Any = None
        self.warps: list[Any] = []
        self.parts: list[AffineCoordTfm] = [self]

    def composed(self, other: AffineCoordTfm) -> AffineCoordTfm:
        """A transform that does both, this first, and samples once."""
        made = copy.copy(self)
        made.aff_fs = [*self.aff_fs, *other.aff_fs]
        made.coord_fs = [*self.coord_fs, *other.coord_fs]
        made.parts = [*self.parts, *other.parts]
        return made

    def begin(self, sample: tuple[Any, ...], kinds: tuple[str, ...], split: int) -> None:
        """Draw for the batch whose first picture or mask is `x`."""
        pairs = zip(sample, kinds, strict=True)
        x = next((part for part, kind in pairs if kind in ("image", "mask")), None)
        self.mat = None
        if x is None or (split and self.size is None):
            return
        mat = rl.eye(3).expand(len(x), 3, 3)
        self.warps = [] if split else self.coord_fs
        for function in [] if split else self.aff_fs:
            mat = mat @ function(x)
        # Coordinates are shares of each side: turning by an angle has to know their ratio.
        ratio = x.shape[-2] / x.shape[-1]
        scale = rl.tensor([[1.0, ratio, 1.0], [1 / ratio, 1.0, 1.0]])
        self.mat = mat[:, :2] * scale
        for each in self.warps:
            each.begin(x)

    def image(self, x: Any) -> Any:
        """The pictures."""
        return self._read(x, self.mode)

    def mask(self, x: Any) -> Any:
        """The masks."""
        return self._read(x[:, None].float(), self.mode_mask)[:, 0].to(x.dtype)

    def points(self, x: Any) -> Any:
        """The points."""
        if self.mat is None:
            return x
        for each in reversed(self.warps):
            x = each(x, True)
        linear, shift = self.mat[:, :, :2], self.mat[:, :, 2]
        return (x - shift[:, None]) @ rl.linalg.inv(linear.transpose(1, 2))

    def boxes(self, x: Any) -> Any:
        """The boxes around the corners' new positions."""
        corners = rl.stack([x, x[..., [0, 3, 2, 1]]], 2).reshape(len(x), -1, 2)
        found = self.points(corners).reshape(*x.shape[:2], 4, 2)
        return rl.cat([found.amin(2), found.amax(2)], -1)

    def _read(self, x: Any, mode: str) -> Any:
        if self.mat is None:
            return x
        size = tuple(x.shape[-2:]) if self.size is None else tuple(self.size)
        shape = [*x.shape[:2], *size]
        coords = F.affine_grid(self.mat, shape, align_corners=self.align_corners)
        for each in self.warps:
            coords = each(coords)
        return sampled(x, coords, mode, self.pad_mode, self.align_corners)


def _listed(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, list | tuple) else [given]


@describable
class Flip(AffineCoordTfm):
    """Mirrors each picture left to right with probability `p`; `batch`: all alike. `draw`: 1 for
    those to mirror, else 0: a number, one for each, or a function of the pictures. Further
    arguments: see `AffineCoordTfm`."""

    def __init__(
        self, p: float = 0.5, draw: Draw = None, batch: bool = False,
        align_corners: bool = True, **options: Any,
    ) -> None:  # fmt: skip
        def matrix(x: Any) -> Any:
            flipped = draws(x, lambda count: rl.ones(count), draw, p, batch)
            sign, zero = 1 - 2 * flipped, rl.zeros_like(flipped)
            return matrices(sign, zero, zero, zero, rl.ones_like(zero), zero)

        super().__init__(matrix, align_corners=align_corners, **options)


@describable
class Dihedral(AffineCoordTfm):
    """One of the eight flips and quarter turns for each picture, with probability `p`; `batch`: all
    alike; `draw`: their numbers, 0 to 7. Further arguments: see `AffineCoordTfm`."""

    def __init__(
        self, p: float = 0.5, draw: Draw = None, batch: bool = False,
        align_corners: bool = True, **options: Any,
    ) -> None:  # fmt: skip
        def matrix(x: Any) -> Any:
            found = draws(x, lambda count: rl.randint(0, 8, (count,)).float(), draw, p, batch)
            number = found.to(rl.int64)
            x_sign = rl.tensor([1.0, -1, 1, -1, -1, 1, 1, -1])[number]
            y_sign = rl.tensor([1.0, 1, -1, 1, -1, -1, 1, -1])[number]
            turned = rl.tensor([0.0, 0, 0, 1, 0, 1, 1, 1])[number]
            kept, zero = 1 - turned, rl.zeros_like(turned)
            across, down = (x_sign * kept, x_sign * turned), (y_sign * turned, y_sign * kept)
            return matrices(*across, zero, *down, zero)

        super().__init__(matrix, align_corners=align_corners, **options)


@describable
class Rotate(AffineCoordTfm):
    """Turns each picture by up to `max_deg` degrees with probability `p`; `batch`: all alike;
    `draw`: the degrees. Further arguments: see `AffineCoordTfm`."""

    def __init__(
        self, max_deg: float = 10, p: float = 0.5, draw: Draw = None, batch: bool = False,
        align_corners: bool = True, **options: Any,
    ) -> None:  # fmt: skip
        def matrix(x: Any) -> Any:
            angle = draws(x, uniform(-max_deg, max_deg), draw, p, batch) * (math.pi / 180)
            zero, sine, cosine = rl.zeros_like(angle), angle.sin(), angle.cos()
            return matrices(cosine, sine, zero, -sine, cosine, zero)

        super().__init__(matrix, align_corners=align_corners, **options)


@describable
class Zoom(AffineCoordTfm):
    """Enlarges each picture by `min_zoom` to `max_zoom` around a random point, with probability
    `p`; `batch`: all alike; `draw`, `draw_x`, `draw_y`: the factor, and the point as shares.
    Further arguments: see `AffineCoordTfm`. ValueError for zooms out of order."""

    def __init__(
        self, min_zoom: float = 1.0, max_zoom: float = 1.1, p: float = 0.5, draw: Draw = None,
        draw_x: Draw = None, draw_y: Draw = None, batch: bool = False,
        align_corners: bool = True, **options: Any,
    ) -> None:  # fmt: skip
        if not 0 < min_zoom <= max_zoom:
            raise ValueError(
                f"Zoom: min_zoom={min_zoom}, max_zoom={max_zoom}; expected 0 < min <= max"
            )

        def matrix(x: Any) -> Any:
            scale = 1 / draws(x, uniform(min_zoom, max_zoom), draw, p, batch, neutral=1.0)
            column = draws(x, uniform(0, 1), draw_x, 1.0, batch)
            row = draws(x, uniform(0, 1), draw_y, 1.0, batch)
            zero, spare = rl.zeros_like(scale), 1 - scale
            across, down = spare * (2 * column - 1), spare * (2 * row - 1)
            return matrices(scale, zero, across, zero, scale, down)

        super().__init__(matrix, align_corners=align_corners, **options)


class _Perspective:
    """Coordinates seen from another side: the corners move by `magnitude` at most."""

    corners = ((-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0))

    def __init__(self, draw: Callable[[Any], tuple[Any, Any]]) -> None:
        self.draw = draw

    def begin(self, x: Any) -> None:
        """Draw where the corners go, `(N, 4, 2)`."""
        across, down = self.draw(x)
        signs = rl.tensor(self.corners)
        moves = rl.stack([down, across], 1)[:, None] * signs.prod(1, keepdim=True)
        self.before = signs.expand(len(x), 4, 2)
        self.after = self.before - moves

    def __call__(self, coords: Any, inverted: bool = False) -> Any:
        """Coordinates `(N, ..., 2)`, changed."""
        ends = (self.after, self.before) if inverted else (self.before, self.after)
        mat, flat = homography(*ends), coords.reshape(len(coords), -1, 2)
        found = flat @ mat[..., :2].transpose(1, 2) + mat[..., 2][:, None]
        if bool((found[..., 2] == 0).any()):  # an edge seen from its side has no picture
            return coords
        return (found[..., :2] / found[..., 2:]).reshape(coords.shape)


def homography(points: Any, targets: Any) -> Any:
    """The matrices `(N, 3, 3)` of perspectives that take four `targets` `(N, 4, 2)` to `points`."""
    one, zero = rl.ones(len(points), 4), rl.zeros(len(points), 4)
    x, y = targets[..., 0], targets[..., 1]
    rows = []
    for which, first in ((0, [x, y, one, zero, zero, zero]), (1, [zero, zero, zero, x, y, one])):
        value = points[..., which]
        rows.append(rl.stack([*first, -value * x, -value * y], -1))
    system = rl.stack(rows, 2).reshape(-1, 8, 8)
    found = rl.linalg.solve(system, points.reshape(-1, 8, 1))[..., 0]
    return rl.cat([found, rl.ones(len(points), 1)], 1).reshape(-1, 3, 3)


@describable
class Warp(AffineCoordTfm):
    """Shows each picture as from another side, by up to `magnitude`, with probability `p`; `batch`:
    all alike; `draw_x`, `draw_y`: how far. Further arguments: see `AffineCoordTfm`."""

    def __init__(
        self, magnitude: float = 0.2, p: float = 0.5, draw_x: Draw = None, draw_y: Draw = None,
        batch: bool = False, align_corners: bool = True, **options: Any,
    ) -> None:  # fmt: skip
        def drawn(x: Any) -> tuple[Any, Any]:
            usual = uniform(-magnitude, magnitude)
            return draws(x, usual, draw_x, p, batch), draws(x, usual, draw_y, p, batch)

        super().__init__(coord_fs=_Perspective(drawn), align_corners=align_corners, **options)
