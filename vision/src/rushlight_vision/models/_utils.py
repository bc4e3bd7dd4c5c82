"""What the builders of models share: the older ways to call them, weights, widths."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import Builder, WeightsEnum, register_model

Model = TypeVar("Model", bound=nn.Module)
Value = TypeVar("Value")
Default = WeightsEnum | None | Callable[[dict[str, Any]], WeightsEnum | None]


class IntermediateLayerGetter(nn.ModuleDict):
    """The results of some of a model's children, by new names.

    `return_layers` says which: names of direct children of `model` and the names of their results.
    Children after the last of them are left out; the others are called one after the other, so
    `model` must use each once and in the order of their names.

    Raises ValueError for a name that is no child's.

    >>> model = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Flatten(), c=nn.Sigmoid()))
    >>> out = IntermediateLayerGetter(model, {"b": "flat"})(rl.ones(2, 3, 4))
    >>> [(name, tuple(value.shape)) for name, value in out.items()]
    [('flat', (2, 12))]
    """

    _version = 2

    def __init__(self, model: nn.Module, return_layers: dict[str, str]) -> None:
        children = dict(model.named_children())
        if not set(return_layers) <= set(children):
            raise ValueError("return_layers are not present in model")
        last = max((list(children).index(name) for name in return_layers), default=-1)
        super().__init__(OrderedDict(list(children.items())[: last + 1]))
        self.return_layers = {str(name): str(new) for name, new in return_layers.items()}

    def forward(self, x: rl.Tensor) -> OrderedDict[str, rl.Tensor]:
        """The results by name, in the order of the children."""
        out = OrderedDict()
        for name, module in self.items():
            x = module(x)
            if name in self.return_layers:
                out[self.return_layers[name]] = x
        return out


def _make_divisible(v: float, divisor: int, min_value: int | None = None) -> int:
    """The multiple of `divisor` next to `v`, at least `min_value`, and at least 0.9 of `v`.

    >>> [_make_divisible(width, 8) for width in (3, 11.9, 12, 36)]
    [8, 16, 16, 40]
    """
    nearest = int(v + divisor / 2) // divisor * divisor
    rounded = max(divisor if min_value is None else min_value, nearest)
    return rounded + divisor if rounded < 0.9 * v else rounded


def check_setting(setting: Any, kind: type, name: str) -> None:
    """Refuse an argument `name` that is empty, or no sequence of configurations of `kind`."""
    if not setting:
        raise ValueError(f"The {name} should not be empty")
    if not isinstance(setting, Sequence) or not all(isinstance(each, kind) for each in setting):
        raise TypeError(f"The {name} should be List[{kind.__name__.removeprefix('_')}]")


def _listed(names: list[str]) -> str:
    """Names in quotes, as a sentence lists them."""
    quoted = [f"'{name}'" for name in names]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return ", ".join(quoted[:-1]) + ", and " + quoted[-1]


def kwonly_to_pos_or_kw(fn: Callable[..., Value]) -> Callable[..., Value]:
    """Let a function take its keyword-only arguments by position, too, with a warning."""
    parameters = list(inspect.signature(fn).parameters.values())
    kinds = [each.kind for each in parameters]
    first = kinds.index(inspect.Parameter.KEYWORD_ONLY)
    names = [each.name for each in parameters[first:]]

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Value:
        extra = args[first:]
        if not extra:
            return fn(*args, **kwargs)
        if len(extra) > len(names):
            raise TypeError(f"{fn.__name__}: takes {first + len(names)} arguments, got {len(args)}")
        by_name = dict(zip(names, extra, strict=False))
        warnings.warn(
            f"Using {_listed(list(by_name))} as positional parameter(s) is deprecated since 0.13 "
            "and may be removed in the future. Please use keyword parameter(s) instead.",
            stacklevel=2,
        )
        return fn(*args[:first], **{**by_name, **kwargs})

    return call


def _chosen(
    builder: str, kwargs: dict[str, Any], old: str, value: Any, default: Default
) -> WeightsEnum | None:
    """The entry that `value`, a bool, stood for."""
    if not value:
        return None
    entry = default({**kwargs, old: value}) if callable(default) else default
    if not isinstance(entry, WeightsEnum):
        raise ValueError(f"No weights available for model {builder}")
    return entry


def _modern(builder: str, kwargs: dict[str, Any], name: str, old: str, default: Default) -> None:
    """Put an entry of an enum, or None, where a bool or the parameter of the older form stands."""
    value = kwargs.get(name, kwargs.get(old))
    if name in kwargs and (value is None or isinstance(value, (str, WeightsEnum))):
        return
    if name not in kwargs and old not in kwargs:
        return
    entry = _chosen(builder, kwargs, old, value, default)
    if name not in kwargs:
        del kwargs[old]
        warnings.warn(
            f"The parameter '{old}' is deprecated since 0.13 and may be removed in the future, "
            f"please use '{name}' instead.",
            stacklevel=4,
        )
    message = (
        f"Arguments other than a weight enum or `None` for '{name}' are deprecated since 0.13 and "
        "may be removed in the future. The current behavior is equivalent to passing "
        f"`{name}={entry!r}`."
    )
    if entry is not None:
        message += (
            f" You can also use `{name}={type(entry).__name__}.DEFAULT` to get the most "
            "up-to-date weights."
        )
    warnings.warn(message, stacklevel=4)
    kwargs[name] = entry


def handle_legacy_interface(
    **weights: tuple[str, Default],
) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """A decorator for builders that may be called as before weights had names.

    `weights` says for every parameter with weights what it was called, and which entry ``True``
    stood for: an entry, None, or a function of the keyword arguments that gives one. Both forms
    give a UserWarning.
    """

    def decorate(builder: Callable[..., Value]) -> Callable[..., Value]:
        @kwonly_to_pos_or_kw
        @functools.wraps(builder)
        def call(*args: Any, **kwargs: Any) -> Value:
            for name, (old, default) in weights.items():
                _modern(builder.__name__, kwargs, name, old, default)
            return builder(*args, **kwargs)

        return call

    return decorate


def classifier(
    weights: type[WeightsEnum], former: str = "IMAGENET1K_V1"
) -> Callable[[Builder], Builder]:
    """A decorator for builders of models that classify: known by name, callable in the older forms,
    with `weights` given as an entry of that enum, as its name, or as None.

    ``pretrained=True`` stood for the first weights of the recipe of torchvision, where there are
    some; `former` names them where they are called otherwise.
    """
    default = weights.__members__.get(former)

    def decorate(builder: Builder) -> Builder:
        @functools.wraps(builder)
        def call(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> nn.Module:
            return builder(weights=enum.verify(weights), progress=progress, **kwargs)

        legacy = handle_legacy_interface(weights=("pretrained", default))
        return register_model()(cast(Builder, legacy(call)))

    enum = weights
    return decorate


def built(
    make: Callable[..., Model],
    weights: WeightsEnum | None,
    progress: bool,
    *args: Any,
    **kwargs: Any,
) -> Model:
    """``make(*args, **kwargs)``, with as many classes as `weights` have, and with these weights."""
    if weights is None:
        return make(*args, **kwargs)
    if weights.meta.get("categories") is not None:
        _ovewrite_named_param(kwargs, "num_classes", len(weights.meta["categories"]))
    model = make(*args, **kwargs)
    model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
    return model


def _ovewrite_named_param(kwargs: dict[str, Any], param: str, new_value: Any) -> None:
    """Set ``kwargs[param]``; ValueError if it is there with another value."""
    if param in kwargs:
        _ovewrite_value_param(param, kwargs[param], new_value)
    else:
        kwargs[param] = new_value


def _ovewrite_value_param(param: str, actual: Value | None, expected: Value) -> Value:
    """`expected`; ValueError if `actual` is another value, and not None."""
    if actual is not None and actual != expected:
        raise ValueError(
            f"The parameter '{param}' expected value {expected} but got {actual} instead."
        )
    return expected
