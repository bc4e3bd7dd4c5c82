"""Kernels of the ops that read and write at index tensors: dense arrays by one call, others by the
op's body."""

from __future__ import annotations

from rushlight.kernels import places
from rushlight.kernels.prepared import Remembered
from rushlight.tensor.shape import wrap_dim


def along(general, wrap=False):
    """The kernel of ``op(input, dim, index)`` that reads elements along a dimension."""

    def prepare(input, index, dim):
        return places.take_along(input, index, wrap_dim(dim, input.ndim), wrap)

    taken = places.checked(prepare, lambda input, index, dim: general(input, dim, index))

    def call(input, dim, index, sparse_grad=False):
        return taken(input, index, dim)

    call.general = general
    return call


def rows(general):
    """The kernel of ``op(input, dim, index)`` that reads slices at a vector of indices."""

    def prepare(input, index, dim):
        dim = wrap_dim(dim, input.ndim)
        return places.take_rows(input, index, dim) if index.ndim == 1 else None

    taken = places.checked(prepare, lambda input, index, dim: general(input, dim, index))

    def call(input, dim, index):
        return taken(input, index, dim)

    call.general = general
    return call


def adding_rows(general):
    """The kernel of ``op(input, dim, index, source, alpha=1)`` that adds slices."""

    def prepare(input, index, source, dim):
        return places.add_rows(input, index, source, wrap_dim(dim, input.ndim))

    known = Remembered()

    def call(input, dim, index, source, *, alpha=1):
        if type(alpha) is not int or alpha != 1:
            return general(input, dim, index, source, alpha=alpha)
        own = input.shape, input.strides, input.dtype
        key = own, index.shape, index.strides, source.shape, source.strides, dim
        found = known.get(key, known)
        if found is known:
            found = known.keep(key, prepare(input, index, source, dim))
        if found is not None:
            before = places.failures.value
            result = found(input, index, source)
            if result is not NotImplemented and places.failures.value == before:
                return result
        return general(input, dim, index, source)

    call.general = general
    return call


def writing(adding, general):
    """The kernel of ``op(input, dim, index, src)`` that writes (or adds) along a dimension."""
    known = Remembered()

    def call(input, dim, index, src):
        key = input.shape, input.strides, input.dtype, index.shape, index.strides, src.strides, dim
        found = known.get(key, known)
        if src.shape != index.shape:
            found = None
        elif found is known:
            at = wrap_dim(dim, input.ndim)
            found = known.keep(key, places.put_along(input, index, src, at, adding))
        if found is not None:
            before = places.failures.value
            result = found(input, index, src)
            if result is not NotImplemented and places.failures.value == before:
                return result
        return general(input, dim, index, src)

    call.general = general
    return call
