"""Ranks arranged in a grid, with a group for every row, column, ... of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushlight import dtypes
from rushlight.distributed.backends import is_nccl_available
from rushlight.distributed.groups import GroupMember, default_group
from rushlight.distributed.initialization import init_process_group, new_group
from rushlight.distributed.queries import is_initialized
from rushlight.machine import np
from rushlight.tensor.shape import Size
from rushlight.tensor.tensor import make_tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from rushlight.distributed.process_group import ProcessGroup
    from rushlight.tensor.tensor import Tensor

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """A grid of ranks: ``DeviceMesh("cpu", [[0, 1], [2, 3]], mesh_dim_names=("dp", "tp"))``.

    Args:
        device_type: ``"cpu"``.
        mesh: the ranks, a tensor or nested lists, none of them twice.
        mesh_dim_names: a name for each dimension; ``mesh["tp"]`` is the part along it.

    Makes the group of all processes by ``env://`` where there is none. Every process makes the same
    meshes in the same order.
    """

    def __init__(
        self,
        device_type: str,
        mesh: Tensor | np.ndarray | Sequence[Any],
        *,
        mesh_dim_names: Sequence[str] | None = None,
        backend_override: Mapping[int | str, object] | None = None,
        _groups: Sequence[ProcessGroup] | None = None,
    ):
        _check_device(device_type)
        grid = np.array(mesh.tolist() if hasattr(mesh, "tolist") else mesh, np.int32)
        self.device_type = device_type
        self._grid = grid.reshape(-1) if grid.ndim == 0 else grid
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        self._check(self._grid)
        if not is_initialized():
            init_process_group()
        self._rank = default_group().world_rank
        self._groups = self._made() if _groups is None else _groups

    def _check(self, grid):
        if len(np.unique(grid)) != grid.size:
            raise RuntimeError(f"DeviceMesh: mesh {grid.tolist()} names a rank twice")
        names = self.mesh_dim_names
        if names is not None and (len(names) != grid.ndim or len(set(names)) != len(names)):
            raise RuntimeError(
                f"DeviceMesh: mesh_dim_names {names}, expected {grid.ndim} different names"
            )

    def _made(self):
        """This rank's group along every dimension."""
        world = default_group()
        if (self._grid > world.size() - 1).any():
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {world.size()}, but found "
                f"{self._grid.size} ranks!"
            )
        groups = []
        for dim in range(self._grid.ndim):
            own = GroupMember.NON_GROUP_MEMBER
            for row in np.moveaxis(self._grid, dim, -1).reshape(-1, self._grid.shape[dim]):
                made = new_group(row.tolist(), sort_ranks=False)
                own = made if self._rank in row else own
            groups.append(own)
        return groups

    @property
    def mesh(self):
        """The ranks as an int32 tensor."""
        return make_tensor(self._grid.copy(), dtypes.int32)

    @property
    def ndim(self) -> int:
        """How many dimensions the grid has."""
        return self._grid.ndim

    @property
    def shape(self) -> tuple:
        """How long each dimension is."""
        return tuple(self._grid.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many ranks there are, or how many along a dimension."""
        return self._grid.size if mesh_dim is None else self._grid.shape[mesh_dim]

    def _dim(self, mesh_dim):
        if isinstance(mesh_dim, str):
            if self.mesh_dim_names is None or mesh_dim not in self.mesh_dim_names:
                raise KeyError(
                    f"Mesh dimension '{mesh_dim}' does not exist. Available mesh dimensions are: "
                    f"mesh_dim_names={self.mesh_dim_names}"
                )
            return self.mesh_dim_names.index(mesh_dim)
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions: the argument mesh_dim is "
                    "needed"
                )
            return 0
        return mesh_dim

    def get_group(self, mesh_dim=None):
        """This rank's group along a dimension, given by number or name."""
        return self._groups[self._dim(mesh_dim)]

    def get_all_groups(self) -> list:
        """This rank's groups, one a dimension."""
        return list(self._groups)

    def get_rank(self) -> int:
        """This process's rank in the job."""
        return self._rank

    def get_coordinate(self):
        """This rank's indices in the grid; None where it is not in it."""
        found = np.argwhere(self._grid == self._rank)
        return found[0].tolist() if len(found) else None

    def get_local_rank(self, mesh_dim=None) -> int:
        """This rank's index along a dimension."""
        return self.get_coordinate()[self._dim(mesh_dim)]

    def __getitem__(self, mesh_dim_names) -> DeviceMesh:
        """The part of the mesh along one or several named dimensions that holds this rank."""
        given = mesh_dim_names
        names = (given,) if isinstance(given, str) else tuple(given)
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        dims = [self._dim(name) for name in names]
        place = self.get_coordinate() or [0] * self.ndim
        index = tuple(slice(None) if d in dims else place[d] for d in range(self.ndim))
        part = self._grid[index]
        kept = [d for d in range(self.ndim) if d in dims]
        part = part.transpose([kept.index(d) for d in dims])
        groups = [self._groups[d] for d in dims]
        return DeviceMesh(self.device_type, part, mesh_dim_names=names, _groups=groups)

    @staticmethod
    def from_group(group, device_type, mesh=None, *, mesh_dim_names=None) -> DeviceMesh:
        """The mesh of one dimension over a group, or of `mesh` over a list of groups."""
        if isinstance(group, (list, tuple)):
            if mesh is None:
                raise ValueError("Must pass mesh if passing multiple ProcessGroups")
            return DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, _groups=list(group))
        return DeviceMesh(device_type, group.ranks, mesh_dim_names=mesh_dim_names, _groups=[group])

    def __eq__(self, other):
        return isinstance(other, DeviceMesh) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def _key(self):
        return self.device_type, self.shape, tuple(self._grid.flat), self.mesh_dim_names

    def __repr__(self):
        names = self.mesh_dim_names or [f"dim_{d}" for d in range(self.ndim)]
        sizes = ", ".join(f"{n}={s}" for n, s in zip(names, Size(self.shape), strict=True))
        return f"DeviceMesh(({sizes}), '{self.device_type}')"


def _check_device(device_type):
    if device_type not in ("cpu", "cuda"):
        raise NotImplementedError(
            f"DeviceMesh: device_type {device_type!r}; processes exchange tensors of the CPU and "
            "of GPUs: use 'cpu' or 'cuda'"
        )
    if device_type == "cuda" and not is_nccl_available():
        raise RuntimeError(
            "DeviceMesh: device_type 'cuda' needs NCCL, which is not available; use 'cpu'"
        )


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: Sequence[str] | None = None,
    backend_override: Mapping[int | str, object] | None = None,
) -> DeviceMesh:
    """A mesh of all ranks in order: ``init_device_mesh("cpu", (2, 4), mesh_dim_names=(...))``."""
    shape = tuple(mesh_shape)
    if mesh_dim_names is not None and len(mesh_dim_names) != len(shape):
        raise RuntimeError(
            "mesh_shape and mesh_dim_names should have same length! Found "
            f"len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape): {len(shape)}."
        )
    _check_device(device_type)
    grid = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    return DeviceMesh(device_type, grid, mesh_dim_names=mesh_dim_names)
