"""Validation, test and prediction: one pass over loaders, nothing learnt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import rushlight as rl
from lightning_lite import random_state
from lightning_lite.combined_loader import batches_of
from lightning_lite.errors import Interrupted
from lightning_lite.logging_points import keep, send
from lightning_lite.metrics import Results
from lightning_lite.state import Next, Predictions, RunningStage, TrainerFn
from rushlight.utils.data import SequentialSampler

_END = object()
_CONTEXTS = {"validation": "val_step_context", "test": "test_step_context"}  # of a precision


def no_gradients(trainer: Any) -> Any:
    """The block that records nothing: inference mode, unless the trainer was told otherwise."""
    return rl.inference_mode() if trainer.inference_mode else rl.no_grad()


def evaluation_loop(
    trainer: Any, loaders: list[Any], lengths: list[float], when_over: Any = None
) -> list[dict[str, Any]]:
    """Measure the module on every loader; return the logged numbers, one dictionary per loader.

    `when_over` is called right before the hooks at the end, in which checkpoints are written.
    """
    module, hooks = trainer.lightning_module, trainer.hooks
    prefix = trainer.state.stage.hook_prefix
    results = trainer.evaluation_results = Results(training=False)
    trainer.remember_module_modes()
    getattr(module, f"on_{prefix}_model_eval")()
    with no_gradients(trainer):
        hooks.call(f"on_{prefix}_start")
        hooks.call(f"on_{prefix}_epoch_start")
        for number, loader in enumerate(loaders):
            results.dataloader_idx = number if len(loaders) > 1 else None
            evaluate_loader(trainer, loader, lengths[number], number, len(loaders) > 1)
        results.dataloader_idx = None
        if trainer.world_size > 1:
            results.synchronize()
        hooks.call(f"on_{prefix}_epoch_end")
        found = conclude(trainer, results, len(loaders))
        if when_over is not None:
            when_over()
        hooks.call(f"on_{prefix}_end")
    results.reset_metrics()
    getattr(module, f"on_{prefix}_model_train")()
    return found


def evaluate_loader(trainer: Any, loader: Any, length: float, number: int, several: bool) -> None:
    """Measure the module on one loader."""
    hooks, results = trainer.hooks, trainer.evaluation_results
    prefix = trainer.state.stage.hook_prefix
    name = f"{prefix}_step"
    step = trainer.strategy.step_of(trainer.lightning_module, name)
    around = getattr(trainer.precision_settings, _CONTEXTS[prefix])
    which = (number,) if several else ()
    seen = seen_batches(trainer, number)
    restart = trainer.fit_loop.epoch_loop.val_loop
    for batch_idx, batch in enumerate(first(trainer, loader, length)):
        batch = trainer.on_device(batch, number)
        results.batch = batch
        trainer.in_evaluation_batch = True
        hooks.call(f"on_{prefix}_batch_start", batch, batch_idx, *which)
        arguments = trainer.evaluation_signature.arguments(batch, batch_idx, number, several)
        with around():
            output = hooks.step(name, step, *arguments)
        hooks.call(f"on_{prefix}_batch_end", output, batch, batch_idx, *which)
        if results and trainer.state.stage is not RunningStage.SANITY_CHECKING:
            views = results.views(on_step=True)
            keep(trainer, views)
            send(trainer, views.logger, step=seen[number])
        seen[number] += 1
        results.batch = None
        if restart.is_resuming:
            restart.on_iteration_done()
        trainer.in_evaluation_batch = False


def seen_batches(trainer: Any, number: int) -> list[int]:
    """How many batches of each loader were measured: over all validations of a training."""
    if trainer.state.fn is not TrainerFn.FITTING or trainer.sanity_checking:
        return [0] * (number + 1)
    counts = trainer.state.progress.validated_batches
    counts.extend([0] * (number + 1 - len(counts)))
    return counts


def first(trainer: Any, loader: Any, length: float) -> Any:
    """The first batches of a loader; nothing beyond them is loaded. Ctrl-C ends it in between."""
    if length == 0:
        return
    iterator = batches_of(loader)
    taken = 0
    while taken < length:
        trainer.interrupt.check()
        try:
            batch = next(iterator, _END)
        except Exception as error:
            if trainer.interrupt.requested:  # Ctrl-C also ends the loader's worker processes
                raise Interrupted("the loader's workers were interrupted") from error
            raise
        if batch is _END:
            return
        taken += 1
        yield batch


def conclude(trainer: Any, results: Results, count: int) -> list[dict[str, Any]]:
    """Keep and log what an evaluation found; a sanity check leaves no trace."""
    if trainer.state.stage is RunningStage.SANITY_CHECKING:
        return []
    views = results.views(on_step=False)
    keep(trainer, views)
    send(trainer, views.logger)
    return results.per_dataloader(count)


def validate_in_training(trainer: Any, free_gradients: bool) -> None:
    """A validation between two training batches.

    If Ctrl-C ends it half-way, it is as if it had not begun: a checkpoint written then holds the
    random numbers of its start, and after a resume it runs from there.
    """
    progress = trainer.state.progress

    def when_over() -> None:
        progress.next = Next.AFTER_VALIDATION
        trainer.boundary_random_state = None

    if free_gradients:
        trainer.lightning_module.on_validation_model_zero_grad()
    trainer.boundary_random_state = random_state.snapshot()
    trainer.state.stage = RunningStage.VALIDATING
    evaluation_loop(trainer, trainer.val_loaders, trainer.num_val_batches, when_over)
    trainer.state.stage = RunningStage.TRAINING


def sanity_check(trainer: Any, set_up_data: Callable[[Any], None]) -> None:
    """A few batches of validation before training, to find mistakes early; random numbers stay."""
    stage, trainer.state.stage = trainer.state.stage, RunningStage.SANITY_CHECKING
    with random_state.isolated():
        trainer.hooks.call("on_sanity_check_start")
        set_up_data(trainer)
        if any(trainer.num_sanity_val_batches):
            evaluation_loop(trainer, trainer.val_loaders, trainer.num_sanity_val_batches)
        trainer.hooks.call("on_sanity_check_end")
    trainer.evaluation_results = Results(training=False)
    trainer.state.stage = stage


def prediction_loop(trainer: Any, loaders: list[Any], lengths: list[float]) -> Any:
    """What `predict_step` returned: a list, for several loaders a list of lists."""
    module, hooks = trainer.lightning_module, trainer.hooks
    trainer.remember_module_modes()
    module.on_predict_model_eval()
    loop = trainer.predict_loop = Predictions()
    predictions: list[list[Any]] = []
    kept = trainer.return_predictions or writes_predictions(trainer, "on_epoch")
    with no_gradients(trainer):
        hooks.call("on_predict_start")
        hooks.call("on_predict_epoch_start")
        for number, loader in enumerate(loaders):
            several = len(loaders) > 1
            loop.epoch_batch_indices.append([])
            found = predict_loader(trainer, loader, lengths[number], number, several, kept)
            predictions.append(found)
        loop.predictions = predictions if len(predictions) > 1 else predictions[0]
        hooks.call("on_predict_epoch_end")
        hooks.call("on_predict_end")
    module.on_predict_model_train()
    if not trainer.return_predictions:
        return None
    return loop.predictions


def writes_predictions(trainer: Any, when: str) -> bool:
    """Whether a callback writes predictions: `when` is "on_batch" or "on_epoch"."""
    writers = [getattr(each, "interval", None) for each in trainer.callbacks]
    return any(getattr(each, when, False) for each in writers)


def batch_positions(trainer: Any, loader: Any) -> Iterator[Any]:
    """The positions in the data set of one batch after another; None where they cannot be told."""
    wanted = any(writes_predictions(trainer, when) for when in ("on_batch", "on_epoch"))
    batches = getattr(loader, "batch_sampler", None)
    ordered = isinstance(getattr(loader, "sampler", None), SequentialSampler)
    if wanted and ordered and batches is not None:
        yield from map(list, batches)
    while True:
        yield None


def predict_loader(
    trainer: Any, loader: Any, length: float, number: int, several: bool, kept: bool
) -> list[Any]:
    """What `predict_step` returned on one loader."""
    hooks = trainer.hooks
    step = trainer.strategy.step_of(trainer.lightning_module, "predict_step")
    which = (number,) if several else ()
    outputs = []
    loop, positions = trainer.predict_loop, batch_positions(trainer, loader)
    for batch_idx, batch in enumerate(first(trainer, loader, length)):
        loop.current_batch_indices = next(positions)
        loop.epoch_batch_indices[number].append(loop.current_batch_indices)
        batch = trainer.on_device(batch, number)
        hooks.call("on_predict_batch_start", batch, batch_idx, *which)
        arguments = trainer.evaluation_signature.arguments(batch, batch_idx, number, several)
        with trainer.precision_settings.predict_step_context():
            output = hooks.step("predict_step", step, *arguments)
        hooks.call("on_predict_batch_end", output, batch, batch_idx, *which)
        if kept:
            outputs.append(output)
    return outputs
