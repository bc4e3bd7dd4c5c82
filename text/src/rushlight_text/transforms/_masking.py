"""Tokens to predict: the input of masked language modelling."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn

__all__ = ["MaskTransform"]


class MaskTransform(nn.Module):
    """Choose positions at random and hide most of their ids.

    Of the chosen ones 80 % become `mask_idx`, 10 % a random id, 10 % stay. Padding is never chosen.

    Args:
        vocab_len: number of ids, special ones included.
        mask_idx, bos_idx, pad_idx: ids of these tokens.
        mask_bos: the first token may be chosen, too.
        mask_prob: share of positions to choose.

    Reference: Devlin et al., "BERT" (NAACL 2019).
    """

    mask_mask_prob = 0.8
    rand_mask_prob = 0.1

    def __init__(
        self,
        vocab_len: int,
        mask_idx: int,
        bos_idx: int,
        pad_idx: int,
        mask_bos: bool = False,
        mask_prob: float = 0.15,
    ):
        super().__init__()
        self.vocab_len = vocab_len
        self.mask_idx = mask_idx
        self.bos_idx = bos_idx
        self.pad_idx = pad_idx
        self.mask_bos = mask_bos
        self.mask_prob = mask_prob

    def forward(self, tokens: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
        """Ids ``[B, T]`` with hidden ones, the true ids at the chosen positions ``[N]``, and where
        these are, ``[B, T]`` int32 of 0 and 1."""
        mask = rl.rand(tokens.shape) < self.mask_prob
        if not mask.any():  # a batch without a target teaches nothing
            mask.view(-1)[rl.randint(0, mask.numel(), (1,))] = True
        mask &= tokens != self.pad_idx
        if not self.mask_bos:
            mask &= tokens != self.bos_idx
        chance = rl.rand(tokens.shape)
        hidden = mask & (chance < self.mask_mask_prob)
        swapped = mask & ~hidden & (chance < self.mask_mask_prob + self.rand_mask_prob)
        masked = tokens.masked_fill(hidden, self.mask_idx)
        others = rl.randint(0, self.vocab_len, tokens.shape, dtype=tokens.dtype)
        return rl.where(swapped, others, masked), tokens[mask], mask.to(rl.int32)
