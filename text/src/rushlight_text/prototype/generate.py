"""Greedy decoding of encoder-decoder models, with torchtext's names."""

from __future__ import annotations

import math
from typing import Any

import rushlight as rl
from rushlight import nn

__all__ = ["DEFAULT_MAX_SEQ_LEN", "GenerationUtils"]

DEFAULT_MAX_SEQ_LEN = 256


class GenerationUtils(nn.Module):
    """Generation with a model that has ``prepare_inputs_for_generation`` and, where it has an
    encoder, ``get_encoder``.

    Args:
        model: gives ``decoder_output``, or ``logits`` with `is_huggingface_model`.
        is_encoder_decoder: encode the input first (default True).
        is_huggingface_model: call it as transformers' are called (default False).

    For sampling, beams and caches see :mod:`rushlight_text.generation`.
    """

    def __init__(self, model: nn.Module, **kwargs: Any):
        super().__init__()
        self.model = model
        self.is_encoder_decoder = kwargs.pop("is_encoder_decoder", True)
        self.is_huggingface_model = kwargs.pop("is_huggingface_model", False)

    def generate(
        self,
        inputs: rl.Tensor,
        num_beams: int | None = None,
        max_length: int = DEFAULT_MAX_SEQ_LEN,
        pad_idx: int = 0,
        eos_idx: int = 1,
    ) -> rl.Tensor:
        """Ids ``[B, T]`` for ids ``[B, S]``; T is at most `max_length`.

        Args:
            num_beams: None or 1; torchtext has no more either.
            pad_idx, eos_idx: padding, which begins and fills up outputs, and the end.

        Raises:
            NotImplementedError: more than one beam.
            ValueError: less than one.
        """
        model_kwargs: dict[str, Any] = {}
        if self.is_encoder_decoder:
            padding = inputs.eq(pad_idx)
            model_kwargs["encoder_outputs"] = self._encoded(inputs, padding)
            model_kwargs["encoder_padding_mask"] = padding
        start = rl.full((len(inputs), 1), pad_idx, dtype=rl.long, device=inputs.device)
        if num_beams is None or num_beams == 1:
            return self.greedy_search(start, max_length, eos_idx, pad_idx, model_kwargs)
        if num_beams > 1:
            return self.beam_search(start, num_beams, max_length)
        raise ValueError(f"`num_beams` must be >= 1, got {num_beams}")

    def _encoded(self, inputs: rl.Tensor, padding: rl.Tensor) -> Any:
        encoder = self.model.get_encoder()
        if self.is_huggingface_model:
            return encoder(inputs, attention_mask=~padding, return_dict=True)
        return encoder(inputs, src_key_padding_mask=padding)

    @rl.no_grad()
    def greedy_search(
        self,
        input_ids: rl.Tensor,
        max_length: int,
        eos_idx: int,
        pad_idx: int,
        model_kwargs: dict[str, Any],
    ) -> rl.Tensor:
        """The most likely id each time, until all sequences have ended or are `max_length` long."""
        unfinished = rl.ones(len(input_ids), dtype=rl.long, device=input_ids.device)
        while True:
            prepared = self._prepared(input_ids, model_kwargs)
            outputs = self.model(**prepared)
            logits = outputs["logits" if self.is_huggingface_model else "decoder_output"]
            chosen = logits[:, -1].argmax(-1)
            chosen = chosen * unfinished + pad_idx * (1 - unfinished)
            input_ids = rl.cat([input_ids, chosen[:, None]], dim=-1)
            unfinished = unfinished * (chosen != eos_idx).long()
            if not unfinished.any() or input_ids.shape[1] >= max_length:
                return input_ids

    def _prepared(self, input_ids: rl.Tensor, model_kwargs: dict[str, Any]) -> dict[str, Any]:
        if self.is_huggingface_model:
            prepared = self.model.prepare_inputs_for_generation(input_ids, **model_kwargs)
            return {**prepared, "return_dict": True, "output_hidden_states": True}
        prepared = self.model.prepare_inputs_for_generation(input_ids, model_kwargs=model_kwargs)
        return {key: value for key, value in prepared.items() if key != "past"}

    def beam_search(
        self, input_ids: rl.Tensor, num_beams: int, max_length: int | None
    ) -> rl.Tensor:
        """Not in torchtext; :func:`rushlight_text.generation.generate` searches with beams."""
        raise NotImplementedError(
            "GenerationUtils.beam_search() is not there, as in torchtext; use "
            "rushlight_text.generation.generate(num_beams=...)"
        )

    def _get_top_k_restriction(self, scores: rl.Tensor, top_k: int) -> rl.Tensor:
        """The `top_k` highest scores, the others zero."""
        top_k = min(top_k, scores.shape[-1])
        if top_k <= 0:
            raise ValueError(f"`top_k` is {top_k} but should be an int greater than 0")
        least = rl.topk(scores, top_k)[0][:, -1:]
        return scores.masked_fill(scores < least, 0)

    def _get_top_p_restriction(
        self, probs: rl.Tensor, top_p: float, min_tokens_to_keep: int = 1
    ) -> rl.Tensor:
        """The highest probabilities that add up to no more than `top_p`, the others zero."""
        if not 0 <= top_p <= 1:
            raise ValueError(f"`top_p` is {top_p} but should be a float between 0 and 1")
        ordered, places = rl.sort(probs, descending=True, dim=-1)
        kept = ordered.cumsum(-1) <= top_p
        kept[:, :min_tokens_to_keep] = True
        return probs.masked_fill(~kept.scatter(-1, places, kept), 0)

    def _apply_temperature(self, probs: rl.Tensor, temperature: float) -> rl.Tensor:
        """Scores divided by a positive temperature."""
        if not temperature > 0:
            raise ValueError(f"`temperature` is {temperature} but should be positive")
        return probs.div(temperature)

    def _remove_invalid_values(self, scores: rl.Tensor) -> rl.Tensor:
        """NaN becomes 0, infinity the largest number; in place."""
        scores[scores != scores] = 0.0
        scores[scores == math.inf] = rl.finfo(scores.dtype).max
        return scores
