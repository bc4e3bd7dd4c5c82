"""Counting into bins: histc, histogram, histogramdd."""

from __future__ import annotations

import math

from rushlight.dtypes import FLOAT, held
from rushlight.errors import shape_text
from rushlight.kernels.scan_sort.search import places
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.machine.quiet import quietly
from rushlight.ops._table.op import composite, op, results_of
from rushlight.ops._table.shape_rules import histogram_of
from rushlight.tensor.tensor import Tensor, make_tensor


def _check_range(name, low, high):
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"{name}: range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"{name}: max must be larger than min, got range [{low}, {high}]")


def _own_range(name, values, low, high, around):
    """The range asked for, that of the values if there is none, and never an empty one."""
    if low == high and values.size:
        low, high = float(values.min()), float(values.max())
    _check_range(name, low, high)
    return (low - around, high + around) if low == high else (low, high)


@op(
    meta=histogram_of,
    samples=lambda make: [((make(20),), {"bins": 4}), ((make(3, 5), 5, -1, 2), {})],
    differentiable=False,
    sweep=(2,),
)
def histc(input: Tensor, bins=100, min=0, max=0):
    """How many elements fall into each of `bins` equal bins between `min` and `max`; the range of
    the elements themselves where both are equal. Elements outside do not count.

    >>> rushlight.histc(rushlight.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    if input.dtype.kind in "biuc":
        raise RuntimeError(f'"histc" not implemented for dtype {dtype_of(input)}')
    if bins <= 0:
        raise RuntimeError(f"histc: bins must be > 0, but got {bins}")
    min, max = (float(held(bound, dtype_of(input))) for bound in (min, max))
    low, high = _own_range("histc", input, min, max, 1)
    x, kind = input.reshape(-1), input.dtype.type
    low, high = kind(low), kind(high)
    x = x[(x >= low) & (x <= high)]
    place = ((x - low) * kind(bins) / (high - low)).astype(np.int64)
    counts = np.bincount(np.minimum(place, bins - 1), minlength=bins)
    return np.asarray(counts, input.dtype)


def _edges(values, bins, low, high):
    """`bins` equal bins, their edges placed as :func:`rushlight.linspace` spaces points."""
    from rushlight.ops.creation.tensors import linspace

    return linspace(low, high, bins + 1, dtype=dtype_of(values), device="cpu")._array


def _cells(column, edge):
    """The cell of each coordinate, from 1; 0 outside. The last edge belongs to the last cell."""
    column = np.ascontiguousarray(column)
    cell = places(edge, column, True)
    cell = np.searchsorted(edge, column, "right") if cell is None else cell
    inside = (column >= edge[0]) & (column <= edge[-1])
    return np.where(inside, np.minimum(cell, len(edge) - 1), 0)


def _count(points, edges, weights, density):
    """Sums of the weights of points (rows) in the cells between the edges of every dimension."""
    flat, shape = np.zeros(len(points), np.int64), tuple(map(len, edges))
    for column, edge in zip(points.T, edges, strict=True):
        flat *= len(edge)
        flat += _cells(column, edge)
    found = np.bincount(flat, weights, math.prod(shape)).reshape(shape)
    found = found[(slice(1, None),) * len(edges)].astype(points.dtype)
    if density:
        found = quietly(np.divide, found, found.sum())
        for axis, edge in enumerate(edges):
            widths = np.diff(edge).reshape((-1,) + (1,) * (len(edges) - axis - 1))
            found = quietly(np.divide, found, widths)
    return found.astype(points.dtype)


def _check_device(name, input):
    if input._device.type != "cpu":
        raise NotImplementedError(
            f"{name}() is for tensors on the CPU, as in PyTorch; got one on {input.device}. Use "
            "histc() there, or input.cpu()"
        )


def _check_values(name, input, weight, count):
    if input._dtype.category != FLOAT or input._dtype.itemsize < 4:
        raise RuntimeError(f'"{name}" not implemented for dtype {input._dtype}')
    if weight is None:
        return
    if weight._dtype is not input._dtype:
        raise RuntimeError(
            f"{name}(): if weight tensor is provided, input tensor and weight tensor should have "
            f"the same dtype; got {input._dtype} and {weight._dtype}"
        )
    if weight.numel() != count:
        raise RuntimeError(
            f"{name}(): weight must have one element per point: {count}, got shape "
            f"{shape_text(weight.shape)}"
        )


def _check_edges(name, input, edges):
    if edges._dtype is not input._dtype:
        raise RuntimeError(
            f"{name}(): input tensor and bins tensors should have the same dtype; got "
            f"{input._dtype} and {edges._dtype}"
        )
    if edges.dim() != 1 or not edges.numel():
        raise RuntimeError(
            f"{name}(): bins tensor should have one dimension and at least one edge; got shape "
            f"{shape_text(edges.shape)}"
        )
    return np.ascontiguousarray(edges._array)


_SWEEP = (0, 1, "float32", "float64")  # PyTorch takes half precision if `range` is given


@composite(
    schemas=(
        "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool "
        "density=False) -> (Tensor, Tensor)",
        "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? "
        "weight=None, bool density=False) -> (Tensor, Tensor)",
    ),
    sweep=_SWEEP,
    samples=lambda make: [(make(3, 4), 4), (make(6), 3, {"range": (-1.0, 1.0), "density": True})],
    differentiable=False,
    result="hist bin_edges",
    aten="bins_tensor bins_tensor_out bin_ct bin_ct_out",
)
def histogram(input: Tensor, bins=100, *, range=None, weight=None, density=False):
    """Counts per bin and the bins' edges, as ``(hist, bin_edges)``.

    `bins` is a number of equal bins over `range` (that of the elements by default), or a vector of
    increasing edges. `weight` counts elements by weights; `density` divides by the total and the
    bins' widths.

    >>> rushlight.histogram(rushlight.tensor([1.0, 2.0, 1.0]), bins=4, range=(0.0, 3.0)).hist
    tensor([0., 2., 1., 0.])
    """
    _check_values("histogram", input, weight, input.numel())
    if input._device.type == "meta":
        return _without_values(input, bins)
    _check_device("histogram", input)
    values = input._array.reshape(-1)
    if isinstance(bins, Tensor):
        edges = _check_edges("histogram", input, bins)
    else:
        edges = _range_edges("histogram", values, bins, *(range or (0, 0)))
    weights = None if weight is None else weight._array.reshape(-1)
    found = _count(values[:, None], [edges], weights, density)
    return results_of(histogram, make_tensor(found, input._dtype), make_tensor(edges, input._dtype))


def _without_values(input, bins):
    """The results of a histogram of a tensor without values."""
    count = bins.numel() if isinstance(bins, Tensor) else bins + 1
    if count < 1 or count < 2 and not isinstance(bins, Tensor):
        raise RuntimeError(f"histogram(): bins must be > 0, but got {bins}")
    return results_of(histogram, input.new_empty(count - 1), input.new_empty(count))


def _range_edges(name, values, bins, low, high):
    if bins <= 0:
        raise RuntimeError(f"{name}(): bins must be > 0, but got {bins}")
    if not values.size and low == high:
        low, high = 0, 1
    low, high = _own_range(name, values, float(low), float(high), 0.5)
    return _edges(values, bins, low, high)


@composite(
    result="hist bin_edges",
    sweep=_SWEEP,
    method=False,
    samples=lambda make: [(make(5, 2), [3, 2]), (make(5, 2), 2, [-1.0, 1.0, -2.0, 2.0])],
    differentiable=False,
    aten="default int_bins TensorList_bins",
)
def histogramdd(input: Tensor, bins, range=None, weight=None, density=False):
    """A histogram over the last dimension's coordinates, as ``(hist, bin_edges)``, the edges a
    tuple with one vector per coordinate.

    `bins` is a number of bins for all coordinates, one number each, or a vector of edges each;
    `range` the lowest and highest edge of each coordinate, one after the other.
    """
    if input.dim() < 2:
        raise RuntimeError(
            f"histogramdd: input tensor should have at least 2 dimensions, but got {input.dim()}"
        )
    _check_device("histogramdd", input)
    size = input.shape[-1]
    points = input._array.reshape(-1, size)
    _check_values("histogramdd", input, weight, len(points))
    bins = [bins] * size if isinstance(bins, int) else list(bins)
    if len(bins) != size:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input. "
            f"Got {len(bins)} bins for {size} coordinates"
        )
    limits = [0.0] * (2 * size) if range is None else list(range)
    if len(limits) != 2 * size:
        raise RuntimeError(
            f"histogramdd: for a {size}-dimensional histogram range should have {2 * size} "
            f"elements, but got {len(limits)}"
        )
    edges = []
    for i, item in enumerate(bins):
        if isinstance(item, Tensor):
            edges.append(_check_edges("histogramdd", input, item))
        else:
            low, high = limits[2 * i : 2 * i + 2]
            edges.append(_range_edges("histogramdd", points[:, i], item, low, high))
    weights = None if weight is None else weight._array.reshape(-1)
    found = make_tensor(_count(points, edges, weights, density), input._dtype)
    given = zip(bins, edges, strict=True)  # edges that were given come back themselves
    edges = [b if isinstance(b, Tensor) else make_tensor(e, input._dtype) for b, e in given]
    return results_of(histogramdd, found, tuple(edges))
