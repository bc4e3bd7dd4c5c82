"""Losses of outputs whose classes stand along any dimension."""

from __future__ import annotations

from typing import Any

from lightning_lite.easy.data.describing import describable
from rushlight import nn


@describable
class CrossEntropyLossFlat(nn.CrossEntropyLoss):
    """Cross entropy of outputs whose classes stand along `axis`, and targets of the other
    dimensions: words `(N, T, V)` against `(N, T)`, pixels `(N, C, H, W)` against `(N, H, W)` with
    `axis=1`. `options`: those of `nn.CrossEntropyLoss`.

    >>> import rushlight as rl
    >>> CrossEntropyLossFlat()(rl.zeros(2, 5, 4), rl.zeros(2, 5, dtype=rl.int64))
    tensor(1.3863)
    """

    def __init__(self, axis: int = -1, **options: Any) -> None:
        super().__init__(**options)
        self.axis = axis

    def forward(self, input: Any, target: Any) -> Any:
        """The loss, a mean unless `reduction` says otherwise; "none" gives one for each target."""
        moved = input.movedim(self.axis, -1)
        found = super().forward(moved.reshape(-1, moved.shape[-1]), target.reshape(-1))
        return found.reshape(target.shape) if self.reduction == "none" else found


@describable
class MSELossFlat(nn.MSELoss):
    """The mean squared difference of outputs and targets of any shapes with as many numbers, such
    as `(N, 2 P)` and points `(N, P, 2)`. `options`: those of `nn.MSELoss`.

    >>> import rushlight as rl
    >>> MSELossFlat()(rl.zeros(2, 4), rl.ones(2, 2, 2))
    tensor(1.)
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)

    def forward(self, input: Any, target: Any) -> Any:
        """The loss; `reduction="none"` gives it in the shape of `target`."""
        found = super().forward(input.reshape(-1), target.reshape(-1))
        return found.reshape(target.shape) if self.reduction == "none" else found
