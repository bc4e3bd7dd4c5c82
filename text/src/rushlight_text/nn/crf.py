"""A chain of tags: the linear conditional random field."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn

__all__ = ["CRF"]

REDUCTIONS = ("none", "sum", "mean", "token_mean")


class CRF(nn.Module):
    """Scores of tag sequences: what a network says of each word, and how tags follow each other.

    Args:
        num_tags: number of tags.
        batch_first: scores are ``[B, T, C]`` instead of ``[T, B, C]``.

    The parameters have the names of the package pytorch-crf: ``start_transitions`` and
    ``end_transitions`` ``[C]``, ``transitions`` ``[C, C]`` from tag to tag.

    Reference: Lafferty et al., "Conditional Random Fields" (ICML 2001).

    Example
    -------
    >>> crf = CRF(2, batch_first=True)
    >>> scores = rl.tensor([[[4.0, 0.0], [0.0, 4.0]]])
    >>> crf.decode(scores)
    [[0, 1]]
    """

    def __init__(self, num_tags: int, batch_first: bool = False):
        if num_tags < 1:
            raise ValueError(f"CRF(): num_tags must be positive, got {num_tags}")
        super().__init__()
        self.num_tags, self.batch_first = num_tags, batch_first
        self.start_transitions = nn.Parameter(rl.empty(num_tags))
        self.end_transitions = nn.Parameter(rl.empty(num_tags))
        self.transitions = nn.Parameter(rl.empty(num_tags, num_tags))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all numbers from U(-0.1, 0.1)."""
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.1, 0.1)

    def forward(
        self,
        emissions: rl.Tensor,
        tags: rl.Tensor,
        mask: rl.Tensor | None = None,
        reduction: str = "sum",
    ) -> rl.Tensor:
        """The log likelihood of tags; its negative is the loss.

        Args:
            emissions: scores ``[T, B, C]``.
            tags: ``[T, B]``.
            mask: bool ``[T, B]``, False after the end; the first word of each sequence is there.
            reduction: ``"none"`` (``[B]``), ``"sum"``, ``"mean"`` or ``"token_mean"``.
        """
        if reduction not in REDUCTIONS:
            raise ValueError(f"invalid reduction: {reduction!r}; there are {REDUCTIONS}")
        emissions, mask, tags = self._ordered(emissions, mask, tags)
        likelihood: rl.Tensor = (
            self._score(emissions, tags, mask) - self._forward(emissions, mask)[-1]
        )
        if reduction == "none":
            return likelihood
        if reduction == "sum":
            return rl.sum(likelihood)
        if reduction == "mean":
            return likelihood.mean()
        return rl.sum(likelihood).div(rl.sum(mask))

    def decode(self, emissions: rl.Tensor, mask: rl.Tensor | None = None) -> list[list[int]]:
        """The most likely tags of each sequence (Viterbi 1967)."""
        emissions, mask, _ = self._ordered(emissions, mask)
        with rl.no_grad():
            return self._viterbi(emissions, mask)

    def marginals(self, emissions: rl.Tensor, mask: rl.Tensor | None = None) -> rl.Tensor:
        """The probability of each tag of each word, shaped as `emissions`; 0 after the end."""
        emissions, mask, _ = self._ordered(emissions, mask)
        ahead, total = self._steps(emissions, mask)
        behind = self._backward(emissions, mask)
        found = (ahead + behind - total[None, :, None]).exp() * mask[:, :, None]
        return found.transpose(0, 1) if self.batch_first else found

    def _ordered(self, emissions, mask, tags=None):
        if emissions.dim() != 3 or emissions.shape[-1] != self.num_tags:
            raise ValueError(
                f"CRF: emissions must have three dims, the last of {self.num_tags}, got "
                f"{list(emissions.shape)}"
            )
        if mask is None:
            mask = rl.ones(emissions.shape[:2], dtype=rl.bool, device=emissions.device)
        for name, other in (("tags", tags), ("mask", mask)):
            if other is not None and other.shape != emissions.shape[:2]:
                raise ValueError(
                    f"CRF: {name} has shape {list(other.shape)}, emissions begin with "
                    f"{list(emissions.shape[:2])}"
                )
        if self.batch_first:
            emissions, mask = emissions.transpose(0, 1), mask.transpose(0, 1)
            tags = None if tags is None else tags.transpose(0, 1)
        if not bool(mask[0].all()):
            raise ValueError("CRF: the first word of every sequence must be in the mask")
        return emissions, mask.bool(), tags

    def _score(self, emissions: rl.Tensor, tags: rl.Tensor, mask: rl.Tensor) -> rl.Tensor:
        kept = mask.to(emissions.dtype)
        own = emissions.gather(2, tags[:, :, None]).squeeze(2) * kept
        moves = self.transitions[tags[:-1], tags[1:]] * kept[1:]
        last = tags.gather(0, (mask.long().sum(0) - 1)[None])[0]
        ends = self.start_transitions[tags[0]] + self.end_transitions[last]
        return ends + own.sum(0) + moves.sum(0)

    def _steps(self, emissions: rl.Tensor, mask: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
        """The log weight of all beginnings that end in each tag, and of whole sequences."""
        found = self._forward(emissions, mask)
        return rl.stack(found[:-1]), found[-1]

    def _forward(self, emissions: rl.Tensor, mask: rl.Tensor) -> list[rl.Tensor]:
        score = self.start_transitions + emissions[0]
        found = [score]
        for place in range(1, len(emissions)):
            paths = score[:, :, None] + self.transitions
            following = rl.logsumexp(paths, dim=1) + emissions[place]
            score = rl.where(mask[place][:, None], following, score)
            found.append(score)
        found.append(rl.logsumexp(score + self.end_transitions, dim=1))
        return found

    def _backward(self, emissions: rl.Tensor, mask: rl.Tensor) -> rl.Tensor:
        """The log weight of all ends that follow each tag."""
        score = self.end_transitions.expand(emissions.shape[1], -1)
        found = [score]
        for place in range(len(emissions) - 1, 0, -1):
            paths = self.transitions + (emissions[place] + score)[:, None, :]
            before = rl.logsumexp(paths, dim=2)
            score = rl.where(mask[place][:, None], before, score)
            found.append(score)
        return rl.stack(found[::-1])

    def _viterbi(self, emissions: rl.Tensor, mask: rl.Tensor) -> list[list[int]]:
        score = self.start_transitions + emissions[0]
        origins = []
        for place in range(1, len(emissions)):
            best = (score[:, :, None] + self.transitions).max(1)
            following = best.values + emissions[place]
            score = rl.where(mask[place][:, None], following, score)
            origins.append(best.indices.tolist())
        last = (score + self.end_transitions).argmax(1).tolist()
        rows = []
        for row, length in enumerate(mask.long().sum(0).tolist()):
            tag = last[row]
            path = [tag]
            for place in range(length - 2, -1, -1):
                tag = origins[place][row][tag]
                path.append(tag)
            rows.append(path[::-1])
        return rows
