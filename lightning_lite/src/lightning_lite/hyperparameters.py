"""Hyper-parameters: collected from a constructor's arguments, readable as `module.hparams`."""

from __future__ import annotations

import dataclasses
import inspect
import types
from typing import Any

import rushlight as rl
from lightning_lite.configuration import (
    AttributeDict,
    annotations_of,
    as_dictionary,
    form_of,
    is_plain,
    plain_form,
    restored,
)
from lightning_lite.messages import warn


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


def _name_of(config: Any, arguments: dict[str, Any]) -> str | None:
    """The argument that a configuration came in by; None if it is none of them."""
    for name, value in arguments.items():
        if value is config:
            return name
    for name, value in arguments.items():
        if as_dictionary(value) is not None and type(value) is type(config) and value == config:
            return name
    return None


def dump(owner: Any, prefix: str = "") -> dict[str, Any]:
    """The entries of a checkpoint for a module's, or a data module's, hyper-parameters.

    They have Lightning's keys: the values, the name of the argument that they are (or "kwargs":
    each is one), and where that is no dictionary, a word for what it is.
    """
    plain = {name: plain_form(value) for name, value in owner.hparams.items()}
    kept = {name: value for name, value in plain.items() if is_plain(value)}
    left_out = [
        f"{name} ({type(owner.hparams[name]).__name__})" for name in plain if name not in kept
    ]
    if left_out:
        warn(
            f"hyper-parameters left out of the checkpoint: {', '.join(left_out)}. Only numbers, "
            "strings, tensors and containers of them load without running code; name the others in "
            "save_hyperparameters(ignore=[...]) and give them to load_from_checkpoint"
        )
    entries = {f"{prefix}hparams_name": owner._hparams_name, f"{prefix}hyper_parameters": kept}
    forms: Any = owner._hparams_form
    if owner._hparams_name == "kwargs":
        forms = {name: form for name in kept if (form := form_of(owner.hparams[name]))}
    if forms:
        entries[f"{prefix}hparams_type"] = forms
    return entries


class HyperparametersMixin:
    """`save_hyperparameters` and `hparams`, for modules and data modules."""

    # The entries of checkpoints that hold them; a data module's begin with "datamodule_".
    CHECKPOINT_HYPER_PARAMS_KEY = "hyper_parameters"
    CHECKPOINT_HYPER_PARAMS_NAME = "hparams_name"
    CHECKPOINT_HYPER_PARAMS_TYPE = "hparams_type"

    _hparams: AttributeDict

    # The argument that `hparams` is; "kwargs" if each of them is one, None if it is none.
    _hparams_name: str | None = "kwargs"
    _hparams_form: str | None = None

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

        Call it in `__init__` (a dataclass: in `__post_init__`). Without arguments it takes all of
        the constructor's; strings choose some by name; one dictionary, namespace, dataclass or
        mapping (OmegaConf's) is taken as it is, and `load_from_checkpoint` gives it back as the
        argument it was. `ignore` leaves names out; with `logger=False` loggers are not told.
        """
        given = None if len(args) != 1 or isinstance(args[0], str) else as_dictionary(args[0])
        if dataclasses.is_dataclass(self):
            arguments = as_dictionary(self) or {}
        else:
            here = inspect.currentframe()
            arguments = constructor_arguments(frame or (here.f_back if here else None))
        if given is not None:
            found, name = given, _name_of(args[0], arguments)
            object.__setattr__(self, "_hparams_form", form_of(args[0]))
        else:
            found, name = arguments, "kwargs"
            if args:
                unknown = [name for name in args if not isinstance(name, str) or name not in found]
                if unknown:
                    raise ValueError(
                        f"save_hyperparameters: {unknown} given, the constructor has {list(found)}"
                    )
                found = {name: found[name] for name in args}
        object.__setattr__(self, "_hparams_name", name)
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


def build(cls: type, checkpoint: dict[str, Any], prefix: str, given: dict[str, Any]) -> Any:
    """An instance of `cls` from a checkpoint's hyper-parameters and those given now, which win."""
    names, takes_any = constructor_names(cls)
    saved = dict(checkpoint.get(f"{prefix}hyper_parameters", {}))
    whole = checkpoint.get(f"{prefix}hparams_name")
    forms: Any = checkpoint.get(f"{prefix}hparams_type")
    hints = annotations_of(getattr(cls, "__init__", cls))
    if whole in names:
        if not takes_any:  # what the constructor has no name for is meant for the configuration
            saved.update({name: value for name, value in given.items() if name not in names})
            given = {name: value for name, value in given.items() if name in names}
        saved = {whole: restored(saved, forms, hints.get(whole))}
    elif isinstance(forms, dict):
        for name, form in forms.items():
            saved[name] = restored(saved[name], form, hints.get(name))
    merged = {**saved, **given}
    chosen = merged if takes_any else {name: merged[name] for name in merged if name in names}
    chosen.update({name: value for name, value in given.items() if name not in chosen})
    return cls(**chosen)
