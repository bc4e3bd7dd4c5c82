"""Transform: the base class, its inverse, and what composes transforms."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from rushlight import Size, zeros_like
from rushlight.distributions import constraints
from rushlight.distributions.utils import _sum_rightmost, lazy_property

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushlight.tensor.tensor import Tensor


class Transform:
    """An invertible map between two sets, with the logarithm of its Jacobian's determinant.

    A subclass gives `domain`, `codomain`, ``_call``, and where they exist ``_inverse`` and
    ``log_abs_det_jacobian``; `bijective` and `sign` (of the derivative, for monotone maps of
    numbers) where they hold. With ``cache_size=1`` the last pair (x, y) is kept, so that the
    inverse of a fresh result costs nothing and is exact.
    """

    bijective = False
    domain: constraints.Constraint
    codomain: constraints.Constraint

    def __init__(self, cache_size=0):
        self._cache_size = cache_size
        self._inv = None
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size must be 0 or 1, got {cache_size}")
        self._cached_x_y = None, None
        super().__init__()

    def __getstate__(self):
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """The number of dimensions of one value, where domain and codomain agree on it."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError(
            f"{type(self).__name__} has event_dim {self.domain.event_dim} in its domain and "
            f"{self.codomain.event_dim} in its codomain; ask one of them"
        )

    @property
    def inv(self) -> Transform:
        """The inverse transform; its inverse is this very object."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self):
        """1 or -1 (or a tensor): whether the map increases or decreases."""
        raise NotImplementedError(f"{type(self).__name__} has no sign")

    def with_cache(self, cache_size=1):
        """The same transform with another cache size."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, x: Tensor) -> Tensor:
        """y of x."""
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y):
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x):
        raise NotImplementedError(f"{type(self).__name__} does not define _call")

    def _inverse(self, y):
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x, y):
        """``log |det dy/dx|`` at x and y, without the event dimensions."""
        raise NotImplementedError(f"{type(self).__name__} has no log_abs_det_jacobian")

    def forward_shape(self, shape):
        """The shape of y for a shape of x."""
        return shape

    def inverse_shape(self, shape):
        """The shape of x for a shape of y."""
        return shape

    def __repr__(self):
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """The inverse of a transform, which does the work."""

    def __init__(self, transform):
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    def __getstate__(self):
        return dict(self.__dict__)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        """The codomain of the transform."""
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        """The domain of the transform."""
        return self._inv.domain

    @property
    def bijective(self):
        """Whether the transform is."""
        return self._inv.bijective

    @property
    def sign(self):
        """The sign of the transform."""
        return self._inv.sign

    @property
    def inv(self):
        """The transform."""
        return self._inv

    def with_cache(self, cache_size=1):
        """The inverse of the transform with another cache size."""
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = None

    def __call__(self, x):
        """The transform's inverse of x."""
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x, y):
        """Minus that of the transform."""
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        """The transform's inverse_shape."""
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        """The transform's forward_shape."""
        return self._inv.forward_shape(shape)

    def __repr__(self):
        return f"{type(self).__name__}({self._inv!r})"


def check_dimensions(value, needed):
    """Raise ValueError for a value of fewer dimensions than an event has."""
    if value.dim() < needed:
        raise ValueError(f"too few dimensions: expected {needed} or more, got {value.dim()}")


class ComposeTransform(Transform):
    """Several transforms one after the other, the first of `parts` first."""

    def __init__(self, parts: Sequence[Transform], cache_size=0):
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = None

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        """The first part's domain, widened to as many dimensions as later parts need."""
        if not self.parts:
            return constraints.real
        dims = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            dims += part.domain.event_dim - part.codomain.event_dim
            dims = max(dims, part.domain.event_dim)
        return _widened(self.parts[0].domain, dims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        """The last part's codomain, widened to as many dimensions as earlier parts have."""
        if not self.parts:
            return constraints.real
        dims = self.parts[0].domain.event_dim
        for part in self.parts:
            dims += part.codomain.event_dim - part.domain.event_dim
            dims = max(dims, part.codomain.event_dim)
        return _widened(self.parts[-1].codomain, dims)

    @lazy_property
    def bijective(self):
        """Whether all parts are."""
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self):
        """The product of the parts' signs."""
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self):
        """The inverses of the parts in reverse."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv, inverse._inv = weakref.ref(inverse), weakref.ref(self)
        return inverse

    def with_cache(self, cache_size=1):
        """The same with another cache size of every part."""
        if self._cache_size == cache_size:
            return self
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x):
        """The last part of ... of the first part of x."""
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x, y):
        """The sum of the parts'."""
        if not self.parts:
            return zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        total, dims = None, self.domain.event_dim
        for part, before, after in zip(self.parts, values[:-1], values[1:], strict=True):
            term = part.log_abs_det_jacobian(before, after)
            term = _sum_rightmost(term, dims - part.domain.event_dim)
            total = term if total is None else total + term
            dims += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape):
        """Through all parts."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        """Back through all parts."""
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        parts = ",\n    ".join(repr(part) for part in self.parts)
        return f"{type(self).__name__}(\n    {parts}\n)"


def _widened(constraint, dims):
    more = dims - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last `reinterpreted_batch_ndims` batch dimensions belong to the event, so
    that its log determinant sums over them."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size=1):
        """The same with another cache size."""
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(
            self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size
        )

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        """The base's domain, with the dimensions added."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        """The base's codomain, with the dimensions added."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self):
        """Whether the base is."""
        return self.base_transform.bijective

    @property
    def sign(self):
        """The base's sign."""
        return self.base_transform.sign

    def _call(self, x):
        check_dimensions(x, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y):
        check_dimensions(y, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        """The base's, summed over the reinterpreted dimensions."""
        result = self.base_transform.log_abs_det_jacobian(x, y)
        return _sum_rightmost(result, self.reinterpreted_batch_ndims)

    def __repr__(self):
        name = type(self).__name__
        return f"{name}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape):
        """The base's."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        """The base's."""
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """The last dimensions, of `in_shape`, as `out_shape`."""

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size=0):
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(
                f"in_shape {tuple(in_shape)} and out_shape {tuple(out_shape)} have different "
                "numbers of elements"
            )
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self):
        """Real tensors of as many dimensions as in_shape."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self):
        """Real tensors of as many dimensions as out_shape."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size=1):
        """The same with another cache size."""
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _batch(self, shape, event):
        if len(shape) < len(event):
            raise ValueError(f"too few dimensions: expected {tuple(event)} last in {tuple(shape)}")
        cut = len(shape) - len(event)
        if tuple(shape[cut:]) != tuple(event):
            raise ValueError(
                f"shape mismatch: expected the last sizes {tuple(event)}, got {tuple(shape[cut:])}"
            )
        return tuple(shape[:cut])

    def _call(self, x):
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y):
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        """Zero."""
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape):
        """The last sizes replaced by out_shape."""
        return Size(self._batch(shape, self.in_shape) + tuple(self.out_shape))

    def inverse_shape(self, shape):
        """The last sizes replaced by in_shape."""
        return Size(self._batch(shape, self.out_shape) + tuple(self.in_shape))
