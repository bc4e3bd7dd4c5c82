"""Types for annotations of layers' settings: one number, or one per dimension."""

from __future__ import annotations

from typing import Optional, TypeAlias, TypeVar, Union

from rushlight.tensor.tensor import Tensor

_T = TypeVar("_T")
_scalar_or_tuple_any_t: TypeAlias = Union[_T, tuple[_T, ...]]  # noqa: UP007 - subscripted below
_scalar_or_tuple_1_t: TypeAlias = Union[_T, tuple[_T]]  # noqa: UP007
_scalar_or_tuple_2_t: TypeAlias = Union[_T, tuple[_T, _T]]  # noqa: UP007
_scalar_or_tuple_3_t: TypeAlias = Union[_T, tuple[_T, _T, _T]]  # noqa: UP007
_scalar_or_tuple_4_t: TypeAlias = Union[_T, tuple[_T, _T, _T, _T]]  # noqa: UP007
_scalar_or_tuple_6_t: TypeAlias = Union[_T, tuple[_T, _T, _T, _T, _T, _T]]  # noqa: UP007

_size_any_t: TypeAlias = _scalar_or_tuple_any_t[int]
_size_1_t: TypeAlias = _scalar_or_tuple_1_t[int]
_size_2_t: TypeAlias = _scalar_or_tuple_2_t[int]
_size_3_t: TypeAlias = _scalar_or_tuple_3_t[int]
_size_4_t: TypeAlias = _scalar_or_tuple_4_t[int]
_size_6_t: TypeAlias = _scalar_or_tuple_6_t[int]
_size_any_opt_t: TypeAlias = _scalar_or_tuple_any_t[Optional[int]]  # noqa: UP045
_size_2_opt_t: TypeAlias = _scalar_or_tuple_2_t[Optional[int]]  # noqa: UP045
_size_3_opt_t: TypeAlias = _scalar_or_tuple_3_t[Optional[int]]  # noqa: UP045

_ratio_2_t: TypeAlias = _scalar_or_tuple_2_t[float]
_ratio_3_t: TypeAlias = _scalar_or_tuple_3_t[float]
_ratio_any_t: TypeAlias = _scalar_or_tuple_any_t[float]

_tensor_list_t: TypeAlias = _scalar_or_tuple_any_t[Tensor]
_maybe_indices_t: TypeAlias = _scalar_or_tuple_2_t[Tensor]
