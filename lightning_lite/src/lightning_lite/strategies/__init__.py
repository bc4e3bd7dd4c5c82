"""How training is spread over devices and processes.

They import accelerators and plugins. Begin reading at `strategy.py`, then `parallel.py`.
"""

from lightning_lite.lazy import attach
from lightning_lite.strategies.single_device import SingleDeviceStrategy
from lightning_lite.strategies.strategy import Strategy

HOMES = {
    "DDPStrategy": "strategies.ddp",
    "DataParallelStrategy": "fabric.strategies",
    "FSDPStrategy": "strategies.fsdp",
    "ModelParallelStrategy": "strategies.model_parallel",
    "ParallelStrategy": "strategies.parallel",
}
__all__ = [
    "SingleDeviceStrategy",
    "Strategy",
    *sorted(HOMES),
]
__getattr__ = attach(__name__, HOMES)
