# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from rushlight._words import _int
from rushlight._words import _str
from rushlight.tensor.tensor import Tensor
from typing import Any

from rushlight.distributed.tensor.dtensor import DTensor as DTensor
from rushlight.distributed.device_mesh import DeviceMesh as DeviceMesh
from rushlight.distributed.tensor.placements import Partial as Partial
from rushlight.distributed.tensor.placements import Placement as Placement
from rushlight.distributed.tensor.placements import Replicate as Replicate
from rushlight.distributed.tensor.placements import Shard as Shard
def distribute_tensor(tensor: Tensor, device_mesh: Any, placements: Any = ..., *, src_data_rank: _int = ...) -> DTensor: ...
def init_device_mesh(device_type: _str, mesh_shape: Sequence[_int], *, mesh_dim_names: Sequence[_str] | None = ..., backend_override: Mapping[_int | _str, object] | None = ...) -> DeviceMesh: ...
