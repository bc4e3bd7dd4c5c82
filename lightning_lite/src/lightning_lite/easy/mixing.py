"""MixUp and CutMix: training on mixtures of two examples."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from lightning_lite.callbacks.callback import Callback
from lightning_lite.errors import MisconfigurationException


class Mixing(Callback):
    """The base: pairs each example of a batch with another, and the loss with the other's target.

    The module must be a `Learner`'s, which asks for mixtures; MisconfigurationException otherwise.
    """

    def __init__(self, alpha: float) -> None:
        if alpha <= 0:
            raise ValueError(f"{type(self).__name__}: alpha={alpha}; expected more than 0")
        self.distribution = rl.distributions.Beta(rl.tensor(alpha), rl.tensor(alpha))

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Offer mixtures to the module."""
        if not hasattr(pl_module, "mixer"):
            raise MisconfigurationException(
                f"{type(self).__name__}: {type(pl_module).__name__} mixes no targets; train it "
                "with lightning_lite.easy.Learner"
            )
        pl_module.mixer = self

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Take the offer back."""
        pl_module.mixer = None

    def mix(self, x: Any) -> tuple[Any, Any, Any]:
        """A mixed batch, who each example was mixed with, and the share of its own: a tensor of
        `(N,)`, or a number."""
        raise NotImplementedError(f"{type(self).__name__} does not define mix")


class MixUp(Mixing):
    """Each example is a weighted mean of itself and another, with shares drawn from
    `Beta(alpha, alpha)`; the larger share is always its own.

    Args:
        alpha: how even shares are: small ones leave most examples nearly as they are.

    >>> mixing = MixUp(0.2)  # for `Learner(..., cbs=mixing)` or `learn.fit(1, cbs=mixing)`
    """

    def __init__(self, alpha: float = 0.4) -> None:
        super().__init__(alpha)

    def mix(self, x: Any) -> tuple[Any, Any, Any]:
        """See `Mixing.mix`."""
        drawn = self.distribution.sample((x.shape[0],)).to(x.device)
        share = rl.maximum(drawn, 1 - drawn)
        order = rl.randperm(x.shape[0]).to(x.device)
        weights = share.reshape(-1, *[1] * (x.ndim - 1))
        return x * weights + x[order] * (1 - weights), order, share


class CutMix(Mixing):
    """A rectangle of each picture `(N, C, H, W)` is another's; its share of the area is drawn from
    `Beta(alpha, alpha)`, and the same for the whole batch.

    Args:
        alpha: how even shares of the area are.

    >>> mixing = CutMix()
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__(alpha)

    def mix(self, x: Any) -> tuple[Any, Any, Any]:
        """See `Mixing.mix`. ValueError for what are no pictures."""
        if x.ndim != 4:
            raise ValueError(f"CutMix: expected pictures (N, C, H, W), got {tuple(x.shape)}")
        height, width = x.shape[-2:]
        side = float((1 - self.distribution.sample()).sqrt())
        top, bottom = _span(height, side)
        left, right = _span(width, side)
        order = rl.randperm(x.shape[0]).to(x.device)
        mixed = x.clone()
        mixed[..., top:bottom, left:right] = x[order][..., top:bottom, left:right]
        return mixed, order, 1 - (bottom - top) * (right - left) / (height * width)


def _span(length: int, share: float) -> tuple[int, int]:
    """A stretch of about a share of `length`, around a position that is drawn."""
    middle = int(rl.randint(length, (1,)))
    half = int(length * share) // 2
    return max(0, middle - half), min(length, middle + half)
