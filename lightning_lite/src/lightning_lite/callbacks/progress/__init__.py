"""Progress bars."""

from lightning_lite.callbacks.progress.progress_bar import ProgressBar
from lightning_lite.callbacks.progress.rich_progress import RichProgressBar, RichProgressBarTheme
from lightning_lite.callbacks.progress.tqdm_progress import TQDMProgressBar

__all__ = ["ProgressBar", "RichProgressBar", "RichProgressBarTheme", "TQDMProgressBar"]
