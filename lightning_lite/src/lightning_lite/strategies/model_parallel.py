"""Models that their author divides among processes, on a mesh of two dimensions."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import rushlight.distributed as dist
from lightning_lite.hooks import overrides
from lightning_lite.module import LightningModule
from lightning_lite.plugins.environments import LightningEnvironment
from lightning_lite.strategies import part_files
from lightning_lite.strategies.divided_states import DividedStates
from rushlight.distributed.constants import default_pg_timeout
from rushlight.distributed.device_mesh import init_device_mesh
from rushlight.distributed.fsdp import FSDPModule, FullyShardedDataParallel

_DIMENSIONS = ("data_parallel", "tensor_parallel")


class SavedOptimizer:
    """The state of an optimizer in a folder; it is read once there is an optimizer."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name


class ModelParallelStrategy(DividedStates):
    """Processes that train a model which its own `configure_model` divides among them.

    `LightningModule.device_mesh` is there from `configure_model` on, with the dimensions
    "data_parallel" and "tensor_parallel": `fully_shard(layer, mesh=mesh["data_parallel"])` divides
    a layer, and `mesh["tensor_parallel"].get_group()` is the group of processes that compute one
    batch together, and are given the same one.

    Args:
        data_parallel_size: processes with different batches; "auto": the number of machines.
        tensor_parallel_size: processes with the same batch; "auto": those of one machine.
        save_distributed_checkpoint: whether checkpoints are folders into which each process writes
            its part, as Lightning writes them; otherwise they are files with whole tensors.
        process_group_backend, timeout: of `rushlight.distributed.init_process_group`.

    Raises RuntimeError where the sizes do not multiply to the number of processes or the mesh is
    asked for too early, TypeError for a module without `configure_model` or one that
    FullyShardedDataParallel wraps.

    >>> strategy = ModelParallelStrategy(data_parallel_size=2, tensor_parallel_size=1)
    >>> strategy.device_mesh
    Traceback (most recent call last):
    RuntimeError: ModelParallelStrategy.device_mesh: the processes are not connected yet
    """

    strategy_name = "model_parallel"
    divides_alone = True

    def __init__(
        self,
        data_parallel_size: int | str = "auto",
        tensor_parallel_size: int | str = "auto",
        save_distributed_checkpoint: bool = True,
        process_group_backend: str | None = None,
        timeout: timedelta | None = default_pg_timeout,
    ) -> None:
        super().__init__(process_group_backend=process_group_backend, timeout=timeout)
        self._sizes = data_parallel_size, tensor_parallel_size
        self._saves_parts = save_distributed_checkpoint
        self._device_mesh: Any = None
        self._modules: list[Any] = []

    # -- processes ------------------------------------------------------------------------------

    @property
    def device_mesh(self) -> Any:
        """The processes by their dimensions. RuntimeError before they are connected."""
        if self._device_mesh is None:
            raise RuntimeError(
                f"{type(self).__name__}.device_mesh: the processes are not connected yet"
            )
        return self._device_mesh

    @property
    def distributed_sampler_kwargs(self) -> dict[str, int]:
        """How loaders' data are divided: among the "data_parallel" processes."""
        mesh = self.device_mesh["data_parallel"]
        return {"num_replicas": mesh.size(), "rank": mesh.get_local_rank()}

    def setup_environment(self) -> None:
        """Make the group of all processes, also of one, and the mesh."""
        if self._device_mesh is not None:
            return
        data, tensor = self._sizes
        data = self.num_nodes if data == "auto" else int(data)
        tensor = self.num_processes if tensor == "auto" else int(tensor)
        if data * tensor != self.world_size:
            raise RuntimeError(
                f"{type(self).__name__}: data_parallel_size={data} times tensor_parallel_size="
                f"{tensor} is not the number of processes, {self.world_size}"
            )
        if self.world_size == 1 and not dist.is_initialized():
            environment = LightningEnvironment()
            os.environ["MASTER_ADDR"] = str(environment.main_address)
            os.environ["MASTER_PORT"] = str(environment.main_port)
            dist.init_process_group(
                self.process_group_backend, timeout=self._timeout, rank=0, world_size=1
            )
        super().setup_environment()
        self._device_mesh = init_device_mesh(
            self.root_device.type, (int(data), int(tensor)), mesh_dim_names=_DIMENSIONS
        )

    # -- the model ------------------------------------------------------------------------------

    def set_up_modules(self) -> Iterable[Any]:
        """What `setup_module` has prepared."""
        return self._modules

    def setup_module(self, module: Any) -> Any:
        """Check that a module was divided by its author; the module itself."""
        if not overrides(module, LightningModule, "configure_model"):
            raise TypeError(
                f"{type(self).__name__}: {type(module).__name__} does not define configure_model, "
                "where a model is divided"
            )
        return self._take(module)

    def _take(self, module: Any) -> Any:
        if any(isinstance(each, FullyShardedDataParallel) for each in module.modules()):
            raise TypeError(
                f"{type(self).__name__}: a part of {type(module).__name__} is wrapped by "
                "FullyShardedDataParallel; use fully_shard"
            )
        if not any(each is module for each in self._modules):
            self._modules.append(module)
        return module

    @contextmanager
    def no_backward_sync(self) -> Iterator[None]:
        """A block in which gradients of divided parts stay whole in this process."""
        inside = [
            each
            for module in self._modules
            for each in module.modules()
            if isinstance(each, FSDPModule)
        ]
        for each in inside:
            each.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            for each in inside:
                each.set_requires_gradient_sync(True)

    # -- checkpoints ----------------------------------------------------------------------------

    def written(self, value: Any) -> Any:
        """A state as checkpoints hold it: in parts, or whole."""
        return value if self._saves_parts else self.whole(value)

    def save_checkpoint(
        self, checkpoint: dict[str, Any], filepath: Any, storage_options: Any = None
    ) -> None:
        """Write a checkpoint; all processes call it.

        TypeError for storage options, IsADirectoryError where a file is to replace a folder that
        is no checkpoint.
        """
        path = self._path_of_all(filepath, storage_options)
        if not self._saves_parts:
            super().save_checkpoint(checkpoint, path)
            return
        module = self.lightning_module
        rest = {
            name: value
            for name, value in checkpoint.items()
            if name not in ("state_dict", "optimizer_states")
        }
        held = {"state_dict": part_files.state_of(module, module)}
        if "optimizer_states" in checkpoint:
            for number, each in enumerate(self.optimizers):
                held[f"optimizer_{number}"] = part_files.state_of(each, module)
        part_files.write(path, held, rest, self.is_global_zero)

    def _path_of_all(self, filepath: Any, storage_options: Any = None) -> Path:
        """The first process's path; room is made for a file."""
        if storage_options is not None:
            raise TypeError(f"{type(self).__name__}: storage_options mean nothing; leave them out")
        path = Path(self.broadcast(os.fspath(filepath)))
        if self._saves_parts or not path.is_dir():
            return path
        if not part_files.is_divided(path):
            raise IsADirectoryError(f"the checkpoint's path is a folder: {path}")
        self.barrier()
        if self.is_global_zero:
            shutil.rmtree(path)
        return path

    def load_checkpoint(self, checkpoint_path: Any, weights_only: bool | None = None) -> Any:
        """Read a checkpoint, a folder or a file; the weights of a folder go into the module."""
        path = Path(self.broadcast(os.fspath(checkpoint_path)))
        if not part_files.is_divided(path):
            return super().load_checkpoint(path, weights_only=weights_only)
        found = part_files.read_rest(path, weights_only)
        module = self.lightning_module
        part_files.read(path, "state_dict", module, module, module.strict_loading)
        names = part_files.names(path, "optimizer_")
        found["state_dict"] = module.state_dict()
        if names:
            found["optimizer_states"] = [SavedOptimizer(path, name) for name in names]
        return found

    def divided_optimizer_state(self, optimizer: Any, state: Any) -> dict[str, Any]:
        """A state of an optimizer as that of divided parameters takes it."""
        if not isinstance(state, SavedOptimizer):
            return super().divided_optimizer_state(optimizer, state)
        part_files.read(state.path, state.name, optimizer, self.lightning_module)
        return optimizer.state_dict()
