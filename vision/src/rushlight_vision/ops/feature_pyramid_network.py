"""Feature maps of several scales, each enriched by the coarser ones (Lin et al., Feature pyramid
networks, 2017)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, cast

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.ops.misc import Conv2dNormActivation


class ExtraFPNBlock(nn.Module):
    """The class of blocks that add coarser maps to a pyramid."""

    def forward(
        self, results: list[rl.Tensor], x: list[rl.Tensor], names: list[str]
    ) -> tuple[list[rl.Tensor], list[str]]:
        """Maps and their names, of the pyramid's `results` and `names` and of its inputs `x`."""
        raise NotImplementedError(
            f"{type(self).__name__}: define forward(results, x, names), as LastLevelMaxPool does"
        )


class LastLevelMaxPool(ExtraFPNBlock):
    """Adds a map ``"pool"``: every second element of the coarsest one."""

    def forward(  # type: ignore[override]  # torchvision's names, which change their places
        self, x: list[rl.Tensor], y: list[rl.Tensor], names: list[str]
    ) -> tuple[list[rl.Tensor], list[str]]:
        """The maps `x` and `names` with one more; `y` is not looked at."""
        names.append("pool")
        x.append(F.max_pool2d(x[-1], kernel_size=1, stride=2, padding=0))
        return x, names


class LastLevelP6P7(ExtraFPNBlock):
    """Adds maps ``"p6"`` and ``"p7"`` by convolutions of stride 2, as RetinaNet does.

    They begin at the coarsest map of the pyramid, or at the coarsest input where `in_channels`
    differs from `out_channels`.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        for module in [self.p6, self.p7]:
            nn.init.kaiming_uniform_(module.weight, a=1)
            nn.init.constant_(cast(rl.Tensor, module.bias), 0)
        self.use_P5 = in_channels == out_channels

    def forward(
        self, p: list[rl.Tensor], c: list[rl.Tensor], names: list[str]
    ) -> tuple[list[rl.Tensor], list[str]]:
        """The maps `p` and `names` with two more, which may begin at the last of the inputs `c`."""
        p6 = self.p6(p[-1] if self.use_P5 else c[-1])
        p.extend([p6, self.p7(F.relu(p6))])
        names.extend(["p6", "p7"])
        return p, names


class FeaturePyramidNetwork(nn.Module):
    """Maps of a network, fine to coarse, as maps of equal width that all know the coarser ones.

    Parameters
    ----------
    in_channels_list : list of int
        Channels of the maps, none of them 0.
    out_channels : int
        Channels of every map of the pyramid.
    extra_blocks : ExtraFPNBlock, optional
        Adds coarser maps.
    norm_layer : callable, optional
        Normalisation after each convolution, which then has no bias.

    Raises
    ------
    ValueError
        For 0 channels.
    TypeError
        For extra blocks of another class.

    Example
    -------
    >>> pyramid = FeaturePyramidNetwork([8, 16], 4)
    >>> maps = pyramid({"fine": rl.ones(1, 8, 8, 8), "coarse": rl.ones(1, 16, 4, 4)})
    >>> [(name, tuple(each.shape)) for name, each in maps.items()]
    [('fine', (1, 4, 8, 8)), ('coarse', (1, 4, 4, 4))]
    """

    _version = 2

    def __init__(
        self,
        in_channels_list: list[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        if 0 in in_channels_list:
            raise ValueError(f"in_channels_list: 0 channels, got {in_channels_list}")
        if extra_blocks is not None and not isinstance(extra_blocks, ExtraFPNBlock):
            raise TypeError(
                f"extra_blocks must be an ExtraFPNBlock, got {type(extra_blocks).__name__}"
            )
        settings: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": None}
        self.inner_blocks = nn.ModuleList()
        self.layer_blocks = nn.ModuleList()
        for channels in in_channels_list:
            inner = Conv2dNormActivation(channels, out_channels, 1, padding=0, **settings)
            self.inner_blocks.append(inner)
            self.layer_blocks.append(
                Conv2dNormActivation(out_channels, out_channels, 3, **settings)
            )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_uniform_(module.weight, a=1)
                if module.bias is not None:
                    nn.init.constant_(module.bias, 0)
        self.extra_blocks = extra_blocks

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        """Take states from before version 2, whose blocks were convolutions alone."""
        if (local_metadata.get("version") or 1) < 2:
            for blocks in ("inner_blocks", "layer_blocks"):
                for number in range(len(getattr(self, blocks))):
                    for kind in ("weight", "bias"):
                        old = f"{prefix}{blocks}.{number}.{kind}"
                        if old in state_dict:
                            new = f"{prefix}{blocks}.{number}.0.{kind}"
                            state_dict[new] = state_dict.pop(old)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def forward(self, x: dict[str, rl.Tensor]) -> dict[str, rl.Tensor]:
        """Maps by name, from fine to coarse, as maps of the pyramid by the same names."""
        names, inputs = list(x.keys()), list(x.values())
        merged = self.inner_blocks[-1](inputs[-1])
        results = [self.layer_blocks[-1](merged)]
        for level in reversed(range(len(inputs) - 1)):
            lateral = self.inner_blocks[level](inputs[level])
            merged = lateral + F.interpolate(merged, size=lateral.shape[-2:], mode="nearest")
            results.insert(0, self.layer_blocks[level](merged))
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, inputs, names)
        return OrderedDict(zip(names, results, strict=True))
