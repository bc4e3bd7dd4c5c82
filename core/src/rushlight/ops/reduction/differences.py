"""Finite differences and the trapezoidal rule."""

from __future__ import annotations

from rushlight.dtypes import BOOL, FLOAT
from rushlight.errors import shape_text
from rushlight.kernels.launch.execution import COMPILED_DTYPES
from rushlight.kernels.launch.prepared import by_layout
from rushlight.kernels.scan_sort import lines as line
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.op import composite, op
from rushlight.ops.shape.joining import cat
from rushlight.tensor.shape import wrap_dim
from rushlight.tensor.tensor import Tensor


def _parts(array, axis):
    """All elements but the first along a dimension, and all but the last."""
    before = (slice(None),) * axis
    return array[(*before, slice(1, None))], array[(*before, slice(None, -1))]


def _samples(make):
    return [((make(3, 4), 0), {}), ((make(2, 5, 3), 1), {}), ((make(4), -1), {})]


def _meta(change):
    def meta(input, dim):
        shape, axis = list(input.shape), wrap_dim(dim, input.ndim)
        shape[axis] += change
        return tuple(shape), dtype_of(input)

    return meta


@op(linear=True, batching="dims", method=False, samples=_samples, meta=_meta(-1))
def _differences(input: Tensor, dim):
    """The differences of neighbours along `dim`, which has elements."""
    after, before = _parts(input, wrap_dim(dim, input.ndim))
    return after - before


@op(linear=True, batching="dims", method=False, samples=_samples, meta=_meta(1))
def _differences_back(input: Tensor, dim):
    """The transpose: each element less the one behind it, with zeros around."""
    axis = wrap_dim(dim, input.ndim)
    shape = list(input.shape)
    shape[axis] += 1
    out = np.zeros(shape, input.dtype)
    after, before = _parts(out, axis)
    after += input
    before -= input
    return out


def _by_layout(general, back):
    return by_layout(
        lambda x, dim: line.prepare_differences(x, wrap_dim(dim, x.ndim), back), general, count=2
    )


_differences.cpu(_by_layout(_differences.op.body, False))
_differences_back.cpu(_by_layout(_differences_back.op.body, True))
_differences.gradient(input=lambda grad, dim: _differences_back(grad, dim))
_differences_back.gradient(input=lambda grad, dim: _differences(grad, dim))


def _is_compiled(tensor):
    """Whether differences of a tensor have a kernel."""
    array = tensor._array
    return type(array) is np.ndarray and array.dtype in COMPILED_DTYPES and array.flags.c_contiguous


@composite(
    samples=lambda make: [
        (make(3, 4),),
        (make(3, 4), 2, 0),
        (make(3, 4), 1, -1, make(3, 2), make(3, 1)),
    ]
)
def diff(
    input: Tensor,
    n=1,
    dim=-1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
):
    """The differences of neighbours along `dim`, `n` times; bools give their exclusive or.

    >>> rushlight.diff(rushlight.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    if not input.dim():
        raise RuntimeError("diff expects input to be at least one-dimensional")
    dim = wrap_dim(dim, input.dim())
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    for name, value in (("prepend", prepend), ("append", append)):
        if value is not None and value.dim() != input.dim():
            raise RuntimeError(
                f"diff expects {name} to have as many dimensions as input: shapes "
                f"{shape_text(value.shape)} and {shape_text(input.shape)}"
            )
    if n == 0:
        return input.clone()
    parts = [t for t in (prepend, input, append) if t is not None]
    for part in parts:
        fits = (i == dim or m == k for i, (m, k) in enumerate(zip(part.shape, input.shape)))  # noqa: B905
        if not all(fits):
            raise RuntimeError(
                f"diff expects the shape of tensor to prepend or append to match that of input "
                f"except along the differencing dimension; got {shape_text(part.shape)} for "
                f"{shape_text(input.shape)}, dim={dim}"
            )
    found = input if len(parts) == 1 else cat(tuple(parts), dim)
    for _ in range(min(n, found.shape[dim])):
        size = found.shape[dim]
        if size and _is_compiled(found):
            found = _differences(found, dim)
            continue
        count = max(size - 1, 0)
        after, before = found.narrow(dim, size - count, count), found.narrow(dim, 0, count)
        found = after.logical_xor(before) if found._dtype.category == BOOL else after - before
    return found


# --------------------------------------------------------------------------------------- gradient
def _edges(values, dim, spacing, order):
    """The one-sided differences at both ends, for even (a number) or uneven spacing."""
    size = values.shape[dim]

    def at(i):
        return values.narrow(dim, i if i >= 0 else size + i, 1)

    def gap(i):
        return spacing if not isinstance(spacing, list) else spacing[i]

    if order == 1:
        return (at(1) - at(0)) / gap(0), (at(-1) - at(-2)) / gap(-1)
    first, second = gap(0), gap(1)
    a = -(2.0 * first + second) / (first * (first + second))
    b, c = (first + second) / (first * second), -first / (second * (first + second))
    left = at(0) * a + at(1) * b + at(2) * c
    first, second = gap(-2), gap(-1)
    a, b = second / (first * (first + second)), -(second + first) / (first * second)
    c = (2.0 * second + first) / (second * (first + second))
    return left, at(-3) * a + at(-2) * b + at(-1) * c


def _slopes(values, dim, spacing, order):
    """Central differences inside, one-sided ones at the ends."""
    size = values.shape[dim]
    before, middle, after = (values.narrow(dim, i, size - 2) for i in range(3))
    if not isinstance(spacing, Tensor):
        inner = (after - before) / (2.0 * spacing)
        left, right = _edges(values, dim, spacing, order)
        return cat((left, inner, right), dim)
    gaps = diff(spacing)
    shape = [1] * values.dim()
    shape[dim] = size - 2
    first, second = gaps[:-1].reshape(shape), gaps[1:].reshape(shape)
    inner = -second / (first * (first + second)) * before
    inner = inner + (second - first) / (first * second) * middle
    inner = inner + first / (second * (first + second)) * after
    left, right = _edges(values, dim, [gaps[i] for i in range(size - 1)], order)
    return cat((left, inner, right), dim)


def _spacings(spacing, count, dims):
    if spacing is None:
        return [1.0] * count
    if not isinstance(spacing, (tuple, list)):
        if isinstance(spacing, Tensor) and spacing.dim():
            spacing = [spacing]
        else:
            return [spacing.item() if isinstance(spacing, Tensor) else spacing] * count
    if len(spacing) != count:
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
            f"{count} (as many as dimensions {dims}), but got a list of length {len(spacing)}"
        )
    return list(spacing)


@composite(
    method=False,
    limited=False,
    samples=lambda make: [
        (make(5),),
        (make(3, 4), {"spacing": 0.5, "dim": 1}),
        (make(3, 4), {"edge_order": 2}),
    ],
    aten="scalarint scalararray array scalarrayint scalarrayarray tensorarrayint tensorarray",
)
def gradient(input: Tensor, *, spacing=None, dim=None, edge_order=1):
    """Slopes along each of `dim` (all by default), as a tuple, by second-order central differences.
    `spacing`: the distance of neighbours, one per dimension, or tensors of coordinates.

    >>> rushlight.gradient(rushlight.tensor([1.0, 4.0, 9.0]))[0]
    tensor([3., 4., 5.])
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = range(input.dim()) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = [wrap_dim(d, input.dim()) for d in dims]
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"dim {dims[0]} appears multiple times in the list of dims")
    spacings = _spacings(spacing, len(dims), dims)
    for d, step in zip(dims, spacings, strict=True):
        if input.shape[d] < edge_order + 1:
            raise RuntimeError(
                f"torch.gradient expected each dimension size to be at least edge_order+1; input "
                f"has shape {shape_text(input.shape)}, dim={d}, edge_order={edge_order}"
            )
        if isinstance(step, Tensor):
            if step._device is not input._device:
                raise RuntimeError(
                    "torch.gradient expected each tensor to be on the same device, but got devices "
                    f"{input._device} and {step._device}"
                )
            if step.dim() != 1 or step.shape[0] != input.shape[d]:
                raise RuntimeError(
                    f"torch.gradient expected each element of spacing to have one dimension and as "
                    f"many elements as input has along dim {d} ({input.shape[d]}); got shape "
                    f"{shape_text(step.shape)}"
                )
    values = input if input._dtype.category >= FLOAT else input * 1.0
    return tuple(
        _slopes(values, d, step, edge_order) for d, step in zip(dims, spacings, strict=True)
    )


# ------------------------------------------------------------------------------------- trapezoids
def _check_distance(name, dx):
    if isinstance(dx, (bool, complex)):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")


def _panels(name, y, x, dx, dim):
    """The areas under the line between neighbours."""
    if not y.dim():
        return None
    dim = wrap_dim(dim, y.dim())
    size = y.shape[dim]
    sums = y.narrow(dim, 1, size - 1) + y.narrow(dim, 0, size - 1) if size else y
    if x is None:
        _check_distance(name, dx)
        return sums * (dx / 2.0)
    if not x.dim():
        return None
    if x.dim() == 1:
        if x.shape[0] != size:
            raise RuntimeError(
                f"{name}: There must be one `x` value for each sample point; x has shape "
                f"{shape_text(x.shape)}, y {shape_text(y.shape)}, dim={dim}"
            )
        gaps = diff(x).reshape([-1 if i == dim else 1 for i in range(y.dim())])
    else:
        gaps = diff(x, dim=dim - y.dim())
    return gaps * sums / 2.0


def _evenly_spaced(name, y, dx, dim):
    """The sum without half of both ends, times the distance: integers are summed in int64."""
    _check_distance(name, dx)
    ends = y.select(dim, 0) + y.select(dim, -1)
    return (y.sum(dim) - ends * 0.5) * dx


@composite(
    schemas=(
        "trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
        "trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    ),
    method=False,
    samples=lambda make: [
        (make(3, 4),),
        (make(3, 4), make(4)),
        (make(3, 4), {"dx": 0.5, "dim": 0}),
    ],
    aten="x dx",
)
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx=None, dim=-1):
    """The integral along `dim` by the trapezoidal rule, at points `x` or `dx` (1) apart."""
    if dx is not None and x is not None:
        raise TypeError("trapezoid(): give either 'x' or 'dx', not both")
    name = "trapezoid"
    if x is None and y.dim() and y.shape[dim]:
        return _evenly_spaced(name, y, 1 if dx is None else dx, wrap_dim(dim, y.dim()))
    areas = _panels(name, y, x, 1 if dx is None else dx, dim)
    if areas is None:
        raise RuntimeError("trapezoid: x and y need at least one dimension, got a 0-d tensor")
    return areas.sum(dim)


@composite(
    schemas=(
        "trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
        "trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor",
    ),
    method=False,
    samples=lambda make: [
        (make(3, 4),),
        (make(3, 4), make(4)),
        (make(3, 4), {"dx": 0.5, "dim": 0}),
    ],
    aten="x dx",
)
def trapz(y: Tensor, x: Tensor | None = None, *, dx=None, dim=-1):
    """An older name of :func:`rushlight.trapezoid`."""
    return trapezoid(y, x, dx=dx, dim=dim)


@composite(
    schemas=(
        "cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
        "cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    ),
    method=False,
    samples=lambda make: [
        (make(3, 4),),
        (make(3, 4), make(4)),
        (make(3, 4), {"dx": 0.5, "dim": 0}),
    ],
    aten="x dx",
)
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx=None, dim=-1):
    """The running integral along `dim` by the trapezoidal rule, one element fewer than `y` has."""
    if dx is not None and x is not None:
        raise TypeError("cumulative_trapezoid(): give either 'x' or 'dx', not both")
    areas = _panels("cumulative_trapezoid", y, x, 1 if dx is None else dx, dim)
    if areas is None:
        raise RuntimeError("cumulative_trapezoid: x and y need at least one dimension")
    return areas.cumsum(dim)
