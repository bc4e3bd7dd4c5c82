"""Brightness, contrast, saturation and hue of batches of pictures `(N, C, H, W)` from 0 to 1.

Changes of light are made to logits: what is black or white stays nearly so, and nothing is cut off.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import rushlight as rl
from lightning_lite.easy.data.describing import describable
from lightning_lite.easy.data.draws import Draw, draws, uniform
from lightning_lite.easy.data.transform import Transform

if TYPE_CHECKING:
    from collections.abc import Sequence

Change = Callable[[Any], Any]


def logit(x: Any) -> Any:
    """``log(x / (1 - x))``, with `x` kept 1e-7 away from 0 and 1."""
    return -(1 / x.clamp(1e-7, 1 - 1e-7) - 1).log()


class SpaceTfm(Transform):
    """Training pictures changed by functions in another space. `fs`: functions of pictures, each of
    which draws for a batch; `space_fn(x, change)`: goes there, changes, and comes back."""

    order, split_idx = 40, 0

    def __init__(
        self,
        fs: Callable[[Any], Any] | Sequence[Callable[[Any], Any]],
        space_fn: Callable[[Any, Change], Any],
    ) -> None:
        self.fs = [fs] if callable(fs) else list(fs)
        self.space_fn = space_fn
        self.parts: list[SpaceTfm] = [self]

    def composed(self, other: SpaceTfm) -> SpaceTfm:
        """A transform that does both in one visit of the space."""
        made = copy.copy(self)
        made.fs, made.parts = [*self.fs, *other.fs], [*self.parts, *other.parts]
        return made

    def image(self, x: Any) -> Any:
        """The pictures."""
        return self.space_fn(x, self._changed)

    def _changed(self, x: Any) -> Any:
        for function in self.fs:
            x = function(x)
        return x


def _in_logits(x: Any, change: Change) -> Any:
    return change(logit(x)).sigmoid()


class LightingTfm(SpaceTfm):
    """Training pictures changed by functions `fs` of their logits."""

    def __init__(self, fs: Callable[[Any], Any] | Sequence[Callable[[Any], Any]]) -> None:
        super().__init__(fs, _in_logits)


def _log_uniform(most: float) -> Callable[[int], Any]:
    low = math.log(1 - most)
    return lambda count: uniform(low, -low)(count).exp()


def _per_picture(values: Any) -> Any:
    return values[:, None, None, None]


def _check(name: str, argument: str, value: float) -> None:
    if not 0 <= value < 1:
        raise ValueError(f"{name}: {argument}={value}; expected a number from 0 to below 1")


@describable
class Brightness(LightingTfm):
    """Lighter or darker by up to `max_lighting` (0 to 1), with probability `p` for each training
    picture; `batch`: all alike; `draw`: what grey of 0.5 becomes."""

    def __init__(
        self, max_lighting: float = 0.2, p: float = 0.75, draw: Draw = None, batch: bool = False
    ) -> None:
        _check("Brightness", "max_lighting", max_lighting)
        usual = uniform(0.5 * (1 - max_lighting), 0.5 * (1 + max_lighting))
        super().__init__(lambda x: x + logit(_per_picture(draws(x, usual, draw, p, batch, 0.5))))


@describable
class Contrast(LightingTfm):
    """More or less contrast, by a factor of up to `1 / (1 - max_lighting)`; arguments as
    `Brightness` has them, `draw` gives factors."""

    def __init__(
        self, max_lighting: float = 0.2, p: float = 0.75, draw: Draw = None, batch: bool = False
    ) -> None:
        _check("Contrast", "max_lighting", max_lighting)
        usual = _log_uniform(max_lighting)
        super().__init__(lambda x: x * _per_picture(draws(x, usual, draw, p, batch, 1.0)))


def grayscale(x: Any) -> Any:
    """The luma `(N, 1, H, W)` of pictures `(N, 3, H, W)`. ITU-R BT.601."""
    weights = rl.tensor([0.2989, 0.5870, 0.1140], device=x.device)[:, None, None]
    return (x * weights).sum(1, keepdim=True)


@describable
class Saturation(LightingTfm):
    """More or less colour, by a factor of up to `1 / (1 - max_lighting)`; arguments as `Brightness`
    has them, `draw` gives factors."""

    def __init__(
        self, max_lighting: float = 0.2, p: float = 0.75, draw: Draw = None, batch: bool = False
    ) -> None:
        _check("Saturation", "max_lighting", max_lighting)
        usual = _log_uniform(max_lighting)

        def change(x: Any) -> Any:
            factor = _per_picture(draws(x, usual, draw, p, batch, 1.0))
            return x * factor + grayscale(x) * (1 - factor)

        super().__init__(change)


def rgb2hsv(x: Any) -> Any:
    """Hue, saturation and value of pictures `(N, 3, H, W)` from 0 to 1."""
    red, green, blue = x.unbind(1)
    most, least = x.amax(1), x.amin(1)
    span = most - least
    flat = span == 0
    divisor = rl.where(flat, rl.ones_like(span), span)
    saturation = span / rl.where(flat, rl.ones_like(most), most)
    away = [(most - each) / divisor for each in (red, green, blue)]
    hue = rl.where(
        most == red,
        away[2] - away[1],
        rl.where(most == green, 2 + away[0] - away[2], 4 + away[1] - away[0]),
    )
    return rl.stack([rl.fmod(hue / 6 + 1, 1.0), saturation, most], 1)


def hsv2rgb(x: Any) -> Any:
    """Pictures `(N, 3, H, W)` of their hue, saturation and value."""
    hue, saturation, value = x.unbind(1)
    sector = (hue * 6).floor()
    part = hue * 6 - sector
    dark = (value * (1 - saturation)).clamp(0, 1)
    falling = (value * (1 - saturation * part)).clamp(0, 1)
    rising = (value * (1 - saturation * (1 - part))).clamp(0, 1)
    # Which of value, falling, dark and rising each channel is, by the sector of the hue.
    order = {0: "vrd", 1: "fvd", 2: "dvr", 3: "dfv", 4: "rdv", 5: "vdf"}
    levels = {"v": value, "f": falling, "d": dark, "r": rising}
    sector, made = sector.to(rl.int64) % 6, rl.zeros_like(x)
    for number, letters in order.items():
        colours = rl.stack([levels[letter] for letter in letters], 1)
        made = rl.where((sector == number)[:, None], colours, made)
    return made


def _in_hsv(x: Any, change: Change) -> Any:
    return hsv2rgb(change(rgb2hsv(x)))


class HSVTfm(SpaceTfm):
    """Training pictures changed by functions `fs` of their hue, saturation and value."""

    def __init__(self, fs: Callable[[Any], Any] | Sequence[Callable[[Any], Any]]) -> None:
        super().__init__(fs, _in_hsv)


@describable
class Hue(HSVTfm):
    """Other hues, by a factor of up to `1 / (1 - max_hue)` around a whole turn; arguments as
    `Brightness` has them, `draw` gives the turn."""

    def __init__(
        self, max_hue: float = 0.1, p: float = 0.75, draw: Draw = None, batch: bool = False
    ) -> None:
        _check("Hue", "max_hue", max_hue)
        usual = _log_uniform(max_hue)

        def change(x: Any) -> Any:
            turn = draws(x, usual, draw, p, batch)[:, None, None]
            hue, saturation, value = x.unbind(1)
            return rl.stack([(hue + turn) % 1.0, saturation, value], 1)

        super().__init__(change)
