"""Sampling of images and volumes at given positions: spatial transformers.

(Jaderberg et al., 2015.) Plain images go by compiled kernels. Everything else, and derivatives of
derivatives, are written with the table's gathers and products, so that any order follows.
"""

from __future__ import annotations

import functools
import itertools
import math
import warnings

from rushlight.autograd.engine import grad as gradient
from rushlight.autograd.mode import mode as recording_mode
from rushlight.dtypes import FLOAT, int64
from rushlight.errors import shape_text
from rushlight.kernels.resampling import grid_sampling as kernels
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._calls.direct import tensor_of
from rushlight.ops._table.domains import unit
from rushlight.ops._table.op import composite, op
from rushlight.ops.creation.tensors import tensor
from rushlight.ops.elementwise.comparison import where
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.tensor import Tensor

_ndarray = np.ndarray

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _default_alignment(name):
    warnings.warn(
        f"{name}: the default of align_corners is False (it was True before PyTorch 1.3). Give "
        "align_corners=True or False to say which is meant.",
        stacklevel=4,
    )
    return False


def _check(input, grid, mode, padding_mode):
    if mode not in _MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in _PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    wrong = _shape_problem(input.shape, grid.shape, mode)
    if wrong is not None:
        raise RuntimeError(
            f"grid_sampler(): {wrong}, but got input of shape {shape_text(input.shape)} and grid "
            f"of shape {shape_text(grid.shape)}"
        )
    if input._dtype is not grid._dtype or input._dtype.category != FLOAT:
        raise RuntimeError(
            "grid_sampler(): expected input and grid to have the same floating-point dtype, but "
            f"got {input._dtype} and {grid._dtype}"
        )


def _shape_problem(shape, grid_shape, mode):
    """What the shapes should have been, or None."""
    rank = len(shape)
    if rank not in (4, 5) or rank != len(grid_shape):
        return "expected 4D or 5D input and grid with same number of dimensions"
    if shape[0] != grid_shape[0]:
        return "expected grid and input to have same batch size"
    if grid_shape[-1] != rank - 2:
        return f"expected grid to have size {rank - 2} in last dimension"
    if min(shape[2:]) < 1:
        return "expected input to have non-empty spatial dimensions"
    if mode == "bicubic" and rank == 5:
        return "bicubic interpolation only supports 4D input"
    return None


def _clipped(x, size):
    """Positions limited to the image; no gradient flows where the limit acts."""
    return where(x <= 0, 0.0, where(x >= size - 1, float(size - 1), x))


def _reflected(x, low, high):
    """Positions folded back between two limits as often as needed."""
    if low == high:
        return x * 0
    span = high - low
    distance = (x - low).abs()
    flips = (distance.detach() / span).floor()
    rest = distance - flips * span
    return where(flips % 2 == 0, rest + low, high - rest)


def _padded(x, size, padding_mode, align_corners):
    if padding_mode == "zeros":
        return x
    if padding_mode == "reflection":
        x = _reflected(x, 0.0, size - 1.0) if align_corners else _reflected(x, -0.5, size - 0.5)
    return _clipped(x, size)


def _gathered(input, places, sizes):
    """Values (N, C, M) at integer positions (one (N, M) per dimension); zero outside."""
    flat, inside = None, None
    for place, size in zip(places, sizes, strict=True):
        fits = (place >= 0) & (place <= size - 1)
        inside = fits if inside is None else inside & fits
        index = where(fits, place, 0.0).to(int64)
        flat = index if flat is None else flat * size + index
    n, c = input.shape[:2]
    index = flat.unsqueeze(1).expand(n, c, flat.shape[1])
    values = input.reshape(n, c, math.prod(input.shape[2:])).gather(2, index)
    return where(inside.unsqueeze(1), values, 0.0)


def _bilinear(input, positions, sizes):
    lows = [x.detach().floor() for x in positions]
    shares = [x - low for x, low in zip(positions, lows, strict=True)]
    total = None
    for corner in itertools.product((0, 1), repeat=len(sizes)):
        weight = None
        for side, share in zip(corner, shares, strict=True):
            factor = share if side else 1 - share
            weight = factor if weight is None else weight * factor
        places = [low + side for low, side in zip(lows, corner, strict=True)]
        term = _gathered(input, places, sizes) * weight.unsqueeze(1)
        total = term if total is None else total + term
    return total


def _constant_one(positions):
    """Ones that depend on the positions with derivative zero."""
    total = sum(where(x == x, x, 0.0).clamp(-1, 1) for x in positions)
    return 1 + total * 0


def _cubic_weights(t):
    """The four weights of cubic convolution with a = -0.75. (Keys, 1981.)"""
    a = -0.75

    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return far(t + 1), near(t), near(1 - t), far(2 - t)


def _bicubic(input, positions, sizes, padding_mode, align_corners):
    lows = [x.detach().floor() for x in positions]
    weights = [_cubic_weights(x - low) for x, low in zip(positions, lows, strict=True)]
    total = None
    for i, j in itertools.product(range(4), repeat=2):
        places = [
            _padded(low + offset - 1, size, padding_mode, align_corners)
            for low, offset, size in zip(lows, (i, j), sizes, strict=True)
        ]
        weight = weights[0][i] * weights[1][j]
        term = _gathered(input, places, sizes) * weight.unsqueeze(1)
        total = term if total is None else total + term
    return total


def _composed(input, grid, mode, padding_mode, align_corners):
    """:func:`grid_sample` in the table's ops."""
    sizes = tuple(input.shape[2:])
    n, outputs = input.shape[0], tuple(grid.shape[1:-1])
    flat = grid.reshape(n, -1, len(sizes))
    positions = []
    for dim, size in enumerate(sizes):
        x = flat[..., len(sizes) - 1 - dim]
        x = (x + 1) / 2 * (size - 1) if align_corners else ((x + 1) * size - 1) / 2
        if mode != "bicubic":
            x = _padded(x, size, padding_mode, align_corners)
        positions.append(x)
    if mode == "nearest":
        found = _gathered(input, [x.detach().round() for x in positions], sizes)
        if grid.requires_grad:  # its gradient is zero, not missing
            found = found * _constant_one(positions).unsqueeze(1)
    elif mode == "bilinear":
        found = _bilinear(input, positions, sizes)
    else:
        found = _bicubic(input, positions, sizes, padding_mode, align_corners)
    return found.reshape(n, input.shape[1], *outputs)


def _sampled_shape(input, grid, *_settings):
    return (*input.shape[:2], *grid.shape[1:-1]), dtype_of(input)


_KEPT = "align_corners grid input interpolation_mode: padding_mode:"
_KEPT_AS = {
    "interpolation_mode": lambda read: _MODES.index(read("mode")),
    "padding_mode": lambda read: _PADDINGS.index(read("padding_mode")),
}


@op(
    meta=_sampled_shape,
    method=False,
    samples=lambda make: [],
    tested_by="tests/nn/test_grid_sampling.py",
    node="GridSampler2D",
    saves=_KEPT,
    saves_as=_KEPT_AS,
)
def _grid_sample_2d(input: Tensor, grid: Tensor, mode, padding_mode, align_corners):
    """:func:`grid_sample` of plain images by one kernel."""
    return kernels.sampled(input, grid, mode, padding_mode, align_corners)


@op(
    meta=_sampled_shape,
    method=False,
    samples=lambda make: [],
    tested_by="tests/nn/test_grid_sampling.py",
    node="GridSampler3D",
    saves=_KEPT,
    saves_as=_KEPT_AS,
)
def _grid_sample_3d(input: Tensor, grid: Tensor, mode, padding_mode, align_corners):
    """:func:`grid_sample` of plain volumes by one kernel."""
    return kernels.sampled(input, grid, mode, padding_mode, align_corners)


@_grid_sample_2d.gradients("input", "grid")
@_grid_sample_3d.gradients("input", "grid")
def _grid_sample_gradients(grad, input, grid, mode, padding_mode, align_corners, needs):
    settings = mode, padding_mode, align_corners
    if recording_mode.recording or type(grad._array) is not _ndarray:
        input, grid = (input.view_as(input), grid.view_as(grid))
        wanted = [t for t, need in zip((input, grid), needs, strict=True) if need]
        found = iter(gradient(_composed(input, grid, *settings), wanted, grad, create_graph=True))
        return tuple([next(found) if need else None for need in needs])
    g, x, places = grad._array, input._array, grid._array
    return (
        tensor_of(kernels.input_gradient(g, x.shape, places, *settings)) if needs[0] else None,
        tensor_of(kernels.grid_gradient(g, x, places, *settings)) if needs[1] else None,
    )


def _is_plain(input, grid):
    """Whether the kernels take both."""
    x, places = input._array, grid._array
    plain = not STATE.levels and type(x) is _ndarray and type(places) is _ndarray
    return plain and kernels.is_compiled(x, places)


def _sampler_call(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    if mode not in _MODES or padding_mode not in _PADDINGS:
        _check(input, grid, mode, padding_mode)
    if align_corners is None:
        align_corners = _default_alignment(grid_sample.op.name)
    return grid_sampler.op.name, {
        "input": input, "grid": grid, "interpolation_mode": _MODES.index(mode),
        "padding_mode": _PADDINGS.index(padding_mode), "align_corners": bool(align_corners),
    }  # fmt: skip


@composite(
    aten_call=_sampler_call,
    method=False,
    oracle="nn.functional",
    samples=lambda make: [
        (make(1, 2, 3, 4), make(1, 2, 2, 2), "bilinear", "zeros", False),
        (make(1, 1, 2, 3, 2), make(1, 1, 2, 2, 3), "bilinear", "border", True),
    ],
    domain=unit,
    autocast="float32",
)
def grid_sample(
    input: Tensor, grid: Tensor, mode="bilinear", padding_mode="zeros", align_corners=None
):
    """Values of `input` (N, C, H, W) at the positions `grid` (N, H', W', 2): (N, C, H', W').

    Positions are (x, y) with -1 and 1 at the borders: at the centres of the outermost elements
    with `align_corners`, else at their outer edges. Volumes (N, C, D, H, W) take (x, y, z).
    `mode` is ``"bilinear"``, ``"nearest"`` or ``"bicubic"``; outside the image `padding_mode`
    ``"zeros"``, ``"border"`` or ``"reflection"`` decides.
    """
    if align_corners is None:
        align_corners = _default_alignment("grid_sample")
    _check(input, grid, mode, padding_mode)
    if _is_plain(input, grid):
        sample = _grid_sample_2d if len(input._array.shape) == 4 else _grid_sample_3d
        return sample(input, grid, mode, padding_mode, align_corners)
    if input.is_meta and grid.is_meta:
        return input.new_empty((*input.shape[:2], *grid.shape[1:-1]))
    if input.element_size() < 4:  # positions and weights need float32; rounded once, at the end
        settings = mode, padding_mode, align_corners
        return grid_sample(input.float(), grid.float(), *settings).to(input.dtype)
    return _composed(input, grid, mode, padding_mode, align_corners)


@functools.lru_cache(8)
def _base_positions(sizes, align_corners, dtype):
    """Homogeneous (x, y, 1) or (x, y, z, 1) positions of every output element, row by row, in an
    array that nobody writes to."""
    axes = []
    for size in sizes:
        line = np.linspace(-1.0, 1.0, size) if size > 1 else np.zeros(size)
        axes.append(line if align_corners else line * (size - 1) / size)
    mesh = np.meshgrid(*axes, indexing="ij")
    columns = [m.reshape(-1) for m in reversed(mesh)] + [np.ones(int(np.prod(sizes)))]
    return np.stack(columns, 1).astype(dtype)


def _affine_call(theta, size, align_corners=None):
    if align_corners is None:
        align_corners = _default_alignment(affine_grid.op.name)
    return affine_grid_generator.op.name, {
        "theta": theta, "size": list(size), "align_corners": bool(align_corners)
    }  # fmt: skip


@composite(
    aten_call=_affine_call,
    method=False,
    oracle="nn.functional",
    samples=lambda make: [
        (make(1, 2, 3), (1, 1, 2, 3), False),
        (make(1, 3, 4), (1, 1, 2, 2, 3), True),
    ],
)
def affine_grid(theta: Tensor, size, align_corners=None):
    """The positions for :func:`grid_sample` of an affine map of the image plane.

    `theta` is (N, 2, 3) for a `size` of (N, C, H, W), or (N, 3, 4) for (N, C, D, H, W).
    """
    if align_corners is None:
        align_corners = _default_alignment("affine_grid")
    if theta._dtype.category != FLOAT:
        raise ValueError(f"Expected theta to have floating point type, but got {theta._dtype}")
    size = tuple(int(n) for n in size)
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {list(size)}."
        )
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size "
            f"{list(size)}. Got {shape_text(theta.shape)}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}")
    if theta.is_meta:  # positions are an array of the size of the result
        grid = theta.new_empty((theta.shape[0], math.prod(size[2:]), dims))
        return grid.reshape(size[0], *size[2:], dims)
    return _mapped_positions(theta, size, align_corners)


def _mapped_positions(theta, size, align_corners):
    wide = np.float32 if theta.element_size() == 4 else np.float64
    positions = _base_positions(size[2:], bool(align_corners), wide)
    # a step where captured
    base = tensor(positions, device=theta.device).to(theta.dtype)
    grid = base.unsqueeze(0).expand(theta.shape[0], *base.shape).bmm(theta.transpose(1, 2))
    return grid.reshape(size[0], *size[2:], len(size) - 2)


@composite(
    schemas=(
        "grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
        "bool align_corners) -> Tensor",
    ),
    method=False,
    samples=lambda make: [(make(1, 2, 3, 4), make(1, 2, 2, 2), 0, 0, False)],
    domain=unit,
    autocast="float32",
)
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode, padding_mode, align_corners):
    """:func:`grid_sample` with mode and padding by number, in the order of its documentation."""
    return grid_sample(
        input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners
    )


@composite(
    schemas=(
        "grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int "
        "padding_mode, bool align_corners) -> Tensor",
    ),
    method=False,
    samples=lambda make: [(make(1, 2, 3, 4), make(1, 2, 2, 2), 0, 0, False)],
    domain=unit,
    autocast="float32",
)
def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode, padding_mode, align_corners):
    """:func:`grid_sampler` of images."""
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


@composite(
    schemas=(
        "grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int "
        "padding_mode, bool align_corners) -> Tensor",
    ),
    method=False,
    samples=lambda make: [(make(1, 1, 2, 3, 2), make(1, 1, 2, 2, 3), 0, 0, True)],
    domain=unit,
    autocast="float32",
)
def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode, padding_mode, align_corners):
    """:func:`grid_sampler` of volumes."""
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


# Of integers PyTorch's positions are cut to whole numbers.
@composite(
    schemas=("affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",),
    sweep=(2,),
    method=False,
    samples=lambda make: [(make(1, 2, 3), (1, 1, 2, 3), False)],
)
def affine_grid_generator(theta: Tensor, size, align_corners):
    """Another name of :func:`affine_grid`."""
    return affine_grid(theta, size, align_corners)
