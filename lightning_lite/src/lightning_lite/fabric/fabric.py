"""Fabric: a loop of one's own, on any device, in any precision."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, cast

import rushlight as rl
from lightning_lite import random_state
from lightning_lite.batches import map_tensors, move_to_device
from lightning_lite.fabric import state_files
from lightning_lite.fabric.arguments import from_command_line
from lightning_lite.fabric.wrappers import (
    _FabricDataLoader,
    _FabricModule,
    _FabricOptimizer,
    is_wrapped,
)
from lightning_lite.module import LightningModule
from lightning_lite.options import check_count, choose_device
from lightning_lite.parts import accelerator_name, plug_in, start_strategy
from lightning_lite.sampling import divided

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightning_lite.loggers.logger import Logger


class Fabric:
    """Moves modules and batches to the device, runs them in a precision, and keeps checkpoints.

    `accelerator`, `strategy`, `devices`, `num_nodes`, `precision`, `plugins`: as for the Trainer.
    Of a script that `python -m lightning_lite.fabric.cli run` started, the command line's stand in
    place of the defaults. `callbacks`: objects whose methods `call` runs; `loggers`: where `log`
    puts numbers.

    >>> import rushlight as rl
    >>> fabric = Fabric(accelerator="cpu")
    >>> model = rl.nn.Linear(2, 1)
    >>> model, optimizer = fabric.setup(model, rl.optim.SGD(model.parameters(), lr=0.1))
    >>> fabric.backward(model(rl.ones(3, 2)).sum())
    >>> optimizer.step()
    """

    def __init__(
        self,
        *,
        accelerator: Any = "auto",
        strategy: Any = "auto",
        devices: Any = "auto",
        num_nodes: int = 1,
        precision: str | int | None = None,
        plugins: object = None,
        callbacks: object = None,
        loggers: Logger | Sequence[Logger] | None = None,
    ) -> None:
        accelerator, strategy, devices, num_nodes, precision = from_command_line(
            accelerator=accelerator, strategy=strategy, devices=devices, num_nodes=num_nodes,
            precision=precision,
        )  # fmt: skip
        check_count(num_nodes, "num_nodes", 1)
        self.root_device = choose_device(accelerator_name(accelerator), devices)
        kind = self.root_device.type
        self._strategy = start_strategy(strategy, devices, num_nodes, plugins, kind)
        self._strategy.connect(self)
        self._precision = plug_in(self._strategy, plugins, precision, kind)
        self._launched = False
        self._callbacks = _as_list(callbacks)
        self._loggers = _as_list(loggers)
        weakref.finalize(self, _save_loggers, self._loggers)  # at exit, at the latest
        self._models_setup = 0
        self.lightning_module: Any = None
        self.optimizers: list[Any] = []
        self.lr_scheduler_configs: list[Any] = []

    # -- what it is -----------------------------------------------------------------------------

    @property
    def device(self) -> Any:
        """The device of this process."""
        return self.root_device

    @property
    def strategy(self) -> Any:
        """The devices and processes."""
        return self._strategy

    @property
    def accelerator(self) -> Any:
        """What is known of the device."""
        return self._strategy.accelerator

    @property
    def loggers(self) -> list[Any]:
        """The loggers."""
        return self._loggers

    @property
    def logger(self) -> Any:
        """The first logger; None without one."""
        return self._loggers[0] if self._loggers else None

    @property
    def global_rank(self) -> int:
        """The number of this process."""
        return self._strategy.global_rank

    @property
    def local_rank(self) -> int:
        """The number of this process on its machine."""
        return self._strategy.local_rank

    @property
    def node_rank(self) -> int:
        """The number of this machine."""
        return self._strategy.node_rank

    @property
    def world_size(self) -> int:
        """How many processes there are."""
        return self._strategy.world_size

    @property
    def is_global_zero(self) -> bool:
        """Whether this is the process that writes and prints."""
        return self._strategy.is_global_zero

    # -- modules, optimizers, data --------------------------------------------------------------

    def setup(
        self,
        module: Any,
        *optimizers: Any,
        scheduler: Any = None,
        move_to_device: bool = True,
        _reapply_compile: bool = True,
    ) -> Any:
        """A module and its optimizers, ready for the device and the precision.

        Returns the module alone, or a tuple of the module, the optimizers and the scheduler if one
        was given. Optimizers are made before, with the module's parameters. ValueError for what was
        set up before.
        """
        before = dict(module.named_parameters()) if isinstance(module, rl.nn.Module) else {}
        made = self.setup_module(module, move_to_device=move_to_device)
        if not optimizers:
            return made
        after = self._strategy.named_parameters(made.module)
        replaced = {each: after[name] for name, each in before.items() if name in after}
        wrapped = [self._wrap_optimizer(each, replaced) for each in optimizers]
        return (made, *wrapped) if scheduler is None else (made, *wrapped, scheduler)

    def setup_module(
        self, module: Any, move_to_device: bool = True, _reapply_compile: bool = True
    ) -> Any:
        """A module, ready for the device and the precision."""
        _check_new(module, "setup_module")
        if not isinstance(module, rl.nn.Module):
            raise TypeError(
                f"setup: the first argument is a {type(module).__name__}; expected a Module, then "
                "its optimizers"
            )
        module = self._precision.convert_module(module)
        if move_to_device:
            module = module.to(self.device)
        if isinstance(module, LightningModule):
            module.fabric = self
        self._check_launched("setup")
        module = self._strategy.parallelized(module)
        self._strategy.setup_module(module)
        made = _FabricModule(module, self)
        made.train(module.training)
        self._models_setup += 1
        self.call("on_after_setup", fabric=self, module=made)
        return made

    def _check_launched(self, method: str) -> None:
        """Complain where the other processes are missing. RuntimeError."""
        if self.world_size > 1 and not self._launched:
            raise RuntimeError(
                f"Fabric.{method}: {self.world_size} processes were asked for and are not there "
                "yet; call launch() before"
            )

    def setup_optimizers(self, *optimizers: Any) -> Any:
        """Optimizers alone, ready for the precision: one, or a tuple."""
        if not optimizers:
            raise ValueError("setup_optimizers: give one optimizer or more")
        made = tuple(self._wrap_optimizer(each) for each in optimizers)
        return made[0] if len(made) == 1 else made

    def _wrap_optimizer(self, optimizer: Any, replaced: Any = None) -> _FabricOptimizer:
        _check_new(optimizer, "setup_optimizers")
        if not isinstance(optimizer, rl.optim.Optimizer):
            raise TypeError(f"setup: {type(optimizer).__name__}; expected an Optimizer")
        return _FabricOptimizer(self._strategy.setup_optimizer(optimizer, replaced or {}), self)

    def setup_dataloaders(
        self, *dataloaders: Any, use_distributed_sampler: bool = True, move_to_device: bool = True
    ) -> Any:
        """Loaders whose batches come on the device: one, or a list."""
        if not dataloaders:
            raise ValueError("setup_dataloaders: give one loader or more")
        for each in dataloaders:
            _check_new(each, "setup_dataloaders")
            if not hasattr(each, "__iter__"):
                raise TypeError(f"setup_dataloaders: {type(each).__name__} gives no batches")
        self._check_launched("setup_dataloaders")
        device = self.device if move_to_device and self.device.type != "cpu" else None
        ranks = self._strategy.distributed_sampler_kwargs if use_distributed_sampler else None
        made = [_FabricDataLoader(divided(each, ranks), device) for each in dataloaders]
        return made[0] if len(made) == 1 else made

    # -- one step -------------------------------------------------------------------------------

    def backward(self, tensor: Any, *args: Any, model: Any = None, **kwargs: Any) -> None:
        """Differentiate a loss, scaled if the precision asks for it."""
        precision = self._precision
        with precision.outside():
            tensor = precision.pre_backward(tensor, model)
            precision.backward(tensor, model, *args, **kwargs)
            precision.post_backward(tensor, model)

    def clip_gradients(
        self,
        module: Any,
        optimizer: Any,
        clip_val: float | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        error_if_nonfinite: bool = True,
    ) -> Any:
        """Clip a module's gradients by value (`clip_val`) or by norm (`max_norm`, whose norm is
        returned). ValueError unless exactly one is given."""
        if (clip_val is None) == (max_norm is None):
            raise ValueError("clip_gradients: give one of clip_val and max_norm")
        raw = getattr(optimizer, "optimizer", optimizer)
        self._precision.unscale_gradients(raw)
        held = [each for group in raw.param_groups for each in group["params"]]
        if clip_val is not None:
            rl.nn.utils.clip_grad_value_(held, clip_val)
            return None
        return rl.nn.utils.clip_grad_norm_(
            held, cast(float, max_norm), norm_type=norm_type, error_if_nonfinite=error_if_nonfinite
        )

    def autocast(self) -> AbstractContextManager:
        """A block that computes in the precision, as calls of set-up modules do."""
        return self._precision.forward_context()

    def to_device(self, obj: Any) -> Any:
        """A module, tensor or container of tensors on the device."""
        if isinstance(obj, rl.nn.Module):
            return obj.to(self.device)
        return move_to_device(obj, self.device)

    def no_backward_sync(self, module: Any, enabled: bool = True) -> AbstractContextManager:
        """A block whose gradients are not exchanged with other processes, for the next ones to be
        added to. TypeError for a module that was not set up.
        """
        if not isinstance(module, _FabricModule):
            raise TypeError("no_backward_sync: the module was not given to Fabric.setup")
        return self._strategy.no_backward_sync() if enabled else nullcontext()

    # -- several processes ----------------------------------------------------------------------

    def launch(self, function: Callable = lambda _: None, *args: Any, **kwargs: Any) -> Any:
        """Start the processes, and run `function(fabric, *args, **kwargs)` in each; what the first
        one's returns."""
        if not callable(function):
            raise TypeError(f"launch: {type(function).__name__} is not callable")
        return self._strategy.launch(_launched, self, function, args, kwargs)

    def barrier(self, name: str | None = None) -> None:
        """Wait for the other processes."""
        self._strategy.barrier(name)

    def broadcast(self, obj: Any, src: int = 0) -> Any:
        """An object of process `src`."""
        return self._strategy.broadcast(obj, src)

    def all_gather(self, data: Any, group: Any = None, sync_grads: bool = False) -> Any:
        """Tensors of all processes, in containers like `data`'s, stacked along a new first
        dimension; of one process, the data on the device."""
        data = self.to_device(data)
        return map_tensors(data, lambda each: self._strategy.all_gather(each, group, sync_grads))

    def all_reduce(self, data: Any, group: Any = None, reduce_op: str = "mean") -> Any:
        """Mean or sum (`reduce_op`) of all processes' tensors."""
        return self._strategy.reduce(self.to_device(data), group, reduce_op)

    @contextmanager
    def rank_zero_first(self, local: bool = False) -> Iterator[None]:
        """A block that process 0 (`local`: the first of each machine) runs before the others."""
        rank = self.local_rank if local else self.global_rank
        if rank:
            self.barrier()
        yield
        if not rank:
            self.barrier()

    # -- making tensors -------------------------------------------------------------------------

    @contextmanager
    def init_tensor(self) -> Iterator[None]:
        """A block whose new tensors are on the device, in the dtype of the precision."""
        with rl.device(self.device), self._precision.tensor_init_context():
            yield

    @contextmanager
    def init_module(self, empty_init: bool | None = None) -> Iterator[None]:
        """A block whose new modules are on the device, in the dtype of the precision. Parameters
        are drawn whatever `empty_init` says."""
        with self.init_tensor():
            yield

    def sharded_model(self) -> AbstractContextManager:
        """`init_module`; there is nothing to divide."""
        return self.init_module()

    # -- checkpoints, logs, callbacks -----------------------------------------------------------

    def save(self, path: Any, state: dict[str, Any], filter: Any = None) -> None:
        """Write a dictionary of modules, optimizers and plain values; whole or not at all.

        `filter`: name -> function of the name and value of each entry, which says whether it is
        written.
        """
        state_files.save(path, state, filter, self._strategy)
        self.call("on_save_checkpoint", fabric=self, path=path)

    def load(
        self, path: Any, state: Any = None, strict: bool = True, *, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Read a checkpoint into a dictionary of objects, in place; return what it had no name for.

        `state` may be a module alone. With `strict`, a name that the file lacks is a KeyError.
        """
        return state_files.load(path, state, strict, weights_only, self._strategy)

    def load_raw(
        self, path: Any, obj: Any, strict: bool = True, *, weights_only: bool | None = None
    ) -> None:
        """Read the state of one module or optimizer from a file of nothing else."""
        state_files.load_raw(path, obj, strict, weights_only, self._strategy)

    def log(self, name: str, value: Any, step: int | None = None) -> None:
        """Give the loggers a number."""
        self.log_dict({name: value}, step)

    def log_dict(self, metrics: dict[str, Any], step: int | None = None) -> None:
        """Give the loggers numbers; tensors of one element become Python numbers."""
        plain = {
            name: value.item() if isinstance(value, rl.Tensor) else value
            for name, value in metrics.items()
        }
        for logger in self._loggers if self.is_global_zero else ():
            logger.log_metrics(plain, step=step)

    def call(self, hook_name: str, *args: Any, **kwargs: Any) -> None:
        """Run a method of this name of every callback that has one."""
        for callback in self._callbacks:
            method = getattr(callback, hook_name, None)
            if callable(method):
                method(*args, **kwargs)

    def print(self, *args: Any, **kwargs: Any) -> None:
        """Print, in the first process of a machine."""
        if self.local_rank == 0:
            print(*args, **kwargs)

    @staticmethod
    def seed_everything(
        seed: int | None = None, workers: bool | None = None, verbose: bool = True
    ) -> int:
        """Seed every random number generator and return the seed."""
        return random_state.seed_everything(seed, workers=workers is not False, verbose=verbose)

    @property
    def default_root_dir(self) -> str:
        """The folder in which the process runs."""
        return os.getcwd()


def _launched(fabric: Fabric, function: Callable, args: Any, kwargs: Any) -> Any:
    """A process's part of `launch`."""
    fabric._launched = True
    fabric._strategy.setup_environment()
    return function(fabric, *args, **kwargs)


def _as_list(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, list | tuple) else [given]


def _save_loggers(loggers: list[Any]) -> None:
    """Write the rows that loggers hold; no loop of the Trainer does it for a Fabric."""
    for each in loggers:
        if hasattr(each, "save"):
            each.save()


def _check_new(obj: Any, method: str) -> None:
    """Complain of what was set up before."""
    if is_wrapped(obj):
        raise ValueError(f"{method}: {type(obj).__name__} was set up before")
