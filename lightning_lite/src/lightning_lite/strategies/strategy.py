"""Strategy: what a run asks of its devices and processes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from lightning_lite.accelerators import accelerator_of
from lightning_lite.batches import move_to_device
from lightning_lite.errors import MisconfigurationException
from lightning_lite.plugins.io import TorchCheckpointIO
from lightning_lite.precision import Precision

if TYPE_CHECKING:
    from lightning_lite.accelerators.accelerator import Accelerator
    from lightning_lite.plugins.io import CheckpointIO

TBroadcast = TypeVar("TBroadcast")
TReduce = TypeVar("TReduce")
TModel = TypeVar("TModel")


class Strategy:
    """The devices and processes of a run; `trainer.strategy`.

    In one process a barrier does nothing, and gathering, reducing and broadcasting give back what
    they got.

    Args:
        accelerator: what is known of the device, by default found out.
        checkpoint_io: what writes and reads checkpoints.
        precision_plugin: the precision, by default what the Trainer is told.

    >>> Strategy().world_size
    1
    """

    def __init__(
        self,
        accelerator: Accelerator | None = None,
        checkpoint_io: CheckpointIO | None = None,
        precision_plugin: Precision | None = None,
    ) -> None:
        self._accelerator = accelerator
        self._checkpoint_io = checkpoint_io
        self.precision_plugin: Any = precision_plugin
        self._trainer: Any = None

    def connect(self, trainer: Any) -> None:
        """Belong to a trainer."""
        self._trainer = trainer

    @property
    def root_device(self) -> Any:
        """The device of this process."""
        return self._trainer.root_device

    @property
    def accelerator(self) -> Any:
        """What is known of the device."""
        return self._accelerator or accelerator_of(self.root_device)

    @property
    def checkpoint_io(self) -> Any:
        """What writes and reads checkpoints."""
        if self._checkpoint_io is None:
            self._checkpoint_io = TorchCheckpointIO()
        return self._checkpoint_io

    @checkpoint_io.setter
    def checkpoint_io(self, io: Any) -> None:
        self._checkpoint_io = io

    @property
    def model(self) -> Any:
        """The module."""
        return self._trainer.lightning_module

    lightning_module = model

    @property
    def optimizers(self) -> list[Any]:
        """The optimizers of the run."""
        return self._trainer.optimizers

    @property
    def lr_scheduler_configs(self) -> list[Any]:
        """The schedulers of the run."""
        return self._trainer.lr_scheduler_configs

    @property
    def is_global_zero(self) -> bool:
        """Whether this is the process that writes and prints; it is."""
        return True

    global_rank = local_rank = node_rank = 0
    world_size = num_processes = 1
    launcher: Any = None

    @property
    def distributed_sampler_kwargs(self) -> dict[str, int] | None:
        """How loaders' data are divided among processes; None for one."""
        return None

    def set_processes(self, devices: int, nodes: int) -> None:
        """Say how many processes a machine has, and how many machines there are: one of each.

        MisconfigurationException for more.
        """
        if devices * nodes != 1:
            raise MisconfigurationException(
                f"{type(self).__name__}: devices={devices}, num_nodes={nodes}; it has one process: "
                "use strategy='ddp', 'ddp_spawn' or 'fsdp'"
            )

    def launch(self, function: Callable, trainer: Any, *args: Any) -> Any:
        """Run `function(trainer, ...)` in all processes: in this one."""
        return function(trainer, *args)

    def setup_environment(self) -> None:
        """Connect the processes."""

    def setup_module(self, module: Any) -> Any:
        """Prepare a module for training; what its steps run through: the module."""
        return module

    def named_parameters(self, module: Any) -> dict[str, Any]:
        """A module's parameters by the names that they have in its state dict."""
        return dict(module.named_parameters())

    def setup_optimizer(self, optimizer: Any, replaced: dict[Any, Any]) -> Any:
        """An optimizer of what `setup_module` made of a module; `replaced` has the parameters
        before and after."""
        return optimizer

    def step_of(self, module: Any, name: str) -> Callable:
        """A step of the module, or its call for "forward"."""
        return module if name == "forward" else getattr(module, name)

    def no_backward_sync(self) -> AbstractContextManager:
        """A block whose gradients are not exchanged."""
        return nullcontext()

    def gather_objects(self, obj: Any) -> list[Any]:
        """The objects of all processes, by rank."""
        return [obj]

    def whole(self, value: Any) -> Any:
        """A state without parts that other processes hold; all processes call it."""
        return value

    def make_precision(self, precision: Any, device_type: str) -> Any:
        """The plug-in that an argument `precision` means."""
        return Precision(precision, device_type)

    def parallelized(self, module: Any) -> Any:
        """A Fabric's module, divided among processes by what the strategy was given."""
        return module

    def saves_parts(self) -> bool:
        """Whether a Fabric's checkpoints are folders into which processes write their parts."""
        return False

    def holds_parts(self, path: Any) -> bool:
        """Whether a path is a checkpoint that processes wrote in parts, and this strategy reads."""
        return False

    def written(self, value: Any) -> Any:
        """A state of weights or optimizers as checkpoints hold it; all processes call it."""
        return self.whole(value)

    def divided(self, module: Any, state: dict[str, Any]) -> dict[str, Any]:
        """A whole state dict as this process's module takes it."""
        return state

    def divided_optimizer_state(self, optimizer: Any, state: dict[str, Any]) -> dict[str, Any]:
        """A whole state of an optimizer as this process's optimizer takes it."""
        return state

    def barrier(self, name: str | None = None) -> None:
        """Wait for the other processes: there are none."""

    def broadcast(self, obj: TBroadcast, src: int = 0) -> TBroadcast:
        """An object of process `src`, in every process."""
        return obj

    def reduce(self, tensor: TReduce, group: Any = None, reduce_op: str = "mean") -> TReduce:
        """The mean or sum over all processes."""
        return tensor

    def reduce_boolean_decision(self, decision: bool, all: bool = True) -> bool:
        """Whether all processes, or any, decide so."""
        return decision

    def all_gather(self, tensor: Any, group: Any = None, sync_grads: bool = False) -> Any:
        """The tensors of all processes."""
        return tensor

    def batch_to_device(self, batch: Any, device: Any = None, dataloader_idx: int = 0) -> Any:
        """A batch on the device."""
        return move_to_device(batch, self.root_device if device is None else device)

    def model_to_device(self) -> None:
        """Move the module to the device."""
        self.model.to(self.root_device)

    def process_dataloader(self, dataloader: Any) -> Any:
        """The loader, as it is."""
        return dataloader

    def save_checkpoint(
        self, checkpoint: dict[str, Any], filepath: Any, storage_options: Any = None
    ) -> None:
        """Write a checkpoint."""
        self.checkpoint_io.save_checkpoint(checkpoint, filepath, storage_options)

    def load_checkpoint(self, checkpoint_path: Any, weights_only: bool | None = None) -> Any:
        """Read a checkpoint."""
        return self.checkpoint_io.load_checkpoint(checkpoint_path, weights_only=weights_only)

    def remove_checkpoint(self, filepath: Any) -> None:
        """Remove a checkpoint."""
        self.checkpoint_io.remove_checkpoint(filepath)
