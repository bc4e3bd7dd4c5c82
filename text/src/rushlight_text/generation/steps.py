"""One model, one cache, one step at a time."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight_text.generation.options import Options

__all__ = ["Steps"]


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

    def _start(self) -> int:
        start = self.options.decoder_start_token_id
        if start is None:
            raise ValueError("generate(): this model needs a decoder_start_token_id")
        return start

    def logits(self) -> rl.Tensor:
        """Logits ``[B, V]`` float32 of the id after those that are there."""
        new = self.ids[:, self.cache.used :]
        if self.model.is_encoder_decoder:
            found = self.model(decoder_input_ids=new, cache=self.cache, **self.fixed)
        else:
            found = self.model(new, self.mask, cache=self.cache)
        return found.logits[:, -1].float()

    def append(self, chosen: rl.Tensor) -> None:
        """Put one id behind each sequence, ``[B]``."""
        self.ids = rl.cat([self.ids, chosen[:, None]], dim=1)
        if self.mask is not None:
            self.mask = rl.cat([self.mask, rl.ones_like(self.mask[:, :1])], dim=1)

    def reorder(self, rows: rl.Tensor) -> None:
        """Let other sequences go on, ``[B]``."""
        self.ids = self.ids.index_select(0, rows)
        self.cache.reorder(rows)
        if self.mask is not None:
            self.mask = self.mask.index_select(0, rows)


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
