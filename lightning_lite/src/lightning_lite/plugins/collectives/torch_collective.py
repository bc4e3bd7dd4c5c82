"""TorchCollective: collective operations by `rushlight.distributed`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import rushlight.distributed as dist
from lightning_lite.plugins.collectives.collective import Collective


class TorchCollective(Collective):
    """The operations of `rushlight.distributed` in a group; without one, among all processes.

    Operations named `op` take a name ("sum", "max", ...) or a member of `ReduceOp`; ValueError for
    others. RuntimeError where processes cannot be connected.

    >>> TorchCollective.is_available(), TorchCollective.is_initialized()
    (True, False)
    """

    # Whether the group of all processes was made here, and is given up with the last other one.
    manages_default_group = False
    addr_key, port_key = "MASTER_ADDR", "MASTER_PORT"
    _own_groups: set[Any] = set()

    def __init__(self) -> None:
        if not self.is_available():
            raise RuntimeError("TorchCollective: rushlight.distributed is not available here")
        super().__init__()

    @property
    def group(self) -> Any:
        """The group of processes, by default that of all. RuntimeError before `setup`."""
        if self._group is None:
            self._group = dist.GroupMember.WORLD
        return super().group

    @property
    def rank(self) -> int:  # type: ignore[override]
        """The number of this process in the group; -1 outside of it."""
        return dist.get_rank(self.group)

    @property
    def world_size(self) -> int:  # type: ignore[override]
        """How many processes the group has; -1 outside of it."""
        return dist.get_world_size(self.group)

    # -- tensors --------------------------------------------------------------------------------

    def broadcast(self, tensor: Any, src: int) -> Any:
        """Process `src`'s tensor, written into every process's."""
        dist.broadcast(tensor, src, group=self.group)
        return tensor

    def all_reduce(self, tensor: Any, op: Any = "sum") -> Any:
        """The tensors of all processes combined, in place."""
        dist.all_reduce(tensor, op=self._convert_to_native_op(op), group=self.group)
        return tensor

    def reduce(self, tensor: Any, dst: int, op: Any = "sum") -> Any:
        """The tensors of all processes combined, in place in process `dst`."""
        dist.reduce(tensor, dst, op=self._convert_to_native_op(op), group=self.group)
        return tensor

    def all_gather(self, tensor_list: list[Any], tensor: Any) -> list[Any]:
        """The tensors of all processes, written into a list of as many."""
        dist.all_gather(tensor_list, tensor, group=self.group)
        return tensor_list

    def gather(self, tensor: Any, gather_list: list[Any], dst: int = 0) -> list[Any]:
        """The tensors of all processes, written into the list of process `dst`."""
        dist.gather(tensor, gather_list, dst, group=self.group)
        return gather_list

    def scatter(self, tensor: Any, scatter_list: list[Any], src: int = 0) -> Any:
        """This process's entry of the list of process `src`, written into the tensor."""
        dist.scatter(tensor, scatter_list, src, group=self.group)
        return tensor

    def reduce_scatter(self, output: Any, input_list: list[Any], op: Any = "sum") -> Any:
        """This process's entry of all lists combined, written into `output`."""
        op = self._convert_to_native_op(op)
        dist.reduce_scatter(output, input_list, op=op, group=self.group)
        return output

    def all_to_all(self, output_tensor_list: list[Any], input_tensor_list: list[Any]) -> list[Any]:
        """This process's entry of each process's list, written into the first list."""
        dist.all_to_all(output_tensor_list, input_tensor_list, group=self.group)
        return output_tensor_list

    def send(self, tensor: Any, dst: int, tag: int = 0) -> None:
        """Send a tensor to process `dst`."""
        dist.send(tensor, dst, tag=tag, group=self.group)

    def recv(self, tensor: Any, src: int | None = None, tag: int = 0) -> Any:
        """Receive a tensor from process `src`, from any by default, into this one."""
        dist.recv(tensor, src, tag=tag, group=self.group)
        return tensor

    # -- objects --------------------------------------------------------------------------------

    def all_gather_object(self, object_list: list[Any], obj: Any) -> list[Any]:
        """The objects of all processes, written into a list of as many entries."""
        dist.all_gather_object(object_list, obj, group=self.group)
        return object_list

    def broadcast_object_list(
        self, object_list: list[Any], src: int, device: Any = None
    ) -> list[Any]:
        """The objects of process `src`, written into every process's list."""
        dist.broadcast_object_list(object_list, src, group=self.group, device=device)
        return object_list

    def gather_object(self, obj: Any, object_gather_list: list[Any], dst: int = 0) -> list[Any]:
        """The objects of all processes, written into the list of process `dst`."""
        dist.gather_object(obj, object_gather_list, dst, group=self.group)
        return object_gather_list

    def scatter_object_list(
        self,
        scatter_object_output_list: list[Any],
        scatter_object_input_list: list[Any],
        src: int = 0,
    ) -> list[Any]:
        """This process's entry of the list of process `src`, written into the first list."""
        dist.scatter_object_list(
            scatter_object_output_list, scatter_object_input_list, src, group=self.group
        )
        return scatter_object_output_list

    # -- waiting --------------------------------------------------------------------------------

    def barrier(self, device_ids: list[int] | None = None) -> None:
        """Wait for the other processes of the group."""
        if self.group != dist.GroupMember.NON_GROUP_MEMBER:
            dist.barrier(group=self.group, device_ids=device_ids)

    def monitored_barrier(
        self, timeout: timedelta | None = None, wait_all_ranks: bool = False
    ) -> None:
        """Wait for the other processes; RuntimeError that names those which do not come."""
        dist.monitored_barrier(group=self.group, timeout=timeout, wait_all_ranks=wait_all_ranks)

    # -- groups ---------------------------------------------------------------------------------

    def setup(
        self, main_address: str | None = None, main_port: str | int | None = None, **kwargs: Any
    ) -> TorchCollective:
        """Connect all processes, unless they are.

        `main_address`, `main_port`: where the first process listens, unless the environment's
        MASTER_ADDR and MASTER_PORT say it. `kwargs` go to `init_process_group`.
        """
        if self.is_initialized():
            return self
        with _environment({self.addr_key: main_address, self.port_key: main_port}):
            super().setup(**kwargs)
        TorchCollective.manages_default_group = True
        return self

    def teardown(self) -> TorchCollective:
        """Give the group up; after the last one also that of all processes, if `setup` made it."""
        member = self.group != dist.GroupMember.NON_GROUP_MEMBER
        super().teardown()
        if not TorchCollective.manages_default_group:
            return self
        if dist.GroupMember.WORLD is None:
            TorchCollective.manages_default_group = False
        elif member and not TorchCollective._own_groups:
            self.destroy_group(dist.GroupMember.WORLD)
            TorchCollective.manages_default_group = False
        return self

    @classmethod
    def is_available(cls) -> bool:
        """Whether processes can be connected."""
        return dist.is_available()

    @classmethod
    def is_initialized(cls) -> bool:
        """Whether the processes are connected."""
        return cls.is_available() and dist.is_initialized()

    @classmethod
    def init_group(cls, **kwargs: Any) -> None:
        """Connect the processes: `init_process_group`."""
        dist.init_process_group(**kwargs)

    @classmethod
    def new_group(cls, **kwargs: Any) -> Any:
        """A group of some of the processes: `rushlight.distributed.new_group`."""
        made = dist.new_group(**kwargs)
        if made != dist.GroupMember.NON_GROUP_MEMBER:
            TorchCollective._own_groups.add(made)
        return made

    @classmethod
    def destroy_group(cls, group: Any) -> None:
        """Give a group up; nothing where this process has no part in it."""
        if group is None or group == dist.GroupMember.NON_GROUP_MEMBER:
            return
        is_world = group is dist.GroupMember.WORLD
        if is_world or group in TorchCollective._own_groups:
            TorchCollective._own_groups.discard(group)
            dist.destroy_process_group(group)
        if is_world:
            TorchCollective._own_groups.clear()

    @classmethod
    def _convert_to_native_op(cls, op: Any) -> Any:
        if isinstance(op, dist.ReduceOp):
            return op
        if not isinstance(op, str):
            raise ValueError(f"op={op!r}: expected a name such as 'sum', or a member of ReduceOp")
        found = getattr(dist.ReduceOp, op.upper(), None)
        if found is None:
            raise ValueError(f"op={op!r}: ReduceOp has no such member")
        return found


@contextmanager
def _environment(wanted: dict[str, Any]) -> Iterator[None]:
    """A block with variables of the environment that are not set."""
    made = [name for name, value in wanted.items() if value and name not in os.environ]
    os.environ.update({name: str(wanted[name]) for name in made})
    try:
        yield
    finally:
        for name in made:
            os.environ.pop(name, None)
