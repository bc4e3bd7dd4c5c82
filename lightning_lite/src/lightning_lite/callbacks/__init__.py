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
from lightning_lite.lazy import attach

HOMES = {
    "BackboneFinetuning": "callbacks.finetuning",
    "BaseFinetuning": "callbacks.finetuning",
    "BasePredictionWriter": "callbacks.prediction_writer",
    "BatchSizeFinder": "callbacks.batch_size_finder",
    "DeviceStatsMonitor": "callbacks.device_stats_monitor",
    "EMAWeightAveraging": "callbacks.weight_averaging",
    "LearningRateFinder": "callbacks.lr_finder",
    "ModelPruning": "callbacks.pruning",
    "OnExceptionCheckpoint": "callbacks.on_exception_checkpoint",
    "RichModelSummary": "callbacks.rich_model_summary",
    "RunPage": "callbacks.run_page",
    "SpikeDetection": "callbacks.spike",
    "StochasticWeightAveraging": "callbacks.stochastic_weight_avg",
    "ThroughputMonitor": "callbacks.throughput_monitor",
    "WeightAveraging": "callbacks.weight_averaging",
}
__all__ = [
    *sorted(HOMES),
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
__getattr__ = attach(__name__, HOMES)
