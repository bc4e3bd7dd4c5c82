"""Fine-tuning: parts of a model are frozen at first and learn later, in parameter groups of their
own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import rushlight as rl
from lightning_lite.callbacks.callback import Callback
from lightning_lite.errors import MisconfigurationException
from lightning_lite.messages import info, warn

BATCH_NORMS = (rl.nn.BatchNorm1d, rl.nn.BatchNorm2d, rl.nn.BatchNorm3d, rl.nn.SyncBatchNorm)


def multiplicative(epoch: int) -> float:
    """The factor by which the backbone's rate grows every epoch: 2."""
    return 2.0


class BaseFinetuning(Callback):
    """The base of callbacks that freeze parts of a model and let them learn later.

    Subclasses define `freeze_before_training(pl_module)`, which runs before
    `configure_optimizers`, and `finetune_function(pl_module, epoch, optimizer)`, which runs at the
    start of every epoch and adds parameters with `unfreeze_and_add_param_group`. The groups that
    were added stand in checkpoints, and a resumed training has them again.

    >>> from rushlight import nn
    >>> net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    >>> BaseFinetuning.freeze(net, train_bn=True)
    >>> [each.requires_grad for each in net.parameters()]
    [False, False, True, True]
    """

    def __init__(self) -> None:
        self._groups: dict[int, list[dict[str, Any]]] = {}
        self._frozen: dict[str, list[str]] = {}
        self._resumes = False

    def state_dict(self) -> dict[str, Any]:
        """The parameter groups of every optimizer, parameters by their names."""
        return {"internal_optimizer_metadata": self._groups, "frozen": self._frozen}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Remember the groups until there are optimizers."""
        self._resumes = True
        self._groups = state_dict.get("internal_optimizer_metadata", {})
        self._frozen = state_dict.get("frozen", {})

    # -- what modules are made of ---------------------------------------------------------------

    @staticmethod
    def flatten_modules(modules: Any) -> list[Any]:
        """The submodules that hold parameters themselves, of a module or of several."""
        if isinstance(modules, rl.nn.ModuleDict):
            modules = modules.values()
        if isinstance(modules, Iterable) and not isinstance(modules, rl.nn.Sequential):
            found = [each for part in modules for each in BaseFinetuning.flatten_modules(part)]
        else:
            found = list(modules.modules())
        return [each for each in found if not list(each.children()) or each._parameters]

    @staticmethod
    def filter_params(
        modules: Any, train_bn: bool = True, requires_grad: bool = True
    ) -> Iterable[Any]:
        """The parameters that need (or do not need) gradients; without those of batch
        normalization unless `train_bn`."""
        for each in BaseFinetuning.flatten_modules(modules):
            if isinstance(each, BATCH_NORMS) and not train_bn:
                continue
            for parameter in each.parameters(recurse=False):
                if parameter.requires_grad == requires_grad:
                    yield parameter

    @staticmethod
    def make_trainable(modules: Any) -> None:
        """Let all parameters learn, and batch normalization follow its inputs."""
        for each in BaseFinetuning.flatten_modules(modules):
            if isinstance(each, BATCH_NORMS):
                each.track_running_stats = True
            for parameter in each.parameters(recurse=False):
                parameter.requires_grad = True

    @staticmethod
    def freeze_module(module: Any) -> None:
        """Let a module's own parameters and running statistics stay as they are."""
        if isinstance(module, BATCH_NORMS):
            module.track_running_stats = False
        for parameter in module.parameters(recurse=False):
            parameter.requires_grad = False

    @staticmethod
    def freeze(modules: Any, train_bn: bool = True) -> None:
        """Freeze everything inside; batch normalization goes on learning with `train_bn`."""
        for each in BaseFinetuning.flatten_modules(modules):
            if isinstance(each, BATCH_NORMS) and train_bn:
                BaseFinetuning.make_trainable(each)
            else:
                BaseFinetuning.freeze_module(each)

    # -- optimizers -----------------------------------------------------------------------------

    @staticmethod
    def filter_on_optimizer(optimizer: Any, params: Iterable[Any]) -> list[Any]:
        """The parameters that an optimizer does not hold yet; warns of those that it does."""
        held = {id(each) for group in optimizer.param_groups for each in group["params"]}
        given = list(params)
        new = [each for each in given if id(each) not in held]
        if len(new) < len(given):
            warn(
                f"finetuning: {len(given) - len(new)} of the parameters to unfreeze are in the "
                "optimizer already; give configure_optimizers only those that need gradients: "
                "filter(lambda p: p.requires_grad, self.parameters())"
            )
        return new

    @staticmethod
    def unfreeze_and_add_param_group(
        modules: Any,
        optimizer: Any,
        lr: float | None = None,
        initial_denom_lr: float = 10.0,
        train_bn: bool = True,
    ) -> None:
        """Let modules learn, as a new group of the optimizer with the rate `lr`; by default the
        first group's divided by `initial_denom_lr`."""
        BaseFinetuning.make_trainable(modules)
        rate = optimizer.param_groups[0]["lr"] / initial_denom_lr if lr is None else lr
        found = BaseFinetuning.filter_params(modules, train_bn=train_bn, requires_grad=True)
        found = BaseFinetuning.filter_on_optimizer(optimizer, found)
        if found:
            optimizer.add_param_group({"params": found, "lr": rate})

    # -- moments --------------------------------------------------------------------------------

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Freeze before there are optimizers."""
        self.freeze_before_training(pl_module)

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """After a resume: give the optimizers the groups that they had, and freeze what was."""
        if not self._resumes:
            return
        if self._frozen:
            for name, each in pl_module.named_parameters():
                each.requires_grad = name not in self._frozen["parameters"]
            for name, each in _norms(pl_module):
                each.track_running_stats = name not in self._frozen["statistics"]
        named = dict(pl_module.named_parameters())
        for number, optimizer in enumerate(trainer.optimizers):
            if number in self._groups:
                groups = self._groups[number]
                optimizer.param_groups[:] = [
                    {**each, "params": [named[name] for name in each["params"]]} for each in groups
                ]
        self._resumes = False

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Let the subclass act on every optimizer, and write its groups down."""
        names = {id(each): name for name, each in pl_module.named_parameters()}
        for number, optimizer in enumerate(trainer.optimizers):
            self.finetune_function(pl_module, trainer.current_epoch, optimizer)
            for config in trainer.lr_scheduler_configs:
                fit_plateau(config.scheduler, optimizer)
            self._groups[number] = [
                {**group, "params": [names[id(each)] for each in group["params"]]}
                for group in optimizer.param_groups
            ]
        found = pl_module.named_parameters()
        self._frozen = {
            "parameters": [name for name, each in found if not each.requires_grad],
            "statistics": [n for n, each in _norms(pl_module) if not each.track_running_stats],
        }

    def finetune_function(self, pl_module: Any, epoch: int, optimizer: Any) -> None:
        """Unfreeze what is due in this epoch."""
        raise NotImplementedError(f"{type(self).__name__} does not define finetune_function")

    def freeze_before_training(self, pl_module: Any) -> None:
        """Freeze what does not learn at first."""
        raise NotImplementedError(f"{type(self).__name__} does not define freeze_before_training")


def _norms(module: Any) -> list[tuple[str, Any]]:
    """The layers of batch normalization, by their names."""
    return [pair for pair in module.named_modules() if isinstance(pair[1], BATCH_NORMS)]


def fit_plateau(scheduler: Any, optimizer: Any) -> None:
    """Give a plateau scheduler a lowest rate for every group that was added to its optimizer."""
    lowest = getattr(scheduler, "min_lrs", None)
    if lowest is not None and scheduler.optimizer is optimizer:
        lowest.extend(lowest[-1:] * (len(optimizer.param_groups) - len(lowest)))


class BackboneFinetuning(BaseFinetuning):
    """Trains everything but `pl_module.backbone` at first, and the backbone too from an epoch on.

    From `unfreeze_backbone_at_epoch` on the backbone learns with its own rate: first
    `backbone_initial_lr`, or the first group's rate times `backbone_initial_ratio_lr`; after every
    epoch `lambda_func(epoch + 1)` times what it was, with `should_align` never more than the first
    group's. `verbose` tells both rates, with `rounding` digits.

    Args:
        lambda_func: the factor of the backbone's learning rate by epoch, from
            `unfreeze_backbone_at_epoch` on.
        initial_denom_lr: what the first group's rate is divided by for the backbone's, unless
            `backbone_initial_lr` says it.
        train_bn: whether batch normalization learns while the backbone is frozen.

    >>> finetuning = BackboneFinetuning(unfreeze_backbone_at_epoch=3, lambda_func=lambda epoch: 1.5)
    >>> finetuning.unfreeze_backbone_at_epoch
    3
    """

    def __init__(
        self,
        unfreeze_backbone_at_epoch: int = 10,
        lambda_func: Callable[[int], float] = multiplicative,
        backbone_initial_ratio_lr: float = 10e-2,
        backbone_initial_lr: float | None = None,
        should_align: bool = True,
        initial_denom_lr: float = 10.0,
        train_bn: bool = True,
        verbose: bool = False,
        rounding: int = 12,
    ) -> None:
        super().__init__()
        self.unfreeze_backbone_at_epoch = unfreeze_backbone_at_epoch
        self.lambda_func = lambda_func
        self.backbone_initial_ratio_lr = backbone_initial_ratio_lr
        self.backbone_initial_lr = backbone_initial_lr
        self.should_align = should_align
        self.initial_denom_lr = initial_denom_lr
        self.train_bn = train_bn
        self.verbose = verbose
        self.rounding = rounding
        self.previous_backbone_lr: float | None = None

    def state_dict(self) -> dict[str, Any]:
        """The groups, and the backbone's rate."""
        return {**super().state_dict(), "previous_backbone_lr": self.previous_backbone_lr}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on with the backbone's rate."""
        self.previous_backbone_lr = state_dict["previous_backbone_lr"]
        super().load_state_dict(state_dict)

    def freeze_before_training(self, pl_module: Any) -> None:
        """Freeze the backbone, but for its batch normalization. MisconfigurationException for a
        module without one."""
        if not isinstance(getattr(pl_module, "backbone", None), rl.nn.Module):
            raise MisconfigurationException(
                f"BackboneFinetuning: {type(pl_module).__name__} has no module in its attribute "
                "'backbone'"
            )
        self.freeze(pl_module.backbone)

    def finetune_function(self, pl_module: Any, epoch: int, optimizer: Any) -> None:
        """Unfreeze the backbone when it is time, and let its rate follow."""
        current = optimizer.param_groups[0]["lr"]
        if epoch == self.unfreeze_backbone_at_epoch:
            rate = self.backbone_initial_lr or current * self.backbone_initial_ratio_lr
            self.unfreeze_and_add_param_group(
                pl_module.backbone,
                optimizer,
                rate,
                train_bn=self.train_bn,
                initial_denom_lr=self.initial_denom_lr,
            )
        elif epoch > self.unfreeze_backbone_at_epoch:
            rate = self.lambda_func(epoch + 1) * (self.previous_backbone_lr or 0.0)
            rate = current if self.should_align and rate > current else rate
            optimizer.param_groups[-1]["lr"] = rate
        else:
            return
        self.previous_backbone_lr = rate
        if self.verbose:
            digits = self.rounding
            info(f"rate {round(current, digits)}, the backbone's {round(rate, digits)}")
