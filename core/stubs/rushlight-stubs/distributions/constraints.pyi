# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from rushlight._words import _bool
from rushlight._words import _int
from rushlight.tensor.tensor import Tensor
from typing import Any

class _Dependent(Constraint):
    def __init__(self, *, is_discrete: _bool = ..., event_dim: _int = ...) -> None: ...
    @property
    def is_discrete(self) -> _bool: ...  # type: ignore[override]
    @property
    def event_dim(self) -> _int: ...  # type: ignore[override]
    def __call__(self, *, is_discrete: _bool = ..., event_dim: _int = ...) -> _Dependent: ...
    def check(self, value: Any) -> Any: ...
class _Bounded(Constraint):
    def __init__(self, *bounds: Any, **named: Any) -> None: ...
class _Square(Constraint):
    event_dim: _int
    def check(self, value: Any) -> Any: ...
class _Symmetric(_Square):
    def check(self, value: Any) -> Any: ...
class Constraint:
    is_discrete: _bool
    event_dim: _int
    def check(self, value: Tensor) -> Tensor: ...
class MixtureSameFamilyConstraint(Constraint):
    def __init__(self, base_constraint: Constraint) -> None: ...
    @property
    def is_discrete(self) -> _bool: ...  # type: ignore[override]
    @property
    def event_dim(self) -> _int: ...  # type: ignore[override]
    def check(self, value: Any) -> Any: ...
    base_constraint: Constraint
class _Boolean(Constraint):
    is_discrete: _bool
    def check(self, value: Any) -> Any: ...
class _CorrCholesky(Constraint):
    event_dim: _int
    def check(self, value: Any) -> Any: ...
class _DependentProperty(property, _Dependent):
    def __init__(self, fn: Callable[[Any], Constraint] | None = ..., *, is_discrete: _bool = ..., event_dim: _int = ...) -> None: ...
    def __call__(self, fn: Callable[[Any], Constraint]) -> _DependentProperty: ...  # type: ignore[override]
class _GreaterThan(_Bounded):
    def check(self, value: Any) -> Any: ...
class _GreaterThanEq(_Bounded):
    def check(self, value: Any) -> Any: ...
class _IndependentConstraint(Constraint):
    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: _int) -> None: ...
    @property
    def is_discrete(self) -> _bool: ...  # type: ignore[override]
    @property
    def event_dim(self) -> _int: ...  # type: ignore[override]
    def check(self, value: Any) -> Any: ...
    base_constraint: Constraint
    reinterpreted_batch_ndims: _int
class _IntegerGreaterThan(_Bounded):
    is_discrete: _bool
    def check(self, value: Any) -> Any: ...
class _Interval(_Bounded):
    def check(self, value: Any) -> Any: ...
class _LowerCholesky(Constraint):
    event_dim: _int
    def check(self, value: Any) -> Any: ...
class _LowerTriangular(Constraint):
    event_dim: _int
    def check(self, value: Any) -> Any: ...
class _OneHot(Constraint):
    is_discrete: _bool
    event_dim: _int
    def check(self, value: Any) -> Any: ...
class _PositiveDefinite(_Symmetric):
    def check(self, value: Any) -> Any: ...
class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Any) -> Any: ...
class _Real(Constraint):
    def check(self, value: Any) -> Any: ...
class _Simplex(Constraint):
    event_dim: _int
    def check(self, value: Any) -> Any: ...
boolean: _Boolean
class cat(Constraint):
    def __init__(self, cseq: Sequence[Constraint], dim: _int = ..., lengths: Sequence[_int] | None = ...) -> None: ...
    @property
    def is_discrete(self) -> _bool: ...  # type: ignore[override]
    @property
    def event_dim(self) -> _int: ...  # type: ignore[override]
    def check(self, value: Any) -> Any: ...
    cseq: list[Any]
    dim: _int
    lengths: Any
corr_cholesky: _CorrCholesky
dependent: _Dependent
class dependent_property(property, _Dependent):
    def __init__(self, fn: Callable[[Any], Constraint] | None = ..., *, is_discrete: _bool = ..., event_dim: _int = ...) -> None: ...
    def __call__(self, fn: Callable[[Any], Constraint]) -> _DependentProperty: ...  # type: ignore[override]
class greater_than(_Bounded):
    def check(self, value: Any) -> Any: ...
class greater_than_eq(_Bounded):
    def check(self, value: Any) -> Any: ...
class half_open_interval(_Bounded):
    def check(self, value: Any) -> Any: ...
class independent(Constraint):
    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: _int) -> None: ...
    @property
    def is_discrete(self) -> _bool: ...  # type: ignore[override]
    @property
    def event_dim(self) -> _int: ...  # type: ignore[override]
    def check(self, value: Any) -> Any: ...
    base_constraint: Constraint
    reinterpreted_batch_ndims: _int
class integer_interval(_Bounded):
    is_discrete: _bool
    def check(self, value: Any) -> Any: ...
class interval(_Bounded):
    def check(self, value: Any) -> Any: ...
def is_dependent(constraint: Constraint) -> _bool: ...
class less_than(_Bounded):
    def check(self, value: Any) -> Any: ...
lower_cholesky: _LowerCholesky
lower_triangular: _LowerTriangular
class multinomial(Constraint):
    is_discrete: _bool
    event_dim: _int
    def __init__(self, upper_bound: _int | Tensor) -> None: ...
    def check(self, x: Any) -> Any: ...
    upper_bound: _int | Tensor
nonnegative: _GreaterThanEq
nonnegative_integer: _IntegerGreaterThan
one_hot: _OneHot
positive: _GreaterThan
positive_definite: _PositiveDefinite
positive_integer: _IntegerGreaterThan
positive_semidefinite: _PositiveSemidefinite
real: _Real
real_vector: _IndependentConstraint
simplex: _Simplex
square: _Square
class stack(Constraint):
    def __init__(self, cseq: Sequence[Constraint], dim: _int = ...) -> None: ...
    @property
    def is_discrete(self) -> _bool: ...  # type: ignore[override]
    @property
    def event_dim(self) -> _int: ...  # type: ignore[override]
    def check(self, value: Any) -> Any: ...
    cseq: list[Any]
    dim: _int
symmetric: _Symmetric
unit_interval: _Interval
