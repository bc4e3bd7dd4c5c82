"""How text is generated: lengths, randomness, penalties, beams, ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import rushlight as rl

__all__ = ["Options", "Processor"]

Processor = Callable[[rl.Tensor, rl.Tensor], rl.Tensor]


@dataclass
class Options:
    """What :func:`generate` may be told.

    Args:
        max_new_tokens: ids at most, besides the prompt.
        min_new_tokens: ids before which the end is not allowed.
        do_sample: draw ids at random; else the most likely.
        temperature: divides the scores; below 1 is bolder. Acts with `do_sample`.
        top_k: draw from the most likely so many.
        top_p: draw from the most likely that together have this probability.
        min_p: draw from those with this share of the highest probability.
        repetition_penalty: divides positive scores of ids that are there, multiplies others.
        no_repeat_ngram_size: no n-gram comes twice; 0 allows it.
        bad_words: sequences of ids that must not come.
        num_beams: search with so many hypotheses.
        num_beam_groups: parts of the beams that are searched apart, so that answers differ; they
            divide `num_beams`.
        diversity_penalty: what a score loses for each beam of an earlier group that chose the same
            id in this step.
        length_penalty: exponent of the length that divides a hypothesis' score.
        early_stopping: stop once there are `num_beams` finished hypotheses.
        num_return_sequences: for each prompt.
        eos_token_id: the end, or several; default: the configuration's.
        pad_token_id: after the end; default: the configuration's, else the end.
        decoder_start_token_id: the first id of an encoder-decoder's target.
        forced_bos_token_id, forced_eos_token_id: the id after the start, and the last one if there
            are `max_new_tokens`; default: the configuration's.
        assistant_model: guesses how a sequence goes on, for the model to check several ids in one
            call; a smaller one with the same vocabulary, or `int8_copy` of the model. The answer is
            the model's own, but for the rounding of sums. One sequence, no beams.
        num_assistant_tokens: ids it guesses at first before they are checked.
        num_assistant_tokens_schedule: ``"constant"``, or ``"heuristic"`` (default): two more after
            guesses that were all right, one less after others.
        assistant_confidence_threshold: guess no further behind an id of lower probability.
        prompt_lookup_num_tokens: guess so many ids from an earlier place of the sequence, prompt
            included, that ends with the same ids; quick where answers repeat their prompt.
        max_matching_ngram_size: how many last ids are looked for there at most.
        processors: functions of the ids ``[B, T]`` and the scores ``[B, V]`` that give new scores.
        stop: function of the ids ``[B, T]`` of which rows have ended, bool ``[B]``.
        generator: of random numbers.

    Raises ValueError naming the option where a value is outside its range.
    """

    max_new_tokens: int = 20
    min_new_tokens: int = 0
    do_sample: bool = False
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float = 1.0
    no_repeat_ngram_size: int = 0
    bad_words: Sequence[Sequence[int]] = ()
    num_beams: int = 1
    num_beam_groups: int = 1
    diversity_penalty: float = 0.0
    length_penalty: float = 1.0
    early_stopping: bool = False
    num_return_sequences: int = 1
    eos_token_id: int | Sequence[int] | None = None
    pad_token_id: int | None = None
    decoder_start_token_id: int | None = None
    forced_bos_token_id: int | None = None
    forced_eos_token_id: int | None = None
    assistant_model: rl.nn.Module | None = None
    num_assistant_tokens: int = 5
    num_assistant_tokens_schedule: str = "heuristic"
    assistant_confidence_threshold: float = 0.0
    prompt_lookup_num_tokens: int | None = None
    max_matching_ngram_size: int = 2
    processors: Sequence[Processor] = ()
    stop: Callable[[rl.Tensor], rl.Tensor] | None = None
    generator: rl.Generator | None = None

    def __post_init__(self) -> None:
        for name, low in (
            ("max_new_tokens", 1),
            ("min_new_tokens", 0),
            ("no_repeat_ngram_size", 0),
            ("num_beams", 1),
            ("num_beam_groups", 1),
            ("num_return_sequences", 1),
            ("num_assistant_tokens", 1),
            ("max_matching_ngram_size", 1),
        ):
            if getattr(self, name) < low:
                raise ValueError(
                    f"generate(): {name} must be at least {low}: {getattr(self, name)}"
                )
        for name in ("temperature", "repetition_penalty"):
            if not getattr(self, name) > 0:
                raise ValueError(f"generate(): {name} must be positive: {getattr(self, name)}")
        for name in ("top_p", "min_p"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise ValueError(f"generate(): {name} must be from 0 to 1: {value}")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"generate(): top_k must be at least 1: {self.top_k}")
        if self.num_beams > 1 and self.do_sample:
            raise NotImplementedError("generate(): beams are searched, not drawn: do_sample=False")
        self._check_groups()
        self._check_guesses()
        most = self.num_beams if not self.do_sample else self.num_return_sequences
        if self.num_return_sequences > most:
            raise ValueError(
                f"generate(): {self.num_return_sequences} sequences are more than {most} beams; "
                "pass num_beams or do_sample=True"
            )

    def _check_groups(self) -> None:
        if self.num_beams % self.num_beam_groups:
            raise ValueError(
                f"generate(): num_beam_groups must divide num_beams, {self.num_beams}: "
                f"{self.num_beam_groups}"
            )
        if self.diversity_penalty < 0:
            raise ValueError(
                f"generate(): diversity_penalty must not be negative: {self.diversity_penalty}"
            )
        if self.diversity_penalty and self.num_beam_groups == 1:
            raise ValueError(
                "generate(): diversity_penalty acts between groups of beams; pass num_beam_groups"
            )

    def _check_guesses(self) -> None:
        schedule, least = self.num_assistant_tokens_schedule, self.assistant_confidence_threshold
        if schedule not in ("constant", "heuristic"):
            raise ValueError(
                "generate(): num_assistant_tokens_schedule must be 'constant' or 'heuristic': "
                f"{schedule!r}"
            )
        if not 0 <= least <= 1:
            raise ValueError(
                f"generate(): assistant_confidence_threshold must be from 0 to 1: {least}"
            )
        looked = self.prompt_lookup_num_tokens
        if looked is not None and looked < 1:
            raise ValueError(f"generate(): prompt_lookup_num_tokens must be at least 1: {looked}")
        self._check_guesser()

    def _check_guesser(self) -> None:
        guessers = [self.prompt_lookup_num_tokens, self.assistant_model]
        if None not in guessers:
            raise ValueError(
                "generate(): guesses come from assistant_model or from prompt_lookup_num_tokens, "
                "not from both"
            )
        if self.num_beams > 1 and guessers != [None, None]:
            raise ValueError("generate(): guesses are for one sequence, not for beams: num_beams=1")

    @classmethod
    def of(cls, model: Any, options: dict[str, Any]) -> Options:
        """The options, completed by a model's configuration; TypeError names an unknown one."""
        known = {each.name for each in fields(cls)}
        unknown = sorted(set(options) - known)
        if unknown:
            raise TypeError(f"generate(): no option is called {unknown}; there are {sorted(known)}")
        made = cls(**options)
        config = getattr(model, "config", {})
        for name in _CONFIGURED:
            if getattr(made, name) is None:
                setattr(made, name, config.get(name))
        ends = made.ends
        if made.pad_token_id is None:
            made.pad_token_id = ends[0] if ends else 0
        return made

    @property
    def ends(self) -> list[int]:
        """The ids that end a sequence."""
        if self.eos_token_id is None:
            return []
        return (
            [self.eos_token_id] if isinstance(self.eos_token_id, int) else list(self.eos_token_id)
        )


_CONFIGURED = (
    "eos_token_id",
    "pad_token_id",
    "decoder_start_token_id",
    "forced_bos_token_id",
    "forced_eos_token_id",
)
