"""Optimizers whose state is divided among ranks: see :mod:`.zero_redundancy_optimizer`."""

from rushlight.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer
from rushlight.refusals import rest_of

__all__ = ["ZeroRedundancyOptimizer"]
__getattr__ = rest_of(__name__, parts="zero_redundancy_optimizer")
