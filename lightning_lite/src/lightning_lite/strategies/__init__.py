"""How training is spread over devices and processes.

They import accelerators and plugins. Begin reading at `strategy.py`, then `parallel.py`.
"""

from lightning_lite.lazy import attach
from lightning_lite.strategies.ddp import DDPStrategy
from lightning_lite.strategies.fsdp import FSDPStrategy
from lightning_lite.strategies.parallel import ParallelStrategy
from lightning_lite.strategies.single_device import SingleDeviceStrategy
from lightning_lite.strategies.strategy import Strategy

HOMES = {
    "DataParallelStrategy": "fabric.strategies",
    "ModelParallelStrategy": "strategies.model_parallel",
}
__all__ = [
    "DDPStrategy",
    "FSDPStrategy",
    "ParallelStrategy",
    "SingleDeviceStrategy",
    "Strategy",
    *sorted(HOMES),
]
__getattr__ = attach(__name__, HOMES)
