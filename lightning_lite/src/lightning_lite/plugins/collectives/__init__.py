"""Operations that all processes take part in; here there is one process.

They import nothing of the trainer's. Begin reading at `single_device.py`.
"""

from lightning_lite.lazy import attach
from lightning_lite.plugins.collectives.single_device import Collective, SingleDeviceCollective

__all__ = ["Collective", "SingleDeviceCollective"]
__getattr__ = attach(__name__, {})
