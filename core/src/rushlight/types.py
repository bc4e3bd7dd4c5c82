"""Types for annotations, under PyTorch's names."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias, Union

from rushlight.devices import device as _device
from rushlight.dtypes import dtype as _dtype  # noqa: F401 - programs import it
from rushlight.tensor.shape import Size
from rushlight.tensor.storage import Storage
from rushlight.tensor.tensor import Tensor

_bool, _int, _float, _complex = builtins.bool, builtins.int, builtins.float, builtins.complex
_dispatchkey: TypeAlias = str

Number: TypeAlias = Union[int, float, bool]  # noqa: UP007 - programs ask for its members
_Number = (int, float, bool)  # for isinstance
FileLike: TypeAlias = Union[str, os.PathLike[str], IO[bytes]]  # noqa: UP007
Device: TypeAlias = Union[_device, str, int, None]  # noqa: UP007
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool

_size: TypeAlias = Union[Size, list[int], tuple[int, ...]]  # noqa: UP007
_symsize: TypeAlias = Sequence[int]
_TensorOrTensors: TypeAlias = Union[Tensor, Sequence[Tensor]]  # noqa: UP007
_TensorOrOptionalTensors: TypeAlias = Union[Tensor, Sequence[Union[Tensor, None]]]  # noqa: UP007
_TensorOrTensorsOrGradEdge: TypeAlias = _TensorOrTensors

__all__ = ["Any", "Device", "FileLike", "Number", "Size", "Storage"]
