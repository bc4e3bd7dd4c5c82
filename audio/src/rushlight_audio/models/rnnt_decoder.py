"""Beam search over a transducer (Graves, Sequence transduction with recurrent neural networks,
2012), for whole utterances and for streams."""

from __future__ import annotations

from collections.abc import Callable

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

    def _next_scores(self, frame: rl.Tensor, hypotheses: list[Hypothesis]) -> rl.Tensor:
        """Log probabilities ``[H, symbols]`` of what follows each hypothesis."""
        one = rl.tensor([1], device=frame.device)
        encoded = rl.stack([each[1] for each in hypotheses])
        ones = rl.ones(len(hypotheses), dtype=one.dtype, device=frame.device)
        joined, _, _ = self.model.join(frame, one, encoded, ones)
        return nn.functional.log_softmax(joined / self.temperature, dim=3)[:, 0, 0]

    def _ended(
        self,
        ended: dict[tuple[int, ...], Hypothesis],
        open_ones: list[Hypothesis],
        scores: rl.Tensor,
    ) -> None:
        """Let each open hypothesis end the frame with a blank; the same symbols by another way add
        their probabilities. Keeps `ended` in the order of scores."""
        for hypothesis, blank in zip(open_ones, scores[:, -1].tolist(), strict=True):
            key, score = tuple(hypothesis[0]), hypothesis[3] + blank
            before = ended.pop(key, None)
            if before is not None:
                score = float(rl.logaddexp(rl.tensor(before[3]), rl.tensor(score)))
            ended[key] = (*hypothesis[:3], score)
        ordered = sorted(ended.items(), key=lambda item: item[1][3])
        ended.clear()
        ended.update(ordered)

    def _longer(
        self,
        open_ones: list[Hypothesis],
        ended: dict[tuple[int, ...], Hypothesis],
        scores: rl.Tensor,
        beam_width: int,
    ) -> list[Hypothesis]:
        """The best hypotheses with one symbol more, better than the beam of those that ended."""
        before = rl.tensor([each[3] for each in open_ones])
        totals = before.unsqueeze(1) + scores[:, :-1]
        best, numbers = totals.reshape(-1).topk(beam_width)
        others = list(ended.values())
        least = others[-beam_width][3] if len(others) >= beam_width else -float("inf")
        symbols = totals.shape[1]
        chosen = [
            (open_ones[number // symbols], number % symbols, score)
            for number, score in zip(numbers.tolist(), best.tolist(), strict=True)
            if score > least
        ]
        return self._extended(chosen, scores.device) if chosen else []

    def _extended(
        self, chosen: list[tuple[Hypothesis, int, float]], device: rl.device
    ) -> list[Hypothesis]:
        """Hypotheses with a symbol more."""
        model_device = chosen[0][0][1].device
        symbols = rl.tensor([[symbol] for _, symbol, _ in chosen], device=model_device)
        ones = rl.ones(len(chosen), dtype=rl.int64, device=model_device)
        encoded, _, states = self.model.predict(
            symbols, ones, _batched([hypothesis for hypothesis, _, _ in chosen])
        )
        return [
            (
                [*hypothesis[0], symbol],
                encoded[number].detach(),
                [[part[number : number + 1] for part in layer] for layer in states],
                score,
            )
            for number, (hypothesis, symbol, score) in enumerate(chosen)
        ]

    def _search(
        self, encoded: rl.Tensor, hypotheses: list[Hypothesis] | None, beam_width: int
    ) -> list[Hypothesis]:
        """The best hypotheses behind the frames `encoded` ``[1, T, D]``."""
        found = self._first(encoded.device) if hypotheses is None else hypotheses
        for time in range(encoded.shape[1]):
            ended = self._frame(encoded[:, time : time + 1], found, beam_width)
            keys = rl.tensor([self.hypo_sort_key(each) for each in ended])
            _, order = keys.topk(min(beam_width, len(ended)))
            found = [ended[number] for number in order.tolist()]
        return found

    def _frame(
        self, frame: rl.Tensor, open_ones: list[Hypothesis], beam_width: int
    ) -> list[Hypothesis]:
        """Hypotheses that end with this frame."""
        ended: dict[tuple[int, ...], Hypothesis] = {}
        symbols = 0
        while open_ones:
            scores = self._next_scores(frame, open_ones).cpu()
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
