"""fastai's losses: of outputs whose classes stand along any dimension, and of any shapes."""

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

    def activation(self, input: Any) -> Any:
        """The shares of the classes."""
        return input.softmax(self.axis)

    def decodes(self, input: Any) -> Any:
        """The numbers of the likeliest classes, of outputs or shares."""
        return input.argmax(self.axis)


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


@describable
class FocalLossFlat(CrossEntropyLossFlat):
    """Cross entropy that counts targets the less the better they are known, by the power `gamma` of
    the share that is missing. `axis`, `options`: see `CrossEntropyLossFlat`.

    >>> import rushlight as rl
    >>> FocalLossFlat(gamma=2.0)(rl.zeros(3, 2), rl.tensor([0, 1, 1]))
    tensor(0.1733)

    Lin et al., "Focal Loss for Dense Object Detection", 2017.
    """

    def __init__(self, gamma: float = 2.0, axis: int = -1, **options: Any) -> None:
        super().__init__(axis, **options)
        self.gamma = gamma

    def forward(self, input: Any, target: Any) -> Any:
        """The loss, a mean unless `reduction` says otherwise."""
        kind, self.reduction = self.reduction, "none"
        try:
            each = super().forward(input, target)
        finally:
            self.reduction = kind
        found = (1 - (-each).exp()) ** self.gamma * each
        return _reduced(found, kind)


@describable
class LabelSmoothingCrossEntropyFlat(CrossEntropyLossFlat):
    """Cross entropy with the share `eps` of each target spread over all classes; `weight` counts
    for the rest alone. `axis`, `options`: see `CrossEntropyLossFlat`.

    >>> import rushlight as rl
    >>> LabelSmoothingCrossEntropyFlat(eps=0.1)(rl.zeros(3, 2), rl.tensor([0, 1, 1]))
    tensor(0.6931)
    """

    def __init__(self, eps: float = 0.1, axis: int = -1, **options: Any) -> None:
        super().__init__(axis, **options)
        self.eps = eps

    def forward(self, input: Any, target: Any) -> Any:
        """The loss, a mean unless `reduction` says otherwise."""
        spread = -input.log_softmax(self.axis).mean(self.axis)
        rest = super().forward(input, target)
        return self.eps * _reduced(spread, self.reduction) + (1 - self.eps) * rest


@describable
class BCEWithLogitsLossFlat(nn.BCEWithLogitsLoss):
    """The binary cross entropy of outputs before the sigmoid and targets of any shapes with as many
    numbers. `thresh`: the share from which on a class counts as there; `options`: those of
    `nn.BCEWithLogitsLoss`; with `pos_weight` shapes stay.

    >>> import rushlight as rl
    >>> BCEWithLogitsLossFlat()(rl.zeros(2, 1), rl.tensor([0, 1]))
    tensor(0.6931)
    """

    def __init__(self, *, thresh: float = 0.5, **options: Any) -> None:
        super().__init__(**options)
        self.thresh = thresh

    def forward(self, input: Any, target: Any) -> Any:
        """The loss; `reduction="none"` gives it in the shape of `target`."""
        if self.pos_weight is not None:
            return super().forward(input, target.float())
        return _flat(self, super().forward, input, target)

    def activation(self, input: Any) -> Any:
        """The share of each class."""
        return input.sigmoid()

    def decodes(self, input: Any) -> Any:
        """Which classes are there, by their shares (bool)."""
        return input > self.thresh


@describable
class BCELossFlat(nn.BCELoss):
    """The binary cross entropy of shares and targets of any shapes with as many numbers. `options`:
    those of `nn.BCELoss`.

    >>> import rushlight as rl
    >>> BCELossFlat()(rl.full((2, 1), 0.5), rl.tensor([0, 1]))
    tensor(0.6931)
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)

    def forward(self, input: Any, target: Any) -> Any:
        """The loss; `reduction="none"` gives it in the shape of `target`."""
        return _flat(self, super().forward, input, target)


@describable
class L1LossFlat(nn.L1Loss):
    """The mean absolute difference of outputs and targets of any shapes with as many numbers.
    `options`: those of `nn.L1Loss`.

    >>> import rushlight as rl
    >>> L1LossFlat()(rl.zeros(2, 1), rl.tensor([1, 3]))
    tensor(2.)
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)

    def forward(self, input: Any, target: Any) -> Any:
        """The loss; `reduction="none"` gives it in the shape of `target`."""
        return _flat(self, super().forward, input, target)


def _flat(loss: Any, compute: Any, input: Any, target: Any) -> Any:
    """A loss of numbers in a row."""
    found = compute(input.reshape(-1), target.reshape(-1).to(input.dtype))
    return found.reshape(target.shape) if loss.reduction == "none" else found


def _reduced(each: Any, reduction: str) -> Any:
    if reduction == "none":
        return each
    return each.mean() if reduction == "mean" else each.sum()
