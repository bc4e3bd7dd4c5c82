"""PyTorch's inner path of the loader's parts: ``_utils.collate``, ``fetch``, ``pin_memory`` and
``worker`` are the modules beside this package."""

from __future__ import annotations

import sys

from rushlight.utils.data import collate, fetch, pin_memory
from rushlight.utils.data import workers as worker
from rushlight.utils.data.worker_iteration import _CHECK_INTERVAL as MP_STATUS_CHECK_INTERVAL
from rushlight.utils.data.workers import ExceptionWrapper

sys.modules |= {  # for ``import ..._utils.collate``
    f"{__name__}.collate": collate,
    f"{__name__}.fetch": fetch,
    f"{__name__}.pin_memory": pin_memory,
    f"{__name__}.worker": worker,
}

__all__ = [
    "MP_STATUS_CHECK_INTERVAL",
    "ExceptionWrapper",
    "collate",
    "fetch",
    "pin_memory",
    "worker",
]
