"""Functions of ids ``[B, T]`` and scores ``[B, V]`` that give new scores."""

from __future__ import annotations

from collections.abc import Sequence

import rushlight as rl
from rushlight_text.generation.options import Options, Processor

__all__ = [
    "bad_words",
    "forced",
    "min_length",
    "min_p",
    "no_repeat_ngrams",
    "one_of",
    "processors_of",
    "repetition_penalty",
    "temperature",
    "top_k",
    "top_p",
]

NEVER = float("-inf")


def repetition_penalty(penalty: float) -> Processor:
    """Divide positive scores of ids that are there by `penalty`, multiply negative ones
    (Keskar et al. 2019)."""

    def process(ids: rl.Tensor, scores: rl.Tensor) -> rl.Tensor:
        seen = scores.gather(1, ids)
        changed = rl.where(seen < 0, seen * penalty, seen / penalty)
        return scores.scatter(1, ids, changed)

    return process


def no_repeat_ngrams(size: int) -> Processor:
    """Forbid ids that would end an n-gram of `size` that is there."""

    def process(ids: rl.Tensor, scores: rl.Tensor) -> rl.Tensor:
        rows = ids.tolist()
        banned = [_followers(row, size) for row in rows]
        return _without(scores, banned)

    return process


def _followers(row: list[int], size: int) -> list[int]:
    if len(row) + 1 < size:
        return []
    last = tuple(row[len(row) - size + 1 :])
    return [
        row[start + size - 1]
        for start in range(len(row) - size + 1)
        if tuple(row[start : start + size - 1]) == last
    ]


def bad_words(words: Sequence[Sequence[int]]) -> Processor:
    """Forbid the last id of each sequence where the others stand before it."""

    def process(ids: rl.Tensor, scores: rl.Tensor) -> rl.Tensor:
        banned = []
        for row in ids.tolist():
            banned.append(
                [w[-1] for w in words if len(w) == 1 or row[-(len(w) - 1) :] == list(w[:-1])]
            )
        return _without(scores, banned)

    return process


def _without(scores: rl.Tensor, banned: list[list[int]]) -> rl.Tensor:
    if not any(banned):
        return scores
    hidden = rl.zeros(scores.shape, dtype=rl.bool, device=scores.device)
    for row, ids in enumerate(banned):
        if ids:
            hidden[row, rl.tensor(ids, device=scores.device)] = True
    return scores.masked_fill(hidden, NEVER)


def min_length(length: int, ends: Sequence[int]) -> Processor:
    """Forbid the ends before `length` ids, the prompt included."""

    def process(ids: rl.Tensor, scores: rl.Tensor) -> rl.Tensor:
        return _without(scores, [list(ends)] * len(ids)) if ids.shape[1] < length else scores

    return process


def one_of(choices: Sequence[Sequence[int]], prompt: int, end: int) -> Processor:
    """Let what follows `prompt` ids be one of some sequences, then the `end`; for beams, too.

    Args:
        choices: sequences of ids; ValueError without any, or with an empty one.
        prompt: ids before the answer: of a decoder those of the (padded) prompt, of an
            encoder-decoder 1.
        end: the id that ends an answer.
    """
    if not choices or not all(len(choice) for choice in choices):
        raise ValueError("one_of(): there must be choices, and none may be empty")
    following: dict[tuple[int, ...], set[int]] = {}
    for choice in choices:
        whole = [*choice, end]
        for place, token in enumerate(whole):
            following.setdefault(tuple(whole[:place]), set()).add(token)

    def process(ids: rl.Tensor, scores: rl.Tensor) -> rl.Tensor:
        hidden = rl.ones(scores.shape, dtype=rl.bool, device=scores.device)
        for row, answer in enumerate(ids[:, prompt:].tolist()):
            allowed = sorted(following.get(tuple(answer), {end}))
            hidden[row, rl.tensor(allowed, device=scores.device)] = False
        return scores.masked_fill(hidden, NEVER)

    return process


def forced(token: int, length: int) -> Processor:
    """Allow nothing but `token` after `length` ids."""

    def process(ids: rl.Tensor, scores: rl.Tensor) -> rl.Tensor:
        if ids.shape[1] != length:
            return scores
        only = rl.full_like(scores, NEVER)
        only[:, token] = 0.0
        return only

    return process


def temperature(value: float) -> Processor:
    """Divide the scores."""
    return lambda ids, scores: scores.div(value)


def top_k(count: int) -> Processor:
    """Keep the highest `count` scores."""

    def process(ids: rl.Tensor, scores: rl.Tensor) -> rl.Tensor:
        least = rl.topk(scores, min(count, scores.shape[-1]))[0][:, -1:]
        return scores.masked_fill(scores < least, NEVER)

    return process


def top_p(share: float) -> Processor:
    """Keep the most likely ids until they have this probability, at least one
    (Holtzman et al. 2020)."""

    def process(ids: rl.Tensor, scores: rl.Tensor) -> rl.Tensor:
        ordered, places = rl.sort(scores, dim=-1, descending=False)
        dropped = ordered.softmax(-1).cumsum(-1) <= 1 - share
        dropped[:, -1] = False
        return scores.masked_fill(dropped.scatter(1, places, dropped), NEVER)

    return process


def min_p(share: float) -> Processor:
    """Keep ids with at least this share of the highest probability (Nguyen et al. 2024)."""

    def process(ids: rl.Tensor, scores: rl.Tensor) -> rl.Tensor:
        chances = scores.softmax(-1)
        return scores.masked_fill(chances < share * chances.amax(-1, keepdim=True), NEVER)

    return process


def processors_of(options: Options, prompt: int) -> list[Processor]:
    """The functions that options stand for, in transformers' order; `prompt` is its length."""
    found: list[Processor] = []
    if options.repetition_penalty != 1.0:
        found.append(repetition_penalty(options.repetition_penalty))
    if options.no_repeat_ngram_size:
        found.append(no_repeat_ngrams(options.no_repeat_ngram_size))
    if options.bad_words:
        found.append(bad_words(options.bad_words))
    if options.min_new_tokens and options.ends:
        found.append(min_length(prompt + options.min_new_tokens, options.ends))
    if options.forced_bos_token_id is not None:
        found.append(forced(options.forced_bos_token_id, prompt))
    if options.forced_eos_token_id is not None:
        found.append(forced(options.forced_eos_token_id, prompt + options.max_new_tokens - 1))
    found += options.processors
    if options.do_sample:
        if options.temperature != 1.0:
            found.append(temperature(options.temperature))
        if options.top_k is not None:
            found.append(top_k(options.top_k))
        if options.top_p is not None and options.top_p < 1:
            found.append(top_p(options.top_p))
        if options.min_p is not None:
            found.append(min_p(options.min_p))
    return found
