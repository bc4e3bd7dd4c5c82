"""TQDMProgressBar: progress in one line, drawn by tqdm."""

from __future__ import annotations

import math
import os
import sys
import time
from typing import Any

from lightning_lite.callbacks.progress.progress_bar import (
    ProgressBar,
    shown_numbers,
    total_or_none,
)
from lightning_lite.hooks import overrides

# Where nobody watches, a bar that is drawn ten times a second only fills a file.
SECONDS_BETWEEN_LINES = 10.0


def convert_inf(x: int | float | None) -> int | float | None:
    """A number of batches as tqdm wants it: None for one that is not known."""
    return None if x is None or math.isinf(x) or math.isnan(x) else x


def is_drawn(bar: Any) -> bool:
    """Whether tqdm draws a bar at its next update, by the time since the last."""
    return bool(time.time() - bar.last_print_t >= bar.mininterval)


class TQDMProgressBar(ProgressBar):
    """One line for the epoch, another for a validation, test or prediction under way.

    `refresh_rate` is the number of batches between two drawings, 0 for none. With `leave`, every
    epoch's line stays. `process_position` moves the bars down by so many lines.

    >>> import lightning_lite as L
    >>> trainer = L.Trainer(max_epochs=1, callbacks=[TQDMProgressBar(refresh_rate=20)])
    """

    def __init__(
        self, refresh_rate: int = 1, process_position: int = 0, leave: bool = False
    ) -> None:
        super().__init__()
        self._refresh_rate = refresh_rate
        self._position = process_position
        self._leave = leave
        self._enabled = True
        self._training_bar: Any = None
        self._evaluation_bar: Any = None

    @property
    def refresh_rate(self) -> int:
        """Number of batches between two drawings."""
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

    def print(self, *args: Any, sep: str = " ", **kwargs: Any) -> None:
        """Print above the bars."""
        from tqdm import tqdm

        tqdm.write(sep.join(str(each) for each in args), file=sys.stdout)

    def _make(self, title: str, total: float, leave: bool, position: int) -> Any:
        """A new bar."""
        from tqdm import tqdm

        watched = sys.stdout.isatty() or "JPY_PARENT_PID" in os.environ
        return tqdm(
            desc=title,
            total=total_or_none(total),
            leave=leave,
            position=2 * self._position + position,
            disable=self.is_disabled,
            dynamic_ncols=True,
            file=sys.stdout,
            smoothing=0,
            mininterval=0.1 if watched else SECONDS_BETWEEN_LINES,
        )

    def _line(self, kind: str, title: str, total: float, leave: bool, position: int) -> Any:
        """A new bar; from `init_KIND_tqdm` where a subclass says how bars are made."""
        name = f"init_{kind}_tqdm"
        if not overrides(self, TQDMProgressBar, name):
            return self._make(title, total, leave, position)
        bar = getattr(self, name)()
        bar.reset(total_or_none(total))
        bar.set_description(title)
        return bar

    def init_train_tqdm(self) -> Any:
        """The bar of training; override to make another kind, or to change this one."""
        return self._make(self.train_description, math.inf, leave=True, position=0)

    def init_validation_tqdm(self) -> Any:
        """The bar of a validation; see `init_train_tqdm`."""
        inside = self._training_bar is not None
        return self._make(self.validation_description, math.inf, not inside, int(inside))

    def init_sanity_tqdm(self) -> Any:
        """The bar of the validation before training; see `init_train_tqdm`."""
        return self._make(self.sanity_check_description, math.inf, leave=False, position=0)

    def init_test_tqdm(self) -> Any:
        """The bar of a test; see `init_train_tqdm`."""
        return self._make(self.test_description, math.inf, leave=True, position=0)

    def init_predict_tqdm(self) -> Any:
        """The bar of a prediction; see `init_train_tqdm`."""
        return self._make(self.predict_description, math.inf, leave=True, position=0)

    @property
    def train_progress_bar(self) -> Any:
        """The bar of training. TypeError while there is none."""
        if self._training_bar is None:
            raise TypeError(f"{type(self).__name__}: there is no bar of training now")
        return self._training_bar

    @property
    def val_progress_bar(self) -> Any:
        """The bar of the validation, test or prediction. TypeError while there is none."""
        if self._evaluation_bar is None:
            raise TypeError(f"{type(self).__name__}: there is no bar of an evaluation now")
        return self._evaluation_bar

    test_progress_bar = predict_progress_bar = val_progress_bar

    @property
    def process_position(self) -> int:
        """How many lines further down the bars are."""
        return self._position

    def _advance(self, bar: Any, done: int, metrics: dict[str, Any] | None = None) -> None:
        """Move a bar to a number of batches, and draw it if it is time."""
        if bar is None or bar.disable:
            return
        if done % self._refresh_rate and done != bar.total:
            return
        if metrics is not None:
            bar.set_postfix(shown_numbers(metrics), refresh=False)
        bar.update(done - bar.n)

    # -- training -------------------------------------------------------------------------------

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin the epoch's line."""
        title = f"Epoch {trainer.current_epoch}"
        total = trainer.num_training_batches
        if self._training_bar is None or self._leave:
            self._close_training()
            self._training_bar = self._line("train", title, total, leave=True, position=0)
        else:
            self._training_bar.reset(total_or_none(total))
            self._training_bar.set_description(title)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """After a resume inside an epoch, begin its line where it stood."""
        progress = trainer.state.progress
        if progress.batch:
            title = f"Epoch {trainer.current_epoch}"
            self._training_bar = self._make(title, trainer.num_training_batches, True, 0)
            self._training_bar.update(progress.batch)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Move on."""
        bar = self._training_bar
        done = batch_idx + 1
        if bar is not None and not bar.disable:
            # what stands beside the bar is only gathered when it is drawn
            due = done % self._refresh_rate == 0 and is_drawn(bar) or done == bar.total
            metrics = self.get_metrics(trainer, pl_module) if due else None
            self._advance(bar, done, metrics)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Show the epoch's numbers."""
        bar = self._training_bar
        if bar is not None and not bar.disable:
            bar.set_postfix(shown_numbers(self.get_metrics(trainer, pl_module)), refresh=True)
        if self._leave:
            self._close_training()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """End the line."""
        self._close_training()

    def _close_training(self) -> None:
        if self._training_bar is not None:
            self._training_bar.close()
            self._training_bar = None

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """End the lines."""
        self._close_evaluation()
        self._close_training()

    # -- validation, test, prediction -----------------------------------------------------------

    def _begin_evaluation(self, kind: str, title: str, total: float) -> None:
        self._close_evaluation()
        inside = self._training_bar is not None
        self._evaluation_bar = self._line(kind, title, total, not inside, int(inside))

    def _close_evaluation(self) -> None:
        if self._evaluation_bar is not None:
            self._evaluation_bar.close()
            self._evaluation_bar = None

    def _evaluation_batch(
        self, kind: str, title: str, totals: list[float], batch_idx: int, dataloader_idx: int
    ) -> None:
        """Begin a line with each loader's first batch."""
        if batch_idx == 0:
            name = title if len(totals) == 1 else f"{title} {dataloader_idx}"
            self._begin_evaluation(kind, name, totals[dataloader_idx])

    def on_validation_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Begin the line of a validation."""
        checking = trainer.sanity_checking
        title = "Sanity check" if checking else "Validation"
        totals = trainer.num_sanity_val_batches if checking else trainer.num_val_batches
        kind = "sanity" if checking else "validation"
        self._evaluation_batch(kind, title, totals, batch_idx, dataloader_idx)

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
        self._advance(self._evaluation_bar, batch_idx + 1)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """End the line; the numbers stand beside the epoch's."""
        self._close_evaluation()
        bar = self._training_bar
        if bar is not None and not bar.disable:
            bar.set_postfix(shown_numbers(self.get_metrics(trainer, pl_module)), refresh=True)

    def on_test_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Begin the line of a test."""
        totals = trainer.num_test_batches
        self._evaluation_batch("test", "Test", totals, batch_idx, dataloader_idx)

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
        self._advance(self._evaluation_bar, batch_idx + 1)

    def on_test_end(self, trainer: Any, pl_module: Any) -> None:
        """End the line."""
        self._close_evaluation()

    def on_predict_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Begin the line of a prediction."""
        totals = trainer.num_predict_batches
        self._evaluation_batch("predict", "Predict", totals, batch_idx, dataloader_idx)

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
        self._advance(self._evaluation_bar, batch_idx + 1)

    def on_predict_end(self, trainer: Any, pl_module: Any) -> None:
        """End the line."""
        self._close_evaluation()


def __getattr__(name: str) -> Any:
    """`Tqdm`: the class of the bars, imported when somebody asks for it."""
    if name != "Tqdm":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tqdm import tqdm

    return tqdm
