"""Numbers that a loss function keeps beside its value, as metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lightning_lite.easy.data.describing import describable
from lightning_lite.easy.metrics.gathered import Mean

if TYPE_CHECKING:
    from collections.abc import Sequence


@describable
class LossMetric(Mean):
    """The mean over batches, weighted by their rows, of an attribute that the Learner's loss
    function sets when it is called, such as one of its parts.

    `attr`: the attribute, a number or a tensor of one; `nm`: the metric's name, by default `attr`.
    Raises AttributeError where the loss function has none of this name. NaN where there is no
    batch.

    >>> import rushlight as rl
    >>> metric = LossMetric("margin")
    >>> metric.loss_func = rl.nn.TripletMarginLoss(margin=2.0)  # a Learner does this
    >>> metric(rl.zeros(4), rl.zeros(4))
    tensor(2.)
    """

    def __init__(self, attr: str, nm: str | None = None) -> None:
        super().__init__(attr if nm is None else nm)
        self.attr = attr
        self.loss_func: Any = None

    def update(self, output: Any, *targets: Any) -> None:
        """Add what the loss of this batch set."""
        super().update(output, targets)

    def gather(self, output: Any, target: Any) -> None:
        """Add the attribute's value."""
        if not hasattr(self.loss_func, self.attr):
            raise AttributeError(
                f"LossMetric({self.attr!r}): the loss function {self.loss_func!r} has no attribute "
                f"{self.attr!r}; expected one that it sets when it is called"
            )
        rows = len(target[0])
        self.total += float(getattr(self.loss_func, self.attr)) * rows
        self.count += rows

    def value_of(self, states: list[Any]) -> float:
        """The mean."""
        return self.mean_of(states)


def LossMetrics(
    attrs: str | Sequence[str], nms: str | Sequence[str] | None = None
) -> list[LossMetric]:
    """A `LossMetric` for each of `attrs`, with the names `nms`: lists, or names with commas between
    them. ValueError for other numbers of names.

    >>> [metric.name for metric in LossMetrics("recon,kl", "a,b")]
    ['a', 'b']
    """
    attrs = attrs.split(",") if isinstance(attrs, str) else list(attrs)
    names = attrs if nms is None else nms.split(",") if isinstance(nms, str) else list(nms)
    if len(names) != len(attrs):
        raise ValueError(f"LossMetrics: nms has {len(names)} names; expected {len(attrs)}")
    return [LossMetric(attr, name) for attr, name in zip(attrs, names, strict=True)]
