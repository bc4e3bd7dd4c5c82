"""The parts of RichProgressBar's lines, for bars with columns of one's own. Needs rich.

A total that is infinite stands for a loader whose length nobody knows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID
from rich.progress_bar import ProgressBar
from rich.text import Text


def _is_endless(total: float | None) -> bool:
    return total is None or not math.isfinite(total)


class CustomBarColumn(BarColumn):
    """A bar, which pulses where the total is infinite."""

    def render(self, task: Task) -> ProgressBar:
        """The bar of a task."""
        endless = _is_endless(task.total)
        return ProgressBar(
            total=None if endless else max(0, task.total or 0),
            completed=max(0, task.completed),
            width=None if self.bar_width is None else max(1, self.bar_width),
            pulse=endless or not task.started,
            animation_time=task.get_time(),
            style=self.style,
            complete_style=self.complete_style,
            finished_style=self.finished_style,
            pulse_style=self.pulse_style,
        )


@dataclass
class CustomInfiniteTask(Task):
    """A task without an end: nobody knows what time remains."""

    @property
    def time_remaining(self) -> float | None:
        """None."""
        return None


class CustomProgress(Progress):
    """rich's Progress, whose tasks may have an infinite total."""

    def add_task(
        self,
        description: str,
        start: bool = True,
        total: float | None = 100.0,
        completed: int = 0,
        visible: bool = True,
        **fields: Any,
    ) -> TaskID:
        """Add a task; its number."""
        if total is None or math.isfinite(total):
            return super().add_task(description, start, total, completed, visible, **fields)
        task = CustomInfiniteTask(
            self._task_index, description, total, completed, visible=visible, fields=fields,
            _get_time=self.get_time, _lock=self._lock,
        )  # fmt: skip
        return self.add_custom_task(task, start)

    def add_custom_task(self, task: Task, start: bool = True) -> TaskID:
        """Add a task that was made elsewhere, with the next number; the number."""
        with self._lock:
            number = task.id = self._task_index
            self._tasks[number] = task
            if start:
                self.start_task(number)
            self._task_index = TaskID(int(number) + 1)
        self.refresh()
        return number

    def soft_refresh(self) -> None:
        """Let changes be seen at the next beat of the thread that draws; at once without one."""
        if not self.live.auto_refresh:
            self.refresh()


class _Styled(ProgressColumn):
    """A column of text in one style."""

    def __init__(self, style: Any) -> None:
        self.style = style
        super().__init__()

    def words(self, task: Task) -> str:
        """What it says of a task."""
        raise NotImplementedError(f"{type(self).__name__} does not define words")

    def render(self, task: Task) -> Text:
        """The words in their style."""
        return Text(self.words(task), style=self.style)


class CustomTimeColumn(_Styled):
    """The time that has passed, and the time that remains; `style`: rich's."""

    max_refresh = 0.5  # seconds: digits that change more often cannot be read

    def words(self, task: Task) -> str:
        """Both times."""
        elapsed = task.finished_time if task.finished else task.elapsed
        return f"{_clock(elapsed)} • {_clock(task.time_remaining)}"


def _clock(seconds: float | None) -> str:
    return "-:--:--" if seconds is None else str(timedelta(seconds=int(seconds)))


class BatchesProcessedColumn(_Styled):
    """How many batches are done, and of how many; `style`: rich's."""

    def words(self, task: Task) -> str:
        """Both numbers."""
        total = "--" if task.total is None or _is_endless(task.total) else str(int(task.total))
        return f"{int(task.completed)}/{total}"


class ProcessingSpeedColumn(_Styled):
    """Batches a second; `style`: rich's."""

    def words(self, task: Task) -> str:
        """The speed."""
        return f"{task.speed or 0:.2f}it/s"


class MetricsTextColumn(ProgressColumn):
    """The numbers beside the line of training, which `update` takes.

    `trainer`: whose progress bar has the line (`train_progress_bar_id`); `style`: rich's;
    `text_delimiter`: between two numbers; `metrics_format`: of a number, such as ".3f".
    """

    def __init__(self, trainer: Any, style: Any, text_delimiter: str, metrics_format: str) -> None:
        self._trainer, self._style = trainer, style
        self._delimiter, self._format = text_delimiter, metrics_format
        self._texts: dict[Any, str] = {}
        super().__init__()

    def update(self, metrics: dict[Any, Any]) -> None:
        """Take the numbers of the training that is under way; lines of earlier epochs keep
        theirs."""
        number = self._trainer.progress_bar_callback.train_progress_bar_id
        shown = (f"{name}: {self._shown(value)}" for name, value in metrics.items())
        self._texts[number] = self._delimiter.join(shown)

    def _shown(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        try:
            return format(value, self._format)
        except (TypeError, ValueError):
            return str(value)

    def render(self, task: Task) -> Text:
        """The numbers of a task; none beside other lines than training's."""
        return Text(self._texts.get(task.id, ""), justify="left", style=self._style)
