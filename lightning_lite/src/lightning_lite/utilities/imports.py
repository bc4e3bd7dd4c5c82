"""Which optional packages are there; looked up when somebody asks."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

PACKAGES = {
    "_TORCHVISION_AVAILABLE": "rushlight_vision",
    "_TORCHMETRICS_AVAILABLE": "torchmetrics",
    "_OMEGACONF_AVAILABLE": "omegaconf",
    "_RICH_AVAILABLE": "rich",
    "_TENSORBOARD_AVAILABLE": "tensorboard",
    "_JSONARGPARSE_SIGNATURES_AVAILABLE": "jsonargparse",
    "_WANDB_AVAILABLE": "wandb",
    "_MLFLOW_AVAILABLE": "mlflow",
    "_COMET_AVAILABLE": "comet_ml",
}


def __getattr__(name: str) -> Any:
    if name not in PACKAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return find_spec(PACKAGES[name]) is not None
