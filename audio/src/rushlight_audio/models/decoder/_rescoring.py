"""A second opinion on hypotheses: that of a decoder with attention (Watanabe et al., Hybrid
CTC/attention architecture for end-to-end speech recognition, 2017)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import rushlight as rl
from rushlight.nn.utils.rnn import pad_sequence
from rushlight_audio.models.decoder._ctc_decoder import CTCHypothesis

__all__ = ["rescore"]


def rescore(
    hypotheses: Sequence[CTCHypothesis],
    logits: Callable[[rl.Tensor], rl.Tensor],
    start: int,
    end: int,
    *,
    weight: float = 0.5,
    ignore: Collection[int] = (),
) -> list[CTCHypothesis]:
    """The hypotheses of one sound by a mixture of two scores, the best first.

    Args:
        hypotheses: what a beam search found.
        logits: gives logits ``[N, U, tokens]`` of what follows each of the tokens ``[N, U]``, from
            a decoder that has heard the sound; what stands behind the end of a row does not count.
        start: token before the first one.
        end: token behind the last one; also the padding.
        weight: share of the decoder's score; 0 leaves the search's alone.
        ignore: tokens of hypotheses that the decoder does not have, such as silence.

    Returns:
        The hypotheses with their new scores.

    >>> from rushlight_audio.models.decoder import CTCHypothesis
    >>> none = rl.tensor([], dtype=rl.int32)
    >>> found = [CTCHypothesis(rl.tensor([2, 3]), [], -1.0, none),
    ...          CTCHypothesis(rl.tensor([3, 3]), [], -1.1, none)]
    >>> prefer = lambda tokens: rl.tensor([0.0, 0.0, 0.0, 2.0]).expand(*tokens.shape, 4)
    >>> rescore(found, prefer, start=0, end=1)[0].tokens
    tensor([3, 3])
    """
    if not 0.0 <= weight <= 1.0:
        raise ValueError(f"rescore: weight={weight} is not between 0 and 1")
    if not hypotheses:
        return []
    rows = [[token for token in each.tokens.tolist() if token not in ignore] for each in hypotheses]
    given = [rl.tensor([start, *row], dtype=rl.int64) for row in rows]
    wanted = [rl.tensor([*row, end], dtype=rl.int64) for row in rows]
    inputs = pad_sequence(given, batch_first=True, padding_value=end)
    targets = pad_sequence(wanted, batch_first=True, padding_value=end)
    with rl.no_grad():
        scores = rl.log_softmax(logits(inputs), dim=-1)
    chosen = scores.gather(2, targets.unsqueeze(2)).squeeze(2)
    counts = rl.tensor([len(row) for row in wanted])
    inside = rl.arange(targets.shape[1]) < counts.unsqueeze(1)
    totals = (chosen * inside).sum(1).tolist()
    mixed = [
        each._replace(score=(1.0 - weight) * each.score + weight * total)
        for each, total in zip(hypotheses, totals, strict=True)
    ]
    return sorted(mixed, key=lambda each: -each.score)
