"""Several processes that work on one thing: groups, collectives and messages, as in PyTorch.

MPI carries tensors of the CPU, under the names ``"gloo"`` and ``"mpi"``, NCCL those of GPUs.
Several processes need ``rushlight[mpi]``, one needs nothing. Stands above tensors and below
training: begin reading at :mod:`.initialization`, then :mod:`.groups` and :mod:`.collectives`.

>>> import rushlight.distributed as dist
>>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
>>> x = rushlight.ones(2)
>>> dist.all_reduce(x)
>>> dist.get_world_size(), x
(1, tensor([1., 1.]))
>>> dist.destroy_process_group()
"""

from __future__ import annotations

import os

from rushlight.distributed.backends import (
    Backend,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_mpi_available,
    is_nccl_available,
    is_ucc_available,
    is_xccl_available,
)
from rushlight.distributed.collectives import (
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_gather_single,
    all_reduce,
    all_reduce_coalesced,
    barrier,
    broadcast,
    reduce,
    reduce_scatter,
    reduce_scatter_single,
    reduce_scatter_tensor,
)
from rushlight.distributed.ddp.buckets import GradBucket
from rushlight.distributed.debug import (
    DebugLevel,
    get_debug_level,
    set_debug_level,
    set_debug_level_from_env,
)
from rushlight.distributed.device_mesh import DeviceMesh, init_device_mesh
from rushlight.distributed.errors import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    QueueEmptyError,
)
from rushlight.distributed.exchanges import all_to_all, all_to_all_single, gather, scatter
from rushlight.distributed.file_store import FileStore
from rushlight.distributed.groups import GroupMember, default_pg_timeout, group
from rushlight.distributed.initialization import (
    destroy_process_group,
    init_process_group,
    new_group,
)
from rushlight.distributed.monitored import monitored_barrier
from rushlight.distributed.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from rushlight.distributed.point_to_point import (
    P2POp,
    batch_isend_irecv,
    irecv,
    isend,
    recv,
    send,
)
from rushlight.distributed.prefix_store import PrefixStore
from rushlight.distributed.process_group import ProcessGroup
from rushlight.distributed.queries import (
    get_backend,
    get_backend_config,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    is_initialized,
)
from rushlight.distributed.reduce_op import ReduceOp, reduce_op, supports_complex
from rushlight.distributed.rendezvous import register_rendezvous_handler, rendezvous
from rushlight.distributed.stores import HashStore, Store
from rushlight.distributed.subgroups import (
    new_subgroups,
    new_subgroups_by_enumeration,
    split_group,
)
from rushlight.distributed.tcp_store import TCPStore
from rushlight.distributed.works import Work
from rushlight.refusals import rest_of


def is_torchelastic_launched() -> bool:
    """Whether ``torchrun`` started this process, by the variable it sets."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


__getattr__ = rest_of(
    __name__,
    parts="algorithms checkpoint constants distributed_c10d elastic fsdp launch nn optim run "
    "tensor",
)


__all__ = [
    "Backend",
    "DebugLevel",
    "DeviceMesh",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "GradBucket",
    "GroupMember",
    "HashStore",
    "P2POp",
    "PrefixStore",
    "ProcessGroup",
    "QueueEmptyError",
    "ReduceOp",
    "Store",
    "TCPStore",
    "Work",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "default_pg_timeout",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_backend_config",
    "get_debug_level",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_device_mesh",
    "init_process_group",
    "irecv",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "isend",
    "monitored_barrier",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_op",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "register_rendezvous_handler",
    "rendezvous",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "set_debug_level",
    "set_debug_level_from_env",
    "split_group",
    "supports_complex",
]
