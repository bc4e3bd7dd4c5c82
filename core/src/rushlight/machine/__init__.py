"""The machine below everything: array libraries, LLVM, OpenBLAS, CUDA, memory, threads, processors.

Nothing else imports them. It imports errors, settings, dtypes and devices alone. Begin reading at
:mod:`.machine_code`, the way from a kernel to its address, and :mod:`.threads`, the worker pool.
"""

import ml_dtypes
import numpy as np

__all__ = ["engine_watchers", "ml_dtypes", "np"]

# Called with the engine of machine code once it is there: what Python did so far may then be done
# by compiled functions.
engine_watchers: list = []
