"""Decoding with ids that are guessed and then checked, several in one call of the model.

A guess costs little: a small model makes it, the same model with weights of bytes, or an earlier
place of the text that goes on from the same ids. The model reads its weights once for all guessed
ids, and what it would have chosen itself is chosen: guesses change the time, not the answer
(Leviathan et al. 2023; Saxena 2023, "Prompt Lookup Decoding").
"""

from __future__ import annotations

from typing import Any, Protocol

import rushlight as rl
from rushlight_text.generation.options import Options
from rushlight_text.generation.processors import processors_of
from rushlight_text.generation.steps import Steps, choose

__all__ = ["AssistedSteps", "Lookup", "SmallModel", "steps_of"]


class Guesser(Protocol):
    """Who proposes how a sequence goes on."""

    def propose(self, ids: rl.Tensor, most: int) -> list[int]:
        """At most so many ids that may follow ``[1, T]``."""

    def learn(self, right: int, of: int) -> None:
        """Be told how many of the last ids were right."""


class SmallModel:
    """Guesses by a model that decodes on its own, with the same processors and random numbers.

    Args:
        steps: of the model that guesses.
    """

    def __init__(self, steps: Steps):
        self.steps, self.options = steps, steps.options
        self.change = processors_of(steps.options, steps.prompt)
        self.count = steps.options.num_assistant_tokens

    def propose(self, ids: rl.Tensor, most: int) -> list[int]:
        """At most so many ids that may follow ``[1, T]``: fewer where an end comes, or doubt."""
        most = min(most, self.count, self.steps.left(ids.shape[1] - 1))
        if most < 1:
            return []
        self.steps.take(ids)
        generator = _ahead(self.options, ids.device) if self.options.do_sample else None
        found: list[int] = []
        while len(found) < most:
            scores = self.steps.logits()
            for process in self.change:
                scores = process(self.steps.ids, scores)
            chosen = choose(scores, self.options, generator)
            found.append(int(chosen[0]))
            self.steps.append(chosen)
            if found[-1] in self.options.ends or self._doubts(scores, found[-1]):
                break
        return found

    def _doubts(self, scores: rl.Tensor, chosen: int) -> bool:
        least = self.options.assistant_confidence_threshold
        return least > 0 and float(scores.softmax(-1)[0, chosen]) < least

    def learn(self, right: int, of: int) -> None:
        """Guess two more where all were right, one less where one was wrong."""
        if of and self.options.num_assistant_tokens_schedule == "heuristic":
            self.count = self.count + 2 if right == of else max(1, self.count - 1)


class Lookup:
    """Guesses that the text goes on as it did after the same last ids.

    Args:
        count: ids to guess.
        longest: how many last ids are looked for; fewer where so many were not there.
    """

    def __init__(self, count: int, longest: int):
        self.count, self.sizes = count, range(longest, 0, -1)
        self.row: list[int] = []
        self.after: dict[tuple[int, ...], int] = {}  # where what followed them last begins

    def propose(self, ids: rl.Tensor, most: int) -> list[int]:
        """At most so many ids that may follow ``[1, T]``."""
        self._read(ids[0, len(self.row) :].tolist())
        for size in self.sizes:
            place = self.after.get(tuple(self.row[-size:]))
            if place is not None:
                return self._copy(place, min(most, self.count))
        return []

    def _read(self, new: list[int]) -> None:
        for token in new:
            for size in self.sizes:  # what ends with the last id of all has nothing behind it yet
                if size <= len(self.row):
                    self.after[tuple(self.row[-size:])] = len(self.row)
            self.row.append(token)

    def _copy(self, place: int, count: int) -> list[int]:
        """What begins at a place; behind the end it goes on with itself."""
        text = self.row[place:]
        return [text[step % len(text)] for step in range(count)]

    def learn(self, right: int, of: int) -> None:
        """The text itself is all that counts."""


class AssistedSteps(Steps):
    """Steps of which several come from one call of the model, where guesses were right.

    Args:
        guesser: who proposes ids.
        rest: as of :class:`Steps`; one sequence.
    """

    def __init__(self, guesser: Guesser, *rest: Any):
        super().__init__(*rest)
        self.guesser = guesser
        self.guessed: list[int] = []
        self.right = 0  # how many of them have been chosen
        self.ready = rl.empty(0)  # logits after none of them, after one, ...

    def logits(self) -> rl.Tensor:
        """Logits ``[1, V]`` float32 of the id after those that are there."""
        if self._was_right():
            self.right += 1
        else:
            self._guess()
        return self.ready[:, self.right]

    def _was_right(self) -> bool:
        return self.right < len(self.guessed) and int(self.ids[0, -1]) == self.guessed[self.right]

    def _guess(self) -> None:
        self.guesser.learn(self.right, len(self.guessed))
        there = self.ids.shape[1]
        self.cache.crop(there - 1)
        left = self.prompt + self.options.max_new_tokens - there - 1
        self.guessed = self.guesser.propose(self.ids, min(left, self.left(there)))
        self.right = 0
        self.ready = self.logits_after(self.guessed)


def steps_of(
    model: Any, input_ids: rl.Tensor, attention_mask: rl.Tensor | None, options: Options
) -> Steps:
    """The steps that options ask for: plain ones, or with guesses.

    Raises ValueError where guesses are asked for several sequences, or from a model of another kind
    or vocabulary.
    """
    parts = (model, input_ids, attention_mask, options, options.num_return_sequences)
    guesser = _guesser(parts)
    return Steps(*parts) if guesser is None else AssistedSteps(guesser, *parts)


def _guesser(parts: tuple[Any, ...]) -> Guesser | None:
    model, input_ids, _, options, copies = parts
    helper, found = options.assistant_model, options.prompt_lookup_num_tokens
    if helper is None and found is None:
        return None
    if len(input_ids) * copies != 1:
        raise ValueError(
            f"generate(): guesses are for one sequence, not for {len(input_ids) * copies}"
        )
    if helper is None:
        return Lookup(found, options.max_matching_ngram_size)
    _check_pair(model, helper)
    return SmallModel(Steps(helper, *parts[1:]))


def _check_pair(model: Any, helper: Any) -> None:
    if helper.is_encoder_decoder != model.is_encoder_decoder:
        raise ValueError(
            "generate(): assistant_model must be a decoder where the model is one, and an "
            "encoder-decoder where that is one"
        )
    sizes = [getattr(each, "config", {}).get("vocab_size") for each in (model, helper)]
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"generate(): assistant_model has a vocabulary of {sizes[1]} ids, the model of "
            f"{sizes[0]}: both must have the same tokenizer"
        )


def _ahead(options: Options, device: rl.device) -> rl.Generator:
    """A generator that gives what that of the options will give next, and leaves it as it is."""
    if options.generator is not None:
        state = options.generator.get_state()
    elif device.type == "cpu":
        state = rl.get_rng_state()
    else:
        state = rl.cuda.get_rng_state(device)
    return rl.Generator(device).set_state(state)
