"""vision_learner: a network of rushlight_vision with a new head, ready for `fine_tune`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lightning_lite.easy.architectures import Recipe, architecture
from lightning_lite.easy.data.blocks import TransformBlock
from lightning_lite.easy.data.loaders import DataLoaders
from lightning_lite.easy.data.pictures import Normalize, imagenet_stats
from lightning_lite.easy.heads import add_head, channels_of, create_body
from lightning_lite.easy.learner import Learner
from lightning_lite.easy.losses import BCEWithLogitsLossFlat, CrossEntropyLossFlat, MSELossFlat
from lightning_lite.easy.timm_models import create_timm_model
from rushlight import nn

if TYPE_CHECKING:
    from collections.abc import Iterable
    from enum import Enum

# Arguments of `create_head` that `vision_learner` hands on.
HEAD_OPTIONS = ("pool", "concat_pool", "first_bn", "bn_final", "lin_first")


def by_depth(model: nn.Module) -> list[list[Any]]:
    """Three groups: the first half of the body, the second, and the head."""
    body, head = model.children()
    layers = list(body.children())
    half = len(layers) * 3 // 4
    parts = (layers[:half], layers[half:], [head])
    return [[each for layer in part for each in layer.parameters()] for part in parts]


@architecture("vision", by_depth)
def vision_model(
    arch: str | Callable[..., nn.Module],
    n_out: int,
    hidden: int = 512,
    ps: float = 0.5,
    weights: Any = None,
    y_range: tuple[float, float] | None = None,
    n_in: int = 3,
    cut: Any = None,
    lin_ftrs: list[int] | None = None,
    init: Callable | None = None,
    **head: Any,
) -> nn.Sequential:
    """The network of `vision_learner`: the body of `arch` and a head for `n_out` outputs."""
    widths = [hidden] if lin_ftrs is None else lin_ftrs
    head |= {"lin_ftrs": widths, "ps": ps, "y_range": y_range}
    return create_vision_model(arch, n_out, weights, cut, n_in, init=init, **head)


def default_split(model: nn.Module) -> list[list[Any]]:
    """Two groups: the body and the head.

    >>> [len(group) for group in default_split(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)))]
    [2, 2]
    """
    body, *head = model.children()
    return [list(body.parameters()), [each for part in head for each in part.parameters()]]


@architecture("timm", default_split)
def timm_model(
    arch: str, n_out: int, hidden: int = 512, lin_ftrs: list[int] | None = None, **options: Any
) -> nn.Sequential:
    """The network of `vision_learner` for a name of timm's."""
    widths = [hidden] if lin_ftrs is None else lin_ftrs
    options = {"pretrained": False, "init": None, **options}
    return create_timm_model(arch, n_out, lin_ftrs=widths, **options)[0]


def create_vision_model(
    arch: str | Callable[..., nn.Module],
    n_out: int,
    weights: str | Enum | None = None,
    cut: int | Callable[..., Any] | None = None,
    n_in: int = 3,
    custom_head: nn.Module | None = None,
    init: Callable | None = nn.init.kaiming_normal_,
    **head: Any,
) -> nn.Sequential:
    """The body of a network and a new head, for a `Learner` of one's own.

    `arch`, `weights`: as for :func:`vision_learner`. `n_in`, `cut`: of :func:`create_body`.
    `custom_head`: in place of the one that :func:`create_head` makes with the options `head`.
    `init`: what draws the weights of the head, None for those of its layers.

    >>> import rushlight as rl
    >>> from rushlight import nn
    >>> def net():
    ...     return nn.Sequential(nn.Conv2d(3, 8, 3), nn.AdaptiveAvgPool2d(1), nn.Linear(8, 5))
    >>> model = create_vision_model(net, 2, n_in=1, lin_ftrs=[4])
    >>> model.eval()(rl.zeros(1, 1, 8, 8)).shape
    rushlight.Size([1, 2])
    """
    body = create_body(network(arch, weights), n_in, weights is not None, cut)
    nf = 0 if custom_head is not None else channels_of(body, n_in)
    return add_head(body, nf, n_out, init=init, head=custom_head, **head)


def recipe_of(name: str, arch: Any, **config: Any) -> Recipe | None:
    """The recipe of a network whose body is `arch`; None for a function without a public name."""
    if callable(arch):
        found = getattr(arch, "__name__", "")
        models = sys.modules.get("rushlight_vision.models")
        if models is None or getattr(models, found, None) is not arch:
            return None
        arch = found
    return Recipe(name, {"arch": arch, **config})


def vision_learner(
    dls: DataLoaders | Sequence[Iterable[Any]],
    arch: str | Callable[..., nn.Module],
    n_out: int | None = None,
    loss_func: Callable | None = None,
    weights: str | Enum | None = None,
    hidden: int = 512,
    ps: float = 0.5,
    y_range: tuple[float, float] | None = None,
    n_in: int = 3,
    cut: int | Callable | None = None,
    lin_ftrs: list[int] | None = None,
    custom_head: nn.Module | None = None,
    splitter: Callable | None = None,
    init: Callable | None = nn.init.kaiming_normal_,
    normalize: bool = True,
    **options: Any,
) -> Learner:
    """A Learner whose network is the body of `arch` and a new head for `n_out` classes, with
    parameters in groups by depth and the body frozen: `learn.fine_tune(3)`.

    Args:
        dls: DataLoaders, or a pair of loaders.
        arch: a name of `rushlight_vision.models`, any other name of timm's, or a function that
            makes a network.
        n_out: by default the number of classes of DataLoaders, or of their points' coordinates.
        loss_func: cross entropy by default, the binary one for several classes at once, the squared
            difference for numbers and points.
        weights: what the body begins with, as `rushlight_vision` takes it ("DEFAULT": published
            ones, timm's too); None draws it, and then nothing is frozen.
        hidden: width of the head's inner layer.
        ps: dropout of the head.
        lin_ftrs: widths of its inner layers, in place of `hidden`.
        y_range: outputs are brought between two numbers.
        n_in: channels of the pictures.
        cut: where the body ends, see `create_body`.
        custom_head: a head of one's own.
        splitter: groups of parameters, by default three by depth; of timm's body and head, two.
        init: what draws the weights of the head, None for those of its layers.
        normalize: whether pictures are brought to the mean and deviation that published weights
            were trained with, unless DataLoaders do it already.
        options: `pool`, `concat_pool`, `first_bn`, `bn_final`, `lin_first` of `create_head`; others
            go to the Learner.

    `export` needs a head and a `cut` that are not the caller's own. Raises ModuleNotFoundError for
    a name without its package, and ValueError without `n_out` for data without classes.
    """
    kind, n_out = target_of(dls, n_out)
    config = {name: options.pop(name) for name in HEAD_OPTIONS if name in options}
    config |= {"n_in": n_in, "cut": cut, "lin_ftrs": lin_ftrs, "hidden": hidden, "ps": ps}
    config |= {"y_range": y_range, "n_out": n_out}
    made = _build(arch, weights, init, custom_head, config)
    if normalize and weights is not None:
        add_normalize(dls, made.stats, n_in)
    losses = {"categories": BCEWithLogitsLossFlat, "points": MSELossFlat, "number": MSELossFlat}
    usual: Callable[[], Any] = losses.get(kind, CrossEntropyLossFlat)
    loss = usual() if loss_func is None else loss_func
    learn = Learner(dls, made.model, loss, splitter=splitter or made.splitter, **options)
    learn.recipe = None if custom_head is not None or callable(cut) else made.recipe
    if weights is not None:
        learn.freeze()
    return learn


class _Made(NamedTuple):
    """A network, its groups of parameters, its recipe, and what its pictures were brought to."""

    model: nn.Sequential
    splitter: Callable
    recipe: Recipe | None
    stats: Any


def _build(arch: Any, weights: Any, init: Any, custom_head: Any, config: dict[str, Any]) -> _Made:
    """The network of `vision_learner` with what belongs to it."""
    if is_timms(arch):
        return _build_timms(arch, weights, init, custom_head, config)
    if custom_head is None:
        model = vision_model(arch, weights=weights, init=init, **config)
    else:
        own = config["n_out"], weights, config["cut"], config["n_in"], custom_head
        model = create_vision_model(arch, *own, init=init)
    return _Made(model, by_depth, recipe_of("vision", arch, **config), stats_of(arch))


def _build_timms(
    arch: str, weights: Any, init: Any, custom_head: Any, config: dict[str, Any]
) -> _Made:
    if weights not in (None, True, "DEFAULT"):
        raise ValueError(f"vision_learner: weights={weights!r} of timm's {arch}; give 'DEFAULT'")
    hidden, plain = config["hidden"], {**config}
    plain["lin_ftrs"] = [hidden] if config["lin_ftrs"] is None else config["lin_ftrs"]
    del plain["hidden"]
    made, facts = create_timm_model(
        arch, init=init, custom_head=custom_head, pretrained=weights is not None, **plain
    )
    stats = facts.get("mean"), facts.get("std")
    recipe = Recipe("timm", {"arch": arch, **plain})
    return _Made(made, default_split, recipe, None if None in stats else stats)


def is_timms(arch: Any) -> bool:
    """Whether an `arch` is a name that `rushlight_vision` does not have."""
    if not isinstance(arch, str):
        return False
    try:
        models = importlib.import_module("rushlight_vision.models")
    except ModuleNotFoundError:
        return importlib.util.find_spec("timm") is not None
    return arch.lower() not in models.list_models()


def stats_of(arch: Any) -> Any:
    """Means and deviations of the pictures that published weights were trained with; None for
    networks that are not `rushlight_vision`'s."""
    return None if recipe_of("vision", arch) is None else imagenet_stats


def add_normalize(dls: Any, stats: Any, n_in: int) -> None:
    """Let DataLoaders bring pictures to means and deviations, unless they do it, or the channels
    are others."""
    if stats is None or n_in != len(stats[0]) or not isinstance(dls, DataLoaders):
        return
    if dls.dsets is not None and not dls.normalizes:
        dls.add_tfms(Normalize.from_stats(*stats), "after_batch")


def target_of(
    dls: Any,
    n_out: int | None,
    what: str = "vision_learner",
    kinds: tuple[str, ...] = ("category", "categories"),
) -> tuple[str, int]:
    """The kind of the target, and how many outputs it needs."""
    if not isinstance(dls, DataLoaders) or dls.dsets is None:
        block = TransformBlock()
    else:
        block = dls.dsets.readers[-1].block
    if n_out is not None:
        return block.kind, n_out
    if block.kind == "points":
        return block.kind, int(dls.dsets.train[0][-1].numel())
    if block.kind not in kinds or block.vocab is None:
        raise ValueError(f"{what}: the data has no classes; give n_out, how many outputs")
    return block.kind, len(block.vocab)


def network(arch: Any, weights: Any) -> nn.Module:
    """A network by its name in `rushlight_vision.models`, or made by a function."""
    if callable(arch):
        return arch() if weights is None else arch(weights=weights)
    try:
        models = importlib.import_module("rushlight_vision.models")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "vision_learner needs rushlight-vision: pip install rushlight-vision"
        ) from error
    return models.get_model(arch, weights=weights)
