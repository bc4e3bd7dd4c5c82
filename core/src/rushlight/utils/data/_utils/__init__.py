"""PyTorch's inner path of the loader's parts: ``_utils.collate``, ``fetch``, ``pin_memory`` and
``worker`` are the modules beside this package."""

from __future__ import annotations

import sys

from rushlight.utils.data import collate, fetch, pin_memory
from rushlight.utils.data import workers as worker
from rushlight.utils.data.worker_iteration import _CHECK_INTERVAL as MP_STATUS_CHECK_INTERVAL
from rushlight.utils.data.workers import ExceptionWrapper

for _name, _module in {
    "collate": collate, "fetch": fetch, "pin_memory": pin_memory, "worker": worker,
}.items():  # fmt: skip
    sys.modules[f"{__name__}.{_name}"] = _module  # for ``import ..._utils.collate``

__all__ = [
    "MP_STATUS_CHECK_INTERVAL",
    "ExceptionWrapper",
    "collate",
    "fetch",
    "pin_memory",
    "worker",
]
