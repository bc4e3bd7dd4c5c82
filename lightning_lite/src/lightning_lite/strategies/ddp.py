"""Processes that train copies of a model and average their gradients; here: one."""

from __future__ import annotations

from typing import Any

from lightning_lite.strategies.strategy import ParallelStrategy


class DDPStrategy(ParallelStrategy):
    """Distributed data parallel with a world of one: training is that of a single device.

    Programs that are written for it run on one device; `Trainer(devices=2)` raises
    NotImplementedError. `kwargs` are those of DistributedDataParallel, and have no effect.
    """

    strategy_name = "ddp"

    def __init__(
        self,
        accelerator: Any = None,
        parallel_devices: list[Any] | None = None,
        cluster_environment: Any = None,
        checkpoint_io: Any = None,
        precision_plugin: Any = None,
        ddp_comm_state: Any = None,
        ddp_comm_hook: Any = None,
        ddp_comm_wrapper: Any = None,
        model_averaging_period: int | None = None,
        process_group_backend: str | None = None,
        timeout: Any = None,
        start_method: str = "popen",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            accelerator, parallel_devices, cluster_environment, checkpoint_io, precision_plugin
        )
        if parallel_devices is not None and len(parallel_devices) > 1:
            raise NotImplementedError(
                f"DDPStrategy: {len(parallel_devices)} devices; training runs on one"
            )
        if ddp_comm_hook is not None or ddp_comm_wrapper is not None:
            raise NotImplementedError(
                "DDPStrategy(ddp_comm_hook=): one process exchanges no gradients; leave it out"
            )
        self._ddp_kwargs = kwargs
