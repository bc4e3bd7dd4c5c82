"""What Fabric's `setup` gives: modules, optimizers and loaders that know device and precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import rushlight as rl
from lightning_lite.batches import move_to_device

T_destination = TypeVar("T_destination", bound=dict[str, Any])
STEPS = ("training_step", "validation_step", "test_step", "predict_step")


class _FabricOptimizer:
    """An optimizer whose steps heed scaled losses; all else is the optimizer's own, and it is
    an instance of the optimizer's class."""

    def __init__(self, optimizer: Any, fabric: Any) -> None:
        self._optimizer = optimizer
        self._fabric = fabric

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._optimizer)

    @property
    def optimizer(self) -> Any:
        """The optimizer itself."""
        return self._optimizer

    def step(self, closure: Callable | None = None) -> Any:
        """Step; gradients of scaled losses are unscaled before, and skipped where infinite."""
        given = {} if closure is None else {"closure": closure}
        result = self._fabric._precision.optimizer_step(self._optimizer, **given)
        self._fabric.call("on_after_optimizer_step", strategy=self._fabric.strategy, optimizer=self)
        return result

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_optimizer":
            raise AttributeError(name)
        return getattr(self._optimizer, name)


class _FabricModule(rl.nn.Module):
    """A module whose calls get inputs of the run's precision and give outputs of the default dtype.

    Other attributes and methods are the module's own. `training_step` and its siblings, and what
    `mark_forward_method` names, run like a call.
    """

    def __init__(self, forward_module: Any, fabric: Any, original_module: Any = None) -> None:
        super().__init__()
        self._forward_module = forward_module
        object.__setattr__(self, "_original_module", original_module or forward_module)
        object.__setattr__(self, "_fabric", fabric)
        object.__setattr__(self, "_forward_methods", set(STEPS))

    @property
    def module(self) -> Any:
        """The module itself."""
        return self._original_module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        run = self._fabric.strategy.step_of(self._forward_module, "forward")
        return self._run(run, args, kwargs)

    def _run(self, function: Callable, args: Any, kwargs: Any) -> Any:
        precision = self._fabric._precision
        args, kwargs = precision.convert_input((args, kwargs))
        with precision.forward_context():
            output = function(*args, **kwargs)
        return precision.convert_output(output)

    def mark_forward_method(self, method: Callable | str) -> None:
        """Let a method of the module run like a call. ValueError if there is none of that name."""
        name = method if isinstance(method, str) else method.__name__
        if not callable(getattr(self._original_module, name, None)):
            kind = type(self._original_module).__name__
            raise AttributeError(f"mark_forward_method: {kind} has no method {name!r}")
        self._forward_methods.add(name)

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The module's own state."""
        return self._original_module.state_dict(*args, **kwargs)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Give the module a state."""
        return self._original_module.load_state_dict(state_dict, strict=strict, assign=assign)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            original = self.__dict__.get("_original_module")
            if original is None:
                raise
        found = getattr(original, name)
        if name in self._forward_methods and callable(found):
            run = self._fabric.strategy.step_of(original, name)
            return lambda *args, **kwargs: self._run(run, args, kwargs)
        return found


class _FabricDataLoader:
    """A loader whose batches come on a device; everything else is the loader's own."""

    def __init__(self, dataloader: Any, device: Any = None) -> None:
        self._dataloader = dataloader
        self._device = device
        self._epoch = 0

    @property
    def device(self) -> Any:
        """The device of the batches; None where they stay."""
        return self._device

    def __len__(self) -> int:
        return len(self._dataloader)

    def __iter__(self) -> Iterator[Any]:
        for name in ("sampler", "batch_sampler"):
            set_epoch = getattr(getattr(self._dataloader, name, None), "set_epoch", None)
            if callable(set_epoch):
                set_epoch(self._epoch)
        self._epoch += 1
        for batch in self._dataloader:
            yield batch if self._device is None else move_to_device(batch, self._device)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_dataloader":
            raise AttributeError(name)
        return getattr(self._dataloader, name)


def is_wrapped(obj: object) -> bool:
    """Whether something came out of Fabric's `setup`.

    Args:
        obj: anything.

    >>> is_wrapped(rl.nn.Linear(1, 1))
    False
    """
    return isinstance(obj, _FabricModule | _FabricOptimizer | _FabricDataLoader)


def _unwrap_objects(collection: Any) -> Any:
    """A container with what was given to `setup` in place of what it returned."""
    if isinstance(collection, _FabricModule):
        return collection.module
    if isinstance(collection, _FabricOptimizer):
        return collection.optimizer
    if isinstance(collection, _FabricDataLoader):
        return collection._dataloader
    if isinstance(collection, dict):
        return {name: _unwrap_objects(value) for name, value in collection.items()}
    if isinstance(collection, list | tuple) and not hasattr(collection, "_fields"):
        return type(collection)(_unwrap_objects(value) for value in collection)
    return collection
