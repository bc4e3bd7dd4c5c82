"""States of models and optimizers whose parameters are divided among processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import rushlight as rl
from lightning_lite.batches import map_tensors
from lightning_lite.strategies.parallel import ParallelStrategy
from rushlight.distributed.wrappers import clean_name


class DividedStates(ParallelStrategy):
    """The base of strategies whose processes hold parts of parameters: states are made whole to be
    written, and divided when they are read."""

    divides_alone = False  # whether a single process has divided parameters too

    def set_up_modules(self) -> Iterable[Any]:
        """What `setup_module` has prepared."""
        return self._wrapped.values()

    def setup_optimizer(self, optimizer: Any, replaced: dict[Any, Any]) -> Any:
        """An optimizer that holds this process's parts in place of whole parameters.

        ValueError for one of parameters that no module which was set up has.
        """
        if self.world_size == 1 and not self.divides_alone:
            return optimizer
        for group in optimizer.param_groups:
            group["params"] = [self._own(optimizer, each, replaced) for each in group["params"]]
        return optimizer

    def _own(self, optimizer: Any, parameter: Any, replaced: dict[Any, Any]) -> Any:
        made = replaced.get(parameter, parameter)
        known = {id(each) for module in self.set_up_modules() for each in module.parameters()}
        if id(made) not in known:
            raise ValueError(
                f"setup_optimizers: {type(optimizer).__name__} has a parameter of shape "
                f"{tuple(parameter.shape)} that no module which was set up has; make the optimizer "
                "after setup_module, or give both to setup"
            )
        if made is not parameter and parameter in optimizer.state:
            kept = optimizer.state.pop(parameter)
            optimizer.state[made] = {name: _like(made, value) for name, value in kept.items()}
        return made

    def named_parameters(self, module: Any) -> dict[str, Any]:
        """A module's parameters by the names that they have in its state dict."""
        return {clean_name(name): each for name, each in module.named_parameters()}

    def whole(self, value: Any) -> Any:
        """A state whose tensors are whole; all processes call it."""
        return map_tensors(value, _full)

    def divided(self, module: Any, state: dict[str, Any]) -> dict[str, Any]:
        """A whole state dict as the divided module takes it."""
        own = self.named_parameters(module)
        return {name: _like(own.get(name), value) for name, value in state.items()}

    def divided_optimizer_state(self, optimizer: Any, state: dict[str, Any]) -> dict[str, Any]:
        """A whole state of an optimizer as that of divided parameters takes it."""
        held = [each for group in optimizer.param_groups for each in group["params"]]
        divided = {
            number: {name: _like(held[number], value) for name, value in kept.items()}
            for number, kept in state["state"].items()
        }
        return {**state, "state": divided}


def _full(value: Any) -> Any:
    if not hasattr(value, "full_tensor"):
        return value
    with rl.no_grad():
        return value.full_tensor()


def _like(parameter: Any, value: Any) -> Any:
    divide: Callable | None = getattr(parameter, "divided_alike", None)
    return value if divide is None or hasattr(value, "full_tensor") else divide(value)
