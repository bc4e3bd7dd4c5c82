"""Beam search, plain and in groups that avoid each other's ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import rushlight as rl
from rushlight_text.generation.options import Options, Processor
from rushlight_text.generation.processors import processors_of
from rushlight_text.generation.steps import Steps

__all__ = ["search"]

NEVER = -1e9


@dataclass
class Finished:
    """The best finished hypotheses of one group of one prompt."""

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
    """The best next ids of a group in each prompt: scores, and beam times `width` plus id."""

    scores: list[list[float]]
    places: list[list[int]]
    width: int


@dataclass
class Group:
    """Beams that are searched together: `size` of each prompt, from beam `first` on.

    Attributes:
        sums: scores of its beams, ``[B, size]``.
        finished: its hypotheses, for each prompt.
    """

    first: int
    size: int
    sums: rl.Tensor
    finished: list[Finished]

    def rows(self, beams: int) -> rl.Tensor:
        """Its rows among all sequences, of which each prompt has `beams`."""
        starts = rl.arange(len(self.sums), device=self.sums.device)[:, None] * beams + self.first
        return (starts + rl.arange(self.size, device=self.sums.device)).flatten()

    def is_done(self) -> bool:
        """Whether nothing better can come for any prompt."""
        return all(each.done for each in self.finished)


def _groups(options: Options, batch: int, device: Any) -> list[Group]:
    size = options.num_beams // options.num_beam_groups
    found = []
    for number in range(options.num_beam_groups):
        sums = rl.full((batch, size), NEVER, device=device)
        sums[:, 0] = 0.0  # all beams are the same at first: one of them counts
        found.append(Group(number * size, size, sums, [Finished(size) for _ in range(batch)]))
    return found


def search(
    model: Any, input_ids: rl.Tensor, attention_mask: rl.Tensor | None, options: Options
) -> rl.Tensor:
    """The best `num_return_sequences` hypotheses of each prompt, ``[B * n, T]``.

    A hypothesis' score is the sum of its log probabilities, divided by its number of new ids to the
    power of `length_penalty`. With several groups (Vijayakumar et al. 2018) each is searched by
    itself, and the scores of ids that earlier groups chose in the same step are lowered by
    `diversity_penalty` for each beam that did.
    """
    steps = Steps(model, input_ids, attention_mask, options, copies=options.num_beams)
    change = processors_of(options, steps.prompt)
    groups = _groups(options, len(input_ids), input_ids.device)
    for count in range(1, options.max_new_tokens + 1):
        scores = steps.logits().log_softmax(-1)
        last = count == options.max_new_tokens
        chosen = _step(steps, groups, change, scores, count)
        if last or all(group.is_done() for group in groups):
            break
        steps.reorder(rl.cat([rows for rows, _ in chosen], 1).flatten())
        steps.append(rl.cat([ids for _, ids in chosen], 1).flatten())
    return _padded(groups, options, input_ids.device)


def _step(
    steps: Steps, groups: list[Group], change: Sequence[Processor], scores: rl.Tensor, count: int
) -> list[tuple[rl.Tensor, rl.Tensor]]:
    """The rows that go on in each group and their next ids, ``[B, size]`` each."""
    options = steps.options
    sequences = steps.ids.tolist()
    chosen: list[tuple[rl.Tensor, rl.Tensor]] = []
    for group in groups:
        ids, own = steps.ids, scores
        if len(groups) > 1:
            rows = group.rows(options.num_beams)
            ids, own = ids[rows], own[rows]
        if chosen:
            taken = rl.cat([ids for _, ids in chosen], 1)
            own = own.sub(_counts(taken, own, group.size), alpha=options.diversity_penalty)
        for process in change:
            own = process(ids, own)
        batch, width = len(group.sums), own.shape[-1]
        total = (own.view(batch, group.size, -1) + group.sums[:, :, None]).view(batch, -1)
        best, places = rl.topk(total, 2 * group.size, dim=1)
        found = Candidates(best.tolist(), places.tolist(), width)
        chosen.append(_advance(sequences, group, found, count, options))
        _stop(group, found, options, count)
    return chosen


def _counts(taken: rl.Tensor, scores: rl.Tensor, size: int) -> rl.Tensor:
    """How often each id is among ``[B, n]``, for `size` rows of each prompt."""
    found = rl.zeros(len(taken), scores.shape[-1], dtype=scores.dtype, device=scores.device)
    found = found.scatter_add(1, taken, rl.ones_like(taken, dtype=scores.dtype))
    return found.repeat_interleave(size, dim=0)


def _advance(
    sequences: list[list[int]], group: Group, found: Candidates, count: int, options: Options
) -> tuple[rl.Tensor, rl.Tensor]:
    """Sort candidates into finished hypotheses and beams that go on: their rows and ids; writes
    the group's sums."""
    listed = zip(found.scores, found.places, group.finished, strict=True)
    beams: list[list[tuple[int, int, float]]] = []
    for prompt, (values, places, finished) in enumerate(listed):
        first = prompt * options.num_beams + group.first
        ranked = [
            (first + place // found.width, place % found.width, value)
            for value, place in zip(values, places, strict=True)
        ]
        kept = _sorted(ranked, sequences, finished, count, options)[: group.size]
        if finished.done and options.num_beam_groups > 1:
            kept = []  # other groups shall not avoid what a finished one would say
        nothing = (first, options.pad_token_id or 0, NEVER)
        beams.append(kept + [nothing] * (group.size - len(kept)))
    device = group.sums.device
    rows, ids, sums = ([[beam[i] for beam in row] for row in beams] for i in range(3))
    group.sums = rl.tensor(sums, device=device)
    return rl.tensor(rows, device=device), rl.tensor(ids, device=device)


def _sorted(
    ranked: list[tuple[int, int, float]],
    sequences: list[list[int]],
    finished: Finished,
    count: int,
    options: Options,
) -> list[tuple[int, int, float]]:
    """The candidates of one prompt that go on; those that end become hypotheses."""
    ends, last = set(options.ends), count == options.max_new_tokens
    scale = count**options.length_penalty
    kept = []
    for rank, (row, token, value) in enumerate(ranked):
        is_best = rank < finished.room and not finished.done and value > NEVER / 2
        if is_best and (token in ends or last):
            finished.add(value / scale, [*sequences[row], token])
        if token not in ends:
            kept.append((row, token, value))
    return kept


def _stop(group: Group, found: Candidates, options: Options, count: int) -> None:
    """Mark the prompts whose beams cannot become better than what is finished."""
    best = group.sums[:, 0].tolist()
    if options.num_beam_groups > 1:
        best = [values[0] for values in found.scores]
    scale = count**options.length_penalty
    for each, value in zip(group.finished, best, strict=True):
        if each.is_full() and (options.early_stopping or each.kept[-1][0] >= value / scale):
            each.done = True


def _padded(groups: list[Group], options: Options, device: Any) -> rl.Tensor:
    rows = []
    for parts in zip(*(group.finished for group in groups), strict=True):
        listed = sorted((pair for part in parts for pair in part.kept), key=lambda pair: -pair[0])
        rows += [ids for _, ids in listed[: options.num_return_sequences]]
    longest = max(map(len, rows))
    pad = options.pad_token_id
    return rl.tensor([[*row, *[pad] * (longest - len(row))] for row in rows], device=device)
