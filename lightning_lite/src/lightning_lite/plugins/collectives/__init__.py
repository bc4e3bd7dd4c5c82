"""Operations that all processes of a group take part in.

They import `rushlight.distributed`, nothing of the trainer's. Begin reading at `collective.py`.
"""

from lightning_lite.lazy import attach
from lightning_lite.plugins.collectives.collective import Collective
from lightning_lite.plugins.collectives.single_device import SingleDeviceCollective

__all__ = ["Collective", "SingleDeviceCollective", "TorchCollective"]
__getattr__ = attach(__name__, {"TorchCollective": "plugins.collectives.torch_collective"})
