"""Parts of a run that can be exchanged: precision, checkpoint files, cluster environments.

They import core and the checkpoint files. Begin reading at `io.py`.
"""

from lightning_lite.lazy import attach
from lightning_lite.plugins.io import AsyncCheckpointIO, CheckpointIO, TorchCheckpointIO

HOMES = {
    "BitsandbytesPrecision": "plugins.bitsandbytes",
    "ClusterEnvironment": "plugins.environments",
    "DDPPlugin": "strategies.ddp",
    "DoublePrecision": "plugins.precision",
    "FSDPPrecision": "plugins.precision",
    "HalfPrecision": "plugins.precision",
    "LayerSync": "plugins.layer_sync",
    "LightningEnvironment": "plugins.environments",
    "MixedPrecision": "plugins.precision",
    "Precision": "plugins.precision",
    "SLURMEnvironment": "plugins.environments",
    "TorchSyncBatchNorm": "plugins.layer_sync",
}
__all__ = ["AsyncCheckpointIO", "CheckpointIO", "TorchCheckpointIO", *sorted(HOMES)]
__getattr__ = attach(__name__, HOMES)
