"""RichProgressBar: progress drawn by rich."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lightning_lite.callbacks.progress.progress_bar import ProgressBar

COLUMNS = (
    "BatchesProcessedColumn", "CustomBarColumn", "CustomInfiniteTask", "CustomProgress",
    "CustomTimeColumn", "MetricsTextColumn", "ProcessingSpeedColumn",
)  # fmt: skip


@dataclass
class RichProgressBarTheme:
    """Styles of the parts of the bar, as rich names them."""

    description: str = ""
    progress_bar: str = "#6206E0"
    progress_bar_finished: str = "#6206E0"
    progress_bar_pulse: str = "#6206E0"
    batch_progress: str = ""
    time: str = "dim"
    processing_speed: str = "dim underline"
    metrics: str = "italic"
    metrics_text_delimiter: str = " "
    metrics_format: str = ".3f"


def _rich() -> Any:
    """The columns, or an error that says how to get rich."""
    try:
        from lightning_lite.callbacks.progress import rich_columns
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "RichProgressBar needs rich: python3 -m pip install 'rushlight-lightning-lite[rich]'"
        ) from None
    return rich_columns


def __getattr__(name: str) -> Any:
    if name not in COLUMNS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_rich(), name)


class RichProgressBar(ProgressBar):
    """A line for the epoch and one for a validation, test or prediction under way, drawn by rich.

    `refresh_rate` is the number of batches between two updates, 0 for no bar. With `leave`, every
    epoch's line stays. `console_kwargs` go to `rich.console.Console`. A subclass may have other
    columns: `configure_columns`.
    """

    def __init__(
        self,
        refresh_rate: int = 1,
        leave: bool = False,
        theme: RichProgressBarTheme | None = None,
        console_kwargs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        _rich()
        self._refresh_rate = refresh_rate
        self._leave = leave
        self._enabled = True
        self.theme = theme or RichProgressBarTheme()
        self._console_kwargs = console_kwargs or {}
        self._progress: Any = None
        self._training_task: Any = None
        self._evaluation_task: Any = None
        self._numbers: Any = None

    @property
    def train_progress_bar_id(self) -> Any:
        """The number of training's line; None where there is none."""
        return self._training_task

    @property
    def refresh_rate(self) -> int:
        """Number of batches between two updates."""
        return self._refresh_rate

    @property
    def is_enabled(self) -> bool:
        """Whether anything is drawn."""
        return self._enabled and self._refresh_rate > 0

    @property
    def is_disabled(self) -> bool:
        """Whether nothing is drawn."""
        return not self.is_enabled

    def disable(self) -> None:
        """Draw nothing from now on."""
        self._enabled = False

    def enable(self) -> None:
        """Draw again."""
        self._enabled = True

    def print(self, *args: Any, **kwargs: Any) -> None:
        """Print above the bars."""
        if self._progress is None:
            print(*args, **kwargs)
        else:
            self._progress.console.print(*args)

    def _start(self) -> None:
        """Begin to draw."""
        if self._progress is not None or self.is_disabled:
            return
        from rich.console import Console

        kit, theme = _rich(), self.theme
        self._numbers = kit.MetricsTextColumn(
            self.trainer, theme.metrics, theme.metrics_text_delimiter, theme.metrics_format
        )
        columns = [*self.configure_columns(self.trainer), self._numbers]
        self._progress = kit.CustomProgress(*columns, console=Console(**self._console_kwargs))
        self._progress.start()

    def configure_columns(self, trainer: Any) -> list[Any]:
        """The columns of a line, as rich's `ProgressColumn`s; the numbers follow."""
        from rich.progress import TextColumn

        kit, theme = _rich(), self.theme
        return [
            TextColumn("[progress.description]{task.description}", style=theme.description),
            kit.CustomBarColumn(
                complete_style=theme.progress_bar,
                finished_style=theme.progress_bar_finished,
                pulse_style=theme.progress_bar_pulse,
            ),
            kit.BatchesProcessedColumn(theme.batch_progress),
            kit.CustomTimeColumn(theme.time),
            kit.ProcessingSpeedColumn(theme.processing_speed),
        ]

    def _stop(self) -> None:
        """Draw no more."""
        if self._progress is not None:
            self._progress.stop()
        self._progress = self._training_task = self._evaluation_task = None

    def _task(self, title: str, total: float) -> Any:
        self._start()
        if self._progress is None:
            return None
        return self._progress.add_task(title, total=total)

    def _tell_numbers(self, trainer: Any, pl_module: Any) -> None:
        if self._progress is not None and self._training_task is not None:
            self._numbers.update(self.get_metrics(trainer, pl_module))

    def _due(self, done: int, total: float) -> bool:
        return self._progress is not None and (done % self._refresh_rate == 0 or done == total)

    # -- training -------------------------------------------------------------------------------

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """After a resume inside an epoch, begin its line where it stood."""
        done = trainer.state.progress.batch
        if done:
            title = f"Epoch {trainer.current_epoch}"
            self._training_task = self._task(title, trainer.num_training_batches)
            if self._progress is not None:
                self._progress.update(self._training_task, completed=done)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin the epoch's line."""
        if self._progress is not None and self._training_task is not None and not self._leave:
            self._progress.remove_task(self._training_task)
        title = f"Epoch {trainer.current_epoch}"
        self._training_task = self._task(title, trainer.num_training_batches)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Move on."""
        if self._due(batch_idx + 1, trainer.num_training_batches):
            self._tell_numbers(trainer, pl_module)
            self._progress.update(self._training_task, completed=batch_idx + 1)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Show the epoch's numbers."""
        self._tell_numbers(trainer, pl_module)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """End the line."""
        self._stop()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """End the lines."""
        self._stop()

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """End the lines."""
        self._stop()

    # -- validation, test, prediction -----------------------------------------------------------

    def _evaluation_batch(
        self, title: str, totals: list[float], batch_idx: int, dataloader_idx: int
    ) -> None:
        if batch_idx == 0:
            self._end_evaluation()
            name = title if len(totals) == 1 else f"{title} {dataloader_idx}"
            self._evaluation_task = self._task(name, totals[dataloader_idx])

    def _move_on(self, totals: list[float], batch_idx: int, dataloader_idx: int) -> None:
        if self._due(batch_idx + 1, totals[dataloader_idx]):
            self._progress.update(self._evaluation_task, completed=batch_idx + 1)

    def _end_evaluation(self) -> None:
        """Remove the line of a validation inside training."""
        inside = self._training_task is not None
        if self._progress is not None and self._evaluation_task is not None and inside:
            self._progress.remove_task(self._evaluation_task)
        self._evaluation_task = None

    @staticmethod
    def _validation_totals(trainer: Any) -> list[float]:
        checking = trainer.sanity_checking
        return trainer.num_sanity_val_batches if checking else trainer.num_val_batches

    def on_validation_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Begin the line of a validation."""
        title = "Sanity check" if trainer.sanity_checking else "Validation"
        totals = self._validation_totals(trainer)
        self._evaluation_batch(title, totals, batch_idx, dataloader_idx)

    def on_validation_batch_end(
        self,
        trainer: Any,
        pl_module: Any,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Move on."""
        self._move_on(self._validation_totals(trainer), batch_idx, dataloader_idx)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """End the line; the numbers stand beside the epoch's."""
        self._end_evaluation()
        self._tell_numbers(trainer, pl_module)

    def on_sanity_check_end(self, trainer: Any, pl_module: Any) -> None:
        """Begin anew with training."""
        self._stop()

    def on_test_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Begin the line of a test."""
        self._evaluation_batch("Test", trainer.num_test_batches, batch_idx, dataloader_idx)

    def on_test_batch_end(
        self,
        trainer: Any,
        pl_module: Any,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Move on."""
        self._move_on(trainer.num_test_batches, batch_idx, dataloader_idx)

    def on_predict_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Begin the line of a prediction."""
        self._evaluation_batch("Predict", trainer.num_predict_batches, batch_idx, dataloader_idx)

    def on_predict_batch_end(
        self,
        trainer: Any,
        pl_module: Any,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Move on."""
        self._move_on(trainer.num_predict_batches, batch_idx, dataloader_idx)
