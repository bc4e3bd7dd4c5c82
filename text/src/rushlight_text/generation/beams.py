"""Beam search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import rushlight as rl
from rushlight_text.generation.options import Options
from rushlight_text.generation.processors import processors_of
from rushlight_text.generation.steps import Steps

__all__ = ["search"]

NEVER = -1e9


@dataclass
class Finished:
    """The best finished hypotheses of one prompt."""

    room: int
    kept: list[tuple[float, list[int]]] = field(default_factory=list)
    done: bool = False

    def add(self, score: float, ids: list[int]) -> None:
        """Keep a hypothesis if it is among the best."""
        self.kept.append((score, ids))
        self.kept.sort(key=lambda pair: -pair[0])
        del self.kept[self.room :]

    def is_full(self) -> bool:
        """Whether there are as many as there may be."""
        return len(self.kept) == self.room


@dataclass
class Candidates:
    """The best next ids of each prompt: scores, and beam times `width` plus id."""

    scores: list[list[float]]
    places: list[list[int]]
    width: int


def search(
    model: Any, input_ids: rl.Tensor, attention_mask: rl.Tensor | None, options: Options
) -> rl.Tensor:
    """The best `num_return_sequences` hypotheses of each prompt, ``[B * n, T]``.

    A hypothesis' score is the sum of its log probabilities, divided by its number of new ids to the
    power of `length_penalty`.
    """
    beams, batch = options.num_beams, len(input_ids)
    steps = Steps(model, input_ids, attention_mask, options, copies=beams)
    change = processors_of(options, steps.prompt)
    sums = rl.full((batch, beams), NEVER, device=input_ids.device)
    sums[:, 0] = 0.0  # all beams are the same at first: one of them counts
    finished = [Finished(beams) for _ in range(batch)]
    for count in range(1, options.max_new_tokens + 1):
        scores = steps.logits().log_softmax(-1)
        for process in change:
            scores = process(steps.ids, scores)
        total = (scores.view(batch, beams, -1) + sums[:, :, None]).view(batch, -1)
        best, places = rl.topk(total, 2 * beams, dim=1)
        last = count == options.max_new_tokens
        found = Candidates(best.tolist(), places.tolist(), scores.shape[-1])
        rows, chosen, sums = _advance(steps, finished, found, count, last)
        if last or all(each.done for each in finished):
            break
        steps.reorder(rows)
        steps.append(chosen)
        _stop(finished, sums, options, count)
        if all(each.done for each in finished):
            break
    return _padded(finished, options, input_ids.device)


def _advance(
    steps: Steps,
    finished: list[Finished],
    found: Candidates,
    count: int,
    last: bool,
) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
    """Sort candidates into finished hypotheses and beams that go on: their rows, ids and sums."""
    options, beams = steps.options, steps.options.num_beams
    ends = set(options.ends)
    scale = count**options.length_penalty
    rows: list[int] = []
    chosen: list[int] = []
    sums: list[float] = []
    listed = zip(found.scores, found.places, strict=True)
    sequences = steps.ids.tolist()
    for prompt, (values, where) in enumerate(listed):
        kept = 0
        for rank, (value, place) in enumerate(zip(values, where, strict=True)):
            row, token = prompt * beams + place // found.width, place % found.width
            if token in ends or last:
                if rank < beams and not finished[prompt].done and value > NEVER / 2:
                    finished[prompt].add(value / scale, [*sequences[row], token])
                if token in ends:
                    continue
            if kept < beams:
                rows.append(row)
                chosen.append(token)
                sums.append(value)
                kept += 1
        for _ in range(beams - kept):
            rows.append(prompt * beams)
            chosen.append(options.pad_token_id or 0)
            sums.append(NEVER)
    device = steps.ids.device
    return (
        rl.tensor(rows, device=device),
        rl.tensor(chosen, device=device),
        rl.tensor(sums, device=device).view(-1, beams),
    )


def _stop(finished: list[Finished], sums: rl.Tensor, options: Options, count: int) -> None:
    """Mark the prompts whose beams cannot become better than what is finished."""
    reachable = (sums[:, 0] / count**options.length_penalty).tolist()
    for each, best in zip(finished, reachable, strict=True):
        if each.is_full() and (options.early_stopping or each.kept[-1][0] >= best):
            each.done = True


def _padded(finished: list[Finished], options: Options, device: Any) -> rl.Tensor:
    rows = [ids for each in finished for _, ids in each.kept[: options.num_return_sequences]]
    longest = max(map(len, rows))
    pad = options.pad_token_id
    return rl.tensor([[*row, *[pad] * (longest - len(row))] for row in rows], device=device)
