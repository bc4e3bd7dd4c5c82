"""PyTorch's inner path of the loader's parts: ``_utils.collate``, ``fetch``, ``pin_memory``,
``signal_handling`` and ``worker`` are the modules beside this package."""

from __future__ import annotations

import atexit
import sys

from rushlight._utils.exceptions import ExceptionWrapper
from rushlight.utils.data import collate, fetch, pin_memory, signal_handling
from rushlight.utils.data import workers as worker
from rushlight.utils.data.worker_iteration import _CHECK_INTERVAL as MP_STATUS_CHECK_INTERVAL

HAS_NUMPY = True
python_exit_status = False  # loaders of libraries leave ended processes alone once it is True

sys.modules |= {  # for ``import ..._utils.collate``
    f"{__name__}.collate": collate,
    f"{__name__}.fetch": fetch,
    f"{__name__}.pin_memory": pin_memory,
    f"{__name__}.signal_handling": signal_handling,
    f"{__name__}.worker": worker,
}


@atexit.register
def _set_python_exit_flag() -> None:
    global python_exit_status
    python_exit_status = True


__all__ = [
    "HAS_NUMPY",
    "MP_STATUS_CHECK_INTERVAL",
    "ExceptionWrapper",
    "collate",
    "fetch",
    "pin_memory",
    "python_exit_status",
    "signal_handling",
    "worker",
]
