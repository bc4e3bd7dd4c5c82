"""Labels aligned with frames under the rules of CTC."""

from __future__ import annotations

from dataclasses import dataclass

import rushlight as rl

__all__ = ["TokenSpan", "forced_align", "merge_tokens"]


def forced_align(
    log_probs: rl.Tensor,
    targets: rl.Tensor,
    input_lengths: rl.Tensor | None = None,
    target_lengths: rl.Tensor | None = None,
    blank: int = 0,
) -> tuple[rl.Tensor, rl.Tensor]:
    """The most probable alignment of labels with frames, compiled. (Graves et al., 2006.)

    Args:
        log_probs: ``[B, T, C]``, what the emissions' log-softmax gives.
        targets: ``[B, L]`` labels without blanks, int32 or int64.
        input_lengths: ``[B]`` frames of each item; all by default.
        target_lengths: ``[B]`` labels of each item; all by default.
        blank: class of the blank.

    Returns:
        the class of each frame ``[B, T]`` in the dtype of `targets`, and its log-probability
        ``[B, T]``, which gives gradients to `log_probs`.

    Raises:
        ValueError: a label that is the blank, or no class.
        RuntimeError: unsuitable shapes or dtypes, or more labels than frames can hold.
    """
    if log_probs.dim() != 3 or targets.dim() != 2:
        raise RuntimeError(
            "forced_align(): expected log_probs [B, T, C] and targets [B, L], got "
            f"{list(log_probs.shape)} and {list(targets.shape)}"
        )
    batch, frames, classes = log_probs.shape
    if targets.dtype in (rl.int32, rl.int64) and targets.numel():
        if (targets == blank).any():
            raise ValueError(f"forced_align(): targets must not hold the blank, {blank}")
        if int(targets.max()) >= classes:
            raise ValueError(f"forced_align(): targets must be below the {classes} classes")
    if input_lengths is None:
        input_lengths = rl.full((batch,), frames, dtype=rl.int64)
    if target_lengths is None:
        target_lengths = rl.full((batch,), targets.shape[1], dtype=rl.int64)
    paths = rl.signal.ctc_alignment(log_probs, targets, input_lengths, target_lengths, blank)
    paths = paths.to(log_probs.device)
    scores = log_probs.gather(2, paths.unsqueeze(-1)).squeeze(-1)
    return paths.to(targets.dtype), scores


@dataclass
class TokenSpan:
    """A label and the frames it was emitted in, from `start` to before `end`."""

    token: int
    start: int
    end: int
    score: float

    def __len__(self) -> int:
        """How many frames."""
        return self.end - self.start


def merge_tokens(tokens: rl.Tensor, scores: rl.Tensor, blank: int = 0) -> list[TokenSpan]:
    """The labels of an alignment without repetitions and blanks, and the frames of each.

    Args:
        tokens: ``[T]``, the class of each frame.
        scores: ``[T]``; a span gets the mean over its frames.
        blank: class of the blank.
    """
    if tokens.dim() != 1 or scores.dim() != 1 or len(tokens) != len(scores):
        raise ValueError(
            "merge_tokens(): expected tokens and scores of one length [T], got "
            f"{list(tokens.shape)} and {list(scores.shape)}"
        )
    classes, spans, start = tokens.tolist(), [], 0
    for end in range(1, len(classes) + 1):
        if end < len(classes) and classes[end] == classes[start]:
            continue
        if classes[start] != blank:
            score = float(scores[start:end].mean())
            spans.append(TokenSpan(classes[start], start, end, score))
        start = end
    return spans
