# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from contextlib import AbstractContextManager
from rushlight._words import _bool
from rushlight._words import _int
from rushlight.distributed.algorithms.join import GroupJoinable
from rushlight.distributed.algorithms.join import JoinHook
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Tensor
from typing import Any

class DistributedDataParallel(Module, GroupJoinable):
    def __init__(self, module: Module, device_ids: Any = ..., output_device: Any = ..., dim: _int = ..., broadcast_buffers: Any = ..., init_sync: _bool = ..., process_group: Any = ..., bucket_cap_mb: Any = ..., find_unused_parameters: _bool = ..., check_reduction: _bool = ..., gradient_as_bucket_view: _bool = ..., static_graph: _bool = ..., delay_all_reduce_named_params: Any = ..., param_to_hook_all_reduce: Any = ..., mixed_precision: Any = ..., device_mesh: Any = ..., **options: Any) -> None: ...
    def forward(self, *inputs: Any, **kwargs: Any) -> Tensor: ...
    def no_sync(self) -> AbstractContextManager[Any]: ...
    def register_comm_hook(self, state: Any, hook: Any) -> None: ...
    def train(self, mode: _bool = ...) -> Any: ...
    def join(self, divide_by_initial_world_size: _bool = ..., enable: _bool = ..., throw_on_early_termination: _bool = ...) -> Any: ...
    def join_hook(self, **kwargs: Any) -> JoinHook: ...
    def __call__(self, *inputs: Any, **kwargs: Any) -> Tensor: ...
    module: Module
    process_group: Any
    dim: _int
    device_ids: Any
    output_device: Any
    broadcast_buffers: Any
    find_unused_parameters: _bool
    gradient_as_bucket_view: _bool
    static_graph: _bool
    require_backward_grad_sync: _bool
    require_forward_param_sync: _bool
    bucket_bytes_cap: _int
    reducer: Any
    parameters_to_ignore: Any
