"""Hyper-parameters: collected from a constructor's arguments, readable as `module.hparams`."""

from __future__ import annotations

import inspect
import types
from argparse import Namespace
from collections.abc import MutableMapping
from typing import Any

import rushlight as rl
from lightning_lite.messages import warn


class AttributeDict(dict):
    """A dictionary whose string keys are attributes too.

    >>> options = AttributeDict(lr=0.1)
    >>> options.lr
    0.1
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            known = ", ".join(str(key) for key in self) or "none"
            raise AttributeError(f"no hyper-parameter {name!r}; there are: {known}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        del self[name]

    def __repr__(self) -> str:
        width = max((len(str(key)) for key in self), default=0)
        return "\n".join(f'"{key}":{" " * (width - len(str(key)) + 1)}{self[key]}' for key in self)


def constructor_arguments(frame: types.FrameType | None) -> dict[str, Any]:
    """The arguments of the constructors that are running on `frame` and around it, outermost last.

    A constructor that was called by a subclass's gives way to the subclass where both have an
    argument of the same name: the subclass's is what makes the object again.
    """
    collected: dict[str, Any] = {}
    instance = None
    while frame is not None and frame.f_code.co_name == "__init__":
        described = inspect.getargvalues(frame)
        if not described.args:
            break
        owner = described.locals[described.args[0]]
        if instance is not None and owner is not instance:
            break
        instance = owner
        values = {name: described.locals[name] for name in described.args[1:]}
        if described.keywords:
            values.update(described.locals[described.keywords])
        collected.update(values)
        frame = frame.f_back
    collected.pop("__class__", None)
    return collected


def as_dictionary(value: Any) -> dict[str, Any] | None:
    """A mapping or namespace as a dictionary; None for anything else."""
    if isinstance(value, Namespace):
        return dict(vars(value))
    if isinstance(value, MutableMapping):
        return dict(value)
    return None


def plain(value: Any) -> bool:
    """Whether a value can stand in a checkpoint that loads without running code."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | rl.Tensor):
        return True
    if isinstance(value, list | tuple | set):
        return all(plain(item) for item in value)
    if isinstance(value, dict):
        return all(plain(key) and plain(item) for key, item in value.items())
    return isinstance(value, rl.dtype | rl.device)


def plain_part(hparams: dict[str, Any]) -> dict[str, Any]:
    """The hyper-parameters that a checkpoint can hold; warns of those it leaves out."""
    kept = {name: value for name, value in hparams.items() if plain(value)}
    left_out = [f"{name} ({type(hparams[name]).__name__})" for name in hparams if name not in kept]
    if left_out:
        warn(
            f"hyper-parameters left out of the checkpoint: {', '.join(left_out)}. Only numbers, "
            "strings, tensors and containers of them load without running code; name the others in "
            "save_hyperparameters(ignore=[...]) and give them to load_from_checkpoint"
        )
    return kept


class HyperparametersMixin:
    """`save_hyperparameters` and `hparams`, for modules and data modules."""

    def __init__(self) -> None:
        super().__init__()
        self._log_hyperparams = False

    def save_hyperparameters(
        self,
        *args: Any,
        ignore: str | list[str] | tuple[str, ...] | None = None,
        frame: types.FrameType | None = None,
        logger: bool = True,
    ) -> None:
        """Keep the constructor's arguments in `hparams`, checkpoints and loggers.

        Several calls, in a class and in its subclass, add up.

        Call it in `__init__`. Without arguments it takes all of the constructor's; strings choose
        some by name; one dictionary or namespace is taken as it is. `ignore` leaves names out;
        with `logger=False` loggers are not told.
        """
        given = None if len(args) != 1 or isinstance(args[0], str) else as_dictionary(args[0])
        if given is not None:
            found = given
        else:
            here = inspect.currentframe()
            found = constructor_arguments(frame or (here.f_back if here else None))
            if args:
                unknown = [name for name in args if not isinstance(name, str) or name not in found]
                if unknown:
                    raise ValueError(
                        f"save_hyperparameters: {unknown} given, the constructor has {list(found)}"
                    )
                found = {name: found[name] for name in args}
        left_out = {ignore} if isinstance(ignore, str) else set(ignore or ())
        found = {name: value for name, value in found.items() if name not in left_out}
        modules = [name for name, value in found.items() if isinstance(value, rl.nn.Module)]
        if modules:
            warn(
                f"save_hyperparameters: {', '.join(modules)} given as a module, which checkpoints "
                f"hold already; leave it out with save_hyperparameters(ignore={modules})"
            )
        self._log_hyperparams = logger
        self.hparams.update(found)
        self._hparams_initial = AttributeDict(self.hparams)

    @property
    def hparams(self) -> AttributeDict:
        """What `save_hyperparameters` kept; may be changed."""
        if not hasattr(self, "_hparams"):
            object.__setattr__(self, "_hparams", AttributeDict())
        return self._hparams

    @property
    def hparams_initial(self) -> AttributeDict:
        """The hyper-parameters as they were first kept; a copy."""
        return AttributeDict(getattr(self, "_hparams_initial", {}))


def constructor_names(cls: type) -> tuple[set[str], bool]:
    """Names of a constructor's parameters, and whether it takes any keyword."""
    parameters = list(inspect.signature(cls).parameters.values())
    names = {p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    return names, any(p.kind is p.VAR_KEYWORD for p in parameters)


def build(cls: type, saved: dict[str, Any], given: dict[str, Any]) -> Any:
    """An instance of `cls` from saved hyper-parameters and those given now, which win."""
    names, takes_any = constructor_names(cls)
    merged = {**saved, **given}
    chosen = merged if takes_any else {name: merged[name] for name in merged if name in names}
    chosen.update({name: value for name, value in given.items() if name not in chosen})
    return cls(**chosen)
