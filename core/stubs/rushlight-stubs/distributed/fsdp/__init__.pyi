# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight.nn.module import Module
from typing import Any

from rushlight.distributed.fsdp.module import FSDPModule as FSDPModule
from rushlight.distributed.fsdp.module import MixedPrecisionPolicy as MixedPrecisionPolicy
def fully_shard(module: Module, *, mesh: Any = ..., reshard_after_forward: Any = ..., shard_placement_fn: Any = ..., mp_policy: Any = ..., offload_policy: Any = ..., ignored_params: Any = ...) -> Any: ...
