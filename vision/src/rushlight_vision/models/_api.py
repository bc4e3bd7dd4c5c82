"""Published weights, and models by name."""

from __future__ import annotations

import fnmatch
import functools
import inspect
import json
import sys
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import Any, TypeVar

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._meta import CATEGORIES, PUBLISHED
from rushlight_vision.transforms import _presets
from rushlight_vision.transforms.interpolation import InterpolationMode

__all__ = [
    "Weights",
    "WeightsEnum",
    "get_model",
    "get_model_builder",
    "get_model_weights",
    "get_weight",
    "list_models",
    "register_model",
]

Builder = TypeVar("Builder", bound=Callable[..., nn.Module])

BUILTIN_MODELS: dict[str, Callable[..., nn.Module]] = {}


@dataclass
class Weights:
    """A file of trained weights.

    Parameters
    ----------
    url : str
        Where it is published; the file's name ends with the beginning of its SHA-256.
    transforms : callable
        Makes what images have to go through.
    meta : dict
        ``categories``, ``num_params``, ``min_size``, ``_metrics``, ``recipe`` and more.
    """

    url: str
    transforms: Callable[..., Any]
    meta: dict[str, Any]

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, Weights):
            return NotImplemented
        if (self.url, self.meta) != (other.url, other.meta):
            return False
        return _made(self.transforms) == _made(other.transforms)


def _made(transforms: Callable[..., Any]) -> Any:
    """What a preset is made of: partial functions are not equal by themselves."""
    if isinstance(transforms, functools.partial):
        return transforms.func, transforms.args, transforms.keywords
    return transforms


class WeightsEnum(Enum):
    """The files of weights of one model; the values are :class:`Weights`."""

    @classmethod
    def verify(cls, obj: Any) -> Any:
        """A member, None, or the member of that name, with or without the name of the class.

        Raises TypeError for something else and KeyError for a name that is not there.
        """
        if isinstance(obj, str):
            return cls[obj.replace(cls.__name__ + ".", "")]
        if obj is not None and not isinstance(obj, cls):
            raise TypeError(
                f"Invalid Weight class provided; expected {cls.__name__} but received "
                f"{type(obj).__name__}."
            )
        return obj

    def get_state_dict(self, *args: Any, **kwargs: Any) -> Mapping[str, Any]:
        """The state dict, fetched unless it is there; arguments as of
        :func:`rushlight.hub.load_state_dict_from_url`."""
        return rl.hub.load_state_dict_from_url(self.url, *args, **kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    @property
    def url(self) -> str:
        """Where the file is published."""
        return self.value.url

    @property
    def transforms(self) -> Callable[..., Any]:
        """Makes what images have to go through."""
        return self.value.transforms

    @property
    def meta(self) -> dict[str, Any]:
        """Classes, figures and recipe."""
        return self.value.meta


@functools.cache
def _table() -> dict[str, dict[str, Any]]:
    return json.loads((PUBLISHED / "weights.json").read_text(encoding="utf-8"))


def _with_tuples(table: dict[str, Any]) -> dict[str, Any]:
    """A table of JSON, whose lists of numbers are tuples here."""
    return {key: tuple(each) if _numbers(each) else each for key, each in table.items()}


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, (int, float)) for each in value)


def published(name: str) -> Weights:
    """The published file called `name`, such as ``AlexNet_Weights.IMAGENET1K_V1``."""
    entry = _table()[name]
    options, meta = _with_tuples(entry["transforms"]), _with_tuples(entry["meta"])
    if "interpolation" in options:
        options["interpolation"] = InterpolationMode(options["interpolation"])
    if entry["categories"] != "none":  # a network without classes has no such entry
        meta["categories"] = CATEGORIES.get(entry["categories"])
    preset = getattr(_presets, entry["preset"])
    made = functools.partial(preset, **options) if options else preset
    return Weights(entry["url"], made, meta)


def get_weight(name: str) -> WeightsEnum:
    """The entry called `name`, such as ``"ResNet50_Weights.IMAGENET1K_V2"``.

    Raises ValueError where there is no such enum, KeyError where it has no such entry.

    >>> get_weight("ResNet50_Weights.IMAGENET1K_V2").meta["_metrics"]["ImageNet-1K"]["acc@1"]
    80.858
    """
    enum_name, dot, entry = name.partition(".")
    if not dot or "." in entry:
        raise ValueError(f"Invalid weight name provided: '{name}'.")
    parent = __name__.rpartition(".")[0]
    parts = [m for n, m in sys.modules.items() if n == parent or n.startswith(parent + ".")]
    for module in parts:
        found = getattr(module, enum_name, None)
        if inspect.isclass(found) and issubclass(found, WeightsEnum):
            return found[entry]
    raise ValueError(
        f"The weight enum '{enum_name}' for the specific method couldn't be retrieved."
    )


def get_model_weights(name: Callable[..., nn.Module] | str) -> type[WeightsEnum]:
    """The enum of the weights of a model, which is given by its name or its builder.

    >>> list(get_model_weights("vgg11"))
    [VGG11_Weights.IMAGENET1K_V1]
    """
    builder = get_model_builder(name) if isinstance(name, str) else name
    return _enum_of(builder)


def _enum_of(builder: Callable[..., Any]) -> type[WeightsEnum]:
    """The enum in the annotation of a builder's `weights`."""
    try:
        parameters = dict(inspect.signature(builder, eval_str=True).parameters)
    except ValueError:  # a function of the interpreter has no signature
        parameters = {}
    if "weights" not in parameters:
        raise ValueError("The method is missing the 'weights' argument.")
    annotation = parameters["weights"].annotation
    for each in (annotation, *typing.get_args(annotation)):
        if inspect.isclass(each) and issubclass(each, WeightsEnum):
            return each
    raise ValueError(
        "The WeightsEnum class for the specific method couldn't be retrieved. Make sure the typing "
        "info is correct."
    )


def register_model(name: str | None = None) -> Callable[[Builder], Builder]:
    """A decorator that makes a builder known by `name`; default: by its own.

    Raises ValueError if the name is taken.
    """

    def register(builder: Builder) -> Builder:
        key = builder.__name__ if name is None else name
        if key in BUILTIN_MODELS:
            raise ValueError(f"An entry is already registered under the name '{key}'.")
        BUILTIN_MODELS[key] = builder
        return builder

    return register


def _matching(patterns: Iterable[str] | str, names: set[str]) -> set[str]:
    patterns = [patterns] if isinstance(patterns, str) else patterns
    return {name for pattern in patterns for name in fnmatch.filter(names, pattern)}


def _belongs(builder: Callable[..., Any], module: ModuleType) -> bool:
    """Whether a builder is of a file of this package, which may go by torchvision's name."""
    parent = builder.__module__.rpartition(".")[0]
    if parent == module.__name__:
        return True
    file = getattr(sys.modules.get(parent), "__file__", None)
    return file is not None and file == getattr(module, "__file__", None)


def list_models(
    module: ModuleType | None = None,
    include: Iterable[str] | str | None = None,
    exclude: Iterable[str] | str | None = None,
) -> list[str]:
    """The names of the models, sorted.

    Parameters
    ----------
    module : module or None
        Only models of this package, such as `rushlight_vision.models`.
    include, exclude : str, iterable of str, or None
        Patterns of names, as of the shell: what one of the first matches and none of the others.

    Example
    -------
    >>> list_models(include="resnet*", exclude=["*1*"])
    ['resnet34', 'resnet50']
    """
    names = {
        name
        for name, builder in BUILTIN_MODELS.items()
        if module is None or _belongs(builder, module)
    }
    if include:
        names = _matching(include, names)
    if exclude:
        names -= _matching(exclude, names)
    return sorted(names)


def get_model_builder(name: str) -> Callable[..., nn.Module]:
    """The function that builds the model called `name`, in small or capital letters.

    Raises ValueError for a name that is not there.
    """
    builder = BUILTIN_MODELS.get(name.lower())
    if builder is None:
        raise ValueError(f"Unknown model {name}")
    return builder


def get_model(name: str, **config: Any) -> nn.Module:
    """The model called `name`; `config` goes to its builder.

    >>> sum(each.numel() for each in get_model("squeezenet1_1").parameters())
    1235496
    """
    return get_model_builder(name)(**config)
