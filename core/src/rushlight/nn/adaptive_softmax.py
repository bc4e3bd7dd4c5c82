"""The adaptive softmax for many classes of uneven frequency. (Grave et al., 2017.)"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING

from rushlight.nn import functional as F
from rushlight.nn.containers import ModuleList, Sequential
from rushlight.nn.linear import Linear
from rushlight.nn.module import Module

if TYPE_CHECKING:
    from collections.abc import Sequence

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of `n_classes` classes in clusters that begin at `cutoffs`.

    Classes are numbered by falling frequency. Cluster i projects to ``in_features / div_value **
    (i + 1)`` features first. ``forward(input, target)`` gives the target's log-probabilities and
    the mean loss.
    """

    def __init__(
        self,
        in_features,
        n_classes,
        cutoffs: Sequence[int],
        div_value=4.0,
        head_bias=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(cutoffs)
            or min(cutoffs) <= 0
            or max(cutoffs) > n_classes - 1
            or len(set(cutoffs)) != len(cutoffs)
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                f"order, where each value is between 1 and n_classes-1; got {cutoffs}"
            )
        kind = {"device": device, "dtype": dtype}
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs, self.div_value, self.head_bias = [*cutoffs, n_classes], div_value, head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **kind)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, **kind),
                    Linear(hidden, size, bias=False, **kind),
                )
            )

    def reset_parameters(self):
        """Draw fresh initial values for all layers."""
        self.head.reset_parameters()
        for projection, classes in self.tail:
            projection.reset_parameters()
            classes.reset_parameters()

    def forward(self, input, target):
        """``(output, loss)``: (N,) log-probabilities of the targets, and minus their mean."""
        if not (
            input.dim() == 2
            and target.dim() == 1
            and input.shape[0] == target.shape[0]
            or input.dim() == 1
            and target.dim() == 0
        ):
            raise RuntimeError(
                "AdaptiveLogSoftmaxWithLoss: expected input (N, in_features) and target (N,), or "
                f"input (in_features,) and target (); got {list(input.shape)} and "
                f"{list(target.shape)}"
            )
        batched = target.dim() == 1
        if not batched:
            input, target = input.unsqueeze(0), target.unsqueeze(0)
        if target.numel() and not 0 <= int(target.min()) <= int(target.max()) < self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{int(target.min())}, {int(target.max())}] were found. "
            )
        # rows of each cluster are handled together, then put back in order
        head = F.log_softmax(self.head(input), 1)
        index = target.clamp(max=self.shortlist_size - 1)
        for i in range(self.n_clusters):
            inside = (target >= self.cutoffs[i]) & (target < self.cutoffs[i + 1])
            index = index.masked_fill(inside, self.shortlist_size + i)
        output = head.gather(1, index.unsqueeze(1)).squeeze(1)
        for i in range(self.n_clusters):
            inside = (target >= self.cutoffs[i]) & (target < self.cutoffs[i + 1])
            rows = inside.nonzero().squeeze(1)
            if not rows.numel():
                continue
            scores = F.log_softmax(self.tail[i](input.index_select(0, rows)), 1)
            relative = target.index_select(0, rows) - self.cutoffs[i]
            local = scores.gather(1, relative.unsqueeze(1)).squeeze(1)
            output = output.index_add(0, rows, local)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def log_prob(self, input):
        """Log-probabilities (N, n_classes) of all classes."""
        head = self.head(input)
        first = F.log_softmax(head, 1)
        parts = [first[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            scores = F.log_softmax(cluster(input), 1)
            parts.append(scores + first[:, self.shortlist_size + i].unsqueeze(1))
        from rushlight.ops.shape.joining import cat

        return cat(parts, 1)

    def predict(self, input):
        """The most probable class of every row (N,)."""
        return self.log_prob(input).argmax(1)
