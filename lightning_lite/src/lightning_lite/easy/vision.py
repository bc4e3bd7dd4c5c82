"""vision_learner: a network of rushlight_vision with a new head, ready for `fine_tune`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import rushlight as rl
from lightning_lite.easy.architectures import Recipe, architecture
from lightning_lite.easy.data.blocks import TransformBlock
from lightning_lite.easy.data.loaders import DataLoaders
from lightning_lite.easy.learner import Learner
from lightning_lite.easy.losses import MSELossFlat
from rushlight import nn


class AdaptiveConcatPool2d(nn.Module):
    """Largest and mean value of every channel: `(N, C, H, W)` gives `(N, 2 C, size, size)`."""

    def __init__(self, size: int = 1) -> None:
        super().__init__()
        self.ap, self.mp = nn.AdaptiveAvgPool2d(size), nn.AdaptiveMaxPool2d(size)

    def forward(self, x: Any) -> Any:
        """See the class."""
        return rl.cat([self.mp(x), self.ap(x)], 1)


class SigmoidRange(nn.Module):
    """Numbers brought between `low` and `high` by a sigmoid."""

    def __init__(self, low: float, high: float) -> None:
        super().__init__()
        self.low, self.high = low, high

    def forward(self, x: Any) -> Any:
        """Any shape, as it was given."""
        return x.sigmoid() * (self.high - self.low) + self.low


def create_head(
    nf: int,
    n_out: int,
    hidden: int = 512,
    ps: float = 0.5,
    y_range: tuple[float, float] | None = None,
) -> nn.Sequential:
    """Two linear layers with batch normalization and dropout over pooled `nf` channels; outputs
    between the numbers of `y_range`, if given."""
    return nn.Sequential(
        AdaptiveConcatPool2d(),
        nn.Flatten(),
        nn.BatchNorm1d(2 * nf),
        nn.Dropout(ps / 2),
        nn.Linear(2 * nf, hidden, bias=False),
        nn.ReLU(),
        nn.BatchNorm1d(hidden),
        nn.Dropout(ps),
        nn.Linear(hidden, n_out, bias=False),
        *([] if y_range is None else [SigmoidRange(*y_range)]),
    )


def create_body(model: nn.Module) -> nn.Sequential:
    """A network without its classifier: its children up to the first that pools.

    ValueError for a network whose children do not pool.
    """
    children = list(model.children())
    pools = [number for number, each in enumerate(children) if _pools(each)]
    if not pools:
        raise ValueError(
            f"create_body: {type(model).__name__} has no pooling before its classifier"
        )
    return nn.Sequential(*children[: pools[-1]])


def _pools(layer: nn.Module) -> bool:
    kinds = (nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d)
    return isinstance(layer, kinds)


def channels_of(body: nn.Module) -> int:
    """How many channels a body gives for pictures of three."""
    modes = {each: each.training for each in body.modules()}
    body.eval()
    with rl.no_grad():
        found = body(rl.zeros(1, 3, 64, 64)).shape[1]
    for each, training in modes.items():
        each.training = training
    return int(found)


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
) -> nn.Sequential:
    """The network of `vision_learner`: the body of `arch` and a head for `n_out` outputs."""
    body = create_body(network(arch, weights))
    return nn.Sequential(body, create_head(channels_of(body), n_out, hidden, ps, y_range))


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
    dls: Any,
    arch: str | Callable[..., nn.Module],
    n_out: int | None = None,
    loss_func: Callable | None = None,
    weights: Any = None,
    hidden: int = 512,
    ps: float = 0.5,
    y_range: tuple[float, float] | None = None,
    **options: Any,
) -> Learner:
    """A Learner whose network is the body of `arch` and a new head for `n_out` classes, with
    parameters in three groups by depth and the body frozen: `learn.fine_tune(3)`.

    `arch`: a name of `rushlight_vision.models`, or a function that makes a network. `weights`: what
    the body begins with, as that takes it ("DEFAULT": published ones); None draws it, and then
    nothing is frozen. `n_out`: by default the number of classes of DataLoaders, or of their points'
    coordinates; `loss_func`: cross entropy by default, the binary one for several classes at once,
    the squared difference for numbers and points; `y_range`: outputs are brought between two
    numbers. `options` go to the Learner.
    Raises ModuleNotFoundError for a name without rushlight-vision, and ValueError without `n_out`
    for data without classes.
    """
    kind, n_out = target_of(dls, n_out)
    model = vision_model(arch, n_out, hidden, ps, weights, y_range)
    losses = {"categories": nn.BCEWithLogitsLoss, "points": MSELossFlat, "number": MSELossFlat}
    usual: Callable[[], Any] = losses.get(kind, nn.CrossEntropyLoss)
    loss = usual() if loss_func is None else loss_func
    learn = Learner(dls, model, loss, splitter=by_depth, **options)
    learn.recipe = recipe_of("vision", arch, n_out=n_out, hidden=hidden, ps=ps, y_range=y_range)
    if weights is not None:
        learn.freeze()
    return learn


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
