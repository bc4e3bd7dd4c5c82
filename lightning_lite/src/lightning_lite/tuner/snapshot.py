"""A trial leaves no trace: weights, random numbers, loaders, trainer and module as before."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import rushlight as rl
from lightning_lite import random_state
from lightning_lite.callbacks.callback import Callback
from lightning_lite.feeding import generators
from lightning_lite.messages import log


@contextmanager
def untouched(trainer: Any, module: Any, loaders: Any = None) -> Iterator[None]:
    """Put everything that a trial changes back at the end of the block, bit for bit: the module's
    parameters, buffers, gradients and modes, all random number generators with those of `loaders`,
    and the trainer's attributes."""
    own = [*module.parameters(), *module.buffers()]
    values = [(each, each.detach().clone(), each.grad, each.requires_grad) for each in own]
    modes = {each: each.training for each in module.modules()}
    random_numbers = random_state.capture()
    drawn = [(each, each.get_state()) for each in generators(loaders)]
    attributes, level = dict(trainer.__dict__), log.level
    log.setLevel(max(level, logging.WARNING))  # trials end by limits that nobody asked for
    owner, hparams = module._trainer, dict(module.hparams)
    try:
        yield
    finally:
        with rl.no_grad():
            for each, value, gradient, needed in values:
                each.requires_grad_(needed)
                each.copy_(value)
                each.grad = gradient
        for each, training in modes.items():
            each.training = training
        trainer.__dict__.clear()
        trainer.__dict__.update(attributes)
        module.trainer = owner
        module.hparams.update(hparams)
        for each, value in drawn:
            each.set_state(value)
        random_state.restore(random_numbers)
        log.setLevel(level)


class _WithoutPlateau(Callback):
    """Takes away the schedulers that follow a metric: a trial does not validate."""

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Keep the others."""
        found = trainer.lr_scheduler_configs
        trainer.lr_scheduler_configs = [each for each in found if not each.reduce_on_plateau]


def quieten(trainer: Any, steps: int, callbacks: list[Any]) -> None:
    """Let the trainer run `steps` steps with these callbacks only, write nothing and measure
    nothing; inside of :func:`untouched`."""
    trainer.callbacks = [_WithoutPlateau(), *callbacks]
    trainer.takes_module_callbacks = False
    trainer.loggers = []
    trainer.fit_loop = copy.deepcopy(trainer.fit_loop)  # with the flags of a restart
    trainer.fit_loop.max_steps, trainer.fit_loop.max_epochs = steps, -1
    trainer.fit_loop.min_steps = trainer.fit_loop.min_epochs = None
    trainer.limits = replace(trainer.limits, val=0, sanity_val=0)
    trainer.state = type(trainer.state)()
    trainer.fast_dev_run = False
    trainer.detect_anomaly = False
    trainer._module_modes = {}
