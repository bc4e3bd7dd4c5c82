"""ParallelStrategy: several processes that train one model, by `rushlight.distributed`."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import rushlight as rl
import rushlight.distributed as dist
from lightning_lite.batches import map_tensors
from lightning_lite.exchange import gathered, reduced
from lightning_lite.messages import quiet_other_ranks
from lightning_lite.plugins.environments import LightningEnvironment, detected_environment
from lightning_lite.strategies.launchers import ProcessLauncher, ScriptLauncher
from lightning_lite.strategies.strategy import Strategy
from lightning_lite.utilities.rank_zero import rank_zero_only

if TYPE_CHECKING:
    from lightning_lite.accelerators.accelerator import Accelerator
    from lightning_lite.plugins.environments.cluster_environment import ClusterEnvironment
    from lightning_lite.plugins.io import CheckpointIO
    from lightning_lite.plugins.precision import Precision

# How processes start, by what `start_method` says; "popen" runs the script again.
METHODS = ("popen", "spawn", "fork", "forkserver")


class StepRunner(rl.nn.Module):
    """A module whose call runs a method of another: what exchanges gradients holds it."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run a method of the module, whose name comes first."""
        method, *args = args  # type: ignore[assignment]
        if method == "forward":
            return self.module(*args, **kwargs)
        return getattr(self.module, method)(*args, **kwargs)


class ParallelStrategy(Strategy):
    """The base of strategies of several processes, each with one device.

    `parallel_devices`: one for each process of this machine. `cluster_environment`: where the other
    processes are; by default that of the launcher which started this one. `process_group_backend`,
    `timeout`: of `rushlight.distributed.init_process_group`. `start_method`: "popen" runs the
    script again for every other process of this machine, "spawn" and "fork" start functions.

    Args:
        accelerator: what is known of the device, by default found out.
        checkpoint_io: what writes and reads checkpoints.
        precision_plugin: the precision, by default what the Trainer is told.

    >>> import rushlight as rl
    >>> strategy = ParallelStrategy(parallel_devices=[rl.device("cpu")] * 2, start_method="spawn")
    >>> strategy.num_processes
    2
    """

    def __init__(
        self,
        accelerator: Accelerator | None = None,
        parallel_devices: list[Any] | None = None,
        cluster_environment: ClusterEnvironment | None = None,
        checkpoint_io: CheckpointIO | None = None,
        precision_plugin: Precision | None = None,
        process_group_backend: str | None = None,
        timeout: timedelta | None = None,
        start_method: str = "popen",
    ) -> None:
        super().__init__(accelerator, checkpoint_io, precision_plugin)
        if start_method not in METHODS:
            raise ValueError(f"start_method={start_method!r}: expected one of {sorted(METHODS)}")
        self.parallel_devices = parallel_devices
        self.cluster_environment: Any = cluster_environment
        self.process_group_backend, self._timeout = process_group_backend or "gloo", timeout
        self._start_method = start_method
        self._local_rank = 0
        self.num_nodes = 1
        self.num_processes = len(parallel_devices or [None])
        self._wrapped: dict[Any, Any] = {}  # modules, with what exchanges their gradients

    # -- ranks ----------------------------------------------------------------------------------

    def set_processes(self, devices: int, nodes: int) -> None:
        """Say how many processes a machine has, and how many machines there are."""
        if self.parallel_devices is not None and devices in (1, len(self.parallel_devices)):
            devices = len(self.parallel_devices)
        self.num_processes, self.num_nodes = devices, nodes
        if self.world_size == 1:
            return
        if self.cluster_environment is None:
            started_here = self._start_method != "popen"
            self.cluster_environment = (
                LightningEnvironment() if started_here else detected_environment()
            )
        environment = self.cluster_environment
        environment.validate_settings(num_devices=devices, num_nodes=nodes)
        if self._start_method == "popen":
            self._local_rank = environment.local_rank()
            self.launcher = ScriptLauncher(environment, devices)
        else:
            self.launcher = ProcessLauncher(self, self._start_method)
        self.set_world_ranks()

    def set_world_ranks(self) -> None:
        """Let the environment, messages and `rank_zero_only` know this process's rank."""
        environment = self.cluster_environment
        environment.set_global_rank(self.node_rank * self.num_processes + self.local_rank)
        environment.set_world_size(self.world_size)
        rank_zero_only.rank = self.global_rank
        quiet_other_ranks(self.global_rank)

    @property
    def world_size(self) -> int:  # type: ignore[override]
        """How many processes there are."""
        return self.num_processes * self.num_nodes

    @property
    def local_rank(self) -> int:  # type: ignore[override]
        """The number of this process on its machine."""
        return self._local_rank

    @property
    def node_rank(self) -> int:  # type: ignore[override]
        """The number of this machine."""
        return 0 if self.world_size == 1 else self.cluster_environment.node_rank()

    @property
    def global_rank(self) -> int:  # type: ignore[override]
        """The number of this process."""
        return 0 if self.world_size == 1 else self.cluster_environment.global_rank()

    @property
    def is_global_zero(self) -> bool:
        """Whether this is the process that writes and prints."""
        return self.global_rank == 0

    @property
    def distributed_sampler_kwargs(self) -> dict[str, int] | None:
        """How loaders' data are divided; None for one process."""
        if self.world_size == 1:
            return None
        return {"num_replicas": self.world_size, "rank": self.global_rank}

    # -- starting -------------------------------------------------------------------------------

    def launch(self, function: Callable, trainer: Any, *args: Any) -> Any:
        """Run `function(trainer, ...)` in all processes; what the first one's returns."""
        if self.world_size == 1 or self.launcher is None:
            return function(trainer, *args)
        return self.launcher.launch(function, trainer, *args)

    def setup_environment(self) -> None:
        """Make the group of all processes, unless it is there."""
        if self.world_size == 1 or dist.is_initialized():
            return
        if self.root_device.type != "cpu":
            raise NotImplementedError(
                f"{type(self).__name__} on {self.root_device}: processes exchange tensors of the "
                "CPU; give accelerator='cpu'"
            )
        environment = self.cluster_environment
        if not getattr(environment, "connects_by_itself", False):
            os.environ["MASTER_ADDR"] = str(environment.main_address)
            os.environ["MASTER_PORT"] = str(environment.main_port)
        dist.init_process_group(
            self.process_group_backend,
            timeout=self._timeout,
            rank=self.global_rank,
            world_size=self.world_size,
        )

    # -- the model ------------------------------------------------------------------------------

    def wrap(self, runner: StepRunner) -> Any:
        """What exchanges the gradients of the module in a runner."""
        raise NotImplementedError(f"{type(self).__name__} does not define wrap")

    def setup_module(self, module: Any) -> Any:
        """Prepare a module's gradients to be exchanged; what its steps run through."""
        if self.world_size == 1:
            return module
        if module not in self._wrapped:
            self._wrapped[module] = self.wrap(StepRunner(module))
        return self._wrapped[module]

    def step_of(self, module: Any, name: str) -> Callable:
        """A step of the module, by what exchanges its gradients."""
        wrapped = self._wrapped.get(module)
        if wrapped is None:
            return module if name == "forward" else getattr(module, name)
        return functools.partial(wrapped, name)

    @contextmanager
    def no_backward_sync(self) -> Iterator[None]:
        """A block whose gradients are this process's alone, for the next ones to be added to."""
        with ExitStack() as blocks:
            for each in self._wrapped.values():
                blocks.enter_context(self.unsynchronized(each))
            yield

    def unsynchronized(self, wrapped: Any) -> AbstractContextManager:
        """A block in which what `wrap` gave exchanges no gradients."""
        return nullcontext()

    # -- exchanges ------------------------------------------------------------------------------

    def barrier(self, name: str | None = None) -> None:
        """Wait for the other processes."""
        if dist.is_initialized():
            dist.barrier()

    def broadcast(self, obj: Any, src: int = 0) -> Any:
        """An object of process `src`, in every process."""
        if not dist.is_initialized():
            return obj
        kept = [obj]
        dist.broadcast_object_list(kept, src=src)
        return kept[0]

    def gather_objects(self, obj: Any) -> list[Any]:
        """The objects of all processes, by rank."""
        if not dist.is_initialized():
            return [obj]
        found: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(found, obj)
        return found

    def reduce(self, tensor: Any, group: Any = None, reduce_op: str | None = "mean") -> Any:
        """The mean, sum, min or max over all processes of a tensor, or of each in a container."""
        return map_tensors(tensor, lambda each: reduced(each, group, reduce_op))

    def reduce_boolean_decision(self, decision: bool, all: bool = True) -> bool:
        """Whether all processes, or any, decide so."""
        found = rl.tensor(int(decision))
        total = int(self.reduce(found, reduce_op="sum"))
        return total == self.world_size if all else total > 0

    def all_gather(self, tensor: Any, group: Any = None, sync_grads: bool = False) -> Any:
        """The tensors of all processes, stacked; with `sync_grads` gradients flow back."""
        return gathered(tensor, group, sync_grads)

    # -- checkpoints ----------------------------------------------------------------------------

    def save_checkpoint(
        self, checkpoint: dict[str, Any], filepath: Any, storage_options: Any = None
    ) -> None:
        """Write a checkpoint in the first process; all wait for it."""
        if self.is_global_zero:
            super().save_checkpoint(checkpoint, filepath, storage_options)
        self.barrier("save_checkpoint")

    def remove_checkpoint(self, filepath: Any) -> None:
        """Remove a checkpoint, in the first process."""
        if self.is_global_zero:
            super().remove_checkpoint(filepath)
