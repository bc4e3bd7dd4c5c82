"""Where a loss that is no number comes from: the batch, the weights, or a module's output.

The step is run again with the same random numbers, and every module's output is looked at. This
costs a forward pass, once in a training that has gone wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import rushlight as rl
from lightning_lite import random_state
from lightning_lite.finiteness import non_finite_parameter
from lightning_lite.metrics import Results


def source_of(trainer: Any, arguments: tuple[Any, ...]) -> str:
    """A sentence that names the first thing that has NaN or infinite elements."""
    module = trainer.lightning_module
    where = next(_non_finite(arguments[0], "the batch"), None)
    if where is not None:
        return f"The first that is not finite is {where}."
    name = non_finite_parameter(module)
    if name:
        return f"The first that is not finite is the parameter {name}, since an earlier step."
    found = first_output(trainer, arguments)
    if found is None:
        return "All modules gave finite outputs: it comes from training_step itself."
    name, kind = found
    return f"The first that is not finite is the output of {name} ({kind})."


def _non_finite(value: Any, path: str) -> Iterator[str]:
    """The paths to the tensors in a container that are not finite."""
    if isinstance(value, rl.Tensor):
        if value.is_floating_point() and not bool(rl.isfinite(value.detach()).all()):
            yield path
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _non_finite(each, f"{path}[{key!r}]")
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from _non_finite(each, f"{path}[{number}]")


def first_output(trainer: Any, arguments: tuple[Any, ...]) -> tuple[str, str] | None:
    """Name and type of the module whose output is the first that is not finite, when the step is
    run again; None if all are."""
    module, hooks = trainer.lightning_module, trainer.hooks
    found: list[tuple[str, str]] = []

    def look(name: str) -> Any:
        def after(layer: Any, inputs: Any, output: Any) -> None:
            if not found and next(_non_finite(output, ""), None) is not None:
                found.append((name, type(layer).__name__))

        return after

    layers = [(name, each) for name, each in module.named_modules() if name]
    handles = [each.register_forward_hook(look(name)) for name, each in layers]
    buffers = [(each, each.detach().clone()) for each in module.buffers()]
    kept, trainer.training_results = trainer.training_results, Results(training=True)
    try:
        with random_state.isolated(), rl.no_grad(), trainer.precision_settings.train_step_context():
            hooks.step("training_step", module.training_step, *arguments)
    except Exception:  # the step itself may refuse such numbers; what was found before counts
        pass
    finally:
        trainer.training_results = kept
        for handle in handles:
            handle.remove()
        with rl.no_grad():
            for each, value in buffers:
                each.copy_(value)
    return found[0] if found else None
