"""How training is spread over devices: one process on one device; those for several are refused.

They import accelerators and plugins. Begin reading at `strategy.py`.
"""

from lightning_lite.lazy import attach
from lightning_lite.strategies.ddp import DDPStrategy
from lightning_lite.strategies.single_device import SingleDeviceStrategy
from lightning_lite.strategies.strategy import ParallelStrategy, Strategy

__all__ = ["DDPStrategy", "ParallelStrategy", "SingleDeviceStrategy", "Strategy"]
__getattr__ = attach(__name__, {})
