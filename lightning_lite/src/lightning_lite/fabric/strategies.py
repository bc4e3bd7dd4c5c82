"""Strategies whose arguments in a Fabric are not those of the Trainer's.

The others are `lightning_lite.strategies`'. Begin reading there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import rushlight as rl
from lightning_lite.batches import map_tensors
from lightning_lite.lazy import attach
from lightning_lite.strategies import (
    DDPStrategy,
    FSDPStrategy,
    ParallelStrategy,
    SingleDeviceStrategy,
    Strategy,
    model_parallel,
    part_files,
)
from rushlight.distributed.constants import default_pg_timeout

if TYPE_CHECKING:
    from lightning_lite.accelerators.accelerator import Accelerator
    from lightning_lite.plugins.io import CheckpointIO
    from lightning_lite.plugins.precision import Precision

__all__ = [
    "DDPStrategy",
    "DataParallelStrategy",
    "FSDPStrategy",
    "ModelParallelStrategy",
    "ParallelStrategy",
    "SingleDeviceStrategy",
    "Strategy",
]
__getattr__ = attach(__name__, {})
TModel = TypeVar("TModel", bound=rl.nn.Module)


class ModelParallelStrategy(model_parallel.ModelParallelStrategy):
    """Processes that train a model which a function divides among them.

    Args:
        parallelize_fn: called with a module and the mesh of the processes, whose dimensions are
            "data_parallel" and "tensor_parallel"; gives the divided module.

    The other arguments are those of the Trainer's `ModelParallelStrategy`. Optimizers are made of
    the parameters before or after `Fabric.setup`. Checkpoints in parts hold one module and
    optimizers of its parameters.

    >>> def divide(model, mesh):
    ...     return rl.distributed.fsdp.fully_shard(model, mesh=mesh["data_parallel"])
    >>> strategy = ModelParallelStrategy(divide, data_parallel_size=2, tensor_parallel_size=1)
    """

    def __init__(
        self,
        parallelize_fn: Callable[[TModel, Any], TModel],
        data_parallel_size: int | str = "auto",
        tensor_parallel_size: int | str = "auto",
        save_distributed_checkpoint: bool = True,
        process_group_backend: str | None = None,
        timeout: timedelta | None = default_pg_timeout,
    ) -> None:
        super().__init__(
            data_parallel_size,
            tensor_parallel_size,
            save_distributed_checkpoint,
            process_group_backend,
            timeout,
        )
        self._parallelize_fn = parallelize_fn

    def parallelized(self, module: Any) -> Any:
        """What the function makes of a module. TypeError where that is no module."""
        made = self._parallelize_fn(module, self.device_mesh)
        if not isinstance(made, rl.nn.Module):
            raise TypeError(
                f"ModelParallelStrategy(parallelize_fn=): it gave {type(made).__name__}; expected "
                "a Module"
            )
        return made

    def setup_module(self, module: Any) -> Any:
        """Remember a module; the module itself."""
        return self._take(module)

    # -- checkpoints ----------------------------------------------------------------------------

    def saves_parts(self) -> bool:
        """Whether checkpoints are folders into which each process writes its part."""
        return self._saves_parts

    def save_parts(self, state: dict[str, Any], path: Any, filter: Any) -> None:
        """Write a dictionary of a module, its optimizers and plain values.

        NotImplementedError for a filter, ValueError unless there is exactly one module.
        """
        if filter is not None:
            raise NotImplementedError(
                "save(filter=): not available for checkpoints in parts; give "
                "ModelParallelStrategy(save_distributed_checkpoint=False)"
            )
        model, held, rest = _the_module(state), {}, {}
        for name, value in state.items():
            if isinstance(value, rl.nn.Module | rl.optim.Optimizer):
                held[name] = part_files.state_of(value, model)
            else:
                rest[name] = value.state_dict() if hasattr(value, "state_dict") else value
        part_files.write(self._path_of_all(path), held, rest, self.is_global_zero)

    def holds_parts(self, path: Any) -> bool:
        """Whether a path is a checkpoint in parts."""
        return part_files.is_divided(path)

    def load_parts(
        self, path: Any, state: dict[str, Any], strict: bool, weights_only: bool | None
    ) -> dict[str, Any]:
        """Read a checkpoint in parts into a dictionary of objects; what no name was given for."""
        path, model = Path(path), _the_module(state)
        rest = part_files.read_rest(path, weights_only)
        for name, target in list(state.items()):
            if isinstance(target, rl.nn.Module | rl.optim.Optimizer):
                part_files.read(path, name, target, model, strict)
            elif name in rest and hasattr(target, "load_state_dict"):
                target.load_state_dict(rest.pop(name))
            elif name in rest:
                state[name] = rest.pop(name)
            elif strict:
                raise KeyError(f"load: {path} has no {name!r}; it has {sorted(rest)}")
        return rest


def _the_module(state: dict[str, Any]) -> Any:
    """The only module of a dictionary."""
    found = [each for each in state.values() if isinstance(each, rl.nn.Module)]
    if len(found) != 1:
        raise ValueError(
            f"a checkpoint in parts holds one module and its optimizers; the state has {len(found)}"
        )
    return found[0]


class DataParallelStrategy(Strategy):
    """One process that runs a module by `rushlight.nn.DataParallel`, which has one device.

    Args:
        accelerator, checkpoint_io: as of `Strategy`.
        parallel_devices: the device, in a list; by default the one that was chosen.
        precision: a plug-in of precision.

    Several devices are a NotImplementedError: use strategy="ddp".

    >>> strategy = DataParallelStrategy(parallel_devices=[rl.device("cpu")])
    >>> strategy.reduce(rl.tensor([1.0, 3.0]))
    tensor(2.)
    """

    strategy_name = "dp"

    def __init__(
        self,
        accelerator: Accelerator | None = None,
        parallel_devices: list[Any] | None = None,
        checkpoint_io: CheckpointIO | None = None,
        precision: Precision | None = None,
    ) -> None:
        super().__init__(accelerator, checkpoint_io, precision)
        self.parallel_devices = parallel_devices
        self._wrapped: dict[Any, Any] = {}

    @property
    def root_device(self) -> Any:
        """The first device."""
        return self.parallel_devices[0] if self.parallel_devices else super().root_device

    def setup_module(self, module: Any) -> Any:
        """The module in `rushlight.nn.DataParallel`."""
        devices = self.parallel_devices or [self.root_device]
        chosen = None if devices[0].type == "cpu" else devices
        self._wrapped[module] = rl.nn.DataParallel(module, device_ids=chosen)
        return self._wrapped[module]

    def step_of(self, module: Any, name: str) -> Callable:
        """The call of the module by its copies; other methods run on the first device."""
        wrapped = self._wrapped.get(module)
        if name == "forward" and wrapped is not None:
            return functools.partial(wrapped)
        return super().step_of(module, name)

    def reduce(self, tensor: Any, group: Any = None, reduce_op: str | None = "mean") -> Any:
        """The mean of the entries of a tensor, which hold one value for each copy."""
        return map_tensors(tensor, lambda each: each.float().mean().to(each.dtype))
