"""Callbacks: what happens at chosen moments of a run, apart from the model."""

from lightning_lite.callbacks.callback import Callback
from lightning_lite.callbacks.checkpoint import Checkpoint
from lightning_lite.callbacks.early_stopping import EarlyStopping
from lightning_lite.callbacks.gradient_accumulation_scheduler import GradientAccumulationScheduler
from lightning_lite.callbacks.lambda_function import LambdaCallback
from lightning_lite.callbacks.lr_monitor import LearningRateMonitor
from lightning_lite.callbacks.model_checkpoint import ModelCheckpoint
from lightning_lite.callbacks.model_summary import ModelSummary
from lightning_lite.callbacks.progress import (
    ProgressBar,
    RichProgressBar,
    RichProgressBarTheme,
    TQDMProgressBar,
)
from lightning_lite.callbacks.timer import Timer

__all__ = [
    "Callback",
    "Checkpoint",
    "EarlyStopping",
    "GradientAccumulationScheduler",
    "LambdaCallback",
    "LearningRateMonitor",
    "ModelCheckpoint",
    "ModelSummary",
    "ProgressBar",
    "RichProgressBar",
    "RichProgressBarTheme",
    "TQDMProgressBar",
    "Timer",
]
