"""What a run is doing and how far it has come: all that a checkpoint needs to go on."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class TrainerFn(StrEnum):
    """Which of the trainer's entry points is running."""

    FITTING = "fit"
    VALIDATING = "validate"
    TESTING = "test"
    PREDICTING = "predict"


class RunningStage(StrEnum):
    """Which kind of batch is being processed."""

    TRAINING = "train"
    SANITY_CHECKING = "sanity_check"
    VALIDATING = "validate"
    TESTING = "test"
    PREDICTING = "predict"

    @property
    def evaluating(self) -> bool:
        """Whether the module is being measured, not trained."""
        return self is not RunningStage.TRAINING and self is not RunningStage.PREDICTING

    @property
    def dataloader_prefix(self) -> str | None:
        """The word in the names of loaders; None for the sanity check."""
        if self is RunningStage.SANITY_CHECKING:
            return None
        return "val" if self is RunningStage.VALIDATING else self.value

    @property
    def hook_prefix(self) -> str:
        """The word in hook names: the sanity check runs the validation hooks."""
        return "validation" if self.value in ("sanity_check", "validate") else self.value


class TrainerStatus(StrEnum):
    """How the last run ended, or that it still runs."""

    INITIALIZING = "initializing"
    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"

    @property
    def stopped(self) -> bool:
        """Whether the run is over."""
        return self in (TrainerStatus.FINISHED, TrainerStatus.INTERRUPTED)


class Next(StrEnum):
    """What comes next in training. Set before the hooks in which checkpoints are written, so that a
    checkpoint names the first thing that has not happened yet."""

    EPOCH = "epoch"  # begin an epoch
    BATCH = "batch"  # take a batch
    AFTER_BATCH = "after_batch"  # log the step, validate if due
    AFTER_VALIDATION = "after_validation"  # plateau schedulers of the step
    EPOCH_HOOKS = "epoch_hooks"  # on_train_epoch_end
    AFTER_EPOCH = "after_epoch"  # plateau schedulers and metrics of the epoch


@dataclass
class Progress:
    """How far training has come. Numbers count what is finished.

    `cut_short` says that the last epoch ended before its last batch, by a limit or a wish to stop.
    """

    epoch: int = 0
    batch: int = 0
    total_batches: int = 0
    optimizer_steps: int = 0
    logged_steps: int = 0
    scheduler_steps: int = 0
    is_last_batch: bool = False
    cut_short: bool = False
    next: Next = Next.EPOCH
    validated_batches: list[int] = field(default_factory=list)

    def begin_anew(self) -> None:
        """Stand at the start of the epoch, whatever happened before."""
        self.batch = 0
        self.is_last_batch = self.cut_short = False
        self.next = Next.EPOCH

    def state_dict(self) -> dict[str, Any]:
        """The numbers in plain types."""
        return {**asdict(self), "next": self.next.value}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over numbers from `state_dict`."""
        for name, value in state.items():
            setattr(self, name, Next(value) if name == "next" else value)


@dataclass
class TrainerState:
    """What a trainer is doing at the moment."""

    status: TrainerStatus = TrainerStatus.INITIALIZING
    fn: TrainerFn | None = None
    stage: RunningStage | None = None
    progress: Progress = field(default_factory=Progress)

    @property
    def finished(self) -> bool:
        """Whether the last run went through to its end."""
        return self.status is TrainerStatus.FINISHED

    @property
    def stopped(self) -> bool:
        """Whether the last run is over, finished or interrupted."""
        return self.status.stopped


@dataclass
class Predictions:
    """What a prediction has given so far, and the positions in the data set that it is of.

    `current_batch_indices` and `epoch_batch_indices` (a list for each loader) are noted where a
    callback writes predictions; None where a loader's order is random.
    """

    predictions: Any = field(default_factory=list)
    current_batch_indices: list[int] | None = None
    epoch_batch_indices: list[list[Any]] = field(default_factory=list)
