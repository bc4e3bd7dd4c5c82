"""Arguments and attributes by Lightning's names."""

from __future__ import annotations

import copy
import inspect
import pickle
import types
from argparse import Namespace
from collections.abc import MutableMapping
from typing import Any

from lightning_lite.configuration import AttributeDict
from lightning_lite.hyperparameters import HyperparametersMixin
from lightning_lite.messages import warn

__all__ = ["AttributeDict"]


def is_picklable(obj: object) -> bool:
    """Whether an object can be pickled."""
    try:
        pickle.dumps(obj)
    except (pickle.PicklingError, AttributeError, RuntimeError, TypeError):
        return False
    return True


def clean_namespace(hparams: MutableMapping | Namespace) -> None:
    """Remove, in place and with a warning, what cannot be pickled."""
    entries = hparams.__dict__ if isinstance(hparams, Namespace) else hparams
    for name in [name for name, value in entries.items() if not is_picklable(value)]:
        warn(f"attribute {name!r} removed from the hyper-parameters: it cannot be pickled")
        del entries[name]


def parse_class_init_keys(cls: type) -> tuple[str, str | None, str | None]:
    """Names of a constructor's `self`, `*args` and `**kwargs`; None for those it has not."""
    constructor: Any = cls
    parameters = list(inspect.signature(constructor.__init__).parameters.values())

    def name_of(kind: Any) -> str | None:
        return next((each.name for each in parameters if each.kind is kind), None)

    return (
        parameters[0].name,
        name_of(inspect.Parameter.VAR_POSITIONAL),
        name_of(inspect.Parameter.VAR_KEYWORD),
    )


def get_init_args(frame: types.FrameType) -> dict[str, Any]:
    """The arguments of the constructor that runs on a frame; empty if it runs no constructor's."""
    described = inspect.getargvalues(frame)
    if "__class__" not in described.locals or not described.args:
        return {}
    values = {name: described.locals[name] for name in described.args[1:]}
    if described.keywords:
        values.update(described.locals[described.keywords])
    return values


def collect_init_args(
    frame: types.FrameType,
    path_args: list[dict[str, Any]],
    inside: bool = False,
    classes: tuple[type, ...] = (),
) -> list[dict[str, Any]]:
    """The arguments of the constructors that run on a frame and around it, innermost first."""
    found = list(path_args)
    current: types.FrameType | None = frame
    while current is not None and current.f_code.co_name == "__init__":
        owner = next(iter(inspect.getargvalues(current).args), None)
        if classes and not isinstance(current.f_locals.get(owner or ""), classes):
            break
        found.append(get_init_args(current))
        current = current.f_back
    return found


def save_hyperparameters(
    obj: Any,
    *args: Any,
    ignore: Any = None,
    frame: types.FrameType | None = None,
    given_hparams: dict[str, Any] | None = None,
) -> None:
    """Keep the arguments of `obj`'s constructor as its hyper-parameters; call it in `__init__`."""
    if frame is None:
        here = inspect.currentframe()
        frame = here.f_back if here else None
    HyperparametersMixin.save_hyperparameters(obj, *args, ignore=ignore, frame=frame)
    if given_hparams is not None:
        obj.hparams.clear()
        obj.hparams.update(copy.copy(given_hparams))


def _holders(model: Any, attribute: str) -> list[Any]:
    """Where an attribute that a tuner may change stands: module, hyper-parameters, data module."""
    found = [model] if hasattr(model, attribute) else []
    hparams = getattr(model, "hparams", None)
    if hparams is not None and attribute in (
        hparams if isinstance(hparams, dict) else vars(hparams)
    ):
        found.append(hparams)
    trainer = getattr(model, "_trainer", None)
    datamodule = getattr(trainer, "datamodule", None)
    if datamodule is not None and datamodule is not model:
        found.extend(_holders(datamodule, attribute))
    return found


def lightning_hasattr(model: Any, attribute: str) -> bool:
    """Whether a module, its hyper-parameters or its data module has an attribute."""
    return bool(_holders(model, attribute))


def _known_holders(model: Any, attribute: str) -> list[Any]:
    found = _holders(model, attribute)
    if not found:
        raise AttributeError(
            f"{attribute} is neither in the model nor in the hyper-parameters nor in the "
            "data module"
        )
    return found


def lightning_getattr(model: Any, attribute: str) -> Any:
    """The attribute of a module, its hyper-parameters or its data module; AttributeError if it is
    in none."""
    holder = _known_holders(model, attribute)[-1]
    return holder[attribute] if isinstance(holder, dict) else getattr(holder, attribute)


def lightning_setattr(model: Any, attribute: str, value: Any) -> None:
    """Set the attribute wherever it is: module, hyper-parameters, data module."""
    for holder in _known_holders(model, attribute):
        if isinstance(holder, dict):
            holder[attribute] = value
        else:
            setattr(holder, attribute, value)
