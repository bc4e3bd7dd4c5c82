"""Discrete Fourier transforms: by compiled kernels or by NumPy, in the precision of the input.

Three ops hold the derivatives (complex to complex, real to half complex, half complex to real);
the public functions check, pad or cut, and name the scale.
"""

from __future__ import annotations

import functools

from rushlight.dtypes import COMPLEX, FLOAT, complex64, default, float32
from rushlight.kernels.fft import rows_and_columns as fourier
from rushlight.kernels.launch.prepared import by_layout, nothing
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._calls.direct import tensor_of
from rushlight.ops._table.domains import positive
from rushlight.ops._table.op import composite, op
from rushlight.ops.fft.orders import by_stride, laid_out, last_given, walked
from rushlight.ops.shape.complex_views import real
from rushlight.ops.shape.joining import cat
from rushlight.tensor import construction
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.shape import wrap_dim
from rushlight.tensor.tensor import EXACT, Tensor

_NORMS = fourier.NORMS
_OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


# ----------------------------------------------------------------------------- the transforms
def _complex_samples(make):
    from rushlight.dtypes import complex128

    if make.dtype.category != FLOAT:
        return [((make(3, 4), (1,), "backward", True), {})]
    x = make(3, 4).detach().to(complex128 if make.dtype.itemsize == 8 else make.dtype.to_complex())
    x = x.requires_grad_() if make.requires_grad else x
    return [((x, (1,), "backward", True), {}), ((x, (0, 1), "ortho", False), {})]


def _complex_meta(input, dim, _normalization, _forward):
    if not dim:
        return input.copy()
    return laid_out(input, by_stride(input, dim), input.shape, dtype_of(input))


@op(
    linear=True, batching="dims", method=False, samples=_complex_samples, saves="dim forward",
    meta=_complex_meta,
)  # fmt: skip
def _fft_c2c(input: Tensor, dim, normalization, forward):
    """The transform of complex numbers over `dim`, or its inverse; `normalization` scales as that
    of the direction does."""
    if not dim:
        return input.copy()
    function = fourier.transform if forward else fourier.transform_back
    with np.errstate(all="ignore"):
        return walked(input, by_stride(input, dim), function, norm=normalization)


def _opposite(normalization):
    """The norm by which the other direction has the same scale."""
    return _OPPOSITE[normalization]


_fft_c2c.gradient(
    input=lambda grad, dim, normalization, forward: _fft_c2c(
        grad, dim, _opposite(normalization), not forward
    )
)


def _half(size):
    return size // 2 + 1


def _real_meta(input, dim, normalization, onesided):
    shape = list(input.shape)
    if onesided:
        shape[dim[-1]] = _half(shape[dim[-1]])
    return laid_out(input, last_given(input, dim), shape, dtype_of(input).to_complex())


@op(
    linear=True, batching="dims", method=False, meta=_real_meta, saves="dim onesided",
    samples=lambda make: [
        ((make(3, 4), (1,), "backward", True), {}),
        ((make(3, 5), (0, 1), "ortho", True), {}),
        ((make(3, 4), (1,), "forward", False), {}),
    ],
)  # fmt: skip
def _fft_r2c(input: Tensor, dim, normalization, onesided):
    """The transform of real numbers; `onesided`: the first half of the last of `dim`."""
    function = fourier.real_transform if onesided else fourier.transform
    with np.errstate(all="ignore"):
        return walked(input, last_given(input, dim), function, norm=normalization)


def _real_gradient(grad, input_shape, dim, normalization, onesided):
    """The real part of the transform back; of a half that of real numbers, to which all but the
    first element (and the last of an even size) contribute twice."""
    opposite = _opposite(normalization)
    if not onesided:
        return real(_fft_c2c(grad, dim, opposite, False))
    size = input_shape[dim[-1]]
    grad = _fft_c2c(grad, dim[:-1], opposite, False) if len(dim) > 1 else grad
    return _from_halved(grad, dim[-1:], opposite, size)


_fft_r2c.gradient(input=_real_gradient)


def _back_samples(make):
    from rushlight.dtypes import complex128

    if make.dtype.category != FLOAT:
        return []
    kind = complex128 if make.dtype.itemsize == 8 else make.dtype.to_complex()
    x = make(3, 4).detach().to(kind)
    x = x.requires_grad_() if make.requires_grad else x
    return [((x, (1,), "backward", 6), {}), ((x, (0, 1), "ortho", 7), {})]


def _halved_samples(make):
    return [((x, dim[-1:], norm, size), {}) for (x, dim, norm, size), _ in _back_samples(make)]


def _back_meta(input, dim, normalization, last_dim_size):
    shape = list(input.shape)
    shape[dim[-1]] = last_dim_size
    if len(dim) > 1:
        input = laid_out(input, by_stride(input, dim[:-1]), input.shape, dtype_of(input))
    return laid_out(input, dim[-1:], shape, dtype_of(input).to_real())


@op(
    linear=True, batching="dims", method=False, samples=_back_samples, meta=_back_meta,
    barred="complex", saves="dim",
)  # fmt: skip
def _fft_c2r(input: Tensor, dim, normalization, last_dim_size):
    """Real numbers from the first half of their transform."""
    with np.errstate(all="ignore"):
        if len(dim) > 1:
            first = by_stride(input, dim[:-1])
            input = walked(input, first, fourier.transform_back, norm=normalization)
        back = fourier.real_transform_back
        return walked(input, dim[-1:], back, size=last_dim_size, norm=normalization)


@op(
    linear=True,
    batching="dims",
    method=False,
    samples=lambda make: [
        ((make(3, 4), (1,), "backward"), {}),
        ((make(5, 3), (0,), "ortho"), {}),
    ],
    meta=lambda input, dim, normalization: _real_meta(input, dim, normalization, True),
)
def _to_doubled(input: Tensor, dim, normalization):
    """The first half of the transform of real numbers over one dimension, all but its first element
    (and the last of an even size) doubled: they stand for two."""
    with np.errstate(all="ignore"):
        return walked(input, dim, fourier.half_transposed, norm=normalization)


@op(linear=True, batching="dims", method=False, samples=_halved_samples, meta=_back_meta)
def _from_halved(input: Tensor, dim, normalization, last_dim_size):
    """Real numbers from the first half of their transform over one dimension, all but its first
    element (and the last of an even size) halved."""
    back = fourier.half_transposed_back
    with np.errstate(all="ignore"):
        return walked(input, dim, back, size=last_dim_size, norm=normalization)


_to_doubled.gradient(
    input=lambda grad, input_shape, dim, normalization: _fft_c2r(
        grad, dim, _opposite(normalization), input_shape[dim[-1]]
    )
)
_from_halved.gradient(
    input=lambda grad, dim, normalization, last_dim_size: _fft_r2c(
        grad, dim, _opposite(normalization), True
    )
)


def _back_gradient(grad, input_shape, dim, normalization, last_dim_size):
    """All but the first element (and the last of an even size) stand for two."""
    opposite = _opposite(normalization)
    found = _to_doubled(grad, dim[-1:], opposite)
    return _fft_c2c(found, dim[:-1], opposite, True) if len(dim) > 1 else found


_fft_c2r.gradient(input=_back_gradient)


# ------------------------------------------------------------------------------- what is checked
def _check_norm(name, norm):
    found = "backward" if norm is None else norm
    if found not in _NORMS:
        raise RuntimeError(
            f'{name}: Invalid normalization mode: "{norm}"; expected one of {_NORMS}'
        )
    return found


def _prepared(name, input, complex_, real_only=False):
    """The input in the dtype that is transformed."""
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' must be Tensor, not {type(input).__name__}")
    found = input._dtype
    if real_only and found.category == COMPLEX:
        raise RuntimeError(f"{name} expects a real input tensor, but got {found}")
    if found.category < FLOAT:
        found = default.float
    if found.to_real().itemsize < 4:
        raise RuntimeError(
            f"{name}: Unsupported dtype {found}: transforms on the CPU take float32, float64, "
            "complex64 and complex128"
        )
    return input.to(found.to_complex() if complex_ else found)


def _resized(input, dim, size):
    """Cut, or padded with zeros, along `dim`."""
    have = input.shape[dim]
    if have == size:
        return input
    if have > size:
        return input.narrow(dim, 0, size)
    shape = list(input.shape)
    shape[dim] = size - have
    return cat((input, input.new_zeros(tuple(shape))), dim)


def _check_size(name, size, dim):
    if size < 1:
        raise RuntimeError(f"{name}: Invalid number of data points ({size}) specified in dim {dim}")


def _one(name, input, n, dim):
    """The dimension of a one-dimensional transform, and the input resized."""
    if not input.dim():
        raise IndexError(f"{name}: Dimension specified as {dim} but the tensor has no dimensions")
    axis = wrap_dim(dim, input.dim())
    if n is not None:
        _check_size(name, n, axis)
        input = _resized(input, axis, n)
    else:
        _check_size(name, input.shape[axis], axis)
    return input, axis


def _many(name, input, s, dim):
    """``(dims, sizes)`` of a transform over several dimensions."""
    ndim = input.dim()
    if isinstance(dim, int):
        dim = (dim,)
    if isinstance(s, int):
        s = (s,)
    if dim is not None:
        axes = tuple(wrap_dim(d, ndim) for d in dim)
        if len(set(axes)) != len(axes):
            raise RuntimeError(f"{name}: FFT dims must be unique, got {tuple(dim)}")
        if s is not None and len(s) != len(axes):
            raise RuntimeError(
                f"{name}: When given, dim and shape arguments must have the same length; got "
                f"dim={tuple(dim)}, s={tuple(s)}"
            )
    elif s is not None:
        if len(s) > ndim:
            raise RuntimeError(
                f"{name}: Got shape with {len(s)} values but input has only {ndim} dimensions"
            )
        axes = tuple(range(ndim - len(s), ndim))
    else:
        axes = tuple(range(ndim))
    sizes = [input.shape[a] for a in axes] if s is None else list(s)
    sizes = [input.shape[a] if n == -1 else n for a, n in zip(axes, sizes, strict=True)]
    for a, n in zip(axes, sizes, strict=True):
        _check_size(name, n, a)
    return axes, sizes


def _all_resized(input, axes, sizes):
    for a, n in zip(axes, sizes, strict=True):
        input = _resized(input, a, n)
    return input


# The domain: unsigned integers keep its values, whose differences float32 then holds.
_PUBLIC = {"method": False, "oracle": "_C._fft", "domain": positive}


# ------------------------------------------------------------------------------- one dimension
_FFT, _IFFT, _RFFT, _IRFFT, _FFT2, _IFFT2, _RFFT2, _IRFFT2 = (
    by_layout(prepare, nothing)
    for prepare in (
        fourier.complex_of,
        fourier.complex_back_of,
        fourier.real_of,
        fourier.real_back_of,
        fourier.plane_of,
        fourier.plane_back_of,
        fourier.real_plane_of,
        fourier.real_plane_back_of,
    )
)
_SINGLE = frozenset({float32.code, complex64.code})
_PLACES = {None: 0, **{norm: place for place, norm in enumerate(_NORMS)}}


def _at_once(calls, input, n, dim, norm):
    """The transform of a tensor that is in no graph by one call, if it is dense, its rows are
    transformed as they are and a kernel takes their size; else NotImplemented."""
    if type(input) not in EXACT or STATE.modes or input._node is not None or type(dim) is not int:
        return NotImplemented
    array = input._array
    if input._dtype.code not in _SINGLE or type(array) is not np.ndarray:
        return NotImplemented
    if norm is not None and type(norm) is not str:
        return NotImplemented
    if n is not None:
        size = array.shape[-1] if array.ndim and dim == -1 else 0
        if n != (2 * (size - 1) if calls is _IRFFT else size):
            return NotImplemented
    place = _PLACES.get(norm)
    out = calls.short.call(input, dim, place)
    if out is not NotImplemented:
        return construction.inferred(out)
    found = NotImplemented if place is None else calls(array, dim, place)
    return found if found is NotImplemented else tensor_of(found)


def _plane_at_once(calls, input, s, dim, norm):
    """:func:`_at_once` of the last two dimensions."""
    if type(input) not in EXACT or STATE.modes or input._node is not None or s is not None:
        return NotImplemented
    array = input._array
    if input._dtype.code not in _SINGLE or type(array) is not np.ndarray:
        return NotImplemented
    if norm is not None and type(norm) is not str or not _are_last_two(dim, array.ndim):
        return NotImplemented
    place, found = _PLACES.get(norm), NotImplemented
    if place is not None and array.flags.c_contiguous:
        found = calls(array, place)
    return found if found is NotImplemented else tensor_of(found)


def _are_last_two(dim, ndim):
    """Whether the dimensions of a transform are a plane's, the last one innermost."""
    return ndim == 2 if dim is None else dim in ((-2, -1), (ndim - 2, ndim - 1))


half_at_once = functools.partial(_at_once, _RFFT)  # of input, n, dim, norm

_LINES = [(), (3, 0), (6, -1, "ortho")]
_PLANES = [(), ((2, 5),), (None, (0,), "ortho")]


def _single(name):
    """ATen's schema of a transform over one dimension."""
    return (f"fft_{name}(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",)


@composite(**_PUBLIC, schemas=_single("fft"), samples=_LINES, autocast="float32")
def fft_fft(input: Tensor, n=None, dim=-1, norm=None):
    """The transform along `dim`, cut or padded with zeros to `n` points. `norm` says which
    direction is scaled by 1/n: ``"backward"`` (default), ``"forward"``; ``"ortho"``: both by its
    root."""
    found = _at_once(_FFT, input, n, dim, norm)
    if found is not NotImplemented:
        return found
    norm = _check_norm("fft", norm)
    if isinstance(input, Tensor) and input._dtype.category < COMPLEX:
        values, axis = _one("fft", _prepared("fft", input, False), n, dim)
        return _fft_r2c(values, (axis,), norm, False)
    values, axis = _one("fft", _prepared("fft", input, True), n, dim)
    return _fft_c2c(values, (axis,), norm, True)


@composite(**_PUBLIC, schemas=_single("ifft"), samples=_LINES, autocast="float32")
def fft_ifft(input: Tensor, n=None, dim=-1, norm=None):
    """The inverse of :func:`fft`."""
    found = _at_once(_IFFT, input, n, dim, norm)
    if found is not NotImplemented:
        return found
    norm = _check_norm("ifft", norm)
    values, axis = _one("ifft", _prepared("ifft", input, True), n, dim)
    return _fft_c2c(values, (axis,), norm, False)


@composite(**_PUBLIC, schemas=_single("rfft"), samples=_LINES, autocast="float32")
def fft_rfft(input: Tensor, n=None, dim=-1, norm=None):
    """The first ``n // 2 + 1`` elements of the transform of real numbers."""
    found = _at_once(_RFFT, input, n, dim, norm)
    if found is not NotImplemented:
        return found
    norm = _check_norm("rfft", norm)
    values, axis = _one("rfft", _prepared("rfft", input, False, True), n, dim)
    return _fft_r2c(values, (axis,), norm, True)


def _to_real(name, input, n, dim, norm):
    values = _prepared(name, input, True)
    if not values.dim():
        raise IndexError(f"{name}: Dimension specified as {dim} but the tensor has no dimensions")
    axis = wrap_dim(dim, values.dim())
    size = 2 * (values.shape[axis] - 1) if n is None else n
    _check_size(name, size, axis)
    return _fft_c2r(_resized(values, axis, _half(size)), (axis,), norm, size)


@composite(**_PUBLIC, schemas=_single("irfft"), samples=_LINES, autocast="float32")
def fft_irfft(input: Tensor, n=None, dim=-1, norm=None):
    """The inverse of :func:`rfft`: `n` real numbers (default: twice the input's size less two)."""
    found = _at_once(_IRFFT, input, n, dim, norm)
    if found is not NotImplemented:
        return found
    return _to_real("irfft", input, n, dim, _check_norm("irfft", norm))


@composite(**_PUBLIC, schemas=_single("hfft"), samples=_LINES, autocast="float32")
def fft_hfft(input: Tensor, n=None, dim=-1, norm=None):
    """The real transform of numbers with Hermitian symmetry, given their first half."""
    norm = _opposite(_check_norm("hfft", norm))
    values = _prepared("hfft", input, True)
    return _to_real("hfft", values.conj(), n, dim, norm)


@composite(**_PUBLIC, schemas=_single("ihfft"), samples=_LINES, autocast="float32")
def fft_ihfft(input: Tensor, n=None, dim=-1, norm=None):
    """The inverse of :func:`hfft`: the first half of what real numbers are the transform of."""
    norm = _opposite(_check_norm("ihfft", norm))
    values, axis = _one("ihfft", _prepared("ihfft", input, False, True), n, dim)
    return _fft_r2c(values, (axis,), norm, True).conj()


# --------------------------------------------------------------------------- several dimensions
def _several(name, dims="int[1]? dim=None"):
    """ATen's schema of a transform over several dimensions."""
    return (f"fft_{name}(Tensor self, SymInt[1]? s=None, {dims}, str? norm=None) -> Tensor",)


@composite(**_PUBLIC, schemas=_several("fftn"), samples=_PLANES, autocast="float32")
def fft_fftn(input: Tensor, s=None, dim=None, norm=None):
    """The transform over `dim` (all by default, or the last ``len(s)``), resized to `s`."""
    return _complex_many("fftn", input, s, dim, norm, True)


@composite(**_PUBLIC, schemas=_several("ifftn"), samples=_PLANES, autocast="float32")
def fft_ifftn(input: Tensor, s=None, dim=None, norm=None):
    """The inverse of :func:`fftn`."""
    return _complex_many("ifftn", input, s, dim, norm, False)


def _complex_many(name, input, s, dim, norm, forward):
    norm = _check_norm(name, norm)
    values = _prepared(name, input, True)
    axes, sizes = _many(name, values, s, dim)
    return _fft_c2c(_all_resized(values, axes, sizes), axes, norm, forward)


@composite(**_PUBLIC, schemas=_several("rfftn"), samples=_PLANES, autocast="float32")
def fft_rfftn(input: Tensor, s=None, dim=None, norm=None):
    """The transform of real numbers over several dimensions; half of the last of them."""
    return _half_many("rfftn", input, s, dim, _check_norm("rfftn", norm))


def _half_many(name, input, s, dim, norm):
    values = _prepared(name, input, False, True)
    axes, sizes = _many(name, values, s, dim)
    if not axes:
        raise RuntimeError(f"{name} must transform at least one axis")
    return _fft_r2c(_all_resized(values, axes, sizes), axes, norm, True)


@composite(**_PUBLIC, schemas=_several("irfftn"), samples=_PLANES, autocast="float32")
def fft_irfftn(input: Tensor, s=None, dim=None, norm=None):
    """The inverse of :func:`rfftn`; the last size is ``s[-1]``, or twice the input's less two."""
    return _real_many("irfftn", input, s, dim, _check_norm("irfftn", norm))


def _real_many(name, input, s, dim, norm):
    values = _prepared(name, input, True)
    if not values.dim() and dim is None:
        raise RuntimeError(f"{name} must transform at least one axis")
    axes, sizes = _last_doubled(name, values, s, dim)
    inner = [*sizes[:-1], _half(sizes[-1])]
    return _fft_c2r(_all_resized(values, axes, inner), axes, norm, sizes[-1])


def _last_doubled(name, values, s, dim):
    axes, sizes = _many(name, values, s, dim)
    if not axes:
        raise RuntimeError(f"{name} must transform at least one axis")
    given = None if s is None else s if isinstance(s, int) else s[-1]
    if given in (None, -1):
        sizes[-1] = 2 * (values.shape[axes[-1]] - 1)
        _check_size(name, sizes[-1], axes[-1])
    return axes, sizes


@composite(**_PUBLIC, schemas=_several("hfftn"), samples=_PLANES, autocast="float32")
def fft_hfftn(input: Tensor, s=None, dim=None, norm=None):
    """:func:`hfft` over several dimensions: the last one is halved, the others are whole."""
    norm = _check_norm("hfftn", norm)
    values = _prepared("hfftn", input, True)
    axes, sizes = _last_doubled("hfftn", values, s, dim)
    values = _all_resized(values, axes, [*sizes[:-1], _half(sizes[-1])])
    if axes[:-1]:
        values = _fft_c2c(values, axes[:-1], norm, True)
    return _fft_c2r(values.conj(), axes[-1:], _opposite(norm), sizes[-1])


@composite(**_PUBLIC, schemas=_several("ihfftn"), samples=_PLANES, autocast="float32")
def fft_ihfftn(input: Tensor, s=None, dim=None, norm=None):
    """The inverse of :func:`hfftn`."""
    norm = _check_norm("ihfftn", norm)
    values = _prepared("ihfftn", input, False, True)
    axes, sizes = _many("ihfftn", values, s, dim)
    if not axes:
        raise RuntimeError("ihfftn must transform at least one axis")
    values = _all_resized(values, axes, sizes)
    values = _fft_r2c(values, axes[-1:], _opposite(norm), True).conj()
    return _fft_c2c(values, axes[:-1], norm, False) if axes[:-1] else values


def _two(name, function, calls=None):
    def call(input: Tensor, s=None, dim=(-2, -1), norm=None):
        if calls is not None:
            found = _plane_at_once(calls, input, s, dim, norm)
            if found is not NotImplemented:
                return found
        return function(input, s, dim, norm)

    call.__name__ = "fft_" + name
    call.__doc__ = f":func:`{name[:-1]}n` over two dimensions, the last ones by default."
    samples = [(), ((2, 5),), (None, (-1, 0), "ortho")]
    return composite(
        **_PUBLIC, name="fft_" + name, samples=samples, autocast="float32",
        schemas=_several(name, "int[1] dim=[-2, -1]"),
    )(call)  # fmt: skip


fft_fft2 = _two("fft2", fft_fftn, _FFT2)
fft_ifft2 = _two("ifft2", fft_ifftn, _IFFT2)
fft_rfft2 = _two("rfft2", fft_rfftn, _RFFT2)
fft_irfft2 = _two("irfft2", fft_irfftn, _IRFFT2)
fft_hfft2 = _two("hfft2", fft_hfftn)
fft_ihfft2 = _two("ihfft2", fft_ihfftn)


# ----------------------------------------------------------------------------- orders and shifts
def _shift(input, dim, sign):
    dims = range(input.dim()) if dim is None else (dim,) if isinstance(dim, int) else dim
    dims = tuple(wrap_dim(d, input.dim()) for d in dims)
    if not dims:
        return input.clone()
    sizes = [input.shape[d] for d in dims]
    return input.roll(tuple(n // 2 if sign > 0 else (n + 1) // 2 for n in sizes), dims)


@composite(**_PUBLIC, samples=[(), (1,), ((0, 1),)])
def fft_fftshift(input: Tensor, dim=None):
    """The frequency 0 in the middle of each of `dim` (all by default)."""
    return _shift(input, dim, 1)


@composite(**_PUBLIC, samples=[(), (1,), ((0, 1),)])
def fft_ifftshift(input: Tensor, dim=None):
    """The inverse of :func:`fftshift`."""
    return _shift(input, dim, -1)
