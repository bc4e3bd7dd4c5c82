"""Transforms of vectors and matrices: to the simplex, to Cholesky factors, to positive definite
and correlation matrices; parts of vectors transformed one by one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rushlight import (
    cat,
    eye,
    finfo,
    linalg,
    sqrt,
    stack,
    tanh,
)
from rushlight.distributions import constraints
from rushlight.distributions.elementwise_transforms import _Kind, clipped_sigmoid
from rushlight.distributions.transform import Transform
from rushlight.distributions.utils import (
    _sum_rightmost,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)
from rushlight.nn.functional import logsigmoid, pad, softplus

if TYPE_CHECKING:
    from collections.abc import Sequence


def _needs(shape, dims=1):
    if len(shape) < dims:
        raise ValueError(f"too few dimensions: expected {dims} or more, got {len(shape)}")


class SoftmaxTransform(_Kind):
    """``y = exp(x)``, then normalised: not bijective, but robust; inverse ``log(y)``."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x):
        shifted = (x - x.max(-1, True)[0]).exp()
        return shifted / shifted.sum(-1, True)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        """The same."""
        _needs(shape)
        return shape

    def inverse_shape(self, shape):
        """The same."""
        _needs(shape)
        return shape


class StickBreakingTransform(_Kind):
    """Vectors of n numbers to the simplex in n + 1: each breaks a share off what is left.

    The shares are sigmoids, shifted so that zeros give equal parts. (As in Stan.)
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _log_offset(self, x, size):
        return (size + 1 - x.new_ones(size).cumsum(-1)).log()

    def _call(self, x):
        share = clipped_sigmoid(x - self._log_offset(x, x.shape[-1]))
        left = (1 - share).cumprod(-1)
        return pad(share, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y):
        cropped = y[..., :-1]
        left = (1 - cropped.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return cropped.log() - left.log() + self._log_offset(y, cropped.shape[-1])

    def log_abs_det_jacobian(self, x, y):
        """The sum of ``log share' + log(left before)``; y is share times what was left."""
        x = x - self._log_offset(x, x.shape[-1])
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        """One more in the last dimension."""
        _needs(shape)
        return tuple(shape[:-1]) + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        """One less in the last dimension."""
        _needs(shape)
        return tuple(shape[:-1]) + (shape[-1] - 1,)


class LowerCholeskyTransform(_Kind):
    """Square matrices to lower triangular ones with a positive diagonal: exp on the diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Kind):
    """Square matrices to positive definite ones, ``L @ L.T`` of :class:`LowerCholeskyTransform`."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers to Cholesky factors of n x n correlation matrices.

    ``t = tanh(x)`` are canonical partial correlations; in each row, of length 1, element j takes
    the share ``t_j`` of the length left: ``y_j = t_j sqrt(1 - sum of earlier y**2)``. (Lewandowski,
    Kurowicka and Joe, 2009; as in Stan.)
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        x = tanh(x)
        eps = finfo(x.dtype).eps
        shares = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - shares * shares).sqrt().cumprod(-1)
        shares = shares + eye(shares.shape[-1], dtype=shares.dtype, device=shares.device)
        return shares * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y):
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        shares = tril_matrix_to_vec(y, -1) / sqrt(tril_matrix_to_vec(left, -1))
        return (shares.log1p() - shares.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x, y, intermediates=None):
        """Of the shares, ``log sqrt(left)`` each, and of tanh."""
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), -2)
        tanh_part = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return 0.5 * left.log().sum(-1) + tanh_part

    def forward_shape(self, shape):
        """n (n - 1) / 2 becomes n x n."""
        _needs(shape)
        count = shape[-1]
        n = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != count:
            raise ValueError(f"the last size, {count}, is not n (n - 1) / 2 for any n")
        return tuple(shape[:-1]) + (n, n)

    def inverse_shape(self, shape):
        """n x n becomes n (n - 1) / 2."""
        _needs(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError(f"expected square matrices, got {tuple(shape)}")
        n = shape[-1]
        return tuple(shape[:-2]) + (n * (n - 1) // 2,)


def _check_parts(name, transforms):
    if not all(isinstance(t, Transform) for t in transforms):
        raise AssertionError(f"{name} takes a sequence of transforms")


class CatTransform(Transform):
    """Slices along `dim`, of `lengths` each, transformed one by one and concatenated again."""

    def __init__(
        self, tseq: Sequence[Transform], dim=0, lengths: Sequence[int] | None = None, cache_size=0
    ):
        _check_parts("CatTransform", tseq)
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = list(tseq), dim
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"CatTransform: {len(self.lengths)} lengths for {len(self.transforms)} transforms"
            )

    @property
    def event_dim(self):
        """The largest of the parts'."""
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self):
        """The size along `dim`."""
        return sum(self.lengths)

    def with_cache(self, cache_size=1):
        """The same with another cache size."""
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _slices(self, value):
        if not -value.dim() <= self.dim < value.dim() or value.size(self.dim) != self.length:
            raise AssertionError(
                f"CatTransform of length {self.length} along dim {self.dim}: got a value of shape "
                f"{tuple(value.shape)}"
            )
        start = 0
        for length in self.lengths:
            yield value.narrow(self.dim, start, length)
            start += length

    def _call(self, x):
        parts = zip(self.transforms, self._slices(x), strict=True)
        return cat([t(part) for t, part in parts], dim=self.dim)

    def _inverse(self, y):
        parts = zip(self.transforms, self._slices(y), strict=True)
        return cat([t.inv(part) for t, part in parts], dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        """The parts', concatenated, or summed where `dim` belongs to the event."""
        found = []
        parts = zip(self.transforms, self._slices(x), self._slices(y), strict=True)
        for transform, before, after in parts:
            term = transform.log_abs_det_jacobian(before, after)
            found.append(_sum_rightmost(term, self.event_dim - transform.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return cat(found, dim=dim) if dim < 0 else sum(found)

    @property
    def bijective(self):
        """Whether all parts are."""
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self):
        """The parts' domains, concatenated."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        """The parts' codomains, concatenated."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(Transform):
    """Slices of one along `dim` transformed one by one and stacked again."""

    def __init__(self, tseq: Sequence[Transform], dim=0, cache_size=0):
        _check_parts("StackTransform", tseq)
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = list(tseq), dim

    def with_cache(self, cache_size=1):
        """The same with another cache size."""
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    def _slices(self, value):
        count = len(self.transforms)
        if not -value.dim() <= self.dim < value.dim() or value.size(self.dim) != count:
            raise AssertionError(
                f"StackTransform of {count} transforms along dim {self.dim}: got a value of shape "
                f"{tuple(value.shape)}"
            )
        return [value.select(self.dim, i) for i in range(count)]

    def _call(self, x):
        parts = zip(self.transforms, self._slices(x), strict=True)
        return stack([t(part) for t, part in parts], self.dim)

    def _inverse(self, y):
        parts = zip(self.transforms, self._slices(y), strict=True)
        return stack([t.inv(part) for t, part in parts], self.dim)

    def log_abs_det_jacobian(self, x, y):
        """The parts', stacked."""
        parts = zip(self.transforms, self._slices(x), self._slices(y), strict=True)
        return stack([t.log_abs_det_jacobian(a, b) for t, a, b in parts], self.dim)

    @property
    def bijective(self):
        """Whether all parts are."""
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self):
        """The parts' domains, stacked."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        """The parts' codomains, stacked."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
