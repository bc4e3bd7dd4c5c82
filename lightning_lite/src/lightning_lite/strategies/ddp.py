"""Processes that train copies of a model and average their gradients."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import rushlight as rl
from lightning_lite.strategies.parallel import ParallelStrategy, StepRunner

if TYPE_CHECKING:
    from lightning_lite.accelerators.accelerator import Accelerator
    from lightning_lite.plugins.environments.cluster_environment import ClusterEnvironment
    from lightning_lite.plugins.io import CheckpointIO
    from lightning_lite.plugins.precision import Precision


class DDPStrategy(ParallelStrategy):
    """Distributed data parallel: every process has the whole model and a part of each batch.

    `ddp_comm_hook`, `ddp_comm_state`, `ddp_comm_wrapper`: how buckets of gradients are reduced, see
    `DistributedDataParallel.register_comm_hook`. `kwargs`: DistributedDataParallel's. The other
    arguments are those of ParallelStrategy.

    Args:
        accelerator: what is known of the device, by default found out.
        checkpoint_io: what writes and reads checkpoints.
        precision_plugin: the precision, by default what the Trainer is told.
        parallel_devices: one device for each process of this machine.
        cluster_environment: where the other processes are, by default found out.
        process_group_backend: "gloo" or "nccl".
        start_method: "popen" runs the script again for every process, "spawn", "fork" and
            "forkserver" start functions.
        model_averaging_period: not available; leave it out.

    >>> strategy = DDPStrategy(find_unused_parameters=True)
    >>> strategy.strategy_name
    'ddp'
    """

    strategy_name = "ddp"

    def __init__(
        self,
        accelerator: Accelerator | None = None,
        parallel_devices: list[Any] | None = None,
        cluster_environment: ClusterEnvironment | None = None,
        checkpoint_io: CheckpointIO | None = None,
        precision_plugin: Precision | None = None,
        ddp_comm_state: object = None,
        ddp_comm_hook: Callable[..., Any] | None = None,
        ddp_comm_wrapper: Callable[..., Any] | None = None,
        model_averaging_period: int | None = None,
        process_group_backend: str | None = None,
        timeout: timedelta | None = None,
        start_method: str = "popen",
        **kwargs: Any,
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
        if model_averaging_period is not None:
            raise NotImplementedError(
                "DDPStrategy(model_averaging_period=): not available; gradients are averaged "
                "every step"
            )
        self._comm = ddp_comm_state, ddp_comm_hook, ddp_comm_wrapper
        self._ddp_kwargs = kwargs

    def wrap(self, runner: StepRunner) -> Any:
        """The module in DistributedDataParallel."""
        if not any(each.requires_grad for each in runner.parameters()):
            return runner
        wrapped = rl.nn.parallel.DistributedDataParallel(runner, **self._ddp_kwargs)
        state, hook, wrapper = self._comm
        if hook is not None:
            wrapped.register_comm_hook(state, hook if wrapper is None else wrapper(hook))
        return wrapped

    def step_of(self, module: Any, name: str) -> Callable:
        """A step of the module; predictions, of which processes may have different numbers,
        exchange nothing."""
        return getattr(module, name) if name == "predict_step" else super().step_of(module, name)

    def unsynchronized(self, wrapped: Any) -> AbstractContextManager:
        """A block in which what `wrap` gave exchanges no gradients."""
        return wrapped.no_sync() if hasattr(wrapped, "no_sync") else nullcontext()


DDPPlugin = DDPStrategy  # its name in versions before 1.6, given as `plugins=`
