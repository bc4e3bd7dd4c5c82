"""Event files for TensorBoard, written without its package or TensorFlow's."""

from rushlight.utils.tensorboard.records import FileWriter
from rushlight.utils.tensorboard.writer import SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
