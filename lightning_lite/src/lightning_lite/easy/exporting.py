"""What a file holds of a Learner: weights, how its network is built, how items become batches."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from lightning_lite.easy.data.blocks import TransformBlock
from lightning_lite.easy.data.categories import Coder
from lightning_lite.easy.data.describing import describe, rebuild
from lightning_lite.easy.data.loaders import DataLoaders
from lightning_lite.easy.data.samples import Datasets, Reader
from lightning_lite.easy.losses import (
    BCELossFlat,
    BCEWithLogitsLossFlat,
    CrossEntropyLossFlat,
    FocalLossFlat,
    L1LossFlat,
    LabelSmoothingCrossEntropyFlat,
    MSELossFlat,
)
from rushlight import nn

FORMAT = "lightning_lite.easy.Learner 1"
FLAT = (
    *(CrossEntropyLossFlat, FocalLossFlat, LabelSmoothingCrossEntropyFlat),
    *(BCEWithLogitsLossFlat, BCELossFlat, L1LossFlat, MSELossFlat),
)
KNOWN = ("processor", "vocab", "users", "items")


def contents(learn: Any) -> dict[str, Any]:
    """A Learner as tensors and plain data. ValueError for what cannot be described so."""
    recipe = learn.recipe
    return {
        "format": FORMAT,
        "learner": type(learn).__name__,
        "network": type(learn.model).__name__,
        "recipe": None if recipe is None else [recipe.name, describe(recipe.config, recipe.name)],
        "weights": dict(learn.model.state_dict()),
        "loss": describe_loss(learn.module.loss_func),
        "metrics": [_metric(each) for each in learn.module.metrics],
        "data": describe_data(learn.dls) if isinstance(learn.dls, DataLoaders) else None,
        "known": {name: describe(getattr(learn, name), name) for name in KNOWN},
    }


# -- losses and metrics ---------------------------------------------------------------------------


def describe_loss(loss: Any) -> dict[str, Any]:
    """A loss layer of `rushlight.nn`, or a function of `nn.functional`, as plain data."""
    if type(loss) in FLAT:
        return {"flat": describe(loss, "loss_func")}
    name = getattr(loss, "__name__", type(loss).__name__)
    if getattr(nn.functional, name, None) is loss:
        return {"function": name}
    if name.endswith("Loss") and getattr(nn, name, None) is type(loss):
        there = [each for each in inspect.signature(type(loss)).parameters if hasattr(loss, each)]
        given = {each: getattr(loss, each) for each in there}
        return {"layer": name, "options": describe(given, f"the loss {name}")}
    raise ValueError(
        f"export: loss_func is {loss!r}, which a file without code cannot describe; expected a "
        "loss of rushlight.nn or rushlight.nn.functional (learn.save keeps weights alone)"
    )


def rebuild_loss(plain: dict[str, Any]) -> Any:
    """The loss that `describe_loss` described."""
    if "flat" in plain:
        return rebuild(plain["flat"])
    if "function" in plain:
        return getattr(nn.functional, plain["function"])
    if not plain["layer"].endswith("Loss"):
        raise ValueError(f"load_learner: the file's loss is {plain['layer']!r}; expected a loss")
    return getattr(nn, plain["layer"])(**rebuild(plain["options"]))


def _metric(metric: Any) -> dict[str, Any]:
    plain, options, name = metric, {}, None
    if isinstance(metric, partial) and not metric.args:
        plain, options, name = metric.func, metric.keywords, getattr(metric, "__name__", None)
    what = "metrics (learn.module.metrics)"
    made = {"metric": describe(plain, what), "options": describe(options, what), "name": name}
    return made


def rebuild_metric(plain: dict[str, Any]) -> Any:
    """The metric that was described: a function, or one with arguments given."""
    found, options = rebuild(plain["metric"]), rebuild(plain["options"])
    if plain["name"] is None and not options:
        return found
    made: Any = partial(found, **options)
    if plain["name"] is not None:
        made.__name__ = plain["name"]
    return made


# -- data -----------------------------------------------------------------------------------------


def describe_data(dls: DataLoaders) -> dict[str, Any]:
    """How items become batches, as plain data; targets' getters are left out."""
    if dls.dsets is None:
        raise ValueError("export: dls has no dsets; expected DataLoaders of a DataBlock")
    settings = {name: _listed(dls._settings[name]) for name in ("item_tfms", "batch_tfms")}
    parts = []
    for number, reader in enumerate(dls.dsets.readers):
        is_input = number < dls.dsets.n_inp
        getter = describe(reader.getter, f"the getter of input {number}") if is_input else None
        parts.append({"block": _block(reader.block), "getter": getter})
    made = {name: describe(each, name) for name, each in settings.items()}
    return {"parts": parts, "n_inp": dls.dsets.n_inp, "bs": dls.bs, **made}


def rebuild_data(plain: dict[str, Any]) -> DataLoaders:
    """DataLoaders without items, that make batches of others (`test_dl`)."""
    readers = []
    for part in plain["parts"]:
        fields = {name: rebuild(each) for name, each in part["block"].items()}
        getter = unknown_target if part["getter"] is None else rebuild(part["getter"])
        readers.append(Reader(TransformBlock(**fields), getter))
    dsets = Datasets([], ([], []), readers, plain["n_inp"], learn=False)
    tfms = {name: rebuild(plain[name]) for name in ("item_tfms", "batch_tfms")}
    return DataLoaders.from_dsets(dsets, bs=plain["bs"], shuffle=False, **tfms)


def unknown_target(item: Any) -> Any:
    """Stands for the getter of a target in an exported Learner. ValueError."""
    raise ValueError(
        "an exported Learner does not keep how items say their targets; test_dl(items) gives inputs"
    )


def _listed(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, list | tuple) else [given]


def _block(block: TransformBlock) -> dict[str, Any]:
    coder: Coder | Callable | None = block.coder
    fields: dict[str, Any] = {
        "kind": block.kind,
        "read": block.read,
        "coder": coder,
        "finish": block.finish,
    }
    fields.update(batches=block.batches, prepare=block.prepare, keeps=block.keeps)
    fields["item_tfms"] = block.item_tfms
    return {name: describe(each, f"a block ({name})") for name, each in fields.items()}
