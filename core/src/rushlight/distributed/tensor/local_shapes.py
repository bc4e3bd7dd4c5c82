"""PyTorch's path to the shape and offset of a rank's part of a tensor."""

from __future__ import annotations

from rushlight.distributed.tensor.placements import bounds
from rushlight.refusals import rest_of


def compute_local_shape_and_global_offset(global_shape, mesh, placements) -> tuple[tuple, tuple]:
    """The sizes of this rank's part of a tensor, and where in the whole it begins.

    global_shape: the sizes of the whole.
    mesh: the `DeviceMesh`, of one dimension.
    placements: for each dimension of the mesh `Shard` or `Replicate`.

    Raises ValueError where there is not one placement for each dimension of the mesh.
    """
    if len(placements) != mesh.ndim:
        raise ValueError(
            f"compute_local_shape_and_global_offset: expected {mesh.ndim} placements, one for each "
            f"dimension of the mesh, got {len(placements)}"
        )
    shape, offset = list(global_shape), [0] * len(global_shape)
    for number, placement in enumerate(placements):
        if placement.is_shard():
            start, end = bounds(
                shape[placement.dim], mesh.size(number), mesh.get_local_rank(number)
            )
            shape[placement.dim] = end - start
            offset[placement.dim] += start
    return tuple(shape), tuple(offset)


__getattr__ = rest_of(__name__)
