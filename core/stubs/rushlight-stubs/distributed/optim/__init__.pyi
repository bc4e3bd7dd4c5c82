# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations


from rushlight.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer as ZeroRedundancyOptimizer
