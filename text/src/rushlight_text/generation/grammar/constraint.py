"""Keep generation within a language."""

from __future__ import annotations

import json
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import rushlight as rl
from rushlight_text.generation.grammar.automata import Automaton, automaton
from rushlight_text.generation.grammar.index import START, State, TokenIndex
from rushlight_text.generation.grammar.parsing import parse
from rushlight_text.generation.grammar.schemas import schema_expression
from rushlight_text.generation.options import Processor
from rushlight_text.tokenizers.pretrained import Tokenizer

__all__ = ["compile_pattern", "compile_schema", "index_of", "within"]

NEVER = float("-inf")
KEPT = 16  # indices of each tokenizer
_indices: weakref.WeakKeyDictionary[Tokenizer, dict[Any, TokenIndex]] = weakref.WeakKeyDictionary()


def compile_pattern(pattern: str) -> Automaton:
    r"""The automaton of the texts that :func:`re.fullmatch` accepts.

    Raises:
        ValueError: no regular expression, or one with over 16,384 states.
        NotImplementedError: what is not regular, such as references to groups, and assertions.

    Example
    -------
    >>> date = compile_pattern(r"\d{4}-\d{2}-\d{2}")
    >>> date.matches("2024-05-17"), date.matches("2024-5-17")
    (True, False)
    """
    return automaton(parse(pattern))


def compile_schema(schema: Mapping[str, Any] | bool, recursion: int = 0) -> Automaton:
    """The automaton of JSON texts on one line whose values a schema allows.

    Properties come in the order of the schema, and no others; a space may follow ``,`` and ``:``.
    Numbers with bounds or ``multipleOf`` are written without an exponent; beside ``not`` strings
    are written as :func:`json.dumps` does.

    Args:
        schema: as of a JSON document. ``type`` (one or several), ``enum``, ``const``, ``anyOf``,
            ``allOf`` of keywords that make one schema together, ``oneOf`` of alternatives that
            exclude each other by type, constants or a required property's constant, ``$ref``,
            ``not`` of single values; ``minimum``, ``maximum``, ``exclusiveMinimum``,
            ``exclusiveMaximum``, ``multipleOf``; ``minLength``, ``maxLength``, ``pattern``;
            ``items``, ``prefixItems``, ``minItems``, ``maxItems``, ``uniqueItems`` of up to 10
            listed values; ``properties``, ``required``, ``additionalProperties``; ``format`` of
            dates, times, UUIDs and IPv4 addresses, others are notes.
        recursion: how many times a ``$ref`` may be inside of itself; deeper parts allow nothing.

    Raises:
        ValueError: what is no schema, or allows nothing.
        NotImplementedError: other keywords that restrict, recursion of no stated depth, values of
            any type.

    Example
    -------
    >>> person = compile_schema({
    ...     "type": "object",
    ...     "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    ...     "required": ["name"],
    ... })
    >>> person.matches('{"name": "Ada", "age": 36}'), person.matches('{"age": 36}')
    (True, False)
    """
    return automaton(schema_expression(schema, recursion))


def index_of(
    tokenizer: Tokenizer,
    pattern: str | None = None,
    schema: Mapping[str, Any] | None = None,
    recursion: int = 0,
) -> TokenIndex:
    """The index of a pattern or a schema; the last 16 of each tokenizer are kept.

    Raises ValueError unless exactly one of both is given; else as :func:`compile_pattern` and
    :func:`compile_schema`.
    """
    if (pattern is None) == (schema is None):
        raise ValueError("index_of(): pass a pattern or a schema, not both")
    key = len(tokenizer), pattern, None if schema is None else json.dumps(schema), recursion
    known = _indices.setdefault(tokenizer, {})
    if key not in known:
        if schema is None:
            language = compile_pattern(pattern or "")
        else:
            language = compile_schema(schema, recursion)
        if len(known) >= KEPT:
            del known[next(iter(known))]
        known[key] = TokenIndex(language, tokenizer)
    return known[key]


def within(index: TokenIndex, prompt: int, end: int | Sequence[int]) -> Processor:
    """A processor that lets what follows `prompt` ids be a text of a language, then the end.

    The text is whole once the end has come; `max_new_tokens` may cut it.

    Args:
        index: of the language and the tokenizer.
        prompt: ids before the answer: of a decoder those of the (padded) prompt, of an
            encoder-decoder 1.
        end: the id that ends an answer, or several.

    The processor raises ValueError where no token of the vocabulary goes on.
    """
    ends = (end,) if isinstance(end, int) else tuple(end)
    if not ends:
        raise ValueError("within(): there must be an id that ends an answer")
    known: dict[tuple[int, ...], State | None] = {(): START}

    def state_of(answer: tuple[int, ...]) -> State | None:
        """None after the end, and after what is not allowed (beams that only fill up)."""
        start = next(n for n in range(len(answer), -1, -1) if answer[:n] in known)
        state = known[answer[:start]]
        for token in answer[start:]:
            state = None if state is None else index.following(state).get(token)
        return state

    def process(ids: rl.Tensor, scores: rl.Tensor) -> rl.Tensor:
        answers = [tuple(row) for row in ids[:, prompt:].tolist()]
        states = {answer: state_of(answer) for answer in dict.fromkeys(answers)}
        if len(known) > 4 * len(answers) + 64:  # steps that no row will come back to
            known.clear()
            known[()] = START
        known.update(states)
        size, device = scores.shape[-1], scores.device
        over = rl.ones(size, dtype=rl.bool, device=device)
        over[rl.tensor(ends, device=device)] = False
        rows = []
        for answer in answers:
            state = states[answer]
            rows.append(over if state is None else index.hidden(state, size, ends, device))
            if state is not None and not index.following(state) and not index.accepts(state):
                raise ValueError(f"within(): no token goes on after the ids {list(answer)}")
        return scores.masked_fill(rl.stack(rows), NEVER)

    return process
