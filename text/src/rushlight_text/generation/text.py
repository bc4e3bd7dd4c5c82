"""Text in, text out: prompts, stop strings, pieces of text as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import rushlight as rl
from rushlight_text.data.collate import pad_ids
from rushlight_text.generation.decoding import generate, stream_ids
from rushlight_text.generation.grammar import TokenIndex, index_of, within
from rushlight_text.tokenizers.pretrained import Tokenizer

__all__ = ["generate_text", "stop_at", "stream_text"]


def stop_at(tokenizer: Tokenizer, strings: Sequence[str], prompt: int) -> Callable[..., rl.Tensor]:
    """A function for ``stop=``: a row has ended once the text after `prompt` ids holds a string."""

    def stop(ids: rl.Tensor) -> rl.Tensor:
        texts = [tokenizer.decode(row) for row in ids[:, prompt:].tolist()]
        return rl.tensor([any(s in text for s in strings) for text in texts], device=ids.device)

    return stop


def _cut(text: str, strings: Sequence[str]) -> str:
    found = [text.index(string) for string in strings if string in text]
    return text[: min(found)] if found else text


def _prompts(model: Any, tokenizer: Tokenizer, texts: list[str]) -> tuple[rl.Tensor, rl.Tensor]:
    rows = [tokenizer.encode(text) for text in texts]
    pad = tokenizer.pad_token_id
    pad = (tokenizer.eos_token_id or 0) if pad is None else pad
    return pad_ids(rows, pad, side="right" if model.is_encoder_decoder else "left")


def _complete(options: dict[str, Any], model: Any, tokenizer: Tokenizer) -> None:
    options.setdefault("eos_token_id", tokenizer.eos_token_id)
    options.setdefault("pad_token_id", tokenizer.pad_token_id)
    if options["eos_token_id"] is None:
        options["eos_token_id"] = getattr(model, "config", {}).get("eos_token_id")


def _constrain(options: dict[str, Any], index: TokenIndex, start: int) -> None:
    """Add a processor that keeps what follows `start` ids within a language."""
    end = options["eos_token_id"]
    if end is None:
        raise ValueError("a pattern or a schema needs an eos_token_id, which ends the answers")
    options["processors"] = [*options.get("processors", ()), within(index, start, end)]


def generate_text(
    model: rl.nn.Module,
    tokenizer: Tokenizer,
    prompts: str | Sequence[str],
    *,
    stop_strings: Sequence[str] = (),
    pattern: str | None = None,
    schema: Mapping[str, Any] | None = None,
    **options: Any,
) -> str | list[str]:
    """What a model makes of prompts, without the prompts and without special tokens.

    Args:
        model, tokenizer: of one model.
        prompts: a text, or several, which are padded on the left where the model goes on.
        stop_strings: texts at which an answer ends; they are cut off.
        pattern: a regular expression that each answer matches as a whole; see
            :func:`rushlight_text.generation.grammar.compile_pattern`.
        schema: a JSON schema whose values the answers are; see
            :func:`rushlight_text.generation.grammar.compile_schema`. Both hold for answers that end
            before `max_new_tokens`.
        options: as of :class:`Options`.

    Returns:
        A text for a text, a list for several; with `num_return_sequences` that many for each.

    Raises:
        ValueError: a pattern and a schema, or either without an id that ends an answer.
    """
    listed = [prompts] if isinstance(prompts, str) else list(prompts)
    ids, mask = _prompts(model, tokenizer, listed)
    start = 1 if model.is_encoder_decoder else ids.shape[1]
    if stop_strings:
        options["stop"] = stop_at(tokenizer, stop_strings, start)
    _complete(options, model, tokenizer)
    if pattern is not None or schema is not None:
        _constrain(options, index_of(tokenizer, pattern, schema), start)
    found = generate(model, ids, mask, **options)
    texts = tokenizer.batch_decode(found[:, start:], skip_special_tokens=True)
    texts = [_cut(text, stop_strings) for text in texts]
    return texts[0] if isinstance(prompts, str) and len(texts) == 1 else texts


def stream_text(
    model: rl.nn.Module,
    tokenizer: Tokenizer,
    prompt: str,
    *,
    stop_strings: Sequence[str] = (),
    pattern: str | None = None,
    schema: Mapping[str, Any] | None = None,
    **options: Any,
) -> Iterator[str]:
    """Pieces of the answer to one prompt as they come; together they are what
    :func:`generate_text` gives. A character of several tokens, and what may become a stop string,
    is held back until it is whole."""
    ids, mask = _prompts(model, tokenizer, [prompt])
    _complete(options, model, tokenizer)
    if pattern is not None or schema is not None:
        start = 1 if model.is_encoder_decoder else ids.shape[1]
        _constrain(options, index_of(tokenizer, pattern, schema), start)
    found: list[int] = []
    sent = 0
    for new in stream_ids(model, ids, mask, **options):
        found.append(int(new[0]))
        text = tokenizer.decode(found, skip_special_tokens=True)
        ended = any(string in text for string in stop_strings)
        text = _cut(text, stop_strings)
        safe = len(text) if ended else len(text) - _held(text, stop_strings)
        if safe > sent:
            yield text[sent:safe]
            sent = safe
        if ended:
            return
    text = _cut(tokenizer.decode(found, skip_special_tokens=True), stop_strings)
    if len(text) > sent:
        yield text[sent:]


def _held(text: str, strings: Sequence[str]) -> int:
    """How many characters at the end may still change."""
    held = len(text) - len(text.rstrip("\ufffd"))
    for string in strings:
        for size in range(len(string) - 1, held, -1):
            if text.endswith(string[:size]):
                held = size
                break
    return held
