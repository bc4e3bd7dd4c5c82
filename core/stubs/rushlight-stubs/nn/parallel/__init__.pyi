# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _int
from rushlight.nn.module import Module
from typing import Any

from rushlight.nn.parallel.data_parallel import DataParallel as DataParallel
from rushlight.distributed.ddp.module import DistributedDataParallel as DistributedDataParallel
def data_parallel(module: Module, inputs: Any, device_ids: Any = ..., output_device: Any = ..., dim: _int = ..., module_kwargs: Any = ...) -> Any: ...
