"""Bodies and heads of networks for pictures, as fastai cuts and makes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight import nn

_POOL = re.compile(r"Pool[123]d$")
# Networks that pool in a function, so that their children do not tell where the body ends.
_CUTS = {"DenseNet": -1}
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.InstanceNorm2d, nn.LayerNorm)
_BIAS = 1e-3  # of new batch normalization, fastai's


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


def has_pool_type(m: nn.Module) -> bool:
    """Whether a module is a pooling layer or holds one.

    >>> has_pool_type(nn.Sequential(nn.ReLU(), nn.MaxPool2d(2)))
    True
    """
    return any(_POOL.search(type(each).__name__) for each in m.modules())


def cut_model(model: nn.Module, cut: int | Callable) -> nn.Module:
    """The first `cut` children of a network in a row, or what a function makes of it.

    >>> len(cut_model(nn.Sequential(nn.ReLU(), nn.ReLU(), nn.Tanh()), -1))
    2

    Raises TypeError for a `cut` that is neither a whole number nor a function.
    """
    if isinstance(cut, int):
        return nn.Sequential(*list(model.children())[:cut])
    if callable(cut):
        return cut(model)
    raise TypeError(f"cut_model: cut={cut!r}; expected a whole number or a function of the network")


def create_body(
    model: nn.Module, n_in: int = 3, pretrained: bool = True, cut: int | Callable | None = None
) -> nn.Module:
    """A network without its classifier, for pictures of `n_in` channels.

    `cut`: of :func:`cut_model`; by default before the last child that pools. Another first layer is
    made for other than 3 channels. With `pretrained` it keeps weights: their sum for one channel,
    1.5 times the first two for two, and zeros for the channels after the third.

    >>> body = create_body(nn.Sequential(nn.Conv2d(3, 8, 3), nn.MaxPool2d(2)), n_in=1)
    >>> body[0].weight.shape
    rushlight.Size([8, 1, 3, 3])

    Raises ValueError for a network whose children do not pool, and for one whose first layer is no
    Conv2d of 3 channels.
    """
    if n_in != 3:
        _change_first_layer(model, n_in, pretrained)
    if cut is None:
        cut = _CUTS.get(type(model).__name__)
    if cut is None:
        pools = [i for i, each in enumerate(model.children()) if has_pool_type(each)]
        if not pools or not pools[-1]:
            raise ValueError(
                f"create_body: {type(model).__name__} has no pooling before its classifier; give "
                "cut, how many children are the body"
            )
        cut = pools[-1]
    return cut_model(model, cut)


def _change_first_layer(model: nn.Module, n_in: int, pretrained: bool) -> None:
    path = next(name for name, _ in model.named_parameters()).rpartition(".")[0]
    old = model.get_submodule(path)
    if not isinstance(old, nn.Conv2d) or old.in_channels != 3 or not path:
        raise ValueError(
            f"create_body: n_in={n_in}: the first layer of {type(model).__name__} is "
            f"{type(old).__name__}; expected a Conv2d of 3 channels"
        )
    names = "kernel_size stride padding dilation groups padding_mode".split()
    options = {name: getattr(old, name) for name in names}
    new = nn.Conv2d(n_in, old.out_channels, bias=old.bias is not None, **options)
    if pretrained:
        with rl.no_grad():
            new.weight.copy_(_of_channels(old.weight, new.weight, n_in))
    parent, _, name = path.rpartition(".")
    setattr(model.get_submodule(parent), name, new)


def _of_channels(old: Any, new: Any, n_in: int) -> Any:
    if n_in == 1:
        return old.sum(dim=1, keepdim=True)
    if n_in == 2:
        return old[:, :2] * 1.5
    return rl.cat([old, rl.zeros_like(new[:, 3:])], 1)


def channels_of(body: nn.Module, n_in: int = 3) -> int:
    """How many channels a body gives for pictures of `n_in`."""
    modes = {each: each.training for each in body.modules()}
    body.eval()
    with rl.no_grad():
        found = body(rl.zeros(1, n_in, 64, 64)).shape[1]
    for each, training in modes.items():
        each.training = training
    return int(found)


def create_head(
    nf: int,
    n_out: int,
    lin_ftrs: list[int] | None = None,
    ps: float | list[float] = 0.5,
    pool: bool = True,
    concat_pool: bool = True,
    first_bn: bool = True,
    bn_final: bool = False,
    lin_first: bool = False,
    y_range: tuple[float, float] | None = None,
) -> nn.Sequential:
    """Linear layers with batch normalization and dropout for `nf` channels and `n_out` outputs.

    Args:
        lin_ftrs: widths between the first and the last layer, `[512]` by default.
        ps: share of dropout before the last layer, half of it before the others; or one a layer.
        pool: average `(N, nf, H, W)` first; with `concat_pool` the largest values stand beside.
        first_bn: normalize before the first layer too; bn_final: and after the last.
        lin_first: linear layers come before normalization and dropout.
        y_range: outputs are brought between two numbers.

    >>> create_head(8, 2, lin_ftrs=[4])(rl.zeros(3, 8, 5, 5)).shape
    rushlight.Size([3, 2])

    Raises ValueError for another number of shares than layers.
    """
    nf = nf * 2 if pool and concat_pool else nf
    widths = [nf, *([512] if lin_ftrs is None else lin_ftrs), n_out]
    shares = list(ps) if isinstance(ps, list | tuple) else [ps]
    if len(shares) == 1:
        shares = [shares[0] / 2] * (len(widths) - 2) + shares
    if len(shares) != len(widths) - 1:
        raise ValueError(f"create_head: {len(shares)} shares in ps, {len(widths) - 1} layers")
    layers: list[nn.Module] = []
    if pool:
        layers += [AdaptiveConcatPool2d() if concat_pool else nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    if lin_first:
        layers.append(nn.Dropout(shares.pop(0)))
    for number, share in enumerate(shares):
        ends, last = (widths[number], widths[number + 1]), number == len(widths) - 2
        layers += _block(ends, first_bn if number == 0 else True, share, not last, lin_first)
    if lin_first:
        layers.append(nn.Linear(widths[-2], n_out))
    if bn_final:
        layers.append(nn.BatchNorm1d(n_out, momentum=0.01))
    return nn.Sequential(*layers, *([] if y_range is None else [SigmoidRange(*y_range)]))


def _block(ends: tuple[int, int], bn: bool, p: float, act: bool, lin_first: bool) -> list:
    """A linear layer with what stands before it, or after it with `lin_first`."""
    around: list[nn.Module] = []
    if bn:
        around.append(nn.BatchNorm1d(ends[1] if lin_first else ends[0]))
        nn.init.constant_(around[0].bias, _BIAS)
    if p:
        around.append(nn.Dropout(p))
    linear = [nn.Linear(*ends, bias=not bn), *([nn.ReLU(inplace=True)] if act else [])]
    return linear + around if lin_first else around + linear


def add_head(
    body: nn.Module,
    nf: int,
    n_out: int,
    init: Callable | None = nn.init.kaiming_normal_,
    head: nn.Module | None = None,
    **options: Any,
) -> nn.Sequential:
    """A body and a head in a row: `head`, or that of :func:`create_head` with `options`.

    `init` draws the weights of the head's layers, and their biases become 0; those of
    normalization stay. None leaves all.

    >>> len(add_head(nn.Conv2d(3, 8, 3), 8, 2))
    2
    """
    made = create_head(nf, n_out, **options) if head is None else head
    for layer in made.modules() if init is not None else ():
        own = dict(layer.named_parameters(recurse=False))
        if isinstance(layer, _NORMS) or not own:
            continue
        if "weight" in own:
            init(own["weight"])  # type: ignore[misc]
        if "bias" in own:
            nn.init.zeros_(own["bias"])
    return nn.Sequential(body, made)
