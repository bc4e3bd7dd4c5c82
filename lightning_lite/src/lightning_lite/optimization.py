"""One training batch: loss, gradients, step; and when schedulers step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import rushlight as rl
from lightning_lite.batches import detached
from lightning_lite.errors import MisconfigurationException
from lightning_lite.finiteness import is_finite, watch_loss
from lightning_lite.hooks import overrides
from lightning_lite.messages import warn


def steps_now(trainer: Any, number: int) -> bool:
    """Whether the optimizer steps after batch `number` of the epoch (counted from 1)."""
    return number % trainer.accumulate_grad_batches == 0 or trainer.state.progress.is_last_batch


def split_output(output: Any, hook: str = "training_step") -> tuple[Any, dict[str, Any]]:
    """Loss and everything else from what `training_step` returned; the loss is None to skip."""
    if output is None:
        return None, {}
    if isinstance(output, rl.Tensor):
        return output, {}
    if isinstance(output, Mapping):
        if "loss" not in output:
            raise MisconfigurationException(
                f"{hook} returned a dictionary with {list(output)}; expected a 'loss' among them"
            )
        rest = {key: value for key, value in output.items() if key != "loss"}
        return output["loss"], rest
    raise MisconfigurationException(
        f"{hook} returned {type(output).__name__}; expected a tensor, a dictionary with 'loss', "
        "or None"
    )


def tell_skipped(trainer: Any, batch_idx: int) -> None:
    """Warn of the first batch of a fit for which `training_step` gave no loss."""
    if trainer.told_skipped:
        return
    trainer.told_skipped = True
    warn(
        f"training_step returned None for batch {batch_idx}: nothing is learnt from it, and no "
        "other is told. If this was not meant, end training_step with `return loss`"
    )


class Closure:
    """Loss and gradients of one batch, as a function that optimizers may call.

    After a call, `outputs` is what `on_train_batch_end` gets: the detached loss, divided by the
    number of accumulated batches, and whatever else `training_step` returned.
    """

    def __init__(self, trainer: Any, arguments: tuple[Any, ...], batch_idx: int) -> None:
        self.trainer = trainer
        self.arguments = arguments
        self.batch_idx = batch_idx
        self.outputs: dict[str, Any] = {}

    def __call__(self) -> Any:
        """Compute loss and gradients; return the loss, None if the batch is skipped."""
        trainer = self.trainer
        module, hooks, precision = (
            trainer.lightning_module,
            trainer.hooks,
            trainer.precision_settings,
        )
        factor = trainer.accumulate_grad_batches
        with rl.enable_grad():
            with precision.train_step_context():
                output = hooks.step(
                    "training_step",
                    trainer.strategy.step_of(module, "training_step"),
                    *self.arguments,
                )
            loss, rest = split_output(output)
            if self.batch_idx % factor == 0:
                optimizer = trainer.lightning_optimizers[0]
                hooks.call("on_before_zero_grad", optimizer)
                module.optimizer_zero_grad(trainer.current_epoch, self.batch_idx, optimizer)
            if loss is None:
                tell_skipped(trainer, self.batch_idx)
                self.outputs = {}
                return None
            if factor != 1:
                loss = loss / factor
            self.outputs = {"loss": loss.detach(), **rest}
            watch_loss(trainer, self.outputs["loss"], self.batch_idx, self.arguments)
            loss = precision.pre_backward(loss, module)
            hooks.call("on_before_backward", loss)
            precision.backward(loss, module, trainer.optimizers[0])
            loss = precision.post_backward(loss, module)
            hooks.call("on_after_backward")
        return loss

    def then_announce(self) -> Any:
        """The same, followed by the hook before the step and by gradient clipping."""
        loss = self()
        trainer = self.trainer
        optimizer = trainer.optimizers[0]
        if loss is not None:
            trainer.precision_settings.unscale_gradients(optimizer)
        trainer.hooks.call("on_before_optimizer_step", optimizer)
        if trainer.clips_gradients:
            trainer.lightning_module.configure_gradient_clipping(
                optimizer,
                gradient_clip_val=trainer.gradient_clip_val,
                gradient_clip_algorithm=trainer.gradient_clip_algorithm,
            )
        return loss


# What stands between a loss and an optimizer's step; where nobody uses any, it is left out.
BETWEEN = (
    *("on_before_zero_grad", "on_before_backward", "on_after_backward"),
    "on_before_optimizer_step",
)
OVERRIDABLE = ("backward", "optimizer_step", "optimizer_zero_grad")


def is_plain(trainer: Any) -> bool:
    """Whether a step is no more than loss, gradients and the optimizer's step: nothing is scaled,
    cast or clipped, nobody uses the hooks in between, and the optimizer wants no closure."""
    from lightning_lite.module import LightningModule

    module, precision = trainer.lightning_module, trainer.precision_settings
    if not module.automatic_optimization or not precision.is_single:
        return False
    if trainer.clips_gradients or any(trainer.hooks.uses(name) for name in BETWEEN):
        return False
    if any(overrides(module, LightningModule, name) for name in OVERRIDABLE):
        return False
    kind = type(trainer.optimizers[0])
    ours = kind.__module__.startswith("rushlight.")
    return ours and not issubclass(kind, rl.optim.LBFGS)


def plain_step(trainer: Any) -> Callable[[Any, int], dict[str, Any]]:
    """A function of a batch and its number that does what :func:`optimize` does where
    :func:`is_plain` holds and nothing is accumulated. What it asks for stays as it is in a fit, so
    that a step does not look it up."""
    hooks, signature, progress = trainer.hooks, trainer.signature, trainer.state.progress
    step = trainer.strategy.step_of(trainer.lightning_module, "training_step")
    plain = signature.takes_batch_idx and not signature.takes_loader
    tells = "on_train_batch_end" in hooks.used
    waits = trainer.strategy.root_device.type == "cuda"  # whose losses cost time to look at
    tensor = rl.Tensor

    def train(batch: Any, batch_idx: int) -> dict[str, Any]:
        arguments = (batch, batch_idx) if plain else signature.arguments(batch, batch_idx, 0, False)
        hooks.current = "training_step"
        try:
            output = step(*arguments)
        finally:
            hooks.current = None
        loss, rest = (output, {}) if isinstance(output, tensor) else split_output(output)
        optimizer = trainer.optimizers[0]
        optimizer.zero_grad()
        outputs: dict[str, Any] = {}
        if loss is None:
            tell_skipped(trainer, batch_idx)
        else:
            if waits or not is_finite(loss):
                watch_loss(trainer, loss, batch_idx, arguments)
            loss.backward()
            if tells:
                outputs = {"loss": loss.detach(), **rest}
        optimizer.step()
        progress.optimizer_steps += 1
        return outputs

    return train


def optimize(trainer: Any, arguments: tuple[Any, ...], batch_idx: int) -> dict[str, Any]:
    """Train on one batch; return what `on_train_batch_end` gets."""
    module = trainer.lightning_module
    if not module.automatic_optimization:
        with trainer.precision_settings.train_step_context():
            step = trainer.strategy.step_of(module, "training_step")
            output = trainer.hooks.step("training_step", step, *arguments)
        if isinstance(output, Mapping):
            return detached(dict(output))
        loss, _ = split_output(output)
        if loss is None:
            return {}
        watch_loss(trainer, loss, batch_idx, arguments)
        return {"loss": loss.detach()}
    closure = Closure(trainer, arguments, batch_idx)
    if steps_now(trainer, batch_idx + 1):
        optimizer = trainer.lightning_optimizers[0]
        module.optimizer_step(trainer.current_epoch, batch_idx, optimizer, closure.then_announce)
        trainer.state.progress.optimizer_steps += 1
    else:
        with trainer.strategy.no_backward_sync():
            closure()
    return closure.outputs


def update_schedulers(trainer: Any, interval: str, number: int, plateau: bool) -> None:
    """Step the schedulers of one interval; those that follow a metric apart from the others.

    `number` counts batches of the epoch, or epochs, from 1. In manual optimization the module steps
    its schedulers itself.
    """
    configs = trainer.lr_scheduler_configs
    module = trainer.lightning_module
    if not configs or not module.automatic_optimization:
        return
    progress = trainer.state.progress
    for config in configs:
        if config.interval != interval or config.reduce_on_plateau != plateau:
            continue
        if number % config.frequency:
            continue
        metric = None
        if plateau:
            metric = trainer.callback_metrics.get(config.monitor)
            if metric is None:
                missing_metric(trainer, config)
                continue
        progress.scheduler_steps += 1
        module.lr_scheduler_step(config.scheduler, metric)


def missing_metric(trainer: Any, config: Any) -> None:
    """Complain that a scheduler's metric was never logged."""
    known = sorted(trainer.callback_metrics)
    message = (
        f"{type(config.scheduler).__name__} follows {config.monitor!r}, which was not logged; "
        f"there are: {known}"
    )
    if config.strict:
        raise MisconfigurationException(message)
    warn(f"{message}. It does not step now (strict=False)", RuntimeWarning)
