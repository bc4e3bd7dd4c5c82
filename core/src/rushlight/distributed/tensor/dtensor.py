"""DTensor: a tensor whose elements are divided among the ranks of one dimension of a mesh, and
repeated along its others.

Its memory is this rank's part alone; its shape is that of the whole. What works element by element
works on the parts; everything else takes :meth:`DTensor.full_tensor` or :meth:`DTensor.to_local`.
"""

from __future__ import annotations

import functools
from typing import Any

from rushlight.distributed import collectives
from rushlight.distributed.reduce_op import ReduceOp
from rushlight.distributed.tensor.placements import Partial, Replicate, Shard, bounds
from rushlight.machine import np
from rushlight.ops.creation.tensors import empty_like, full_like, ones_like, zeros, zeros_like
from rushlight.ops.shape.copying import clone
from rushlight.tensor.dispatch import DisableTorchFunction
from rushlight.tensor.shape import Size
from rushlight.tensor.subclasses import retyped
from rushlight.tensor.tensor import Tensor, make_tensor


@functools.cache
def _alike() -> frozenset:
    """The names of what works on parts beside elementwise ops: what makes a tensor like another,
    or writes to it, or is another view of it."""
    functions = (
        zeros_like, ones_like, empty_like, full_like, clone, Tensor.detach, Tensor.to,
        Tensor.copy_, Tensor.zero_, Tensor.fill_, Tensor.type, Tensor.float, Tensor.double,
        Tensor.half, Tensor.requires_grad_, Tensor.contiguous, Tensor.mul_, Tensor.add_,
        Tensor.sub_, Tensor.div_, Tensor.lerp_, Tensor.addcmul_, Tensor.addcdiv_, Tensor.mul,
        Tensor.add, Tensor.sub, Tensor.div, Tensor.sqrt, Tensor.neg, Tensor.clamp_,
        Tensor.uniform_, Tensor.normal_, Tensor.__deepcopy__,
    )  # fmt: skip
    return frozenset(each.__name__ for each in functions)


def _dividing(placements) -> int:
    """The dimension of a mesh that does something else than repeat a tensor."""
    found = [axis for axis, each in enumerate(placements) if not each.is_replicate()]
    if len(found) > 1:
        raise NotImplementedError(
            f"a DTensor with placements {tuple(placements)}: one dimension of the mesh may divide "
            "it (or have its summands); use Replicate() along the others"
        )
    return found[0] if found else 0


class DTensor(Tensor):
    """A tensor that ranks share; made by :func:`distribute_tensor`, :meth:`from_local` and
    :func:`rushlight.distributed.fsdp.fully_shard`."""

    _mesh: Any = None
    _placements: Any = None
    _whole: Any = None
    _axis: int = 0  # the dimension of the mesh that divides it, or has its summands

    @staticmethod
    def over(local: Tensor, mesh, placements, whole) -> DTensor:
        """The tensor of shape `whole` whose part here is `local`, whose memory it shares."""
        with DisableTorchFunction():
            made = retyped(local.detach(), DTensor)
        made._mesh, made._placements, made._whole = mesh, tuple(placements), Size(whole)
        made._axis = _dividing(made._placements)
        return made

    @staticmethod
    def from_local(local_tensor, device_mesh, placements, *, run_check=False, shape=None,
                   stride=None) -> DTensor:  # fmt: skip
        """The tensor made of all ranks' parts, which have equal shapes unless `shape` is given."""
        whole = list(local_tensor.shape)
        axis = _dividing(placements)
        if shape is None and placements[axis].is_shard():
            whole[placements[axis].dim] *= device_mesh.size(axis)
        return DTensor.over(local_tensor, device_mesh, placements, shape or whole)

    @property
    def shape(self) -> Size:
        """The shape of the whole tensor."""
        return self._whole

    @property
    def device_mesh(self):
        """The ranks that share it."""
        return self._mesh

    @property
    def placements(self) -> tuple:
        """How it is divided, one entry for each dimension of the mesh."""
        return self._placements

    def size(self, dim=None):
        """The shape of the whole tensor, or its length along a dimension."""
        return self._whole if dim is None else self._whole[dim]

    def numel(self) -> int:
        """How many elements the whole tensor has."""
        return self._whole.numel()

    nelement = numel

    def reshape(self, *shape) -> DTensor:
        """The tensor itself, if it has this shape; other shapes are not available."""
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        if tuple(wanted) != tuple(self._whole):
            raise NotImplementedError(
                f"reshape of a DTensor of shape {tuple(self._whole)} to {tuple(wanted)} is not "
                "available; use full_tensor() or to_local()"
            )
        return self

    view = reshape

    def copy_(self, other, non_blocking=False) -> DTensor:
        """Write a tensor divided like this one, or this rank's part of a whole one."""
        with DisableTorchFunction():
            self.to_local().copy_(_local(other, self), non_blocking)
        return self

    def detach(self) -> DTensor:
        """The same parts without history."""
        return self._divided(self.to_local())

    def cpu(self, *args, **kwargs) -> DTensor:
        """The same parts in memory of the CPU; arguments as of :meth:`rushlight.Tensor.cpu`."""
        return self._divided(self.to_local().cpu(*args, **kwargs))

    def cuda(self, *args, **kwargs) -> DTensor:
        """The same parts on a GPU; arguments as of :meth:`rushlight.Tensor.cuda`."""
        return self._divided(self.to_local().cuda(*args, **kwargs))

    def _divided(self, local: Tensor) -> DTensor:
        """A tensor of the same shape and placements, of other parts."""
        return DTensor.over(local, self._mesh, self._placements, self._whole)

    def to_local(self, *, grad_placements=None) -> Tensor:
        """This rank's part, in the same memory."""
        return make_tensor(self._array, self._dtype)

    def full_tensor(self, *, grad_placements=None) -> Tensor:
        """The whole tensor, on every rank; all ranks call it."""
        placement = self._placements[self._axis]
        if placement.is_replicate():
            return self.to_local().clone()
        group = self._mesh.get_group(self._axis)
        if placement.is_partial():
            whole = self.to_local().clone()
            collectives.all_reduce(whole, getattr(ReduceOp, placement.reduce_op.upper()), group)
            return whole
        return _gathered(self.to_local(), self._whole, placement.dim, group)

    def redistribute(self, device_mesh=None, placements=None, *, async_op=False) -> DTensor:
        """The same tensor, divided otherwise."""
        placements = tuple(placements or self._placements)
        if placements == self._placements:
            return self
        return distribute_tensor(self.full_tensor(), device_mesh or self._mesh, placements)

    def norm(self, p=2.0, dim=None, keepdim=False, dtype=None) -> Tensor:
        """The norm of all elements of the whole tensor, an ordinary tensor on every rank."""
        if dim is not None:
            raise NotImplementedError("DTensor.norm of dimensions: use full_tensor().norm(...)")
        placement = self._placements[self._axis]
        if placement.is_partial():
            return self.full_tensor().norm(p, dtype=dtype)
        group = self._mesh.get_group(self._axis)
        local = self.to_local()
        power = 2.0 if p in (None, "fro") else float(p)
        found = local.norm(power) if local.numel() else zeros((), dtype=local.dtype)
        if placement.is_replicate():
            return found
        if power == float("inf"):
            collectives.all_reduce(found, ReduceOp.MAX, group)
            return found
        total = found**power
        collectives.all_reduce(total, group=group)
        return total ** (1 / power)

    def _local_piece(self) -> list:
        """What checkpoints store of it here: (offsets, part), nothing where this rank has none."""
        placement, local = self._placements[self._axis], self.to_local()
        if placement.is_partial():
            raise NotImplementedError(
                "a DTensor whose ranks have summands cannot be saved; save full_tensor()"
            )
        offsets = [0] * len(self._whole)
        if placement.is_shard():
            offsets[placement.dim], _ = self._range()
        return [(tuple(offsets), local)] if local.numel() or not self._whole.numel() else []

    def _range(self):
        mesh, axis = self._mesh, self._axis
        dim = self._placements[axis].dim
        return bounds(self._whole[dim], mesh.size(axis), mesh.get_local_rank(axis))

    def _part_of(self, whole: Tensor) -> Tensor:
        """This rank's part of an ordinary tensor of the whole shape."""
        placement = self._placements[self._axis]
        if placement.is_replicate():
            return whole
        start, end = self._range()
        return whole.narrow(placement.dim, start, end - start)

    def divided_alike(self, value):
        """A whole tensor of this one's shape, divided as this one is; other values as they are."""
        fits = isinstance(value, Tensor) and tuple(value.shape) == tuple(self._whole)
        if isinstance(value, DTensor) or not fits or not self._whole:
            return value
        return self._divided(self._part_of(value).clone())

    def __repr__(self):
        local = self.to_local()
        rest = f"device_mesh={self._mesh}, placements={self._placements}"
        return f"DTensor(local_tensor={local!r}, {rest})"

    def __deepcopy__(self, memo):
        return self._divided(self.to_local().clone()).requires_grad_(self.requires_grad)

    def __reduce_ex__(self, protocol):
        raise NotImplementedError(
            "DTensor: pickling a part of a tensor is not available; save it with "
            "distributed.checkpoint, or its full_tensor()"
        )

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """Work element by element on the parts; refuse everything else."""
        kwargs = kwargs or {}
        shared = [each for each in (*args, *kwargs.values()) if isinstance(each, cls)]
        name = getattr(func, "__name__", "")
        kind = getattr(getattr(func, "op", None), "kind", None)
        if kind != "elementwise" and name not in _alike():
            raise NotImplementedError(
                f"{name or func} of a DTensor is not available; use full_tensor() or to_local()"
            )
        first = shared[0]
        if first._placements[first._axis].is_partial() and name not in _OF_SUMMANDS:
            raise NotImplementedError(
                f"{name or func} of a DTensor whose ranks have summands is not available; use "
                "full_tensor(), or redistribute(placements=[Replicate()]) first"
            )
        with DisableTorchFunction():
            result = func(
                *[_local(each, first) for each in args],
                **{key: _local(each, first) for key, each in kwargs.items()},
            )
        if isinstance(args[0], cls) and result is not None and name.endswith("_"):
            return args[0]
        if not isinstance(result, Tensor) or isinstance(result, cls):
            return result
        return cls.over(result, first._mesh, first._placements, first._whole)


# What may be done to summands, one by one.
_OF_SUMMANDS = frozenset("clone contiguous detach requires_grad_ __deepcopy__".split())


def _local(value, like):
    """An argument as the parts are computed with."""
    if isinstance(value, DTensor):
        return value.to_local()
    if isinstance(value, Tensor) and value.dim() and tuple(value.shape) == tuple(like._whole):
        return like._part_of(value)
    return value


def _gathered(local, whole, dim, group) -> Tensor:
    """All ranks' parts along a dimension as one tensor."""
    size = group.size()
    step = -(-whole[dim] // size)
    rows = np.moveaxis(local._array, dim, 0)
    padded = np.zeros_like(rows, shape=(step, *rows.shape[1:]))
    padded[: len(rows)] = rows
    every = np.empty_like(rows, shape=(step * size, *rows.shape[1:]))
    sent, received = make_tensor(padded, local._dtype), make_tensor(every, local._dtype)
    collectives.all_gather_into_tensor(received, sent, group)
    return make_tensor(np.moveaxis(every[: whole[dim]], 0, dim), local._dtype).contiguous()


def distribute_tensor(tensor, device_mesh, placements=None, *, src_data_rank=0) -> DTensor:
    """Divide a tensor that every rank has among the ranks of a mesh, along one of its dimensions.

    With `src_data_rank` (0) all ranks take the elements of that rank; None leaves it at their own.
    """
    placements = tuple(placements or [Replicate()] * device_mesh.ndim)
    if len(placements) != device_mesh.ndim:
        raise ValueError(
            "`placements` must have the same length as `device_mesh.ndim`! Found placements "
            f"length: {len(placements)}, and device_mesh.ndim: {device_mesh.ndim}."
        )
    if any(placement.is_partial() for placement in placements):
        raise ValueError(
            "distribute_tensor: a whole tensor cannot become summands; use Shard or Replicate, or "
            "DTensor.from_local on each rank's summand"
        )
    whole = tensor.detach().clone()
    if src_data_rank is not None:
        for group in device_mesh.get_all_groups():
            collectives.broadcast(whole, group=group, group_src=src_data_rank)
    made = DTensor.over(whole, device_mesh, placements, tensor.shape)
    part = made._part_of(whole).clone()
    found = DTensor.over(part, device_mesh, placements, tensor.shape)
    found.requires_grad_(tensor.requires_grad)
    return found


__all__ = ["DTensor", "Partial", "Replicate", "Shard", "distribute_tensor"]
