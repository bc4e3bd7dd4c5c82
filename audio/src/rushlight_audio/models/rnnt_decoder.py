"""Beam search over a transducer (Graves, Sequence transduction with recurrent neural networks,
2012), for whole utterances and for streams."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import rushlight as rl
from rushlight import nn
from rushlight_audio.models.rnnt import RNNT, State

__all__ = ["Hypothesis", "RNNTBeamSearch"]

# Symbols (the first is the blank), the predictor's encoding, its state, and the score: the
# logarithm of the probability.
Hypothesis = tuple[list[int], rl.Tensor, list[list[rl.Tensor]], float]


def _by_length(hypothesis: Hypothesis) -> float:
    """The score by symbol."""
    return hypothesis[3] / (len(hypothesis[0]) + 1)


def _batched(hypotheses: list[Hypothesis]) -> State:
    """The states of hypotheses as one of a batch."""
    first = hypotheses[0][2]
    return [
        [rl.cat([each[2][layer][part] for each in hypotheses]) for part in range(len(parts))]
        for layer, parts in enumerate(first)
    ]


def _split(states: State, count: int) -> list[State]:
    """The states of a batch of `count`, each as one of a batch of one: the inverse of `_batched`,
    by one call for each tensor instead of one for each row."""
    parts = [[part.split(1) for part in layer] for layer in states]
    return [[[rows[number] for rows in layer] for layer in parts] for number in range(count)]


def _ones(count: int, device: rl.device) -> rl.Tensor:
    """Lengths ``[count]`` of int64, all 1."""
    return rl.ones(count, dtype=rl.int64, device=device)


def _greatest(values: np.ndarray, count: int) -> np.ndarray:
    """Indices of the `count` greatest of `values` ``[N]``, the greatest first; all if N is less."""
    if count >= len(values):
        return np.argsort(-values, kind="stable")
    found = np.sort(np.argpartition(values, -count)[-count:])
    return found[np.argsort(-values[found], kind="stable")]


class RNNTBeamSearch(nn.Module):
    """The most probable symbols of an utterance.

    Args:
        model: the transducer.
        blank: number of the blank, which must be the last symbol.
        temperature: logits are divided by it.
        hypo_sort_key: what hypotheses are ordered by; by default their score by symbol.
        step_max_tokens: most symbols of one frame.
    """

    def __init__(
        self,
        model: RNNT,
        blank: int,
        temperature: float = 1.0,
        hypo_sort_key: Callable[[Hypothesis], float] | None = None,
        step_max_tokens: int = 100,
    ) -> None:
        super().__init__()
        self.model = model
        self.blank = blank
        self.temperature = temperature
        self.hypo_sort_key = hypo_sort_key or _by_length
        self.step_max_tokens = step_max_tokens

    def _first(self, device: rl.device) -> list[Hypothesis]:
        """The hypothesis that nothing was said."""
        symbols = rl.tensor([[self.blank]], device=device)
        encoded, _, state = self.model.predict(symbols, rl.tensor([1], device=device), None)
        return [([self.blank], encoded[0].detach(), state, 0.0)]

    def _next_scores(self, frame: rl.Tensor, hypotheses: list[Hypothesis]) -> np.ndarray:
        """Log probabilities ``[H, symbols]`` of what follows each hypothesis, on the host."""
        encoded = rl.stack([each[1] for each in hypotheses])
        ones = _ones(len(hypotheses), frame.device)
        joined, _, _ = self.model.join(frame, _ones(1, frame.device), encoded, ones)
        if self.temperature != 1.0:
            joined = joined.div(self.temperature)
        scores = nn.functional.log_softmax(joined, dim=3)
        return scores.detach().cpu().numpy()[:, 0, 0]

    def _ended(
        self,
        ended: dict[tuple[int, ...], Hypothesis],
        open_ones: list[Hypothesis],
        scores: np.ndarray,
    ) -> None:
        """Let each open hypothesis end the frame with a blank; the same symbols by another way add
        their probabilities. Keeps `ended` in the order of scores."""
        for hypothesis, blank in zip(open_ones, scores[:, -1].tolist(), strict=True):
            key, score = tuple(hypothesis[0]), hypothesis[3] + blank
            before = ended.pop(key, None)
            if before is not None:
                score = float(np.logaddexp(np.float32(before[3]), np.float32(score)))
            ended[key] = (*hypothesis[:3], score)
        ordered = sorted(ended.items(), key=lambda item: item[1][3])
        ended.clear()
        ended.update(ordered)

    def _longer(
        self,
        open_ones: list[Hypothesis],
        ended: dict[tuple[int, ...], Hypothesis],
        scores: np.ndarray,
        beam_width: int,
    ) -> list[Hypothesis]:
        """The best hypotheses with one symbol more, better than the beam of those that ended."""
        before = np.array([each[3] for each in open_ones], scores.dtype)
        totals = before[:, None] + scores[:, :-1]
        numbers = _greatest(totals.reshape(-1), beam_width)
        others = list(ended.values())
        least = others[-beam_width][3] if len(others) >= beam_width else -float("inf")
        symbols = totals.shape[1]
        best = totals.reshape(-1)[numbers]
        chosen = [
            (open_ones[number // symbols], number % symbols, score)
            for number, score in zip(numbers.tolist(), best.tolist(), strict=True)
            if score > least
        ]
        return self._extended(chosen) if chosen else []

    def _extended(self, chosen: list[tuple[Hypothesis, int, float]]) -> list[Hypothesis]:
        """Hypotheses with a symbol more."""
        device = chosen[0][0][1].device
        symbols = rl.from_numpy(np.array([[symbol] for _, symbol, _ in chosen])).to(device)
        ones = _ones(len(chosen), device)
        encoded, _, states = self.model.predict(
            symbols, ones, _batched([hypothesis for hypothesis, _, _ in chosen])
        )
        own_states = _split(states, len(chosen))
        return [
            ([*hypothesis[0], symbol], own, state, score)
            for (hypothesis, symbol, score), own, state in zip(
                chosen, encoded.detach().unbind(), own_states, strict=True
            )
        ]

    def _search(
        self, encoded: rl.Tensor, hypotheses: list[Hypothesis] | None, beam_width: int
    ) -> list[Hypothesis]:
        """The best hypotheses behind the frames `encoded` ``[1, T, D]``."""
        found = self._first(encoded.device) if hypotheses is None else hypotheses
        for time in range(encoded.shape[1]):
            ended = self._frame(encoded[:, time : time + 1], found, beam_width)
            keys = np.array([self.hypo_sort_key(each) for each in ended], np.float32)
            found = [ended[number] for number in _greatest(keys, beam_width).tolist()]
        return found

    def _frame(
        self, frame: rl.Tensor, open_ones: list[Hypothesis], beam_width: int
    ) -> list[Hypothesis]:
        """Hypotheses that end with this frame."""
        ended: dict[tuple[int, ...], Hypothesis] = {}
        symbols = 0
        while open_ones:
            scores = self._next_scores(frame, open_ones)
            self._ended(ended, open_ones, scores)
            if symbols == self.step_max_tokens:
                break
            open_ones = self._longer(open_ones, ended, scores, beam_width)
            symbols += 1
        return list(ended.values())

    def _checked(self, input: rl.Tensor, length: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
        """One utterance as a batch."""
        if input.dim() != 2 and not (input.dim() == 3 and input.shape[0] == 1):
            raise ValueError(
                "RNNTBeamSearch: input must be of shape [T, D] or [1, T, D], got "
                f"{list(input.shape)}"
            )
        if length.dim() != 0 and length.shape != (1,):
            raise ValueError(
                f"RNNTBeamSearch: length must be of shape [] or [1], got {list(length.shape)}"
            )
        input = input.unsqueeze(0) if input.dim() == 2 else input
        return input, length.unsqueeze(0) if length.dim() == 0 else length

    def forward(self, input: rl.Tensor, length: rl.Tensor, beam_width: int) -> list[Hypothesis]:
        """The `beam_width` best hypotheses of a whole utterance ``[T, D]`` or ``[1, T, D]``."""
        encoded, _ = self.model.transcribe(*self._checked(input, length))
        return self._search(encoded, None, beam_width)

    def infer(
        self,
        input: rl.Tensor,
        length: rl.Tensor,
        beam_width: int,
        state: State | None = None,
        hypothesis: list[Hypothesis] | None = None,
    ) -> tuple[list[Hypothesis], State]:
        """The best hypotheses behind the next segment of a stream, and the encoder's state.

        Args:
            input: ``[T, D]`` or ``[1, T, D]``, with what stands to the right of the segment.
            length: frames that are there.
            beam_width: hypotheses.
            state: what the call before returned; None at the beginning.
            hypothesis: hypotheses that the call before returned; None at the beginning.
        """
        encoded, _, state = self.model.transcribe_streaming(*self._checked(input, length), state)
        return self._search(encoded, hypothesis, beam_width), state
