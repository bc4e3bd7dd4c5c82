"""Processes that divide a model's parameters, gradients and optimizer states among them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from lightning_lite.strategies import fsdp_options
from lightning_lite.strategies.divided_states import DividedStates
from lightning_lite.strategies.parallel import StepRunner
from rushlight.distributed.fsdp import MixedPrecision, MixedPrecisionPolicy, fully_shard

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightning_lite.accelerators.accelerator import Accelerator
    from lightning_lite.plugins.environments.cluster_environment import ClusterEnvironment
    from lightning_lite.plugins.io import CheckpointIO
    from lightning_lite.plugins.precision import Precision
    from rushlight.distributed import DeviceMesh
    from rushlight.distributed.fsdp import CPUOffload, ShardingStrategy
    from rushlight.nn import Module


class FSDPStrategy(DividedStates):
    """Fully sharded data parallel: each process holds its rows of every parameter.

    Args:
        auto_wrap_policy: which parts of the model are gathered by themselves: a set of module
            classes, a policy of `rushlight.distributed.fsdp.wrap` (an object, or a function of
            `module`, `recurse`, `nonwrapped_numel`), or a function of a module alone. None: the
            whole model at once.
        activation_checkpointing_policy: which parts keep no activations and compute them again in
            backward, said in the same ways; in one process too. `activation_checkpointing`: the
            same as a class or a list of classes.
        mixed_precision: a `MixedPrecisionPolicy` or `MixedPrecision` of
            `rushlight.distributed.fsdp`.
        sharding_strategy: "FULL_SHARD" (the default), or "SHARD_GRAD_OP", which keeps whole
            parameters from forward to backward; "HYBRID_SHARD" and "_HYBRID_SHARD_ZERO2", by which
            the processes of a machine divide parameters and each machine has all of them;
            "NO_SHARD"; or a `ShardingStrategy`.
        device_mesh: for hybrid strategies how many processes hold the same parts, and how many
            divide them: two numbers, or a mesh of two dimensions. By default those of
            machines.
        cpu_offload: True or a `CPUOffload`: parameters are kept in memory of the CPU, where those
            of processes that train together are anyway.
        state_dict_type: "full": checkpoints hold whole tensors, which any number of processes
            reads.

    The other arguments are those of ParallelStrategy. Raises NotImplementedError for other values
    of these, naming what to use; ValueError for both arguments of checkpointing.

    >>> import rushlight as rl
    >>> strategy = FSDPStrategy(auto_wrap_policy={rl.nn.Linear}, sharding_strategy="SHARD_GRAD_OP")
    >>> strategy.strategy_name
    'fsdp'
    """

    strategy_name = "fsdp"

    def __init__(
        self,
        accelerator: Accelerator | None = None,
        parallel_devices: list[Any] | None = None,
        cluster_environment: ClusterEnvironment | None = None,
        checkpoint_io: CheckpointIO | None = None,
        precision_plugin: Precision | None = None,
        process_group_backend: str | None = None,
        timeout: timedelta | None = None,
        cpu_offload: bool | CPUOffload | None = None,
        mixed_precision: MixedPrecisionPolicy | MixedPrecision | None = None,
        auto_wrap_policy: Callable[..., Any] | set[type[Module]] | None = None,
        activation_checkpointing: type[Module] | list[type[Module]] | None = None,
        activation_checkpointing_policy: Callable[..., Any] | set[type[Module]] | None = None,
        sharding_strategy: ShardingStrategy | str = "FULL_SHARD",
        state_dict_type: str = "full",
        device_mesh: DeviceMesh | tuple[int, ...] | None = None,
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
        if state_dict_type != "full":
            raise NotImplementedError(
                f"FSDPStrategy(state_dict_type={state_dict_type!r}): checkpoints hold whole "
                "tensors; give 'full', or save with rushlight.distributed.checkpoint"
            )
        self._policy = fsdp_options.policy_of(auto_wrap_policy, "auto_wrap_policy")
        self._checkpointing = fsdp_options.checkpointing_policy(
            activation_checkpointing, activation_checkpointing_policy
        )
        self._mixed = fsdp_options.precisions(mixed_precision)
        self._sharding = fsdp_options.strategy_of(sharding_strategy)
        fsdp_options.check_mesh(self._sharding, device_mesh)
        self._given_mesh = device_mesh
        self._reshards = fsdp_options.reshards(self._sharding)
        self._offloads = fsdp_options.offloads(cpu_offload)
        self._prepared: WeakSet[Any] = WeakSet()  # modules of one process

    def setup_module(self, module: Any) -> Any:
        """Prepare a module for training: its activations, and the parts of the processes.

        NotImplementedError for `cpu_offload` of a module that stands on a GPU.
        """
        if self._offloads and self.root_device.type != "cpu":
            raise NotImplementedError(
                f"FSDPStrategy(cpu_offload=): not available on {self.root_device}; leave it out"
            )
        if self.world_size == 1 and module not in self._prepared:
            self._prepared.add(module)
            fsdp_options.checkpoint_activations(module, self._checkpointing)
        return super().setup_module(module)

    def make_precision(self, precision: Any, device_type: str) -> Any:
        """The plug-in that an argument `precision` means: `FSDPPrecision` where there is one."""
        from lightning_lite.plugins.precision import FSDPPrecision

        made = super().make_precision(precision, device_type)
        return made if made.precision == "64-true" else FSDPPrecision(made.precision)

    def _precisions(self) -> tuple[Any, Any]:
        """Dtypes of the model and its parts: those that were given, otherwise the plug-in's."""
        if self._mixed != (None, None) or not hasattr(
            self.precision_plugin, "mixed_precision_config"
        ):
            return self._mixed
        found = self.precision_plugin.mixed_precision_config
        return fsdp_options.precisions(replace(found, buffer_dtype=None))

    def wrap(self, runner: StepRunner) -> Any:
        """The module with its parameters divided; done before optimizers are made."""
        root, inner = self._precisions()
        machines = self.num_nodes, self.world_size // self.num_nodes
        kind = self.root_device.type
        mesh = fsdp_options.mesh_of(self._sharding, self._given_mesh, *machines, kind)
        options: dict[str, Any] = {"mesh": mesh, "reshard_after_forward": self._reshards}
        fsdp_options.divide_parts(runner.module, self._policy, {"mp_policy": inner, **options})
        fsdp_options.checkpoint_activations(runner.module, self._checkpointing)
        return fully_shard(runner, mp_policy=root, **options)

    @contextmanager
    def unsynchronized(self, wrapped: Any) -> Iterator[None]:
        """A block in which gradients stay whole in this process."""
        wrapped.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            wrapped.set_requires_gradient_sync(True)
