"""Tensors that ranks share, on a mesh of one dimension.

Stands above collectives; begin reading at :mod:`.dtensor`. Sharded computation (tensor parallelism)
is not there.
"""

from rushlight.distributed.device_mesh import DeviceMesh, init_device_mesh
from rushlight.distributed.tensor.dtensor import DTensor, distribute_tensor
from rushlight.distributed.tensor.placements import Partial, Placement, Replicate, Shard
from rushlight.refusals import rest_of

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_tensor",
    "init_device_mesh",
]  # fmt: skip
__getattr__ = rest_of(__name__, parts="placement_types placements")
