"""Greedy decoding and sampling, whole or id by id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import rushlight as rl
from rushlight_text.generation import beams
from rushlight_text.generation.assisted import steps_of
from rushlight_text.generation.options import Options
from rushlight_text.generation.processors import processors_of
from rushlight_text.generation.steps import Steps, choose

__all__ = ["generate", "stream_ids"]


@rl.no_grad()
def generate(
    model: rl.nn.Module,
    input_ids: rl.Tensor,
    attention_mask: rl.Tensor | None = None,
    **options: Any,
) -> rl.Tensor:
    """Let a language model go on, or an encoder-decoder answer.

    Args:
        model: of `models.pretrained` with a head ``causal-lm`` or ``seq2seq-lm``.
        input_ids: ``[B, T]``; prompts of different lengths are padded on the left.
        attention_mask: ``[B, T]``, 0 at padding.
        options: as of :class:`Options`.

    Returns:
        Ids ``[B * num_return_sequences, T']`` with the prompt, or with the start of the target;
        padding after the end.

    Example
    -------
    >>> from rushlight_text.models.pretrained import build_model
    >>> model = build_model("gpt2", "causal-lm", n_layer=1, n_embd=8, n_head=2, vocab_size=20)
    >>> generate(model.eval(), rl.tensor([[1, 2]]), max_new_tokens=3, eos_token_id=0).shape[0]
    1
    """
    chosen = Options.of(model, options)
    if chosen.num_beams > 1:
        return beams.search(model, input_ids, attention_mask, chosen)
    steps = steps_of(model, input_ids, attention_mask, chosen)
    for _ in _walk(steps):
        pass
    return steps.ids


def stream_ids(
    model: rl.nn.Module,
    input_ids: rl.Tensor,
    attention_mask: rl.Tensor | None = None,
    **options: Any,
) -> Iterator[rl.Tensor]:
    """The new ids ``[B]``, one step after the other; arguments as of :func:`generate`, no beams."""
    chosen = Options.of(model, options)
    if chosen.num_beams > 1:
        raise NotImplementedError("stream_ids(): beams end together; use generate()")
    with rl.no_grad():
        steps = steps_of(model, input_ids, attention_mask, chosen)
    walk = _walk(steps)
    while True:
        with rl.no_grad():  # not while the caller has the turn
            ids = next(walk, None)
        if ids is None:
            return
        yield ids


def _walk(steps: Steps) -> Iterator[rl.Tensor]:
    options = steps.options
    change = processors_of(options, steps.prompt)
    ends = rl.tensor(options.ends, device=steps.ids.device) if options.ends else None
    going = rl.ones(len(steps.ids), dtype=rl.bool, device=steps.ids.device)
    pad = cast(int, options.pad_token_id)  # set by Options.of
    for _ in range(options.max_new_tokens):
        scores = steps.logits()
        for process in change:
            scores = process(steps.ids, scores)
        chosen = choose(scores, options, options.generator)
        chosen = rl.where(going, chosen, pad)
        steps.append(chosen)
        if ends is not None:
            going = going & ~rl.isin(chosen, ends)
        if options.stop is not None:
            going = going & ~options.stop(steps.ids)
        yield chosen
        if not bool(going.any()):
            return
