"""Constraints: the sets that parameters and samples of distributions belong to.

A constraint tells with ``check(value)`` which elements are in it: a bool tensor of the shape of
`value` less its last `event_dim` dimensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushlight import (
    Tensor,
    finfo,
    isclose,
    linalg,
    ones,
)
from rushlight import (
    bool as bool_,
)
from rushlight import (
    cat as cat_tensors,
)
from rushlight import (
    stack as stack_tensors,
)
from rushlight.distributions.utils import all_true

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A set of values: `is_discrete`, the number `event_dim` of dimensions of one value, and a
    :meth:`check`."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """Which values are in the set: a bool tensor without the last `event_dim` dimensions."""
        raise NotImplementedError(f"{type(self).__name__} does not define check")

    def __repr__(self):
        return type(self).__name__.lstrip("_") + "()"


def _all_of_event(result, dims):
    """Whether all of the last `dims` dimensions hold."""
    if result.dim() < dims:
        raise ValueError(
            f"expected a value with at least {dims} dimensions, got one with {result.dim()}"
        )
    kept = tuple(result.shape[: result.dim() - dims])
    return result.reshape((*kept, -1)).all(-1)


# ---------------------------------------------------------------------------------- dependent
class _Dependent(Constraint):
    """Stands for a constraint that depends on other parameters; it checks nothing."""

    def __init__(
        self, *, is_discrete: bool = NotImplemented, event_dim: int = NotImplemented
    ) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim
        super().__init__()

    @property
    def is_discrete(self):
        """Whether the set is discrete, where that does not depend on anything."""
        if self._is_discrete is NotImplemented:
            raise NotImplementedError("is_discrete of this constraint depends on the instance")
        return self._is_discrete

    @property
    def event_dim(self):
        """The number of dimensions of one value, where that does not depend on anything."""
        if self._event_dim is NotImplemented:
            raise NotImplementedError("event_dim of this constraint depends on the instance")
        return self._event_dim

    def __call__(
        self, *, is_discrete: bool = NotImplemented, event_dim: int = NotImplemented
    ) -> _Dependent:
        """The same with is_discrete and event_dim told."""
        if is_discrete is NotImplemented:
            is_discrete = self._is_discrete
        if event_dim is NotImplemented:
            event_dim = self._event_dim
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)

    def check(self, value):
        """Raises ValueError: the set is not known."""
        raise ValueError("a dependent constraint cannot be checked; ask the distribution itself")


class _DependentProperty(property, _Dependent):
    """A property of a distribution that gives a constraint; on the class it is dependent.

    >>> from rushlight.distributions import constraints
    >>> class Between(rushlight.distributions.Distribution):
    ...     @constraints.dependent_property(is_discrete=False, event_dim=0)
    ...     def support(self):
    ...         return constraints.interval(self.low, self.high)
    """

    def __init__(
        self,
        fn: Callable[[Any], Constraint] | None = None,
        *,
        is_discrete: bool = NotImplemented,
        event_dim: int = NotImplemented,
    ) -> None:
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(  # type: ignore[override]
        self, fn: Callable[[Any], Constraint]
    ) -> _DependentProperty:
        """The decorator with options."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Constraint) -> bool:
    """Whether a constraint depends on other values and so cannot be checked alone."""
    return isinstance(constraint, _Dependent)


# ---------------------------------------------------------------------------------- elementwise
class _Boolean(Constraint):
    """0 or 1."""

    is_discrete = True

    def check(self, value):
        """Which elements are 0 or 1."""
        return (value == 0) | (value == 1)


class _Real(Constraint):
    """Every number, nan not."""

    def check(self, value):
        """Which elements are not nan."""
        return value == value


class _Bounded(Constraint):
    """A set given by bounds, which may be tensors."""

    _bounds: tuple[str, ...] = ()

    def __init__(self, *bounds, **named):
        if len(bounds) + len(named) != len(self._bounds):
            raise TypeError(f"{type(self).__name__} takes {', '.join(self._bounds)}")
        for name, value in {**dict(zip(self._bounds, bounds, strict=False)), **named}.items():
            if name not in self._bounds:
                raise TypeError(f"{type(self).__name__} has no argument '{name}'")
            setattr(self, name, value)
        super().__init__()

    def __repr__(self):
        bounds = ", ".join(f"{name}={getattr(self, name)}" for name in self._bounds)
        return f"{type(self).__name__.lstrip('_')}({bounds})"


class _IntegerInterval(_Bounded):
    """Integers from `lower_bound` to `upper_bound`, both included."""

    is_discrete = True
    _bounds = ("lower_bound", "upper_bound")

    def check(self, value):
        """Which elements are integers between the bounds."""
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Bounded):
    """Integers up to `upper_bound`."""

    is_discrete = True
    _bounds = ("upper_bound",)

    def check(self, value):
        """Which elements are integers up to the bound."""
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Bounded):
    """Integers from `lower_bound`."""

    is_discrete = True
    _bounds = ("lower_bound",)

    def check(self, value):
        """Which elements are integers from the bound."""
        return (value % 1 == 0) & (value >= self.lower_bound)


class _GreaterThan(_Bounded):
    """Numbers above `lower_bound`."""

    _bounds = ("lower_bound",)

    def check(self, value):
        """Which elements are greater."""
        return self.lower_bound < value


class _GreaterThanEq(_Bounded):
    """Numbers from `lower_bound`."""

    _bounds = ("lower_bound",)

    def check(self, value):
        """Which elements are greater or equal."""
        return self.lower_bound <= value


class _LessThan(_Bounded):
    """Numbers below `upper_bound`."""

    _bounds = ("upper_bound",)

    def check(self, value):
        """Which elements are less."""
        return value < self.upper_bound


class _Interval(_Bounded):
    """Numbers from `lower_bound` to `upper_bound`, both included."""

    _bounds = ("lower_bound", "upper_bound")

    def check(self, value):
        """Which elements are between."""
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Bounded):
    """Numbers from `lower_bound`, included, to `upper_bound`, not included."""

    _bounds = ("lower_bound", "upper_bound")

    def check(self, value):
        """Which elements are between."""
        return (self.lower_bound <= value) & (value < self.upper_bound)


# ---------------------------------------------------------------------------------- vectors
class _OneHot(Constraint):
    """Vectors of zeros and one 1."""

    is_discrete = True
    event_dim = 1

    def check(self, value):
        """Which vectors are one-hot."""
        boolean = (value == 0) | (value == 1)
        return boolean.all(-1) & value.sum(-1).eq(1)


class _Simplex(Constraint):
    """Vectors of non-negative numbers with sum 1 (to 1e-6)."""

    event_dim = 1

    def check(self, value):
        """Which vectors are on the simplex."""
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts with sum up to `upper_bound`."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: int | Tensor) -> None:
        self.upper_bound = upper_bound

    def check(self, x):
        """Which vectors hold counts with a sum up to the bound."""
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


# ---------------------------------------------------------------------------------- matrices
class _LowerTriangular(Constraint):
    """Lower triangular matrices."""

    event_dim = 2

    def check(self, value):
        """Which matrices are lower triangular."""
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal."""

    event_dim = 2

    def check(self, value):
        """Which matrices are Cholesky factors."""
        triangular = (value.tril() == value).flatten(-2).all(-1)
        return triangular & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(Constraint):
    """Cholesky factors of correlation matrices: rows of length 1."""

    event_dim = 2

    def check(self, value):
        """Which matrices are such factors."""
        tolerance = finfo(value.dtype).eps * value.shape[-1] * 10
        lengths = linalg.norm(value.detach(), dim=-1)
        return _LowerCholesky().check(value) & ((lengths - 1).abs() <= tolerance).all(-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value):
        """True for matrices of as many rows as columns."""
        same = value.shape[-2] == value.shape[-1]
        return ones(value.shape[:-2], dtype=bool_, device=value.device) & same


class _Symmetric(_Square):
    """Symmetric matrices (to 1e-6)."""

    def check(self, value):
        """Which matrices are symmetric."""
        square = super().check(value)
        if not all_true(square):
            return square
        return isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value):
        """Which matrices are positive semidefinite."""
        symmetric = super().check(value)
        if not all_true(symmetric):
            return symmetric
        return linalg.eigvalsh(value).ge(0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues only."""

    def check(self, value):
        """Which matrices are positive definite."""
        symmetric = super().check(value)
        if not all_true(symmetric):
            return symmetric
        return linalg.cholesky_ex(value).info.eq(0)


# ---------------------------------------------------------------------------------- composed
class _IndependentConstraint(Constraint):
    """A constraint whose last `reinterpreted_batch_ndims` batch dimensions belong to the event."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint is a Constraint; got {base_constraint!r}")
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError(
                f"reinterpreted_batch_ndims is an int from 0; got {reinterpreted_batch_ndims!r}"
            )
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self):
        """Whether the base is discrete."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        """The base's event dimensions and the reinterpreted ones."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        """Where all of an event satisfies the base."""
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            needed = self.base_constraint.event_dim + self.reinterpreted_batch_ndims
            raise ValueError(f"expected a value of {needed} dimensions or more; got {value.dim()}")
        return _all_of_event(result, self.reinterpreted_batch_ndims)

    def __repr__(self):
        name = type(self).__name__[1:]
        return f"{name}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: that of its components, whose dimension is not part of values."""

    def __init__(self, base_constraint: Constraint):
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint is a Constraint; got {base_constraint!r}")
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self):
        """Whether the components are discrete."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        """The event dimensions of the components."""
        return self.base_constraint.event_dim

    def check(self, value):
        """Where a value satisfies the constraint of all components."""
        dims = self.event_dim
        unsqueezed = value.unsqueeze(-1 - dims)
        result = self.base_constraint.check(unsqueezed)
        if value.dim() < dims:
            raise ValueError(f"expected a value of {dims} dimensions or more; got {value.dim()}")
        batch = value.dim() - dims
        return result.reshape((*result.shape[:batch], -1)).all(-1)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Cat(Constraint):
    """A concatenation of values of several constraints along `dim`, of `lengths` each."""

    def __init__(self, cseq: Sequence[Constraint], dim=0, lengths: Sequence[int] | None = None):
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("cat takes a sequence of constraints")
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(
                f"cat: {len(self.lengths)} lengths for {len(self.cseq)} constraints"
            )
        super().__init__()

    @property
    def is_discrete(self):
        """Whether any part is discrete."""
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self):
        """The largest of the parts' numbers of event dimensions."""
        return max(c.event_dim for c in self.cseq)

    def check(self, value):
        """Each part's check, concatenated."""
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"cat: dim {self.dim} is out of range for {value.dim()}-d value")
        checks, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths, strict=True):
            checks.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return cat_tensors(checks, self.dim)


class _Stack(Constraint):
    """A stack of values of several constraints along `dim`."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("stack takes a sequence of constraints")
        self.cseq, self.dim = list(cseq), dim
        super().__init__()

    @property
    def is_discrete(self):
        """Whether any part is discrete."""
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self):
        """The largest of the parts' numbers of event dimensions, and the stacked one."""
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value):
        """Each part's check, stacked."""
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"stack: dim {self.dim} is out of range for {value.dim()}-d value")
        parts = [value.select(self.dim, i) for i in range(value.shape[self.dim])]
        checks = [c.check(v) for c, v in zip(self.cseq, parts, strict=True)]
        return stack_tensors(checks, self.dim)


# ---------------------------------------------------------------------------------- public names
dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
