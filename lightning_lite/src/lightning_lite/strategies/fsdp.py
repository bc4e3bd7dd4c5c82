"""Processes that divide a model's parameters, gradients and optimizer states among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import rushlight as rl
from lightning_lite.batches import map_tensors
from lightning_lite.strategies.parallel import ParallelStrategy, StepRunner
from rushlight.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard


class FSDPStrategy(ParallelStrategy):
    """Fully sharded data parallel: each process holds its rows of every parameter.

    `auto_wrap_policy`: a set of module classes, or a function of a module, that say which parts of
    the model are gathered by themselves; None: the whole model at once. `mixed_precision`: a
    `rushlight.distributed.fsdp.MixedPrecisionPolicy`. `sharding_strategy`: "FULL_SHARD", or
    "SHARD_GRAD_OP", which keeps whole parameters from forward to backward. Checkpoints hold whole
    tensors (`state_dict_type="full"`): any number of processes reads them. The other arguments are
    those of ParallelStrategy.
    """

    strategy_name = "fsdp"

    def __init__(
        self,
        accelerator: Any = None,
        parallel_devices: list[Any] | None = None,
        cluster_environment: Any = None,
        checkpoint_io: Any = None,
        precision_plugin: Any = None,
        process_group_backend: str | None = None,
        timeout: timedelta | None = None,
        cpu_offload: Any = None,
        mixed_precision: MixedPrecisionPolicy | None = None,
        auto_wrap_policy: Any = None,
        activation_checkpointing: Any = None,
        activation_checkpointing_policy: Any = None,
        sharding_strategy: str = "FULL_SHARD",
        state_dict_type: str = "full",
        device_mesh: Any = None,
        start_method: str = "popen",
    ) -> None:
        super().__init__(
            accelerator,
            parallel_devices,
            cluster_environment,
            checkpoint_io,
            precision_plugin,
            process_group_backend,
            timeout,
            start_method,
        )
        refused = {
            "activation_checkpointing": activation_checkpointing,
            "activation_checkpointing_policy": activation_checkpointing_policy,
            "device_mesh": device_mesh,
            "cpu_offload": cpu_offload,
        }
        for name, value in refused.items():
            if value is not None and value is not False:
                raise NotImplementedError(f"FSDPStrategy({name}=): not available; leave it out")
        if state_dict_type != "full":
            raise NotImplementedError(
                f"FSDPStrategy(state_dict_type={state_dict_type!r}): checkpoints hold whole "
                "tensors; give 'full', or save with rushlight.distributed.checkpoint"
            )
        if sharding_strategy not in ("FULL_SHARD", "SHARD_GRAD_OP"):
            raise NotImplementedError(
                f"FSDPStrategy(sharding_strategy={sharding_strategy!r}): there are 'FULL_SHARD' "
                "and 'SHARD_GRAD_OP'"
            )
        self._policy, self._mixed = auto_wrap_policy, mixed_precision
        self._reshards = None if sharding_strategy == "FULL_SHARD" else False

    def _divides(self, module: Any) -> bool:
        policy = self._policy
        if policy is None:
            return False
        if isinstance(policy, set | frozenset | tuple | list):
            return isinstance(module, tuple(policy))
        return bool(policy(module))

    def wrap(self, runner: StepRunner) -> Any:
        """The module with its parameters divided; done before optimizers are made."""
        options = {"mp_policy": self._mixed, "reshard_after_forward": self._reshards}
        for module in reversed(list(runner.module.modules())):
            if module is not runner.module and self._divides(module):
                if not isinstance(module, FSDPModule):
                    fully_shard(module, **options)
        return fully_shard(runner, **options)

    def setup_optimizer(self, optimizer: Any, replaced: dict[Any, Any]) -> Any:
        """An optimizer that holds this process's rows in place of whole parameters.

        ValueError for one of parameters that no module which was set up has.
        """
        if self.world_size == 1:
            return optimizer
        for group in optimizer.param_groups:
            group["params"] = [self._own(optimizer, each, replaced) for each in group["params"]]
        return optimizer

    def _own(self, optimizer: Any, parameter: Any, replaced: dict[Any, Any]) -> Any:
        made = replaced.get(parameter, parameter)
        known = {id(each) for wrapped in self._wrapped.values() for each in wrapped.parameters()}
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

    @contextmanager
    def unsynchronized(self, wrapped: Any) -> Iterator[None]:
        """A block in which gradients stay whole in this process."""
        wrapped.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            wrapped.set_requires_gradient_sync(True)

    # -- states ---------------------------------------------------------------------------------

    def whole(self, value: Any) -> Any:
        """A state whose tensors are whole; all processes call it."""
        return map_tensors(value, _full)

    def divided(self, module: Any, state: dict[str, Any]) -> dict[str, Any]:
        """A whole state dict as the divided module takes it."""
        own = dict(module.named_parameters())
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
    return value if divide is None else divide(value)
