"""Fabric: device, precision, checkpoints and logs for a loop of one's own.

It imports the trainer's parts, not its loops. Begin reading at `fabric.py`.
"""

from lightning_lite.fabric.fabric import Fabric
from lightning_lite.fabric.wrappers import is_wrapped
from lightning_lite.random_state import seed_everything

__all__ = ["Fabric", "is_wrapped", "seed_everything"]
