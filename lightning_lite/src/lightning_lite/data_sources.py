"""Where loaders come from: an argument, the data module, or the module; and how long they are."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from lightning_lite.combined_loader import CombinedLoader
from lightning_lite.datamodule import LightningDataModule
from lightning_lite.errors import MisconfigurationException
from lightning_lite.feeding import limited, loader_length
from lightning_lite.hooks import overrides
from lightning_lite.messages import warn
from lightning_lite.module import LightningModule
from lightning_lite.module_hooks import DataHooks
from lightning_lite.sampling import divided
from lightning_lite.utilities.apply_func import apply_to_collection
from rushlight.utils.data import DataLoader, RandomSampler, SequentialSampler

KINDS = ("train", "val", "test", "predict")


def method_of(kind: str) -> str:
    """The method that makes the loaders of a kind."""
    return f"{kind}_dataloader"


class DataSources:
    """The loaders of one run, made when they are first needed."""

    def __init__(
        self,
        module: Any,
        datamodule: Any,
        given: dict[str, Any],
        ranks: dict[str, int] | None = None,
    ) -> None:
        self.ranks = ranks  # how processes divide the data; None for one
        self.module = module
        self.datamodule = datamodule
        self.given = given

    def owner(self, kind: str) -> Any:
        """Whoever defines the method for a kind: the data module, else the module, else None."""
        name = method_of(kind)
        if self.datamodule is not None and overrides(self.datamodule, DataHooks, name):
            return self.datamodule
        return self.module if overrides(self.module, DataHooks, name) else None

    def has(self, kind: str) -> bool:
        """Whether there are loaders of a kind."""
        return self.given.get(kind) is not None or self.owner(kind) is not None

    def request(self, kind: str) -> Any:
        """The loaders of a kind as somebody gave them."""
        given = self.given.get(kind)
        if given is not None:
            return given
        owner = self.owner(kind)
        if owner is None:
            name = method_of(kind)
            raise MisconfigurationException(
                f"no loader to use: give the Trainer loaders or a datamodule, or define {name}() "
                "in "
                f"{type(self.module).__name__}"
            )
        return getattr(owner, method_of(kind))()

    def training_loader(self) -> Any:
        """The training loader; a container of several as one."""
        found = self.request("train")
        if isinstance(found, list | tuple | dict):
            parts = apply_to_collection(found, DataLoader, self._divided)
            return CombinedLoader(parts, mode="max_size_cycle")
        check_iterable(found, "train")
        if isinstance(found, CombinedLoader) and self.ranks is not None:
            parts = apply_to_collection(found.iterables, DataLoader, self._divided)
            return CombinedLoader(parts, mode=found.mode)
        return self._divided(found)

    def _divided(self, loader: Any) -> Any:
        return divided(loader, self.ranks)

    def evaluation_loaders(self, kind: str) -> list[Any]:
        """The loaders of a kind, in a list."""
        found = self.request(kind)
        if isinstance(found, CombinedLoader) and found.mode == "sequential":
            found = found.flattened
        if isinstance(found, dict):
            found = list(found.values())
        loaders = list(found) if isinstance(found, list | tuple) else [found]
        for loader in loaders:
            check_iterable(loader, kind)
        return [divided(each, self.ranks, repeats=kind != "predict") for each in loaders]


def check_iterable(loader: Any, kind: str) -> None:
    """Complain of a loader that gives no batches."""
    if not hasattr(loader, "__iter__"):
        raise TypeError(
            f"the {kind} loader is a {type(loader).__name__}; expected something that gives "
            "batches, "
            "like rushlight.utils.data.DataLoader"
        )


def lengths(loaders: list[Any], limit: float, kind: str) -> list[float]:
    """Number of batches used of each loader."""
    return [limited(loader_length(loader), limit, f"limit_{kind}_batches") for loader in loaders]


def without_shuffling(loader: Any) -> Any:
    """The same loader in a fixed order, for overfitting; warns when that cannot be arranged."""
    sampler = getattr(loader, "sampler", None)
    if isinstance(sampler, SequentialSampler) or sampler is None:
        return loader
    if type(loader) is not DataLoader or not isinstance(sampler, RandomSampler):
        warn(
            f"overfit_batches: {type(loader).__name__} with {type(sampler).__name__} is left as "
            "it is; "
            "if it shuffles, every epoch sees other batches"
        )
        return loader
    warn("overfit_batches: the loader shuffles; its data are taken in order instead")
    return DataLoader(
        loader.dataset,
        batch_size=loader.batch_size,
        shuffle=False,
        num_workers=loader.num_workers,
        collate_fn=loader.collate_fn,
        pin_memory=loader.pin_memory,
        drop_last=loader.drop_last,
        timeout=loader.timeout,
        worker_init_fn=loader.worker_init_fn,
    )


class BatchMover:
    """Gets batches to the device, by whatever hooks the module or data module overrides."""

    def __init__(self, module: Any, datamodule: Any, device: Any, precision: Any) -> None:
        self.device = device
        self.precision = precision
        self.changes = precision.changes_batches
        self.before = self._hook(module, datamodule, "on_before_batch_transfer")
        self.transfer = self._hook(module, datamodule, "transfer_batch_to_device")
        self.after = self._hook(module, datamodule, "on_after_batch_transfer")
        self.stays = device.type == "cpu" and self.transfer is None
        changes = self.changes or self.before or self.transfer or self.after
        # Without a GPU, tensors that nobody changes are where they have to be.
        self.leaves_tensors = self.stays and not changes and not rl.cuda.is_available()
        self.default = module.transfer_batch_to_device

    @staticmethod
    def _hook(module: Any, datamodule: Any, name: str) -> Any:
        """The overridden hook: the data module's wins."""
        for owner in (datamodule, module):
            if owner is not None and overrides(owner, DataHooks, name):
                return getattr(owner, name)
        return None

    def __call__(self, batch: Any, dataloader_idx: int) -> Any:
        """The batch, converted, on the device."""
        if self.leaves_tensors and is_tensors(batch):
            return batch
        if self.changes:
            batch = self.precision.convert_input(batch)
        if self.before is not None:
            batch = self.before(batch, dataloader_idx)
        if self.transfer is not None:
            batch = self.transfer(batch, self.device, dataloader_idx)
        elif not (self.stays and is_tensors(batch) and on_cpu(batch)):
            batch = self.default(batch, self.device, dataloader_idx)
        if self.after is not None:
            batch = self.after(batch, dataloader_idx)
        return batch


def is_tensors(batch: Any) -> bool:
    """Whether a batch is, at first sight, a tensor or a short row of tensors."""
    tensor = rl.Tensor
    if isinstance(batch, list | tuple):
        for each in batch:
            if not isinstance(each, tensor):
                return False
        return True
    return isinstance(batch, tensor)


def on_cpu(batch: Any) -> bool:
    """Whether such a batch is on the CPU."""
    row = (batch,) if isinstance(batch, rl.Tensor) else batch
    return all(each.device.type == "cpu" for each in row)


def check_fit(module: Any, sources: DataSources, validates: bool = True) -> None:
    """Complain of a module that cannot be trained; of missing parts of validation if it is on."""
    kind = type(module).__name__
    for name in ("training_step", "configure_optimizers"):
        if not overrides(module, LightningModule, name):
            raise MisconfigurationException(f"Trainer.fit: {kind} does not define {name}()")
    if not sources.has("train"):
        raise MisconfigurationException(
            f"Trainer.fit: no training data: give train_dataloaders or datamodule, or define "
            f"train_dataloader() in {kind}"
        )
    measures = overrides(module, LightningModule, "validation_step")
    if not validates:
        return
    if measures and not sources.has("val"):
        warn(f"{kind} defines validation_step() but there are no validation data: none is run")
    if sources.has("val") and not measures:
        warn(f"there are validation data but {kind} does not define validation_step(): none is run")


def check_evaluation(module: Any, sources: DataSources, kind: str, step: str) -> None:
    """Complain of a module that cannot be measured."""
    name = type(module).__name__
    if kind != "predict" and not overrides(module, LightningModule, step):
        raise MisconfigurationException(f"Trainer: {name} does not define {step}()")
    if not sources.has(kind):
        raise MisconfigurationException(
            f"Trainer: no data: give dataloaders or datamodule, or define {method_of(kind)}() in "
            f"{name}"
        )


def check_module(model: Any, what: str) -> None:
    """Complain of something that is not a LightningModule."""
    if isinstance(model, LightningModule):
        return
    if isinstance(getattr(model, "_orig_mod", None), LightningModule):
        raise TypeError(
            f"{what}: model is the result of compile; give the LightningModule, whose own parts "
            "may be compiled: self.net = rushlight.compile(self.net)"
        )
    kind = model.__name__ if isinstance(model, type) else type(model).__name__
    hint = f"; make one: {kind}(...)" if isinstance(model, type) else ""
    given = f"the class {kind}" if isinstance(model, type) else f"a {kind}"
    raise TypeError(f"{what}: model is {given}; expected a LightningModule{hint}")


def check_datamodule(datamodule: Any) -> None:
    """Complain of something that is not a data module."""
    if datamodule is not None and not isinstance(datamodule, LightningDataModule):
        raise TypeError(
            f"datamodule is a {type(datamodule).__name__}; expected a LightningDataModule"
        )
