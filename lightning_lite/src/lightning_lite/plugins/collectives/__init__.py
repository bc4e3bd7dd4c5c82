"""Operations that all processes of a group take part in.

They import `rushlight.distributed`, nothing of the trainer's. Begin reading at `collective.py`.
"""

from lightning_lite.lazy import attach
from lightning_lite.plugins.collectives.collective import Collective
from lightning_lite.plugins.collectives.single_device import SingleDeviceCollective

HOMES = {"TorchCollective": "plugins.collectives.torch_collective"}
__all__ = ["Collective", "SingleDeviceCollective", *sorted(HOMES)]
__getattr__ = attach(__name__, HOMES)
