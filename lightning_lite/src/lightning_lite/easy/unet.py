"""DynamicUnet: the decoder of a U-Net on any encoder that is a sequence of layers.

Where the encoder makes pictures smaller, its output before goes across to the decoder, which makes
them larger again by sub-pixel convolutions. Ronneberger et al. 2015, Shi et al. 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import rushlight as rl
from lightning_lite.easy.architectures import architecture
from lightning_lite.easy.heads import create_body
from lightning_lite.easy.learner import Learner
from lightning_lite.easy.losses import CrossEntropyLossFlat
from lightning_lite.easy.tabular import in_range
from lightning_lite.easy.vision import (
    add_normalize,
    network,
    recipe_of,
    stats_of,
    target_of,
)
from rushlight import nn

if TYPE_CHECKING:
    from collections.abc import Iterable
    from enum import Enum

    from lightning_lite.easy.data.loaders import DataLoaders

F = nn.functional


def icnr_init(weight: Any, scale: int = 2) -> Any:
    """First weights of a convolution before `nn.PixelShuffle(scale)`: the `scale**2` channels that
    become one are alike, so that the larger picture begins without a checkerboard. Aitken et al.
    2017."""
    out, inputs, height, width = weight.shape
    one = nn.init.kaiming_normal_(rl.empty(out // scale**2, inputs, height, width))
    return one.repeat_interleave(scale**2, 0)


def _norm(channels: int) -> nn.BatchNorm2d:
    made = nn.BatchNorm2d(channels)
    nn.init.constant_(made.bias, 1e-3)
    return made


def _conv(inputs: int, outputs: int, *more: nn.Module) -> nn.Sequential:
    """A convolution of 3 by 3 and what follows it."""
    conv = nn.Conv2d(inputs, outputs, 3, padding=1)
    nn.init.kaiming_normal_(conv.weight)
    nn.init.zeros_(cast(rl.Tensor, conv.bias))
    return nn.Sequential(conv, *more)


class PixelShuffle_ICNR(nn.Sequential):
    """Pictures of `scale` times the size: `(N, ni, H, W)` gives `(N, nf, scale H, scale W)`, `nf`
    being `ni` by default. `blur`: each pixel is averaged with its neighbours left and above."""

    def __init__(self, ni: int, nf: int | None = None, scale: int = 2, blur: bool = False) -> None:
        conv = nn.Conv2d(ni, (ni if nf is None else nf) * scale**2, 1)
        with rl.no_grad():
            conv.weight.copy_(icnr_init(conv.weight, scale))
            cast(rl.Tensor, conv.bias).zero_()
        smooth = [nn.ReplicationPad2d((1, 0, 1, 0)), nn.AvgPool2d(2, stride=1)] if blur else []
        super().__init__(nn.Sequential(conv, nn.ReLU()), nn.PixelShuffle(scale), *smooth)


class SelfAttention(nn.Module):
    """Every pixel looks at all others, over `n_channels` channels; at first it does nothing. Zhang
    et al. 2018."""

    def __init__(self, n_channels: int) -> None:
        super().__init__()
        widths = (max(1, n_channels // 8), max(1, n_channels // 8), n_channels)
        layers = [nn.Conv1d(n_channels, width, 1, bias=False) for width in widths]
        self.query, self.key, self.value = (
            nn.Sequential(nn.utils.spectral_norm(each)) for each in layers
        )
        self.gamma = nn.Parameter(rl.zeros(1))

    def forward(self, x: Any) -> Any:
        """`(N, C, H, W)`, as it was given."""
        flat = x.flatten(2)
        query, key, value = self.query(flat), self.key(flat), self.value(flat)
        shares = (query.transpose(1, 2) @ key).softmax(1)
        return (self.gamma * (value @ shares) + flat).reshape(x.shape)


class UnetBlock(nn.Module):
    """One step of the decoder: `up_in_c` channels are made larger, `x_in_c` come across.

    The result has `up_in_c // 2 + x_in_c` channels, the half of them unless `final_div`. `blur`,
    `self_attention`: see `DynamicUnet`.
    """

    def __init__(
        self,
        up_in_c: int,
        x_in_c: int,
        final_div: bool = True,
        blur: bool = False,
        self_attention: bool = False,
    ) -> None:
        super().__init__()
        self.shuf = PixelShuffle_ICNR(up_in_c, up_in_c // 2, blur=blur)
        self.bn = _norm(x_in_c)
        inputs = up_in_c // 2 + x_in_c
        outputs = inputs if final_div else inputs // 2
        self.conv1 = _conv(inputs, outputs, nn.ReLU())
        extra = [SelfAttention(outputs)] if self_attention else []
        self.conv2 = _conv(outputs, outputs, nn.ReLU(), *extra)
        self.relu = nn.ReLU()

    def forward(self, up_in: Any, across: Any) -> Any:
        """The decoder's pictures, and the encoder's of about twice the size, whose size it gets."""
        up = self.shuf(up_in)
        if up.shape[-2:] != across.shape[-2:]:
            up = F.interpolate(up, across.shape[-2:], mode="nearest")
        return self.conv2(self.conv1(self.relu(rl.cat([up, self.bn(across)], 1))))


class LastCross(nn.Module):
    """A residual block: `channels` come in, and go out, or the half of them with `bottle`."""

    def __init__(self, channels: int, bottle: bool = False) -> None:
        super().__init__()
        self.channels = channels // 2 if bottle else channels
        self.convpath = nn.Sequential(
            _conv(channels, self.channels, nn.ReLU()), _conv(self.channels, self.channels)
        )
        shortcut = [nn.Conv2d(channels, self.channels, 1)] if bottle else []
        self.idpath = nn.Sequential(*shortcut)
        self.act = nn.ReLU()

    def forward(self, x: Any) -> Any:
        """`(N, channels, H, W)`."""
        return self.act(self.convpath(x) + self.idpath(x))


class DynamicUnet(nn.Module):
    """`encoder` and a decoder that gives `n_out` numbers for each pixel: `(N, C, H, W)` gives
    `(N, n_out, H, W)`. Names of weights are those of fastai's.

    `encoder`: layers in a Sequential, such as `create_body(resnet34())`; `img_size`: height and
    width of the pictures, from which the steps are found (others work as well). `blur`: averages
    after each step (`blur_final`: after the last too); `self_attention`: in the third-last step;
    `last_cross`: the picture itself comes across at the end (`bottle`: into half the channels);
    `y_range`: numbers are brought between two. ValueError for an encoder that makes nothing
    smaller.

    >>> from rushlight import nn
    >>> encoder = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 8, 3, 2, 1))
    >>> DynamicUnet(encoder, 2, (16, 16))(rl.zeros(1, 3, 16, 16)).shape
    rushlight.Size([1, 2, 16, 16])
    """

    def __init__(
        self,
        encoder: nn.Sequential,
        n_out: int,
        img_size: tuple[int, int],
        blur: bool = False,
        blur_final: bool = True,
        self_attention: bool = False,
        y_range: tuple[float, float] | None = None,
        last_cross: bool = True,
        bottle: bool = False,
    ) -> None:
        super().__init__()
        inputs, shapes = shapes_of(encoder, img_size)
        self.crossing = [
            number
            for number in reversed(range(len(shapes) - 1))
            if shapes[number][-1] != shapes[number + 1][-1]
        ]
        if not self.crossing:
            raise ValueError(f"DynamicUnet: the encoder makes nothing of {img_size} smaller")
        self.y_range, self.last_cross = y_range, last_cross
        channels = shapes[-1][1]
        middle = [
            _conv(channels, 2 * channels, nn.ReLU()),
            _conv(2 * channels, channels, nn.ReLU()),
        ]
        layers = [encoder, _norm(channels), nn.ReLU(), nn.Sequential(*middle)]
        for step, number in enumerate(self.crossing):
            final = step == len(self.crossing) - 1
            attends = self_attention and step == len(self.crossing) - 3
            across, blurs = shapes[number][1], blur and (blur_final or not final)
            layers.append(UnetBlock(channels, across, not final, blurs, attends))
            channels = (channels // 2 + across) // (2 if final else 1)
        self.grows = tuple(img_size) != tuple(shapes[0][-2:])
        layers += [PixelShuffle_ICNR(channels)] if self.grows else []
        # Layers without weights keep the numbers, and so the names, of those after them.
        layers.append(nn.Identity())
        if last_cross:
            cross = LastCross(channels + inputs, bottle)
            layers += [nn.Identity(), cross]
            channels = cross.channels
        last = nn.Conv2d(channels, n_out, 1)
        nn.init.normal_(cast(rl.Tensor, last.bias), 0, 0.01)
        self.layers = nn.ModuleList([*layers, nn.Sequential(last)])

    def forward(self, x: Any) -> Any:
        """See the class."""
        picture, kept = x, {}
        encoder, norm, relu, middle, *decoder = self.layers
        for number, layer in enumerate(encoder):
            x = layer(x)
            if number in self.crossing:
                kept[number] = x
        x = middle(relu(norm(x)))
        for block, number in zip(decoder, self.crossing, strict=False):
            x = block(x, kept[number])
        if self.grows:
            x = decoder[len(self.crossing)](x)
        if x.shape[-2:] != picture.shape[-2:]:
            x = F.interpolate(x, picture.shape[-2:], mode="nearest")
        if self.last_cross:
            x = decoder[-2](rl.cat([x, picture], 1))
        return in_range(decoder[-1](x), self.y_range)


def shapes_of(encoder: nn.Sequential, img_size: tuple[int, int]) -> tuple[int, list[Any]]:
    """How many channels an encoder takes, and the shape that each of its layers gives for one
    picture. ValueError for one without convolutions."""
    convs = [each for each in encoder.modules() if isinstance(each, nn.Conv2d)]
    if not convs:
        raise ValueError("DynamicUnet: the encoder has no Conv2d, which says how many channels")
    inputs = convs[0].in_channels
    modes = {each: each.training for each in encoder.modules()}
    x, shapes = rl.zeros(1, inputs, *img_size), []
    encoder.eval()
    with rl.no_grad():
        for layer in encoder:
            x = layer(x)
            shapes.append(x.shape)
    for each, training in modes.items():
        each.training = training
    return inputs, shapes


def unet_by_depth(model: DynamicUnet) -> list[list[Any]]:
    """Three groups: three quarters of the encoder, the rest of it, and the decoder."""
    encoder, *decoder = model.layers
    layers = list(encoder)
    half = len(layers) * 3 // 4
    parts = (layers[:half], layers[half:], decoder)
    return [[each for layer in part for each in layer.parameters()] for part in parts]


@architecture("unet", unet_by_depth)
def unet_model(
    arch: Any,
    n_out: int,
    img_size: tuple[int, int],
    weights: Any = None,
    cut: int | Callable | None = None,
    n_in: int = 3,
    **config: Any,
) -> DynamicUnet:
    """The network of `unet_learner`: a DynamicUnet on the body of `arch`."""
    return create_unet_model(arch, n_out, (img_size[0], img_size[1]), weights, cut, n_in, **config)


def create_unet_model(
    arch: str | Callable[..., nn.Module],
    n_out: int,
    img_size: tuple[int, int],
    weights: str | Enum | None = None,
    cut: int | Callable | None = None,
    n_in: int = 3,
    **options: Any,
) -> DynamicUnet:
    """A `DynamicUnet` on the body of a network.

    Args:
        arch, weights: as for `vision_learner`.
        n_out: how many channels it gives.
        img_size: height and width of the pictures.
        cut: where the body ends, see `create_body`.
        n_in: channels of the pictures.
        options: arguments of `DynamicUnet`: `blur`, `self_attention`, `y_range`, `last_cross`, ...

    >>> def net():
    ...     return nn.Sequential(
    ...         nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 8, 3, 2, 1), nn.AdaptiveAvgPool2d(1)
    ...     )
    >>> create_unet_model(net, 2, (16, 16), n_in=1).eval()(rl.zeros(1, 1, 16, 16)).shape
    rushlight.Size([1, 2, 16, 16])
    """
    body: Any = create_body(network(arch, weights), n_in, weights is not None, cut)
    return DynamicUnet(body, n_out, img_size, **options)


def unet_learner(
    dls: DataLoaders | Sequence[Iterable[Any]],
    arch: str | Callable[..., nn.Module],
    n_out: int | None = None,
    loss_func: Callable | None = None,
    weights: str | Enum | None = None,
    config: dict[str, Any] | None = None,
    normalize: bool = True,
    cut: int | Callable | None = None,
    n_in: int = 3,
    **options: Any,
) -> Learner:
    """A Learner that gives each pixel a class: a `DynamicUnet` on the body of `arch`, parameters in
    three groups by depth, the encoder frozen if `weights` are given.

    Args:
        dls: DataLoaders, or a pair of loaders.
        arch, weights, normalize: see `vision_learner`.
        n_out: by default the number of codes of the data's masks.
        loss_func: cross entropy by default.
        config: arguments of `DynamicUnet` (`blur`, `self_attention`, `y_range`, `last_cross`,
            `bottle`).
        cut: where the body ends, see `create_body`.
        n_in: channels of the pictures.
        options: go to the Learner.

    The size of pictures is that of a batch. ValueError without `n_out` for data without codes.
    """
    _, n_out = target_of(dls, n_out, "unet_learner", ("mask", "category"))
    loaders: Any = dls
    batch = loaders.one_batch() if hasattr(dls, "one_batch") else next(iter(loaders[0]))
    shape = {"img_size": tuple(batch[0].shape[-2:]), "cut": cut, "n_in": n_in, **(config or {})}
    model = unet_model(arch, n_out, weights=weights, **shape)
    if normalize and weights is not None:
        add_normalize(dls, stats_of(arch), n_in)
    loss = CrossEntropyLossFlat(axis=1) if loss_func is None else loss_func
    learn = Learner(dls, model, loss, **{"splitter": unet_by_depth, **options})
    learn.recipe = None if callable(cut) else recipe_of("unet", arch, n_out=n_out, **shape)
    if weights is not None:
        learn.freeze()
    return learn
