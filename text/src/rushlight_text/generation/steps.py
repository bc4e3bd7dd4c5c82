"""One model, one cache, one step at a time."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from typing import Any

import rushlight as rl
from rushlight_text.generation.options import Options

__all__ = ["Steps", "choose"]


class Steps:
    """Logits of the next id for a batch of sequences that grow.

    Args:
        model: of `models.pretrained`, or with the same ``make_cache`` and ``forward``.
        input_ids: prompts ``[B, T]``, or sources of an encoder-decoder.
        attention_mask: ``[B, T]``, 0 at padding; a decoder's prompts are padded on the left.
        options: of the generation.
        copies: sequences for each row.

    Attributes:
        ids: the sequences so far, ``[B * copies, T]``.
    """

    def __init__(
        self,
        model: Any,
        input_ids: rl.Tensor,
        attention_mask: rl.Tensor | None,
        options: Options,
        copies: int = 1,
    ):
        _check(input_ids, attention_mask)
        if attention_mask is not None and bool(attention_mask.bool().all()):
            attention_mask = None
        self.model, self.options = model, options
        self.fixed: dict[str, Any] = {}
        if model.is_encoder_decoder:
            memory = model.encode(input_ids, attention_mask)
            self.fixed["encoder_output"] = memory.repeat_interleave(copies, dim=0)
            if attention_mask is not None:
                self.fixed["attention_mask"] = attention_mask.repeat_interleave(copies, dim=0)
            self.mask = None
            self.ids = rl.full(
                (len(input_ids) * copies, 1), self._start(), dtype=rl.long, device=input_ids.device
            )
        else:
            if attention_mask is not None and not bool(attention_mask[:, -1].all()):
                raise ValueError(
                    "generate(): prompts must be padded on the left: the last id of each is its own"
                )
            self.mask = (
                None if attention_mask is None else attention_mask.repeat_interleave(copies, dim=0)
            )
            self.ids = input_ids.repeat_interleave(copies, dim=0)
        self.prompt = self.ids.shape[1]
        length = self.prompt + options.max_new_tokens
        self.cache = model.make_cache(len(self.ids), length)
        self.spares = "logits_to_keep" in inspect.signature(model.forward).parameters

    def _start(self) -> int:
        start = self.options.decoder_start_token_id
        if start is None:
            raise ValueError("generate(): this model needs a decoder_start_token_id")
        return start

    def logits(self) -> rl.Tensor:
        """Logits ``[B, V]`` float32 of the id after those that are there."""
        return self.logits_after(())[:, -1]

    def logits_after(self, guessed: Sequence[int]) -> rl.Tensor:
        """Logits ``[B, n + 1, V]`` float32 of the ids that follow none, one ... all n of some ids,
        were these put behind each sequence. The cache holds them all then."""
        new = self.ids[:, self.cache.used :]
        mask = self.mask
        if guessed:
            more = rl.tensor([list(guessed)], device=new.device).expand(len(new), -1)
            new = rl.cat([new, more], dim=1)
            mask = None if mask is None else rl.cat([mask, rl.ones_like(more)], dim=1)
        wanted = len(guessed) + 1
        if self.model.is_encoder_decoder:
            found = self.model(decoder_input_ids=new, cache=self.cache, **self.fixed)
        else:
            found = self.model(new, mask, cache=self.cache, **self._kept(wanted))
        return found.logits[:, -wanted:].float()

    def _kept(self, wanted: int) -> dict[str, int]:
        """The option that spares logits within the prompt, of models that have it."""
        return {"logits_to_keep": wanted} if self.spares else {}

    def append(self, chosen: rl.Tensor) -> None:
        """Put one id behind each sequence, ``[B]``."""
        self.ids = rl.cat([self.ids, chosen[:, None]], dim=1)
        if self.mask is not None:
            self.mask = rl.cat([self.mask, rl.ones_like(self.mask[:, :1])], dim=1)

    def left(self, length: int) -> int:
        """How many ids the model can read behind the first `length`, where it has a limit."""
        config = getattr(self.model, "config", {})
        limits = [config.get(name) for name in ("n_positions", "max_position_embeddings")]
        most = min([limit for limit in limits if limit], default=None)
        return max(0, most - length) if most is not None else sys.maxsize

    def take(self, ids: rl.Tensor) -> None:
        """Go on from other ids ``[B, T]``, which begin with the prompt; what was read of them stays
        in the cache."""
        shared = min(ids.shape[1], self.ids.shape[1])
        same = (ids[:, :shared] == self.ids[:, :shared]).all(0)
        self.cache.crop(min(int(same.long().cumprod(0).sum()), ids.shape[1] - 1))
        if self.mask is not None:
            prompt = self.mask[:, : self.prompt]
            self.mask = rl.cat([prompt, rl.ones_like(ids[:, self.prompt :])], dim=1)
        self.ids = ids

    def reorder(self, rows: rl.Tensor) -> None:
        """Let other sequences go on, ``[B]``."""
        self.ids = self.ids.index_select(0, rows)
        self.cache.reorder(rows)
        if self.mask is not None:
            self.mask = self.mask.index_select(0, rows)


def choose(scores: rl.Tensor, options: Options, generator: rl.Generator | None = None) -> rl.Tensor:
    """Ids ``[B]`` for scores ``[B, V]``: the most likely ones, or drawn."""
    if not options.do_sample:
        return scores.argmax(-1)
    return rl.multinomial(scores.softmax(-1), 1, generator=generator)[:, 0]


def _check(input_ids: rl.Tensor, attention_mask: rl.Tensor | None) -> None:
    if input_ids.dim() != 2 or input_ids.is_floating_point():
        raise ValueError(
            f"generate(): input_ids must be integers [B, T], got {input_ids.dtype} "
            f"{list(input_ids.shape)}"
        )
    if input_ids.shape[1] == 0:
        raise ValueError("generate(): a prompt needs at least one id")
    if attention_mask is not None and attention_mask.shape != input_ids.shape:
        raise ValueError(
            f"generate(): attention_mask has shape {list(attention_mask.shape)}, input_ids "
            f"{list(input_ids.shape)}"
        )
