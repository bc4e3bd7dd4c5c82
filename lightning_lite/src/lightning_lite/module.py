"""LightningModule: a model together with how it is trained, measured and used."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import rushlight as rl
from lightning_lite import checkpoint, deploying, gradients, metric_objects
from lightning_lite.errors import MisconfigurationException
from lightning_lite.exchange import reduced
from lightning_lite.hyperparameters import HyperparametersMixin
from lightning_lite.messages import warn
from lightning_lite.metrics import DEFAULTS, EPOCH_ONLY, REDUCTIONS, LogOptions, scalar_tensor
from lightning_lite.module_hooks import CheckpointHooks, DataHooks, ModelHooks
from lightning_lite.optimizers import LightningOptimizer
from lightning_lite.utilities.apply_func import apply_to_collection

if TYPE_CHECKING:
    from lightning_lite.trainer import Trainer


def refuse_name(name: Any) -> None:
    """Complain of what cannot be the name of a logged value."""
    if not isinstance(name, str):
        raise TypeError(f"log({name!r}): the name is a {type(name).__name__}; expected a str")
    raise MisconfigurationException(
        f"log({name!r}): '/dataloader_idx_' in names is the trainer's own"
    )


def _as_tensor(value: Any) -> rl.Tensor:
    return value if isinstance(value, rl.Tensor) else rl.tensor(value)


class LightningModule(HyperparametersMixin, ModelHooks, DataHooks, CheckpointHooks, rl.nn.Module):
    """A network that says what one step of training, validation, test or prediction is.

    Subclasses define `training_step` and `configure_optimizers` at least; the `Trainer` does the
    rest. It is an ordinary `nn.Module` too, and works as one without a trainer.

    >>> class Line(LightningModule):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = rl.nn.Linear(1, 1)
    ...
    ...     def training_step(self, batch, batch_idx):
    ...         x, y = batch
    ...         return rl.nn.functional.mse_loss(self.layer(x), y)
    ...
    ...     def configure_optimizers(self):
    ...         return rl.optim.SGD(self.parameters(), lr=0.1)
    """

    # In the class, so that a subclass may set them there.
    example_input_array: Any = None
    strict_loading: bool = True

    def __init__(self) -> None:
        super().__init__()
        self._trainer: Trainer | None = None
        self.fabric: Any = None
        self._automatic_optimization = True
        self._toggled: dict[Any, bool] = {}

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles hold: everything but the trainer and the fabric."""
        return {**self.__dict__, "_trainer": None, "fabric": None}

    # -- what subclasses define -----------------------------------------------------------------

    def training_step(self, *args: Any, **kwargs: Any) -> Any:
        """The loss of one batch: a tensor, a dictionary with 'loss', or None to skip the batch.

        Called as `training_step(batch, batch_idx)`, or `training_step(batch)` if it takes one
        argument only.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define training_step")

    def validation_step(self, *args: Any, **kwargs: Any) -> Any:
        """Measure one batch: `validation_step(batch, batch_idx[, dataloader_idx])`."""
        raise NotImplementedError(f"{type(self).__name__} does not define validation_step")

    def test_step(self, *args: Any, **kwargs: Any) -> Any:
        """Measure one batch: `test_step(batch, batch_idx[, dataloader_idx])`."""
        raise NotImplementedError(f"{type(self).__name__} does not define test_step")

    def predict_step(self, *args: Any, **kwargs: Any) -> Any:
        """Use one batch: `predict_step(batch, batch_idx[, dataloader_idx])`; else `self(batch)`."""
        batch = kwargs.get("batch", args[0] if args else None)
        return self(batch)

    def configure_optimizers(self) -> Any:
        """The optimizer or optimizers, with schedulers, in any of Lightning's forms."""
        raise NotImplementedError(f"{type(self).__name__} does not define configure_optimizers")

    def configure_callbacks(self) -> Any:
        """Callbacks that belong to this model; they replace the trainer's of the same type."""
        return []

    # -- the run --------------------------------------------------------------------------------

    @property
    def trainer(self) -> Trainer:
        """The trainer that runs this module."""
        if self._trainer is None:
            raise RuntimeError(
                f"{type(self).__name__} is not attached to a Trainer: give it to Trainer.fit, "
                "validate, test or predict first"
            )
        return self._trainer

    @trainer.setter
    def trainer(self, trainer: Trainer | None) -> None:
        self._trainer = trainer
        for child in self.children():
            if isinstance(child, LightningModule):
                child.trainer = trainer

    @property
    def current_epoch(self) -> int:
        """The number of the epoch, from 0; 0 without a trainer."""
        return self._trainer.current_epoch if self._trainer is not None else 0

    @property
    def global_step(self) -> int:
        """How many optimizer steps were taken; 0 without a trainer."""
        return self._trainer.global_step if self._trainer is not None else 0

    @property
    def global_rank(self) -> int:
        """The number of this process among all; 0 without a trainer."""
        return self._trainer.global_rank if self._trainer is not None else 0

    @property
    def local_rank(self) -> int:
        """The number of this process on its machine; 0 without a trainer."""
        return self._trainer.local_rank if self._trainer is not None else 0

    @property
    def logger(self) -> Any:
        """The trainer's first logger, or None."""
        return self._trainer.logger if self._trainer is not None else None

    @property
    def loggers(self) -> list[Any]:
        """The trainer's loggers."""
        return self._trainer.loggers if self._trainer is not None else []

    @property
    def device(self) -> Any:
        """The device of the first parameter or buffer; the CPU without any."""
        found = self._first_tensor()
        return rl.device("cpu") if found is None else found.device

    @property
    def dtype(self) -> Any:
        """The dtype of the first parameter or buffer; the default dtype without any."""
        found = self._first_tensor()
        return rl.get_default_dtype() if found is None else found.dtype

    def _first_tensor(self) -> Any:
        return next(itertools.chain(self.parameters(), self.buffers()), None)

    @property
    def on_gpu(self) -> bool:
        """Whether the module is on a CUDA device."""
        return self.device.type == "cuda"

    @property
    def automatic_optimization(self) -> bool:
        """Whether the trainer calls backward and step (True), or `training_step` does."""
        return self._automatic_optimization

    @automatic_optimization.setter
    def automatic_optimization(self, automatic: bool) -> None:
        self._automatic_optimization = automatic

    def print(self, *args: Any, **kwargs: Any) -> None:
        """Print without tearing the progress bar."""
        if self._trainer is not None:
            self._trainer.print(*args, **kwargs)
        else:
            print(*args, **kwargs)

    # -- logging --------------------------------------------------------------------------------

    def log(
        self,
        name: str,
        value: Any,
        prog_bar: bool = False,
        logger: bool | None = None,
        on_step: bool | None = None,
        on_epoch: bool | None = None,
        reduce_fx: str | Callable = "mean",
        enable_graph: bool = False,
        sync_dist: bool = False,
        sync_dist_group: Any = None,
        add_dataloader_idx: bool = True,
        batch_size: int | None = None,
        metric_attribute: str | None = None,
        rank_zero_only: bool = False,
    ) -> None:
        """Record a number for loggers, the progress bar and callbacks.

        `value` is a number, a tensor of one element, or a metric that gathers by itself (see
        `metric_objects`), whose own value of the epoch counts. `on_step` keeps it for this step,
        `on_epoch` gathers it with `reduce_fx` (mean weighted by `batch_size`, sum, min, max, or a
        function of the stacked values); with both, the names get `_step` and `_epoch`. By default
        training steps log per step, everything else per epoch. With `sync_dist` values are reduced
        over all processes (of `sync_dist_group`), else each logs its own and the first one's are
        seen; `rank_zero_only` records in the first process alone.
        """
        if self._trainer is None and self.fabric is not None:
            self.fabric.log(name, value)
            return
        if self._trainer is None:
            warn(f"log({name!r}): the module is not attached to a Trainer; nothing is recorded")
            return
        if rank_zero_only and not self._trainer.is_global_zero:
            return
        hook = self._trainer.hooks.current
        if hook not in DEFAULTS:
            raise MisconfigurationException(
                f"log({name!r}) cannot be called in {hook or 'no hook'}"
            )
        if not (callable(reduce_fx) or reduce_fx in REDUCTIONS):
            raise MisconfigurationException(
                f"log({name!r}, reduce_fx={reduce_fx!r}): expected one of {REDUCTIONS} or a "
                "function"
            )
        if hook in EPOCH_ONLY and on_step:
            raise MisconfigurationException(f"log({name!r}, on_step=True): {hook} has no steps")
        if not isinstance(name, str) or "/dataloader_idx_" in name:
            refuse_name(name)
        step_default, epoch_default = DEFAULTS[hook]
        results = self._trainer.results
        options = LogOptions(
            name=name,
            hook=hook,
            on_step=step_default if on_step is None else on_step,
            on_epoch=epoch_default if on_epoch is None else on_epoch,
            prog_bar=prog_bar,
            logger=True if logger is None else logger,
            reduce_fx=reduce_fx,
            dataloader_idx=results.dataloader_idx if add_dataloader_idx else None,
        )
        if sync_dist and self._trainer.world_size > 1 and not rank_zero_only:
            options = options._replace(sync=reduced, sync_group=sync_dist_group)
        if metric_objects.is_metric(value):
            with rl.no_grad():
                results.add_metric(options, value)
        else:  # of a tensor that is detached, nothing is recorded
            results.add(options, scalar_tensor(name, value), batch_size)

    def log_dict(self, dictionary: Mapping[str, Any], *args: Any, **kwargs: Any) -> None:
        """`log` every item of a dictionary with the same arguments."""
        for name, value in dictionary.items():
            self.log(name, value, *args, **kwargs)

    # -- optimization ---------------------------------------------------------------------------

    def optimizers(self, use_pl_optimizer: bool = True) -> Any:
        """The optimizer or the list of them; their steps count, unless the raw ones are asked."""
        found = self.trainer.optimizers
        if use_pl_optimizer:
            found = self.trainer.lightning_optimizers
        return found[0] if len(found) == 1 else found

    def lr_schedulers(self) -> Any:
        """The scheduler, the list of them, or None."""
        found = [config.scheduler for config in self.trainer.lr_scheduler_configs]
        if not found:
            return None
        return found[0] if len(found) == 1 else found

    def backward(self, loss: Any, *args: Any, **kwargs: Any) -> None:
        """Differentiate the loss."""
        loss.backward(*args, **kwargs)

    def manual_backward(self, loss: Any, *args: Any, **kwargs: Any) -> None:
        """Differentiate a loss in manual optimization, with the hooks around it."""
        if self.automatic_optimization:
            raise MisconfigurationException(
                "manual_backward: set self.automatic_optimization = False in __init__ to use it"
            )
        hooks, precision = self.trainer.hooks, self.trainer.precision_settings
        loss = precision.pre_backward(loss, self)
        hooks.call("on_before_backward", loss)
        with precision.outside():
            precision.backward(loss, self, None, *args, **kwargs)
        precision.post_backward(loss, self)
        hooks.call("on_after_backward")

    def optimizer_step(
        self, epoch: int, batch_idx: int, optimizer: Any, optimizer_closure: Any = None
    ) -> None:
        """Step the optimizer; the closure computes the loss and its gradients."""
        optimizer.step(closure=optimizer_closure)

    def optimizer_zero_grad(self, epoch: int, batch_idx: int, optimizer: Any) -> None:
        """Clear the gradients."""
        optimizer.zero_grad()

    def lr_scheduler_step(self, scheduler: Any, metric: Any) -> None:
        """Step a scheduler, on a metric if it follows one."""
        if metric is None:
            scheduler.step()
        else:
            scheduler.step(metric)

    def configure_gradient_clipping(
        self,
        optimizer: Any,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip the gradients as the trainer was told; override to do it otherwise."""
        self.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)

    def clip_gradients(
        self,
        optimizer: Any,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip the gradients of an optimizer's parameters, by 'norm' or by 'value'."""
        if gradient_clip_val is None:
            gradient_clip_val = self.trainer.gradient_clip_val
        if gradient_clip_algorithm is None:
            gradient_clip_algorithm = self.trainer.gradient_clip_algorithm
        gradients.check_clipping(gradient_clip_val, gradient_clip_algorithm)
        self.trainer.precision_settings.clip_gradients(
            optimizer, gradient_clip_val or 0.0, (gradient_clip_algorithm or "norm").lower()
        )

    def toggle_optimizer(self, optimizer: Any) -> None:
        """Only this optimizer's parameters need gradients, until `untoggle_optimizer`."""
        raw = optimizer.optimizer if isinstance(optimizer, LightningOptimizer) else optimizer
        own = {id(each) for group in raw.param_groups for each in group["params"]}
        for other in self.trainer.optimizers:
            for group in other.param_groups:
                for parameter in group["params"]:
                    self._toggled.setdefault(parameter, parameter.requires_grad)
        for parameter, needed in self._toggled.items():
            parameter.requires_grad = needed and id(parameter) in own

    def untoggle_optimizer(self, optimizer: Any) -> None:
        """Undo `toggle_optimizer`."""
        for parameter, needed in self._toggled.items():
            parameter.requires_grad = needed
        self._toggled = {}

    @contextmanager
    def toggled_optimizer(self, optimizer: Any) -> Iterator[None]:
        """Only this optimizer's parameters need gradients inside the block."""
        self.toggle_optimizer(optimizer)
        try:
            yield
        finally:
            self.untoggle_optimizer(optimizer)

    # -- the module itself ----------------------------------------------------------------------

    def freeze(self) -> None:
        """No parameter needs a gradient, and the module is in evaluation mode."""
        for parameter in self.parameters():
            parameter.requires_grad = False
        self.eval()

    def unfreeze(self) -> None:
        """Every parameter needs a gradient, and the module is in training mode."""
        for parameter in self.parameters():
            parameter.requires_grad = True
        self.train()

    def all_gather(self, data: Any, group: Any = None, sync_grads: bool = False) -> Any:
        """Tensors, numbers and containers of them from all processes, each stacked along a new
        first dimension; of one process, the data itself. With `sync_grads` gradients flow back."""
        owner = self._trainer if self._trainer is not None else self.fabric
        if owner is None or owner.world_size == 1:
            return data
        gather = owner.strategy.all_gather
        kinds = (rl.Tensor, int, float)
        return apply_to_collection(
            data, kinds, lambda each: gather(_as_tensor(each), group, sync_grads)
        )

    def to_torchscript(
        self,
        file_path: Any = None,
        method: str = "script",
        example_inputs: Any = None,
        **kwargs: Any,
    ) -> Any:
        """The module as TorchScript, by `method` "script" (all branches) or "trace" (the calls that
        `example_inputs` lead to; default `example_input_array`), saved if `file_path` is given.

        It is taken in evaluation mode; the module keeps its mode. `kwargs` go to
        `rushlight.jit.script` or `rushlight.jit.trace`. Raises ValueError for another method or
        without inputs to trace.
        """
        return deploying.to_torchscript(self, file_path, method, example_inputs, kwargs)

    @property
    def device_mesh(self) -> Any:
        """The mesh of processes that `ModelParallelStrategy` makes; None with other strategies."""
        return getattr(getattr(self._trainer, "strategy", None), "_device_mesh", None)

    def to_onnx(self, file_path: Any = None, input_sample: Any = None, **kwargs: Any) -> Any:
        """The module as an ONNX program, saved if `file_path` (a path or a binary file) is given.

        `input_sample` (default `example_input_array`): a tensor, a tuple of arguments, or a
        dictionary of keyword arguments. It is taken in evaluation mode; the module keeps its mode.
        `kwargs` go to `rushlight.onnx.export`. Raises ValueError without an input.
        """
        return deploying.to_onnx(self, file_path, input_sample, kwargs)

    @classmethod
    def load_from_checkpoint(
        cls,
        checkpoint_path: Any,
        map_location: Any = None,
        hparams_file: Any = None,
        strict: bool | None = None,
        weights_only: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        """A module with the weights of a checkpoint, made with the hyper-parameters it holds.

        Keyword arguments replace or complete the saved hyper-parameters. `strict` (default True)
        asks that weights and module agree in every name.
        """
        return checkpoint.load_module(
            cls, checkpoint_path, map_location, hparams_file, strict, weights_only, kwargs
        )
